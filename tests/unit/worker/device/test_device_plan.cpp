// Plans for NVRTC: headers, parts of std, options, dependencies.
#include "jit/worker/device/device_plan.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

#include "base/file.h"
#include "jit/worker/device/nvrtc_includes.h"
#include "tests/unit/base/temporary_dir.h"

namespace tarsia::jit {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

/// A CUDA of a few empty headers.
class DevicePlanTest : public testing::Test {
 protected:
  DevicePlanTest() {
    for (const char* name : {"cuda_runtime.h", "cuda_fp16.h"}) file(std::string("cuda/") + name, "");
    file("cuda/cooperative_groups.h", "#include \"cooperative_groups/details.h\"\n#include <cuda/atomic>\n");
    file("cuda/cooperative_groups/details.h", "#include <cuda_fp16.h>\n");
    file("cuda/cccl/cuda/atomic", "#include <cuda/std/cstdint>\n");
    file("cuda/cccl/cuda/std/cstdint",
         "#if !_CCCL_COMPILER(NVRTC)\n#include <cstdint>\n#else\nusing int64_t = long long;\n#endif\n");
    file("cuda/cccl/cub/block/block_reduce.cuh", "#include <cuda/atomic>\n");
  }
  void file(const std::string& name, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(dir / name).parent_path());
    std::ofstream(dir / name) << text;
  }
  DeviceRequest request(std::string text) {
    DeviceRequest request;
    request.main = {"k.cu", std::move(text)};
    request.cuda.include_dirs = {dir / "cuda", dir / "cuda/cccl"};
    request.cuda.nvrtc_identity = "13.0";
    request.cuda.major = 13;
    request.archs = {"sm_90"};
    return request;
  }
  static std::string text_of(const DevicePlan& plan, const std::string& name) {
    for (const SourceFile& header : plan.headers)
      if (header.name == name) return header.text;
    return "none";
  }
  std::vector<std::string> dependencies_of(const DevicePlan& plan) {
    std::vector<std::string> paths;
    for (const Dependency& dependency : plan.dependencies)
      paths.push_back(dependency.path.substr(dir.path().size() + 1));
    return paths;
  }

  TemporaryDir dir;
};

TEST_F(DevicePlanTest, a_plain_kernel_needs_no_file_and_little_of_nvrtc) {
  DevicePlan plan =
      plan_device(request("#include <vector>\n#include <cuda_runtime.h>\n__global__ void k() {}\n"));
  EXPECT_TRUE(plan.dependencies.empty());
  EXPECT_THAT(plan.options, Contains("-minimal"));
  EXPECT_EQ(text_of(plan, "vector"), "");
  EXPECT_THAT(text_of(plan, "tarsia/prelude.h"), Not(HasSubstr("tarsia/cmath.h")));
}

TEST_F(DevicePlanTest, macros_that_hold_a_pragma_hold_its_operator) {
  const auto text = [&](const std::string& given) { return plan_device(request(given)).text; };
  EXPECT_EQ(text("#define UNROLL #pragma unroll\nint x;\n"), "#define UNROLL _Pragma(\"unroll\")\nint x;\n");
  EXPECT_EQ(text("  # define A_1\t# pragma unroll 4 // four\n"),
            "  # define A_1\t_Pragma(\"unroll 4 \")// four\n");
  EXPECT_EQ(text("#define M #pragma message \"a\"\n#define N #pragma x"),
            "#define M _Pragma(\"message \\\"a\\\"\")\n#define N _Pragma(\"x\")");
  for (const char* same :
       {"#pragma unroll\n", "#define F(pragma) #pragma\n", "#define H # pragmatic\n", "pragma",
        "#define G(x) x #pragma unroll\n", "int a; // #pragma\n", "#\n#pragma once"})
    EXPECT_EQ(text(same), same);
}

TEST_F(DevicePlanTest, names_of_the_runtime_and_textures_need_all_of_nvrtc) {
  for (const char* body : {"cudaTextureObject_t t;", "cudaError_t e;", "surf2Dread(&x, s, 0, 0);",
                           "tex2D<float>(t, 0, 0);", "k<<<1, 1>>>();"})
    EXPECT_THAT(plan_device(request(std::string("__device__ void f() {") + body + "}")).options,
                Not(Contains("-minimal")))
        << body;
}

