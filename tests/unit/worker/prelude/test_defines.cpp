// Preludes and the macros that options define: which they depend on, and that others share them.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "jit/worker/source/macros/define_use.h"
#include "tests/unit/base/temporary_dir.h"
#include "tests/unit/worker/compile_fixture.h"

namespace tarsia::jit {
namespace {

using Values = std::map<std::string, std::string>;

class PreludeDefines : public CompileTest {
 protected:
  PreludeDefines() { write("inline int inner() { return 1; }\n"); }

  /// The text of a header that the sources include below <map>.
  void write(const std::string& text) {
    write_file(dir.path() + "/own.h", "#pragma once\n#include <map>\n" + text);
  }

  /// By a new worker, with what was kept so far.
  CompileResult compile(const std::string& text, const Values& defines, bool has_preludes = true) {
    CompileRequest asked = request("a.cc", text);
    asked.options.include_dirs = m_folders;
    for (const auto& [name, value] : defines) asked.options.defines.emplace_back(name, value);
    TestParts none;
    Worker worker(test_pack(), has_preludes ? TARSIA_TEST_PRELUDES : "");
    return worker.compile(asked, has_preludes ? parts : none);
  }

  static std::string prelude_of(const CompileResult& result) {
    for (const auto& [step, time] : result.timings)
      if (step.starts_with("prelude")) return step;
    return "none";
  }

  /// What f() gives, and how the prelude was come by.
  std::pair<int, std::string> run(const std::string& text, const Values& defines) {
    const CompileResult result = compile(text, defines);
    EXPECT_TRUE(result.ok) << errors(result);
    if (!result.ok) return {-1000, ""};
    const Opened opened(result.module);
    tarsia_value out = {};
    EXPECT_EQ(opened.function("f")->call(nullptr, 0, &out), 0);
    return {int(out.i), prelude_of(result)};
  }

