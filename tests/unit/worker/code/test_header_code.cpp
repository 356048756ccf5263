// What of a module is taken out as code of headers, and that a compile finds it again.
#include "jit/worker/code/header_code.h"

#include <gmock/gmock.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

#include "tests/unit/worker/compile_fixture.h"

namespace tarsia::jit {
namespace {

// A function with this many instructions, and what else is in its body.
std::string large(const std::string& head, const std::string& body = "", int instructions = 5000) {
  std::string text = "define " + head + " {\n" + body;
  for (int i = 0; i < instructions; ++i)
    text += "  store volatile i32 " + std::to_string(i) + ", ptr @counter\n";
  return text + "  ret void\n}\n";
}

class HeaderCodeTest : public CompileTest {
 protected:
  // Returns the bitcode.
  std::string cut(const std::string& text) {
    llvm::SMDiagnostic error;
    m_module = llvm::parseAssemblyString("@counter = external global i32\n" + text, error, m_context);
    EXPECT_TRUE(m_module) << error.getMessage().str();
    if (!m_module) return {};
    std::string bitcode = cut_header_code(*m_module);
    EXPECT_FALSE(llvm::verifyModule(*m_module, &llvm::errs()));
    if (!bitcode.empty()) {
      auto part = llvm::parseBitcodeFile(llvm::MemoryBufferRef(bitcode, "part"), m_context);
      EXPECT_TRUE(bool(part));
      if (part) m_part = std::move(*part);
      EXPECT_FALSE(llvm::verifyModule(*m_part, &llvm::errs()));
    }
    return bitcode;
  }
  static bool defines(const llvm::Module& module, const char* name) {
    const llvm::GlobalValue* value = module.getNamedValue(name);
    return value && !value->isDeclaration();
  }

  llvm::LLVMContext m_context;
  std::unique_ptr<llvm::Module> m_module, m_part;
};

TEST_F(HeaderCodeTest, large_functions_go_and_small_ones_are_copied) {
  ASSERT_NE(cut("$h = comdat any\n$s = comdat any\n" +
                large("linkonce_odr hidden void @h() comdat", "  call void @s()\n") +
                large("linkonce_odr hidden void @s() comdat", "", 5) +
                "define void @user() {\n  call void @h()\n  call void @s()\n  ret void\n}\n"),
            "");
  EXPECT_TRUE(defines(*m_part, "h") && defines(*m_part, "s"));
  EXPECT_TRUE(m_part->getFunction("h")->hasWeakODRLinkage());
  EXPECT_FALSE(m_part->getNamedValue("user"));
  EXPECT_TRUE(defines(*m_module, "user") && defines(*m_module, "s"));
  EXPECT_FALSE(defines(*m_module, "h"));
}

TEST_F(HeaderCodeTest, what_only_the_rest_can_define_keeps_its_users) {
  for (const char* body : {"  store i32 1, ptr @own\n", "  call void @inner()\n"})
    EXPECT_EQ(cut("@own = internal global i32 0\n" + large("linkonce_odr void @h()", body) +
                  large("linkonce_odr void @inner()", "  store i32 1, ptr @own\n", 5) +
                  "define void @user() {\n  call void @h()\n  ret void\n}\n"),
              "")
        << body;
  // Another object can refer to what has a symbol.
  EXPECT_NE(cut("@own = global i32 0\n" + large("linkonce_odr void @h()", "  store i32 1, ptr @own\n") +
                "define void @user() {\n  call void @h()\n  ret void\n}\n"),
            "");
}

TEST_F(HeaderCodeTest, what_is_small_or_reads_files_stays) {
  EXPECT_EQ(cut(large("linkonce_odr void @h()", "", 500) +
                "define void @user() {\n  call void @h()\n  ret void\n}\n"),
            "");
  EXPECT_EQ(
      cut(large("linkonce_odr void @h()", "  call void asm sideeffect \".incbin \\22a\\22\", \"\"()\n") +
          "define void @user() {\n  call void @h()\n  ret void\n}\n"),
      "");
}

TEST_F(HeaderCodeTest, the_bytes_do_not_depend_on_the_rest) {
  const std::string header =
      "@.str.NUMBER = private unnamed_addr constant [2 x i8] c\"a\\00\"\n"
      "%record.NUMBER = type { i32, ptr }\n" +
      large("linkonce_odr void @h()", "  %r = alloca %record.NUMBER\n  store ptr @.str.NUMBER, ptr %r\n");
  const auto with = [&](std::string number, const std::string& rest) {
    std::string text = header;
    for (size_t at; (at = text.find("NUMBER")) != text.npos;) text.replace(at, 6, number);
    return cut(text + rest + "define void @user() {\n  call void @h()\n  ret void\n}\n");
  };
  const std::string first = with("1", "");
  EXPECT_NE(first, "");
  EXPECT_EQ(first, with("7",
                        "@other = private unnamed_addr constant [2 x i8] c\"b\\00\"\ndefine ptr @a() {\n  "
                        "ret ptr @other\n}\n"));
}

TEST_F(HeaderCodeTest, an_edit_makes_no_code_of_headers_again) {
  const std::string text =
      "#include <regex>\n#include <string>\n"
      "int count(const char* s, int more) {\n  static const std::regex word(\"[a-z]+\");\n"
      "  std::string t(s); int n = more;\n"
      "  for (std::sregex_iterator i(t.begin(), t.end(), word), e; i != e; ++i) ++n;\n  return n;\n}\n";
  const auto run = [&](const std::string& source, int opt = 1) {
    CompileRequest asked = request("a.cc", source);
    asked.options.opt = opt;
    const CompileResult result = compile(asked);
    EXPECT_TRUE(result.ok) << errors(result);
    const Opened opened(result.module);
    tarsia_value arguments[2] = {}, out = {};
    arguments[0].p = const_cast<char*>("one two 3 four");
    arguments[1].i = 10;
    EXPECT_EQ(opened.function("count")->call(arguments, 2, &out), 0);
    return out.i;
  };
  EXPECT_EQ(run(text, 2), 13);
  EXPECT_EQ(parts.kept[PartKind::host], 0) << "code of full speed is not cut";
  EXPECT_EQ(run(text), 13);
  EXPECT_EQ(parts.kept[PartKind::host], 1);
  EXPECT_EQ(run("// a line more\n" + text + "int more() { return 2; }\n"), 13);
  EXPECT_EQ(parts.kept[PartKind::host], 1);
  EXPECT_EQ(parts.hits[PartKind::host], 1);
}

}  // namespace
}  // namespace tarsia::jit