TEST_F(DevicePlanTest, parts_of_std_come_by_mention) {
  DevicePlan plan = plan_device(
      request("#include <limits>\n__device__ float f() { return std::numeric_limits<float>::max(); }"));
  EXPECT_THAT(text_of(plan, "tarsia/prelude.h"), HasSubstr("tarsia/limits.h"));
  EXPECT_THAT(text_of(plan, "tarsia/prelude.h"), Not(HasSubstr("tarsia/algorithm.h")));
  EXPECT_THAT(text_of(plan, "tarsia/limits.h"), HasSubstr("numeric_limits"));
}

TEST_F(DevicePlanTest, bare_names_count_only_with_their_header) {
  const std::string text = "using namespace std;\n__device__ int count; __device__ int f() { return count; }";
  EXPECT_THAT(text_of(plan_device(request("#include <vector>\n" + text)), "tarsia/prelude.h"),
              Not(HasSubstr("algorithm")));
  EXPECT_THAT(text_of(plan_device(request("#include <algorithm>\n" + text)), "tarsia/prelude.h"),
              HasSubstr("algorithm"));
}

TEST_F(DevicePlanTest, includes_of_the_users_headers_get_their_full_names) {
  DeviceRequest asked = request("#include \"sub/a.cuh\"\n#include <b.cuh>\n__global__ void k() {}\n");
  asked.headers = {{"sub/a.cuh", "#include \"b.cuh\"\n#include \"../b.cuh\"\n"},
                   {"sub/b.cuh", "int x;\n"},
                   {"b.cuh", "int y;\n"}};
  DevicePlan plan = plan_device(asked);
  EXPECT_EQ(text_of(plan, "sub/a.cuh"), "#include \"sub/b.cuh\"\n#include \"b.cuh\"\n");
  EXPECT_THAT(plan.text, HasSubstr("#include <b.cuh>"));
}

TEST_F(DevicePlanTest, headers_that_nobody_includes_do_not_count) {
  const DeviceRequest plain = request("using namespace std;\n__device__ int count;\n");
  DeviceRequest asked = plain;
  asked.headers = {{"other.h", "#include <algorithm>\n__device__ cudaError_t e;\n"}};
  DevicePlan plan = plan_device(asked);
  EXPECT_EQ(plan.key, plan_device(plain).key);
  EXPECT_EQ(text_of(plan, "other.h"), "none");
  EXPECT_THAT(plan.options, Contains("-minimal"));
}

TEST_F(DevicePlanTest, headers_on_disk_may_include_the_users_texts) {
  file("user/disk.h", "#include \"given.h\"\n");
  DeviceRequest asked = request("#include \"disk.h\"\n");
  asked.include_dirs = {dir / "user"};
  asked.headers = {{"given.h", "#include \"more.h\"\n"}, {"more.h", "int x;\n"}};
  DevicePlan plan = plan_device(asked);
  EXPECT_EQ(text_of(plan, "more.h"), "int x;\n");
}

TEST_F(DevicePlanTest, unknown_headers_become_empty) {
  DevicePlan plan =
      plan_device(request("#include <mpi.h>\n#include \"helper_cuda.h\"\n#include <boost/array.hpp>\n"));
  for (const char* name : {"mpi.h", "helper_cuda.h", "boost/array.hpp"})
    EXPECT_EQ(text_of(plan, name), "") << name;
}

TEST_F(DevicePlanTest, headers_on_disk_are_followed) {
  DevicePlan plan = plan_device(request("#include <cub/block/block_reduce.cuh>\n"));
  EXPECT_THAT(dependencies_of(plan),
              testing::UnorderedElementsAre("cuda/cccl/cub/block/block_reduce.cuh", "cuda/cccl/cuda/atomic",
                                            "cuda/cccl/cuda/std/cstdint"));
  EXPECT_TRUE(plan.heavy_prefix);
  EXPECT_THAT(text_of(plan, "cuda/std/cstdint"), HasSubstr("#if 1\n#include <cstdint>"));
}

