// What inline assembly reads: the files that an #include would find, and no others.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "base/hash.h"
#include "tests/unit/base/temporary_dir.h"
#include "tests/unit/worker/compile_fixture.h"

namespace tarsia::jit {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr char k_secret[] = "plantedsecret";

class AssemblerFilesTest : public CompileTest {
 protected:
  static const Dependency* dependency(const CompileResult& result, const std::string& path) {
    for (const Dependency& one : result.dependencies)
      if (one.path == path) return &one;
    return nullptr;
  }
  TemporaryDir dir;
};

// The first byte of `name`, by inline assembly within a function.
std::string first_byte_of(const std::string& name) {
  return "int first() {\n  const unsigned char* at;\n"
         "  asm(\".pushsection .rodata\\n1: .incbin \\\"" +
         name + "\\\"\\n.popsection\\nleaq 1b(%%rip), %0\" : \"=r\"(at));\n  return *at;\n}\n";
}

TEST_F(AssemblerFilesTest, a_file_of_an_include_directory_is_read_and_noted) {
  write_file(dir / "data.bin", std::string("\xFE\0more", 6));
  CompileRequest asked = request("a.cc", first_byte_of("data.bin"));
  asked.options.include_dirs = {dir.path()};
  const CompileResult result = compile(asked);
  ASSERT_TRUE(result.ok) << errors(result);
  EXPECT_EQ(call(result, "first"), 0xFE);
  const Dependency* noted = dependency(result, dir / "data.bin");
  ASSERT_NE(noted, nullptr);
  EXPECT_FALSE(noted->absent);
  EXPECT_EQ(noted->content, hash_bytes(std::string("\xFE\0more", 6)));
}

TEST_F(AssemblerFilesTest, an_included_file_of_assembly_is_noted) {
  write_file(dir / "value.inc", "movl $42, %eax\n");
  CompileRequest asked =
      request("a.cc", "int f() { int x; asm(\".include \\\"value.inc\\\"\" : \"=a\"(x)); return x; }\n");
  asked.options.include_dirs = {dir.path()};
  const CompileResult result = compile(asked);
  ASSERT_TRUE(result.ok) << errors(result);
  EXPECT_EQ(call(result, "f"), 42);
  EXPECT_NE(dependency(result, dir / "value.inc"), nullptr);
}

TEST_F(AssemblerFilesTest, a_header_given_as_text_is_found) {
  CompileRequest asked = request("a.cc", first_byte_of("sub/data.txt"));
  asked.headers.push_back({"sub/data.txt", "zeta"});
  const CompileResult result = compile(asked);
  ASSERT_TRUE(result.ok) << errors(result);
  EXPECT_EQ(call(result, "first"), 'z');
}

TEST_F(AssemblerFilesTest, both_halves_of_a_large_source_read) {
  write_file(dir / "data.bin", "q");
  std::string text;
  for (const char* name : {"a", "b"}) {
    text += "extern \"C\" __attribute__((noinline)) int loop_" + std::string(name) +
            "(int* p, int n) { int s = 0;\n";
    for (int i = 0; i < 40; ++i)
      text += "for (int i = 0; i < n; ++i) s += p[i] * " + std::to_string(i + 3) + " ^ s;\n";
    text += "return s; }\nstruct S_" + std::string(name) + " {};\n";
    std::string function = first_byte_of("data.bin");
    function.replace(function.find("first"), 5, "first_" + std::string(name));
    text += function;
  }
  CompileRequest asked = request("a.cc", text);
  asked.options.include_dirs = {dir.path()};
  const CompileResult result = compile(asked);
  ASSERT_TRUE(result.ok) << errors(result);
  EXPECT_EQ(call(result, "first_a"), 'q');
  EXPECT_EQ(call(result, "first_b"), 'q');
}

TEST_F(AssemblerFilesTest, files_elsewhere_are_not_read_however_they_are_named) {
  write_file(dir / "secret", std::string(k_secret) + " not an instruction\n");
  ASSERT_EQ(::mkdir((dir / "open").c_str(), 0700), 0);
  const std::string secret = dir / "secret", quoted = "\\\"" + secret + "\\\"";
  std::string octal;  // the assembler's escapes
  for (unsigned char c : secret) {
    char escape[8];
    std::snprintf(escape, sizeof escape, "\\\\%03o", c);
    octal += escape;
  }
  const struct {
    std::string text;
    int line;
  } cases[] = {
      {"int f() {\n  asm(\".include " + quoted + "\");\n  return 1;\n}\n", 2},
      {"int f() {\n  asm(\".incbin " + quoted + "\");\n  return 1;\n}\n", 2},
      {"int f() {\n  asm(\".incbin \\\"../open/../secret\\\"\");\n  return 1;\n}\n", 2},
      {"int f() {\n  asm(\".incbin \\\"" + octal + "\\\"\");\n  return 1;\n}\n", 2},
      {"int g;\nasm(\".globl x\\nx: .byte 1\");\nasm(\".data\\n.incbin " + quoted +
           "\\n.text\");\nint f() { return 1; }\n",
       3},
      {"asm(\".include " + quoted + "\");\nint f() { return 1; }\n", 1},
      {"__attribute__((naked)) int f() {\n  asm(\".incbin " + quoted + "\\nret\");\n}\n", 2},
      {"asm(\".macro take word, name\\n.in\\\\word \\\\name\\n.endm\\ntake cbin, " + quoted +
           "\");\nint f() { return 1; }\n",
       1},
      {"asm(\".altmacro\\n.macro take name\\n.include name\\n.endm\\ntake <" + quoted +
           ">\");\nint f() { return 1; }\n",
       1},
      {"asm(\".irp word, clude\\n.in\\\\word " + quoted + "\\n.endr\");\nint f() { return 1; }\n", 1},
  };
  for (const auto& [text, line] : cases) {
    CompileRequest asked = request("a.cc", text);
    asked.options.include_dirs = {dir / "open"};
    const CompileResult result = compile(asked);
    ASSERT_FALSE(result.ok) << text;
    EXPECT_THAT(errors(result), HasSubstr("a.cc:" + std::to_string(line) + ":")) << text;
    EXPECT_THAT(errors(result), Not(HasSubstr(k_secret))) << text;
    EXPECT_EQ(dependency(result, secret), nullptr) << text;
  }
}

TEST_F(AssemblerFilesTest, links_of_the_worker_do_not_open_the_machine_again) {
  write_file(dir / "secret", k_secret);
  ASSERT_TRUE(compile(request("a.cc", "int f() { return 1; }\n")).ok);
  const CompileResult result = compile(request("a.cc", first_byte_of(dir / "secret")));
  EXPECT_FALSE(result.ok);
  EXPECT_THAT(errors(result), HasSubstr("include_dirs"));
}

TEST_F(AssemblerFilesTest, a_fifo_is_as_absent) {
  ASSERT_EQ(::mkfifo((dir / "pipe").c_str(), 0600), 0);
  // Whoever reads it gets something, so that a failure of this test is no hang.
  std::thread writer([&] {
    const UniqueFd pipe(::open((dir / "pipe").c_str(), O_WRONLY | O_CLOEXEC));
    static_cast<void>(write_all(pipe.get(), "x"));
  });
  CompileRequest asked = request("a.cc", first_byte_of("pipe"));
  asked.options.include_dirs = {dir.path()};
  const CompileResult result = compile(asked);
  const UniqueFd reader(::open((dir / "pipe").c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  writer.join();
  EXPECT_FALSE(result.ok);
  EXPECT_THAT(errors(result), HasSubstr("a.cc:3:"));
}

TEST_F(AssemblerFilesTest, host_objects_of_cuda_sources_follow_the_file) {
  if (!have_nvrtc()) GTEST_SKIP() << "no CUDA headers or no NVRTC";
  // The second text would be taken for the brackets of a launch, were it no data.
  for (const std::string content : {"a", "<< < a"}) {
    write_file(dir / "data.bin", content);
    CompileRequest asked =
        request("a.cu", first_byte_of("data.bin") + "__global__ void k(int* p) { *p = 1; }\n");
    asked.options.include_dirs = {dir.path()};
    const CompileResult result = compile(asked);
    ASSERT_TRUE(result.ok) << errors(result);
    EXPECT_EQ(call(result, "first"), content[0]);
    EXPECT_THAT(result.module, HasSubstr(content));
  }
}

}  // namespace
}  // namespace tarsia::jit
