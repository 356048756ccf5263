// Files that a source includes, embeds and asks for: what is no text is refused, what lies elsewhere is
// absent.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "base/dependency.h"
#include "base/hash.h"
#include "tests/unit/base/temporary_dir.h"
#include "tests/unit/worker/compile_fixture.h"

namespace tarsia::jit {
namespace {

using namespace std::string_literals;
using testing::HasSubstr;

class FileChecksTest : public CompileTest {
 protected:
  CompileResult compile_in_dir(const std::string& name, const std::string& text) {
    CompileRequest asked = request(name, text);
    asked.options.include_dirs = {dir.path()};
    return compile(asked);
  }
  TemporaryDir dir;
};

TEST_F(FileChecksTest, a_nul_byte_in_a_header_on_disk_makes_the_source_invalid) {
  write_file(dir / "x.h", "// one\n/* \0 */\n#define VALUE 2\n"s);
  write_file(dir / "outer.h", "#include \"x.h\"\n");
  for (const char* name : {"a.cc", "a.c", "a.cu"})
    for (const char* header : {"\"x.h\"", "<x.h>", "<outer.h>"}) {
      if (name == "a.cu"s && !have_cuda_headers()) continue;
      const CompileResult result =
          compile_in_dir(name, "#include "s + header + "\nint f() { return VALUE; }\n");
      ASSERT_FALSE(result.ok) << name << header;
      EXPECT_EQ(result.stage, Stage::source);
      EXPECT_THAT(errors(result), HasSubstr(dir / "x.h" + ":2:4: NUL byte")) << name << header;
    }
}

TEST_F(FileChecksTest, a_nul_byte_in_a_header_that_only_device_code_reads_makes_the_source_invalid) {
  if (!have_nvrtc()) GTEST_SKIP() << "no CUDA headers or no NVRTC";
  write_file(dir / "x.h", "// one\n/* \0 */\n#define VALUE 2\n"s);
  write_file(dir / "outer.h", "#include \"x.h\"\n");
  for (const char* compiler : {"auto", "nvrtc", "clang"})
    for (const char* header : {"x.h", "outer.h"}) {
      CompileRequest asked =
          request("a.cu", "#ifdef __CUDA_ARCH__\n#include \""s + header +
                              "\"\n#endif\n__global__ void k(int* x) {\n#ifdef __CUDA_ARCH__\n"
                              "  *x = VALUE;\n#endif\n}\n");
      asked.options.include_dirs = {dir.path()};
      asked.options.device_compiler = compiler;
      const CompileResult result = compile(asked);
      ASSERT_FALSE(result.ok) << compiler << header;
      EXPECT_EQ(result.stage, Stage::source) << compiler << header;
      EXPECT_THAT(errors(result), HasSubstr(dir / "x.h" + ":2:4: NUL byte")) << compiler << header;
    }
}

TEST_F(FileChecksTest, a_header_that_nobody_reads_may_hold_any_byte) {
  if (!have_nvrtc()) GTEST_SKIP() << "no CUDA headers or no NVRTC";
  write_file(dir / "x.h", "\0"s);
  CompileRequest asked =
      request("a.cu", "#if 0\n#include \"x.h\"\n#endif\n__global__ void k(int* x) { *x = 1; }\n");
  asked.options.include_dirs = {dir.path()};
  const CompileResult result = compile(asked);
  EXPECT_TRUE(result.ok) << errors(result);
}

TEST_F(FileChecksTest, embedded_files_may_hold_any_byte) {
  write_file(dir / "data.bin", "\x07\0\xFF"s);
  const CompileResult result = compile_in_dir(
      "a.cc",
      "const unsigned char data[] = {\n#embed \"data.bin\"\n};\nint f() { return data[0] + data[2]; }\n");
  ASSERT_TRUE(result.ok) << errors(result);
  EXPECT_EQ(call(result, "f"), 7 + 255);
  const auto noted = std::find_if(result.dependencies.begin(), result.dependencies.end(),
                                  [&](const Dependency& one) { return one.path == dir / "data.bin"; });
  ASSERT_NE(noted, result.dependencies.end());
  EXPECT_EQ(noted->content, hash_bytes("\x07\0\xFF"s));
}

TEST_F(FileChecksTest, a_text_that_is_edited_is_not_embedded_as_another) {
  if (!have_cuda_headers()) GTEST_SKIP() << "no CUDA headers";
  write_file(dir / "data.bin", "<< < data");
  const CompileResult result = compile_in_dir(
      "a.cu", "const unsigned char data[] = {\n#embed \"data.bin\"\n};\nint f() { return data[2]; }\n");
  if (result.ok) {
    EXPECT_EQ(call(result, "f"), ' ');
  }
  EXPECT_FALSE(result.ok);
  EXPECT_THAT(errors(result), HasSubstr("a.cu:2:"));
}

TEST_F(FileChecksTest, device_code_has_the_hosts_answers_about_headers) {
  if (!have_nvrtc()) GTEST_SKIP() << "no CUDA headers or no NVRTC";
  CompileRequest asked = request("a.cu", R"(
#if __has_include("/etc/passwd") || __has_include ( </etc/passwd> )
#error found elsewhere
#endif
#include "sub/a.h"
__global__ void k(int* p) { *p = FOUND; }
int f() { return FOUND; }
)");
  asked.headers = {
      {"sub/a.h", "#if defined(__has_include) && __has_include(\"b.h\")\n#define FOUND 1\n#endif\n"},
      {"sub/b.h", ""}};
  const CompileResult result = compile(asked);
  ASSERT_TRUE(result.ok) << errors(result);
  EXPECT_EQ(call(result, "f"), 1);
  asked.files[0].text =
      "#ifdef __CUDA_ARCH__\n#if __has_include(\"/etc/passwd\")\n#endif\n#endif\n" + asked.files[0].text;
  EXPECT_THAT(errors(compile(asked)), HasSubstr("a.cu:2:"));
}

TEST_F(FileChecksTest, files_elsewhere_and_fifos_are_absent) {
  ASSERT_EQ(::mkfifo((dir / "pipe").c_str(), 0600), 0);
  const CompileResult result = compile_in_dir("a.cc", R"(
int f() {
  int found = 0;
#if __has_include("/etc/passwd") || __has_include(<../../../../../../etc/passwd>)
  found |= 1;
#endif
#if __has_embed("/etc/passwd") || __has_embed(<../../../../../../etc/passwd>)
  found |= 2;
#endif
#if __has_include("pipe") || __has_embed("pipe") || __has_include("/dev/zero") || __has_embed("/dev/zero")
  found |= 4;
#endif
  return found;
}
)");
  ASSERT_TRUE(result.ok) << errors(result);
  EXPECT_EQ(call(result, "f"), 0);
  for (const char* text :
       {"int a[] = {\n#embed \"/etc/passwd\"\n};\n", "int a[] = {\n#embed \"/dev/zero\"\n};\n",
        "int a[] = {\n#embed \"pipe\"\n};\n", "\n#include \"pipe\"\n"}) {
    const CompileResult refused = compile_in_dir("a.cc", text);
    ASSERT_FALSE(refused.ok) << text;
    EXPECT_THAT(errors(refused), HasSubstr("a.cc:2:"));
    EXPECT_THAT(errors(refused), HasSubstr("not found"));
  }
}

bool climbed(const CompileResult& result) {
  EXPECT_TRUE(result.ok);
  return std::ranges::any_of(result.dependencies, [](const Dependency& d) { return d.path == k_climbed; });
}

TEST_F(FileChecksTest, names_that_lead_past_their_folders_are_noted) {
  for (const char* folder : {"in", "in/sub", "far"}) std::filesystem::create_directory(dir / folder);
  write_file(dir / "far/x.h", "#define VALUE 1\n");
  write_file(dir / "in/x.h", "#define VALUE 2\n");
  write_file(dir / "in/up.h", "#include \"../far/x.h\"\n");
  write_file(dir / "in/sub/up.h", "#include \"../x.h\"\n");
  const auto compiled = [&](const std::string& line, std::vector<std::string> dirs,
                            const char* name = "a.cc") {
    CompileRequest asked = request(name, line + "\nint f() { return 1; }\n");
    asked.options.include_dirs = std::move(dirs);
    return climbed(compile(asked));
  };
  const std::string in = dir / "in", far = dir / "far", whole = "\"" + in + "/x.h\"";
  EXPECT_FALSE(compiled("#include <x.h>", {in}));
  EXPECT_FALSE(compiled("#include <sub/up.h>", {in}));
  EXPECT_FALSE(compiled("#include <sub/../x.h>", {in}));
  EXPECT_TRUE(compiled("#include <up.h>", {in, far}));
  EXPECT_FALSE(compiled("#include <in/up.h>", {dir.path(), in}));
  EXPECT_TRUE(compiled("#include " + whole, {in}));
  EXPECT_TRUE(compiled("#if __has_include(" + whole + ")\n#endif", {in}));
  EXPECT_TRUE(compiled("#if __has_embed(" + whole + ")\n#endif", {in}));
  EXPECT_TRUE(compiled("const char data[] = {\n#embed " + whole + "\n};", {in}));
  EXPECT_FALSE(compiled("#if __has_include(\"/nowhere/x.h\")\n#endif", {in}));
  // With a prelude, which keeps it.
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(compiled("#include <vector>\n#include " + whole, {in}));
}

}  // namespace
}  // namespace tarsia::jit