TEST_F(DevicePlanTest, cooperative_groups_do_without_libcudacxx_unless_it_is_used) {
  DevicePlan light = plan_device(request("#include <cooperative_groups.h>\n"));
  EXPECT_THAT(light.options, Contains("-D_CG_LIMIT_INCLUDED_DEPENDENCIES"));
  EXPECT_THAT(dependencies_of(light),
              testing::UnorderedElementsAre("cuda/cooperative_groups.h", "cuda/cooperative_groups/details.h",
                                            "cuda/cuda_fp16.h"));
  EXPECT_FALSE(light.heavy_prefix);
  DevicePlan used =
      plan_device(request("#include <cooperative_groups.h>\n__device__ cuda::atomic<int> x;\n"));
  EXPECT_THAT(used.options, Not(Contains("-D_CG_LIMIT_INCLUDED_DEPENDENCIES")));
  EXPECT_THAT(dependencies_of(used), Contains("cuda/cccl/cuda/atomic"));
  DevicePlan full = plan_device(request("#include <cooperative_groups.h>\n"), PlanKind::full);
  EXPECT_THAT(full.options, Not(Contains("-D_CG_LIMIT_INCLUDED_DEPENDENCIES")));
}

TEST_F(DevicePlanTest, the_umbrella_of_cub_holds_what_is_mentioned) {
  DevicePlan plan =
      plan_device(request("#include <cub/cub.cuh>\n__device__ cub::BlockReduce<int, 32> *r;\n"));
  EXPECT_THAT(text_of(plan, "cub/cub.cuh"), HasSubstr("cub/block/block_reduce.cuh"));
  EXPECT_THAT(text_of(plan, "cub/cub.cuh"), Not(HasSubstr("block_scan")));
  EXPECT_THAT(dependencies_of(plan), Contains("cuda/cccl/cub/block/block_reduce.cuh"));
}

TEST_F(DevicePlanTest, the_prefix_ends_at_the_first_declaration) {
  EXPECT_EQ(plan_device(request("#include <vector>\n#define N 3\nint x;\n#include <map>\n")).prefix,
            "#include <vector>\n#define N 3\n");
}

TEST_F(DevicePlanTest, files_outside_of_the_include_directories_are_refused) {
  file("secret", "password\n");
  for (std::string include :
       {"\"" + (dir / "secret") + "\"", std::string("\"../secret\""), std::string("<cccl/../../secret>")}) {
    DevicePlan plan = plan_device(request("int x;\n#include " + include + "\n"));
    ASSERT_EQ(plan.refused.size(), 1u) << include;
    EXPECT_EQ(plan.refused[0].line, 2);
    EXPECT_THAT(plan.refused[0].message, HasSubstr("outside"));
    EXPECT_TRUE(plan.dependencies.empty());
  }
  file("user/a.h", "#include \"../secret\"\n");
  DeviceRequest asked = request("#include \"a.h\"\n");
  asked.include_dirs = {dir / "user"};
  EXPECT_EQ(plan_device(asked).refused.size(), 1u) << "from a header on disk";
}

TEST_F(DevicePlanTest, names_of_headers_made_by_macros) {
  DeviceRequest asked =
      request("#define A \"a.cuh\"\n#include A\n#include B // by an option\n#include \"inc/c.cuh\"\n");
  asked.headers = {{"a.cuh", "int a;\n"},
                   {"inc/b.cuh", "int b;\n"},
                   {"inc/c.cuh", "#define D <cuda_fp16.h>\n#include D\n"}};
  asked.defines = {{"B", "\"inc/b.cuh\""}};
  DevicePlan plan = plan_device(asked);
  EXPECT_TRUE(plan.refused.empty());
  EXPECT_THAT(dependencies_of(plan), Contains("cuda/cuda_fp16.h"));
  for (const char* text : {"#define OF(x) <x.h>\n#include OF( cuda_fp16 ) // a header\n",
                           "#define OF(name) \"cuda_fp16.h\"\n#include OF(x)\n"}) {
    plan = plan_device(request(text));
    EXPECT_TRUE(plan.refused.empty()) << text;
    EXPECT_THAT(dependencies_of(plan), Contains("cuda/cuda_fp16.h")) << text;
  }
  for (const char* text :
       {"#define OF(x) <x>\n#include OF\n", "#define OF <x>\n#include OF(x)\n",
        "#define OF(x) <x>\n#include OF(a, b)\n", "#include NAME(x)\n", "#include UNKNOWN\n",
        "#define N(x) #x\n#include N(/etc/passwd)\n", "#embed \"x\"\n"})
    EXPECT_EQ(plan_device(request(text)).refused.size(), 1u) << text;
  EXPECT_THAT(plan_device(request("#define P \"/etc/passwd\"\n#include P\n")).refused.at(0).message,
              HasSubstr("outside"));
}

