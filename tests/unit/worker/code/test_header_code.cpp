// What of a module is taken out as code of headers, and that a compile finds it again.
#include "jit/worker/code/header_code.h"

#include <gmock/gmock.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "base/file.h"
#include "tests/unit/base/temporary_dir.h"
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
  // Returns the bitcode of all parts; m_part is the last of them. The name tells whose a function is.
  std::string cut(const std::string& text, bool is_fast = false) {
    llvm::SMDiagnostic error;
    m_module = llvm::parseAssemblyString("@counter = external global i32\n" + text, error, m_context);
    EXPECT_TRUE(m_module) << error.getMessage().str();
    if (!m_module) return {};
    const auto origin_of = [](const llvm::GlobalValue& value) {
      if (value.getName().starts_with("user")) return CodeOrigin::user;
      return value.getName().starts_with("of") ? CodeOrigin::instance : CodeOrigin::header;
    };
    m_parts = cut_header_code(*m_module, 7, origin_of, is_fast);
    EXPECT_FALSE(llvm::verifyModule(*m_module, &llvm::errs()));
    std::string all;
    for (const std::string& bitcode : m_parts) {
      auto part = llvm::parseBitcodeFile(llvm::MemoryBufferRef(bitcode, "part"), m_context);
      EXPECT_TRUE(bool(part));
      if (part) m_part = std::move(*part);
      EXPECT_FALSE(llvm::verifyModule(*m_part, &llvm::errs()));
      all += bitcode;
    }
    return all;
  }
  static bool defines(const llvm::Module& module, const char* name) {
    const llvm::GlobalValue* value = module.getNamedValue(name);
    return value && !value->isDeclaration();
  }

  llvm::LLVMContext m_context;
  std::unique_ptr<llvm::Module> m_module, m_part;
  std::vector<std::string> m_parts;
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
  for (const char* body : {"  store i32 1, ptr @user_own\n", "  call void @inner()\n"})
    EXPECT_EQ(cut("@user_own = internal global i32 0\n" + large("linkonce_odr void @h()", body) +
                  large("linkonce_odr void @inner()", "  store i32 1, ptr @user_own\n", 5) +
                  "define void @user() {\n  call void @h()\n  ret void\n}\n"),
              "")
        << body;
  // Another object can refer to what has a symbol.
  EXPECT_NE(cut("@own = global i32 0\n" + large("linkonce_odr void @h()", "  store i32 1, ptr @own\n") +
                "define void @user() {\n  call void @h()\n  ret void\n}\n"),
            "");
}

