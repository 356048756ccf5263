// Preludes that come with the compiler: when a compile takes them, and that modules do not change.
#include "jit/worker/prelude/shipped_preludes.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "tests/unit/base/temporary_dir.h"
#include "tests/unit/worker/compile_fixture.h"

namespace tarsia::jit {
namespace {

constexpr char k_text[] =
    "#include <string>\n#include <vector>\n#include <stdexcept>\n"
    "std::string f(std::vector<int> v) {\n"
    "  if (v.empty()) throw std::invalid_argument(\"empty\");\n"
    "  return std::to_string(v[0]);\n}\n";

class ShippedPreludesTest : public CompileTest {
 protected:
  // What a worker with this pack does that has compiled nothing before, with an empty cache.
  CompileResult compile_with(const std::string& pack, const CompileRequest& asked) {
    parts = std::make_unique<TestParts>();
    Worker worker(test_pack(), pack);
    return worker.compile(asked, *parts);
  }
  CompileResult compile_fresh(const CompileRequest& asked) {
    return compile_with(TARSIA_TEST_PRELUDES, asked);
  }

  static bool took(const CompileResult& result, const std::string& step) {
    for (const auto& timing : result.timings)
      if (timing.first == step) return true;
    return false;
  }
  static bool took_shipped(const CompileResult& result) { return took(result, "prelude shipped"); }

  std::string damaged_pack(size_t from, size_t step, size_t bytes = std::string::npos) {
    std::string pack = read_file(TARSIA_TEST_PRELUDES);
    for (size_t i = from; i < pack.size(); i += step) pack[i] ^= 1;
    pack.resize(std::min(bytes, pack.size()));
    std::string path = dir.path() + "/damaged.pack";
    write_file(path, pack);
    return path;
  }