  TemporaryDir dir;
  std::vector<std::string> m_folders{dir.path()};
};

std::pair<int, std::string> made(int value) {
  return {value, "prelude made"};
}
std::pair<int, std::string> kept(int value) {
  return {value, "prelude kept"};
}

constexpr char k_value[] =
    "#include <vector>\n#include <own.h>\n#ifdef VALUE\nint f() { return VALUE; }\n#else\nint f() { return "
    "-1; }\n#endif\n";

TEST_F(PreludeDefines, those_that_no_header_mentions_share_one) {
  EXPECT_EQ(run(k_value, {{"VALUE", "1"}}), made(1));
  EXPECT_EQ(run(k_value, {{"VALUE", "2"}}), kept(2));
  EXPECT_EQ(run(k_value, {}), kept(-1));
  EXPECT_EQ(run(k_value, {{"VALUE", "3"}, {"OTHER", "4"}}), kept(3));
  // The module is that of a worker without preludes.
  EXPECT_TRUE(compile(k_value, {{"VALUE", "2"}}).module == compile(k_value, {{"VALUE", "2"}}, false).module);
}

TEST_F(PreludeDefines, those_that_a_header_depends_on_have_their_own) {
  const std::string text = "#include <own.h>\nint f() { return inner(); }\n";
  for (const char* header :
       {"#ifdef SIZE\ninline int inner() { return 7; }\n#else\ninline int inner() { return 5; }\n#endif\n",
        "#ifndef SIZE\ninline int inner() { return 5; }\n#else\ninline int inner() { return 7; }\n#endif\n",
        "#if 0\n#elifdef SIZE\ninline int inner() { return 7; }\n#else\ninline int inner() { return 5; "
        "}\n#endif\n",
        "#if defined(SIZE)\ninline int inner() { return 7; }\n#else\ninline int inner() { return 5; "
        "}\n#endif\n",
        "#if SIZE\ninline int inner() { return 7; }\n#else\ninline int inner() { return 5; }\n#endif\n",
        "#define JOINED(a, b) a##b\nenum { SIZE_IS = 5 };\n#define NAME JOINED(SI, ZE)\n#if NAME == 7\n"
        "inline int inner() { return NAME; }\n#else\ninline int inner() { return 5; }\n#endif\n",
        "#pragma push_macro(\"SIZE\")\n#ifndef SIZE\n#define SIZE 5\n#endif\ninline int inner() { return "
        "SIZE; }\n"
        "#pragma pop_macro(\"SIZE\")\n"}) {
    SCOPED_TRACE(header);
    write(header);
    EXPECT_EQ(run(text, {}), made(5));
    EXPECT_EQ(run(text, {{"SIZE", "7"}}), made(7));
    EXPECT_EQ(run(text, {{"SIZE", "7"}, {"OTHER", "1"}}), kept(7));
  }
  EXPECT_EQ(run(text, {{"OTHER", "1"}}), kept(5));
  EXPECT_EQ(run(text, {}), kept(5));
  write(
      "#ifdef SIZE\ninline int inner() { return 7; }\n#else\ninline int inner() { return 5; }\n#endif\n// "
      "again\n");
  EXPECT_EQ(run(text, {{"SIZE", "7"}}), made(7));
  EXPECT_EQ(run(text, {}), made(5));
}

TEST_F(PreludeDefines, a_header_may_change_them) {
  for (const auto& [header, value] :
       {std::pair("#undef VALUE\n", -1), std::pair("#undef VALUE\n#define VALUE 9\n", 9),
        std::pair("#ifndef VALUE\n#define VALUE 9\n#endif\n", 4)}) {
    SCOPED_TRACE(header);
    write(header);
    EXPECT_EQ(run(k_value, {{"VALUE", "4"}}), made(value));
    EXPECT_EQ(run(k_value, {{"VALUE", "4"}}), kept(value));
    EXPECT_EQ(run(std::string(k_value) + "int g() { return 1; }\n", {{"VALUE", "4"}}), kept(value));
    EXPECT_TRUE(compile(k_value, {{"VALUE", "4"}}).module ==
                compile(k_value, {{"VALUE", "4"}}, false).module);
  }
}

TEST_F(PreludeDefines, a_macro_of_a_header_may_name_them) {
  write("#define NAMED VALUE\n");
  const std::string text = "#include <own.h>\nint f() { return NAMED; }\n";
  EXPECT_EQ(run(text, {{"VALUE", "3"}}), made(3));
  EXPECT_EQ(run(text, {{"VALUE", "4"}}), kept(4));
  write("#define NAMED VALUE // again\n");
  EXPECT_EQ(run("#include <own.h>\nint f() { return 1; }\n", {}), made(1));
  EXPECT_EQ(run(text, {{"VALUE", "5"}}), made(5));
  EXPECT_EQ(run(text, {{"VALUE", "6"}}), kept(6));
}

TEST_F(PreludeDefines, what_is_known_of_one_macro_is_not_forgotten_for_another) {
  write("#define ONE FIRST\n#define TWO SECOND\n");
  const std::string text =
      "#include <own.h>\n#ifdef FIRST\nint f() { return ONE; }\n#else\nint f() { return TWO; }\n#endif\n";
  EXPECT_EQ(run(text, {{"FIRST", "3"}}), made(3));
  EXPECT_EQ(run(text, {{"SECOND", "4"}}), made(4));
  EXPECT_EQ(run(text, {{"FIRST", "5"}}), kept(5));
  EXPECT_EQ(run(text, {{"SECOND", "6"}}), kept(6));
  EXPECT_EQ(run(text, {{"FIRST", "7"}, {"SECOND", "8"}}), kept(7));
}

TEST_F(PreludeDefines, a_layer_may_stand_on_one_that_depends_on_a_macro) {
  write(
      "#ifdef SIZE\ninline int inner() { return SIZE; }\n#else\ninline int inner() { return 5; }\n#endif\n");
  const std::string upper = dir.path() + "/upper";
  std::filesystem::create_directory(upper);
  write_file(upper + "/second.h", "#pragma once\n#include <set>\ninline int second() { return 1; }\n");
  m_folders.push_back(upper);
  const std::string text = "#include <own.h>\n#include <second.h>\nint f() { return inner() + second(); }\n";
  EXPECT_EQ(run(text, {{"SIZE", "7"}}), made(8));
  EXPECT_EQ(parts.kept[PartKind::prelude], 3);  // two layers, and the list of macros
  EXPECT_EQ(run(text, {{"SIZE", "7"}}), kept(8));
  EXPECT_EQ(run(text, {{"SIZE", "7"}, {"OTHER", "1"}}), kept(8));
  EXPECT_EQ(run(text, {{"SIZE", "9"}}), made(10));
  EXPECT_EQ(run(text, {}), made(6));
}

TEST_F(PreludeDefines, a_layer_stands_on_the_very_one_that_it_was_made_on) {
  const std::string upper = dir.path() + "/upper";
  std::filesystem::create_directory(upper);
  write_file(upper + "/second.h", "#pragma once\n#include <set>\ninline int second() { return 1; }\n");
  m_folders.push_back(upper);
  const std::string lower = "#include <own.h>\n#include <list>\nint f() { return inner(); }\n";
  const std::string both =
      "#include <own.h>\n#include <list>\n#include <second.h>\nint f() { return inner() + second(); }\n";
  EXPECT_EQ(run(both, {{"FIRST", "1"}}), made(2));
  // Another process made the lower layer at the same time, and kept it last.
  TestParts others;
  CompileRequest asked = request("a.cc", lower);
  asked.options.include_dirs = m_folders;
  asked.options.defines.emplace_back("ANOTHER_MACRO_OF_A_LONGER_NAME", "1");
  ASSERT_TRUE(Worker(test_pack(), TARSIA_TEST_PRELUDES).compile(asked, others).ok);
  const size_t kept_before = parts.bytes(PartKind::prelude);
  parts.take(others);
  EXPECT_NE(parts.bytes(PartKind::prelude), kept_before) << "of the same key, and of another size";
  EXPECT_EQ(run(lower, {}), kept(1));
  EXPECT_EQ(run(both, {}), made(2));
  EXPECT_EQ(run(both, {}), kept(2));
}

TEST_F(PreludeDefines, those_with_parameters_and_reserved_names_have_their_own) {
  const std::string text = "#include <own.h>\nint f() { return TWICE(2) + __OWN; }\n";
  EXPECT_EQ(run(text, {{"TWICE(x)", "(2 * (x))"}, {"__OWN", "1"}}), made(5));
  EXPECT_EQ(run(text, {{"TWICE(x)", "(2 * (x))"}, {"__OWN", "1"}, {"MORE", "1"}}), kept(5));
  EXPECT_EQ(run(text, {{"TWICE(x)", "(3 * (x))"}, {"__OWN", "1"}}), made(7));
  EXPECT_EQ(run(text, {{"TWICE(x)", "(3 * (x))"}, {"__OWN", "2"}}), made(8));
}

TEST_F(PreludeDefines, shipped_ones_serve_all_that_their_headers_do_not_mention) {
  const std::string text =
      "#include <vector>\n#include <string>\nint f() { return std::vector<int>(VALUE).size(); }\n";
  EXPECT_EQ(run(text, {{"VALUE", "3"}, {"BLOCK_SIZE", "128"}}), std::pair(3, std::string("prelude shipped")));
  CompileRequest cuda =
      request("a.cu", "__global__ void k(float* x) { *x = VALUE; }\nint f() { return VALUE; }\n");
  cuda.options.defines.emplace_back("VALUE", "5");
  const CompileResult result = Worker(test_pack(), TARSIA_TEST_PRELUDES).compile(cuda, parts);
  ASSERT_TRUE(result.ok) << errors(result);
  EXPECT_EQ(prelude_of(result), "prelude shipped");
}

TEST(DefineUse, words_are_found) {
  EXPECT_FALSE(mentions({}, "size"));
  EXPECT_TRUE(mentions({}, "_Size"));
  EXPECT_TRUE(mentions({}, "__size"));
  EXPECT_EQ(common_words("aaaabbbbcccc", "bbbbdddd"), "bbbb");
}

}  // namespace
}  // namespace tarsia::jit