TEST_F(HeaderCodeTest, static_variables_of_headers_get_symbols) {
  ASSERT_NE(
      cut("@own = internal global i32 0\n@other = internal global i32 0\n" +
          large("linkonce_odr void @h()", "  store i32 1, ptr @own\n  store ptr @callback, ptr @place\n") +
          large("internal void @callback()", "", 5) +
          "@place = external global ptr\ndefine void @user() {\n  call void @h()\n  ret void\n}\n"),
      "");
  EXPECT_TRUE(defines(*m_module, "own.of7") && defines(*m_module, "callback.of7"));
  EXPECT_TRUE(m_module->getNamedValue("own.of7")->hasHiddenVisibility());
  EXPECT_TRUE(defines(*m_module, "other")) << "no part names it";
  EXPECT_TRUE(m_module->getNamedValue("other")->hasLocalLinkage());
  EXPECT_TRUE(m_part->getNamedValue("own.of7") && !defines(*m_part, "own.of7"));
  ASSERT_TRUE(m_part->getNamedValue("callback.of7"));
  EXPECT_TRUE(m_part->getNamedValue("callback.of7")->hasAvailableExternallyLinkage())
      << "LLVM may look into it";
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

// Instructions that nothing is left of once variables are in registers.
std::string of_variables(int count) {
  std::string text = "  %x = alloca i32\n";
  for (int i = 0; i < count; ++i) text += "  store i32 " + std::to_string(i) + ", ptr %x\n";
  return text;
}

TEST_F(HeaderCodeTest, at_full_speed_what_may_be_inlined_stays) {
  const auto with = [&](const std::string& functions, const char* called) {
    return cut(functions + large("linkonce_odr void @much()") +
                   "define void @user() {\n  call void @much()\n" + "  call void @" + called +
                   "()\n  ret void\n}\n",
               true);
  };
  EXPECT_NE(with(large("linkonce_odr void @h()", "", 250), "h"), "");
  EXPECT_TRUE(defines(*m_module, "h"));
  EXPECT_FALSE(defines(*m_module, "much"));
  EXPECT_NE(with(large("linkonce_odr void @h()", "", 350), "h"), "");
  EXPECT_FALSE(defines(*m_module, "h"));
  EXPECT_NE(with(large("linkonce_odr void @h()", of_variables(350), 5), "h"), "");
  EXPECT_TRUE(defines(*m_module, "h")) << "what vanishes does not count";
  // What will be inlined into it counts.
  std::string calls;
  for (int i = 0; i < 5; ++i) calls += "  call void @inner()\n";
  EXPECT_NE(
      with(large("linkonce_odr void @h()", calls, 5) + large("linkonce_odr void @inner()", "", 80), "h"), "");
  EXPECT_FALSE(defines(*m_module, "h"));
  EXPECT_TRUE(defines(*m_part, "inner"));
  EXPECT_NE(
      with(large("linkonce_odr void @h()", calls, 5) + large("linkonce_odr void @inner()", "", 150), "h"),
      "");
  EXPECT_TRUE(defines(*m_module, "h")) << "large functions stay calls";
  // Recursions end.
  EXPECT_NE(with(large("linkonce_odr void @h()", "  call void @inner()\n", 5) +
                     large("linkonce_odr void @inner()", "  call void @h()\n", 5),
                 "h"),
            "");
  EXPECT_TRUE(defines(*m_module, "h"));
}

TEST_F(HeaderCodeTest, instances_are_a_part_of_their_own) {
  const std::string header =
      large("linkonce_odr void @h()", "  call void @inner()\n") + large("linkonce_odr void @inner()", "", 5);
  const std::string user = "define void @user() {\n  call void @h()\n  call void @of()\n  ret void\n}\n";
  cut(header + large("linkonce_odr void @of()", "  call void @h()\n  call void @inner()\n") + user);
  ASSERT_EQ(m_parts.size(), 2u);
  EXPECT_TRUE(defines(*m_part, "of") && defines(*m_part, "inner"));
  EXPECT_FALSE(defines(*m_part, "h"));
  const std::string first = m_parts[0];
  // An instance more.
  cut(header + large("linkonce_odr void @of()") + large("linkonce_odr void @of_another()") +
      "define void @user_more() {\n  call void @of_another()\n  ret void\n}\n" + user);
  ASSERT_EQ(m_parts.size(), 2u);
  EXPECT_EQ(m_parts[0], first);
  // Few instances stay, and those that are in a part of their own need what the other one keeps.
  cut(header + large("linkonce_odr void @of()", "  call void @h()\n", 100) + user);
  ASSERT_EQ(m_parts.size(), 1u);
  EXPECT_EQ(m_parts[0], first);
  EXPECT_TRUE(defines(*m_module, "of"));
  cut(large("linkonce_odr void @h()", "", 100) + large("linkonce_odr void @of()", "  call void @h()\n") +
      user);
  ASSERT_EQ(m_parts.size(), 1u);
  EXPECT_TRUE(defines(*m_part, "of") && defines(*m_part, "h") && defines(*m_module, "h"));
  // Together they are worth it.
  cut(large("linkonce_odr void @h()", "", 3000) + large("linkonce_odr void @of()", "", 3000) + user);
  ASSERT_EQ(m_parts.size(), 1u);
  EXPECT_TRUE(defines(*m_part, "of") && defines(*m_part, "h"));
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
  const auto run = [&](const std::string& source, int opt) {
    CompileRequest asked = request("a.cc", source);
    asked.options.opt = opt;
    asked.options.defines.emplace_back("VERSION", std::to_string(source.size()));
    const CompileResult result = compile(asked);
    EXPECT_TRUE(result.ok) << errors(result);
    const Opened opened(result.module);
    tarsia_value arguments[2] = {}, out = {};
    arguments[0].p = const_cast<char*>("one two 3 four");
    arguments[1].i = 10;
    EXPECT_EQ(opened.function("count")->call(arguments, 2, &out), 0);
    return out.i;
  };
  for (const int opt : {1, 2, 3}) {
    parts.hits.clear();
    parts.kept.clear();
    EXPECT_EQ(run(text, opt), 13);
    const int kept = parts.kept[PartKind::host];
    EXPECT_GT(kept, 0) << opt;
    EXPECT_EQ(run("// a line more\n" + text + "int more() { return 2; }\n", opt), 13);
    EXPECT_EQ(parts.kept[PartKind::host], kept) << opt;
    EXPECT_EQ(parts.hits[PartKind::host], kept) << opt;
  }
}

/// The functions that a module has code of. What is inlined wherever it is called has none.
std::set<std::string> functions_of(const std::string& module) {
  std::set<std::string> names;
  auto file = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(module, "module"));
  EXPECT_TRUE(bool(file)) << llvm::toString(file.takeError());
  if (!file) return names;
  for (const llvm::object::SymbolRef& symbol : (*file)->symbols()) {
    auto type = symbol.getType();
    auto name = symbol.getName();
    if (type && name && *type == llvm::object::SymbolRef::ST_Function) names.insert(name->str());
  }
  return names;
}