TEST_F(DevicePlanTest, headers_that_are_asked_for_count_as_those_that_are_read) {
  TemporaryDir dir;
  std::filesystem::create_directories(dir / "inc");
  write_file(dir / "inc/there.h", "int a;\n");
  write_file(dir / "elsewhere.h", "");
  DeviceRequest asked = request(
      "#include \"sub/u.cuh\"\n#if __has_include(\"there.h\") && __has_include( <not_there.h> )\n#endif\n");
  asked.headers = {{"sub/u.cuh", "#if __has_include(\"v.cuh\") //\n#include \"v.cuh\"\n#endif\n"},
                   {"sub/v.cuh", ""}};
  asked.include_dirs = {dir / "inc"};
  const DevicePlan plan = plan_device(asked);
  EXPECT_TRUE(plan.refused.empty());
  std::map<std::string, bool> absent;
  for (const Dependency& dependency : plan.dependencies) absent[dependency.path] = dependency.absent;
  EXPECT_TRUE(absent.contains(dir / "inc/there.h") && !absent[dir / "inc/there.h"]);
  EXPECT_TRUE(absent.contains(dir / "inc/not_there.h") && absent[dir / "inc/not_there.h"]);
  EXPECT_EQ(text_of(plan, "sub/u.cuh"),
            "#if __has_include(\"sub/v.cuh\") //\n#include \"sub/v.cuh\"\n#endif\n");
  for (const std::string& name : {dir / "elsewhere.h", std::string("../elsewhere.h")}) {
    DeviceRequest other = request("\n#if __has_include(\"" + name + "\")\n#endif\n");
    other.include_dirs = {dir / "inc"};
    const DevicePlan refused = plan_device(other);
    ASSERT_EQ(refused.refused.size(), 1u) << name;
    EXPECT_EQ(refused.refused[0].line, 2);
    EXPECT_THAT(refused.refused[0].message, HasSubstr("outside"));
  }
}

TEST_F(DevicePlanTest, options_follow_the_request) {
  DeviceRequest asked = request("__global__ void k() {}");
  asked.std = "gnu++14";
  asked.fast_math = asked.lineinfo = true;
  asked.defines = {{"A", std::nullopt}, {"B", "2"}};
  asked.include_dirs = {"/u"};
  DevicePlan plan = plan_device(asked);
  for (const char* option : {"-std=c++14", "-use_fast_math", "-lineinfo", "-DA", "-DB=2", "-I/u"})
    EXPECT_THAT(plan.options, Contains(option));
  asked.debug = true;
  EXPECT_THAT(plan_device(asked).options, Contains("-G"));
}