  TemporaryDir dir;
  std::unique_ptr<TestParts> parts;
};

TEST_F(ShippedPreludesTest, the_first_compile_takes_one_and_makes_none) {
  CompileResult result = compile_fresh(request("a.cc", k_text));
  ASSERT_TRUE(result.ok) << errors(result);
  EXPECT_TRUE(took_shipped(result));
  EXPECT_EQ(parts->kept[PartKind::prelude], 0);
}

TEST_F(ShippedPreludesTest, ops_have_theirs) {
  for (const char* standard : {"c++17", "c++20"}) {
    CompileRequest asked =
        request("a.cc", "#include <tarsia/op.h>\nint f(tarsia::Tensor x) { return x.ndim(); }\n");
    asked.options.std = standard;
    CompileResult result = compile_fresh(asked);
    ASSERT_TRUE(result.ok) << errors(result);
    EXPECT_TRUE(took_shipped(result)) << standard;
  }
}

TEST_F(ShippedPreludesTest, sources_for_mxnet_have_theirs) {
  for (const char* header : {"lib_api.h", "mxnet/lib_api.h"}) {
    CompileResult result =
        compile_fresh(request("a.cc", std::string("#include <iostream>\n#include <cmath>\n#include \"") +
                                          header + "\"\nint f() { return MX_LIBRARY_VERSION; }\n"));
    ASSERT_TRUE(result.ok) << errors(result);
    EXPECT_TRUE(took_shipped(result)) << header;
  }
}

TEST_F(ShippedPreludesTest, modules_are_those_that_a_worker_without_them_makes) {
  for (int opt : {0, 2, 3}) {
    for (bool debug : {false, true}) {
      CompileRequest asked = request("a.cc", k_text);
      asked.options.opt = opt;
      asked.options.debug = debug;
      CompileResult with = compile_fresh(asked), without = compile_with("", asked);
      ASSERT_TRUE(with.ok && without.ok) << errors(with) << errors(without);
      EXPECT_EQ(took_shipped(with), opt >= 2) << opt;
      EXPECT_TRUE(took(without, "prelude made"));
      // Debug information lists the same in another order.
      if (!debug) {
        EXPECT_TRUE(with.module == without.module) << opt;
      }
    }
  }
}

TEST_F(ShippedPreludesTest, what_else_is_included_is_made_on_top_and_kept) {
  CompileRequest asked =
      request("a.cc", std::string("#include <unordered_map>\n#include <iostream>\n") + k_text);
  CompileResult with = compile_fresh(asked);
  ASSERT_TRUE(with.ok) << errors(with);
  EXPECT_TRUE(took(with, "prelude made"));
  EXPECT_EQ(parts->kept[PartKind::prelude], 1);
  size_t on_top = parts->bytes(PartKind::prelude);
  CompileResult without = compile_with("", asked);
  EXPECT_TRUE(with.module == without.module);
  EXPECT_LT(on_top, parts->bytes(PartKind::prelude) / 2);
}

TEST_F(ShippedPreludesTest, a_kept_one_on_top_is_taken_by_the_next_worker) {
  CompileRequest asked = request("a.cc", std::string("#include <map>\n") + k_text);
  ASSERT_TRUE(compile_fresh(asked).ok);
  Worker next(test_pack(), TARSIA_TEST_PRELUDES);
  asked.files[0].text += "int g() { return 1; }\n";
  CompileResult result = next.compile(asked, *parts);
  ASSERT_TRUE(result.ok) << errors(result);
  EXPECT_TRUE(took(result, "prelude kept"));
  EXPECT_EQ(parts->kept[PartKind::prelude], 1);
  // Without the layers below it, it means nothing.
  Worker bare(test_pack(), "");
  asked.files[0].text += "int h() { return 1; }\n";
  result = bare.compile(asked, *parts);
  ASSERT_TRUE(result.ok) << errors(result);
  EXPECT_TRUE(took(result, "prelude made"));
}

TEST_F(ShippedPreludesTest, names_of_headers_that_were_not_included_remain_free) {
  CompileResult result = compile_fresh(
      request("a.cc",
              "#include <vector>\nusing namespace std;\nint map, cout, invalid_argument, sqrt_of;\n"
              "int f() { return map + cout + invalid_argument + sqrt_of; }\n"));
  EXPECT_TRUE(result.ok) << errors(result);
  EXPECT_TRUE(took_shipped(result));
}

TEST_F(ShippedPreludesTest, settings_that_change_headers_have_none) {
  CompileRequest asked = request("a.cc", k_text);
  asked.options.defines = {{"_GLIBCXX_DEBUG", "1"}};
  EXPECT_FALSE(took_shipped(compile_fresh(asked)));
  asked = request("a.cc", k_text);
  asked.options.std = "c++23";
  EXPECT_FALSE(took_shipped(compile_fresh(asked)));
  asked = request("a.cc", k_text);
  asked.options.fast_math = true;
  EXPECT_FALSE(took_shipped(compile_fresh(asked)));
}

TEST_F(ShippedPreludesTest, a_source_with_a_header_of_its_own_by_such_a_name_gets_none) {
  CompileRequest asked = request("a.cc", k_text);
  asked.headers.push_back({"bits/stl_vector.h", "#error mine\n"});
  CompileResult result = compile_fresh(asked);
  EXPECT_FALSE(result.ok);
  EXPECT_THAT(errors(result), testing::HasSubstr("mine"));
}

TEST_F(ShippedPreludesTest, folders_are_searched_and_what_is_absent_is_noted) {
  CompileRequest asked = request("a.cc", k_text);
  asked.options.include_dirs = {dir.path()};
  CompileResult result = compile_fresh(asked);
  ASSERT_TRUE(result.ok) << errors(result);
  EXPECT_TRUE(took_shipped(result));
  const std::string header = dir.path() + "/bits/stl_vector.h";
  EXPECT_TRUE(std::any_of(result.dependencies.begin(), result.dependencies.end(),
                          [&](const Dependency& d) { return d.path == header && d.absent; }));
  std::filesystem::create_directory(dir.path() + "/bits");
  write_file(header, "#error mine\n");
  result = compile_fresh(asked);
  EXPECT_FALSE(result.ok);
  EXPECT_THAT(errors(result), testing::HasSubstr("mine"));
}

TEST_F(ShippedPreludesTest, a_pack_that_is_damaged_cut_off_or_missing_is_as_none) {
  const size_t size = std::filesystem::file_size(TARSIA_TEST_PRELUDES);
  for (const std::string& pack :
       {damaged_pack(100'000, 4096), damaged_pack(64, size), damaged_pack(8, size),
        damaged_pack(size, 1, size / 100), damaged_pack(size, 1, 10), dir.path() + "/none"}) {
    CompileResult result = compile_with(pack, request("a.cc", k_text));
    ASSERT_TRUE(result.ok) << errors(result);
    EXPECT_FALSE(took_shipped(result));
    EXPECT_TRUE(took(result, "prelude made"));
  }
}

// The pack has them if CUDA's headers were there when Tarsia was built, as they are here.
TEST_F(ShippedPreludesTest, cuda_sources_take_one_made_of_the_same_headers) {
  if (!have_nvrtc()) GTEST_SKIP() << "no CUDA headers or no NVRTC";
  CompileRequest asked = request("a.cu",
                                 "#include <cuda_runtime.h>\n__global__ void k(float* x) { *x = 1; }\n"
                                 "void f(float* x, cudaStream_t s) { k<<<1, 1, 0, s>>>(x); }\n");
  CompileResult result = compile_fresh(asked);
  ASSERT_TRUE(result.ok) << errors(result);
  EXPECT_TRUE(took_shipped(result));
  EXPECT_EQ(parts->kept[PartKind::prelude], 0);
  const auto& real = result.dependencies;
  EXPECT_TRUE(std::any_of(real.begin(), real.end(), [&](const Dependency& d) {
    return d.path == asked.cuda_parts.include_dirs[0] + "/cuda_runtime.h" && !d.absent;
  }));
  for (const Dependency& dependency : real) EXPECT_FALSE(dependency.path.starts_with("/tarsia/"));
}

TEST_F(ShippedPreludesTest, cpp_files_beside_cuda_ones_take_those_of_cpp) {
  if (!have_nvrtc()) GTEST_SKIP() << "no CUDA headers or no NVRTC";
  CompileRequest asked = request("a.cu", "__global__ void k(float* x) { *x = 1; }\n");
  asked.files.push_back({"b.cc", k_text});
  asked.files.push_back({"c.cc",
                         "#include <vector>\n#include <cuda_runtime.h>\n"
                         "float g(cudaStream_t s) { return std::vector<float>(3)[0] + (s != nullptr); }\n"});
  CompileResult result = compile_fresh(asked);
  ASSERT_TRUE(result.ok) << errors(result);
  int shipped = 0, made = 0;
  for (const auto& timing : result.timings) {
    shipped += timing.first == "prelude shipped";
    made += timing.first == "prelude made";
  }
  EXPECT_EQ(shipped, 2);
  EXPECT_EQ(made, 1);  // <cuda_runtime.h> on top of <vector>
}

TEST_F(ShippedPreludesTest, cuda_sources_take_none_made_of_other_headers) {
  if (!have_nvrtc()) GTEST_SKIP() << "no CUDA headers or no NVRTC";
  CompileRequest asked = request("a.cu",
                                 "__global__ void k(float* x) { *x = EDITED; }\n"
                                 "int f() { return EDITED; }\n");
  const std::string edited = read_file(asked.cuda_parts.include_dirs[0] + "/cuda_runtime.h");
  write_file(dir.path() + "/cuda_runtime.h", edited + "\n#define EDITED 7\n");
  auto& dirs = asked.cuda_parts.include_dirs;
  dirs.insert(dirs.begin(), dir.path());
  CompileResult result = compile_fresh(asked);
  EXPECT_FALSE(took_shipped(result));
  EXPECT_TRUE(took(result, "prelude made"));
}

}  // namespace
}  // namespace tarsia::jit