TEST_F(HeaderCodeTest, at_full_speed_the_same_functions_are_inlined) {
  CompileRequest asked =
      request("a.cc",
              "#include <regex>\n#include <map>\n#include <string>\n#include <vector>\n"
              "long count(const char* s) {\n  static const std::regex word(\"[a-z]+\");\n"
              "  std::map<std::string, std::vector<long>> found;\n  const std::string t(s);\n"
              "  for (std::sregex_iterator i(t.begin(), t.end(), word), e; i != e; ++i)\n"
              "    found[i->str()].push_back(i->position());\n"
              "  return found.size() + std::regex_replace(t, word, \"<$&>\").size();\n}\n");
  const CompileResult cut = compile(asked);
  const int kept = parts.kept[PartKind::host];
  EXPECT_GT(kept, 0);
  asked.options.cflags = {"-emit-llvm"};  // then nothing is cut
  const CompileResult whole = compile(asked);
  EXPECT_EQ(parts.kept[PartKind::host], kept);
  ASSERT_TRUE(cut.ok && whole.ok) << errors(cut) << errors(whole);
  const std::set<std::string> of_cut = functions_of(cut.module), of_whole = functions_of(whole.module);
  EXPECT_GT(of_whole.size(), 100u);
  std::vector<std::string> others;
  std::ranges::set_symmetric_difference(of_cut, of_whole, std::back_inserter(others));
  // LLVM's own order of work decides about a function of a few instructions.
  EXPECT_LE(others.size(), 2u) << testing::PrintToString(others);
}

TEST_F(HeaderCodeTest, code_of_headers_shares_their_statics_and_the_module_does_not_tell_where_it_came_from) {
  const TemporaryDir dir;
  std::string header =
      "#pragma once\nstatic int counter = 5;\nstatic const int table[] = {1, 20, 300, 4000};\n"
      "static void count() { ++counter; }\nstatic void (*const pointer)() = count;\n"
      "template <class T>\nT much(T x) {\n  static int calls;\n  ++calls;\n  count();\n  pointer();\n";
  for (int i = 0; i < 700; ++i)
    header += "  if (x % 977 == " + std::to_string(i) + ") x += table[x & 3] + calls; else x ^= counter;\n";
  write_file(dir / "much.h", header + "  return table[calls & 3];\n}\n");
  const auto asked = [&](const char* more) {
    CompileRequest result =
        request("a.cc", std::string("#include \"much.h\"\nint f() { much(1L); much(2); "
                                    "const long last = much(3L); return counter * 10000 + int(last); }\n") +
                            more);
    result.options.include_dirs = {dir.path()};
    return result;
  };
  const CompileResult made = compile(asked(""));
  ASSERT_TRUE(made.ok) << errors(made);
  EXPECT_EQ(parts.kept[PartKind::host], 1);
  EXPECT_EQ(call(made, "f"), 110300);
  EXPECT_TRUE(compile(asked("int more() { return 1; }\n")).ok);
  const CompileResult found = compile(asked(""));
  EXPECT_EQ(parts.hits[PartKind::host], 2);
  EXPECT_EQ(parts.kept[PartKind::host], 1);
  EXPECT_TRUE(found.module == made.module);
}

}  // namespace
}  // namespace tarsia::jit