TEST_F(DevicePlanTest, macros_of_the_platform_come_by_mention_behind_all_that_nvrtc_includes_first) {
  file("cuda/cccl/cuda/std/version", "");
  constexpr const char* k_gnu = "#ifndef __GNUC__\n#define __GNUC__ 12\n#endif\n";
  DeviceRequest asked = request("#if __GNUC__ > 3 && defined(linux)\n#endif\n__global__ void k() {}");
  const auto prelude = [&](PlanKind kind) { return text_of(plan_device(asked, kind), "tarsia/prelude.h"); };
  for (const PlanKind kind : {PlanKind::light, PlanKind::full}) {
    EXPECT_TRUE(prelude(kind).ends_with(k_gnu + std::string("#ifndef linux\n#define linux 1\n#endif\n")));
    EXPECT_THAT(prelude(kind), Not(HasSubstr("__linux__")));
    EXPECT_THAT(plan_device(asked, kind).options, testing::Each(Not(HasSubstr("GNUC"))));
  }
  EXPECT_THAT(prelude(PlanKind::full), HasSubstr("#include <cuda/std/version>\n" + std::string(k_gnu)));
  EXPECT_THAT(prelude(PlanKind::light), Not(HasSubstr("cuda/std/version")));  // nothing of libcu++ is read
  asked.cflags = {"-U__GNUC__"};
  EXPECT_TRUE(prelude(PlanKind::light).ends_with("\n#undef __GNUC__\n"));
  asked.main.text.insert(0, "#include <cub/block/block_reduce.cuh>\n");
  EXPECT_THAT(prelude(PlanKind::light), HasSubstr("#include <cuda/std/version>\n" + std::string(k_gnu)));
}

TEST_F(DevicePlanTest, everything_that_can_change_the_code_changes_the_key) {
  const DeviceRequest base = request("#include <cuda_fp16.h>\n__global__ void k() {}");
  const Digest key = plan_device(base).key;
  EXPECT_EQ(plan_device(base).key, key);
  auto changed = [&](auto change) {
    DeviceRequest asked = base;
    change(asked);
    return plan_device(asked).key != key;
  };
  EXPECT_TRUE(changed([](DeviceRequest& r) { r.main.text += " "; }));
  EXPECT_TRUE(changed([](DeviceRequest& r) { r.main.name = "l.cu"; }));
  EXPECT_TRUE(changed([](DeviceRequest& r) {
    r.main.text = "#include \"x.h\"\n" + r.main.text;
    r.headers.push_back({"x.h", "int x;"});
  }));
  EXPECT_TRUE(changed([](DeviceRequest& r) { r.defines.push_back({"X", std::nullopt}); }));
  EXPECT_TRUE(changed([](DeviceRequest& r) { r.std = "c++17"; }));
  EXPECT_TRUE(changed([](DeviceRequest& r) { r.archs = {"sm_80"}; }));
  EXPECT_TRUE(changed([](DeviceRequest& r) { r.ptx = true; }));
  EXPECT_TRUE(changed([](DeviceRequest& r) { r.fast_math = true; }));
  EXPECT_TRUE(changed([](DeviceRequest& r) { r.debug = true; }));
  EXPECT_TRUE(changed([](DeviceRequest& r) { r.lineinfo = true; }));
  EXPECT_TRUE(changed([](DeviceRequest& r) { r.dev = true; }));
  EXPECT_TRUE(changed([](DeviceRequest& r) { r.cflags = {"-UX"}; }));
  EXPECT_FALSE(changed([](DeviceRequest& r) { r.cflags = {"-Wall", "-fwrapv"}; }));  // the host's alone
  EXPECT_TRUE(changed([](DeviceRequest& r) { r.expressions = {"k"}; }));
  EXPECT_TRUE(changed([](DeviceRequest& r) { r.managed = {"m"}; }));
  EXPECT_TRUE(changed([](DeviceRequest& r) { r.cuda.nvrtc_identity = "13.1"; }));
  file("cuda/cuda_fp16.h", "int changed;");
  EXPECT_NE(plan_device(base).key, key) << "a header read from disk";
}

TEST_F(DevicePlanTest, a_place_does_not_change_the_key) {
  const DeviceRequest base = request("#include <cuda_fp16.h>\n__global__ void k() {}");
  DeviceRequest moved = base;
  std::filesystem::copy(dir / "cuda", dir / "moved", std::filesystem::copy_options::recursive);
  moved.cuda.include_dirs = {dir / "moved", dir / "moved/cccl"};
  moved.cuda.nvrtc = "/elsewhere/libnvrtc.so.13";
  EXPECT_EQ(plan_device(moved).key, plan_device(base).key);
}

TEST(NvrtcIncludes, paths_are_made_plain) {
  EXPECT_EQ(normal_path("a/./b/../c.h"), "a/c.h");
  EXPECT_EQ(normal_path("../x.h"), "../x.h");
  EXPECT_EQ(normal_path("/a//b/../../c"), "/c");
  EXPECT_EQ(normal_path("a/.."), "");
}

TEST(NvrtcIncludes, a_fifo_or_a_folder_is_no_header) {
  TemporaryDir dir;
  ASSERT_EQ(::mkfifo((dir / "fifo.h").c_str(), 0600), 0);
  EXPECT_EQ(disk_header(dir / "fifo.h"), nullptr);
  EXPECT_EQ(disk_header(dir.path()), nullptr);
  EXPECT_EQ(find_in_dirs({dir.path()}, "fifo.h"), "");
}

TEST(NvrtcIncludes, a_changed_header_is_read_again) {
  TemporaryDir dir;
  std::ofstream(dir / "a.h") << "#include <x>\n";
  const auto first = disk_header(dir / "a.h");
  std::ofstream(dir / "a.h") << "#include <x>\n#include <y>\n";
  EXPECT_EQ(disk_header(dir / "a.h")->includes.size(), 2u);
  EXPECT_NE(disk_header(dir / "a.h")->dependency.content, first->dependency.content);
}

TEST(NvrtcIncludes, a_header_is_kept_once_it_is_at_rest) {
  TemporaryDir dir;
  std::ofstream(dir / "a.h") << "#include <x>\n";
  // Another change could leave it with the same times.
  const auto fresh = disk_header(dir / "a.h");
  EXPECT_EQ(fresh->dependency.stamp, FileStamp{});
  EXPECT_NE(disk_header(dir / "a.h"), fresh);
  const std::string old = std::string(TARSIA_TEST_SOURCE_DIR) + "/include/tarsia/op.h";
  const auto rested = disk_header(old);
  ASSERT_NE(rested, nullptr);
  if (rested->dependency.stamp == FileStamp{}) return;  // checked out a moment ago
  EXPECT_EQ(disk_header(old), rested);
}

TEST_F(DevicePlanTest, names_that_lead_past_their_folders_are_noted) {
  file("far/x.h", ""), file("in/x.h", ""), file("in/sub/y.h", "#include \"../x.h\"\n");
  file("in/up.h", "#include \"../far/x.h\"\n"), file("in/whole.h", "#include \"" + (dir / "in/x.h") + "\"\n");
  const auto climbs = [&](const std::string& name, std::vector<std::string> dirs) {
    DeviceRequest asked = request("#include \"" + name + "\"\n__global__ void k() {}\n");
    asked.include_dirs = std::move(dirs);
    return std::ranges::any_of(plan_device(asked).dependencies,
                               [](const Dependency& d) { return d.path == k_climbed; });
  };
  const std::string in = dir / "in", far = dir / "far";
  EXPECT_FALSE(climbs("x.h", {in}));
  EXPECT_FALSE(climbs("sub/y.h", {in, far}));
  EXPECT_TRUE(climbs("up.h", {in, far}));
  EXPECT_FALSE(climbs("in/up.h", {dir.path(), in, far}));
  EXPECT_TRUE(climbs("whole.h", {in}));
  EXPECT_TRUE(climbs("../far/x.h", {in, far}));
  EXPECT_TRUE(climbs(in + "/x.h", {in}));
}

TEST_F(DevicePlanTest, the_key_knows_the_place_of_headers_that_nvrtc_reads_and_of_lines) {
  for (const char* folder : {"one", "two"}) file(folder + std::string("/x.h"), "");
  const auto key = [&](const std::string& text, const std::string& folder, bool lines) {
    DeviceRequest asked = request(text);
    asked.include_dirs = {dir / folder};
    asked.lineinfo = lines;
    return plan_device(asked).key;
  };
  const std::string plain = "__global__ void k() {}\n", reads = "#include <x.h>\n" + plain;
  EXPECT_EQ(key(plain, "one", false), key(plain, "two", false));
  EXPECT_NE(key(reads, "one", false), key(reads, "two", false));
  EXPECT_NE(key(plain, "one", true), key(plain, "two", true));
}

}  // namespace
}  // namespace tarsia::jit
