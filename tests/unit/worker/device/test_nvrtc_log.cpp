// Logs of NVRTC, read as diagnostics.
#include "jit/worker/device/nvrtc_log.h"

#include <gtest/gtest.h>

namespace tarsia::jit {
namespace {

// The logs are NVRTC's own, of versions 12.9 and 13.5.
TEST(NvrtcLog, a_message_has_file_line_and_column) {
  auto got = parse_nvrtc_log(
      "relu.cu(12): error: identifier \"foo\" is undefined\n"
      "    y[i] = foo(x);\n"
      "           ^\n\n"
      "1 error detected in the compilation of \"relu.cu\".\n");
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(format(got[0]), "relu.cu:12:10: error: identifier \"foo\" is undefined");
}

TEST(NvrtcLog, warnings_lose_their_numbers_and_the_hints) {
  auto got = parse_nvrtc_log(
      "a.cu(6): warning #68-D: integer conversion resulted in a change of sign\n"
      "     unsigned u = -1;\n"
      "                  ^\n\n"
      "Remark: The warnings can be suppressed with \"-diag-suppress <warning-number>\"\n\n");
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].severity, Severity::warning);
  EXPECT_EQ(got[0].message, "integer conversion resulted in a change of sign [#68-D]");
  EXPECT_EQ(got[0].column, 17);
}

TEST(NvrtcLog, messages_go_on_over_lines_and_notes_follow) {
  auto got = parse_nvrtc_log(
      "a.cu(4): error: no operator \"=\" matches these operands\n"
      "            operand types are: Local = int\n"
      "    *p = 2;\n"
      "       ^\n"
      "a.cu(3): note #3326-D: function \"Local::operator=(Local &&)\" does not match\n"
      "  struct Local { int x; };\n"
      "         ^\n"
      "          detected during instantiation of \"void at(T *) [with T=Local]\" at line 9 of b.cuh\n\n");
  ASSERT_EQ(got.size(), 3u);
  EXPECT_EQ(got[0].message, "no operator \"=\" matches these operands\noperand types are: Local = int");
  EXPECT_EQ(got[1].severity, Severity::note);
  EXPECT_EQ(got[1].line, 3);
  EXPECT_EQ(format(got[2]), "b.cuh:9: note: in instantiation of \"void at(T *) [with T=Local]\"");
}

TEST(NvrtcLog, a_list_of_instantiations_is_a_note_each) {
  auto got = parse_nvrtc_log(
      "a.cu(1): error: name followed by \"::\" must be a class or namespace name\n"
      "  template <class T> struct A { typename T::nope x; };\n"
      "                                         ^\n"
      "          detected during:\n"
      "            instantiation of class \"A<T> [with T=int]\" at line 2\n"
      "            instantiation of \"void h(T) [with T=int]\" at line 4\n");
  ASSERT_EQ(got.size(), 3u);
  EXPECT_EQ(got[1].line, 2);
  EXPECT_EQ(got[1].file, "a.cu");
  EXPECT_EQ(got[2].line, 4);
}

TEST(NvrtcLog, tabs_and_utf8_before_the_caret_count_as_bytes) {
  auto got = parse_nvrtc_log(
      "a.cu(2): error: identifier \"b\" is undefined\n  \tint \tx = /*\xc3\xa9*/ b;\n  \t    \t           "
      "^\n");
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].column, 18);
}

TEST(NvrtcLog, messages_without_a_place_are_kept) {
  EXPECT_EQ(parse_nvrtc_log("nvrtc: error: invalid value for --gpu-architecture (-arch)\n").at(0).message,
            "invalid value for --gpu-architecture (-arch)");
  EXPECT_EQ(parse_nvrtc_log("At end of source: error: expected a \"}\"\n").at(0).severity, Severity::error);
  EXPECT_EQ(
      parse_nvrtc_log(
          "a.cu(9): catastrophic error: cannot open source file \"x.h\"\n  #include \"x.h\"\n          ^\n")
          .at(0)
          .severity,
      Severity::fatal);
  EXPECT_TRUE(parse_nvrtc_log("\"a.cu\": using precompiled header file \"/x.pch\"\n\n").empty());
  EXPECT_TRUE(parse_nvrtc_log("").empty());
}

TEST(NvrtcLog, too_many_parameters_have_a_place) {
  const auto diagnostics = parse_nvrtc_log(
      "a.cu(3): Error: Formal parameter space overflowed (40008 bytes required, max 32764 bytes allowed) in "
      "function _Z1k3BigPf\n\nptxas fatal   : Ptx assembly aborted due to errors\n");
  ASSERT_EQ(diagnostics.size(), 1u);
  EXPECT_EQ(diagnostics[0].severity, Severity::error);
  EXPECT_EQ(diagnostics[0].line, 3);
}

TEST(NvrtcLog, names_in_messages_of_ptxas_are_demangled) {
  auto got = parse_nvrtc_log(
      "ptxas error   : Entry function '_Z1kPi' uses too much shared data (0x61a80 bytes, 0xc000 max)\n");
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].message,
            "ptxas: Entry function 'k(int*)' uses too much shared data (0x61a80 bytes, 0xc000 max)");
}

TEST(NvrtcLog, file_names_may_hold_parentheses) {
  auto got = parse_nvrtc_log("dir (1)/a(2): b.cu(3): error: boom\n");
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].file, "dir (1)/a(2): b.cu");
  EXPECT_EQ(got[0].line, 3);
}

TEST(NvrtcLog, lines_of_ptx_lead_to_lines_of_the_source) {
  const char* ptx =
      ".visible .entry k()\n{\n\t.loc\t1 4 0\n\t.loc\t1 2 3, function_name $L__info_string0, inlined_at 1 4 "
      "17\n"
      "\tbogus.u32 %r1;\n\t.loc\t2 5 2\n\tret;\n}\n\t.file\t1 \"/w/a.cu\"\n\t.file\t2 \"/w/b.cuh\"\n";
  Diagnostic place = source_of_ptx_line(ptx, 5);
  EXPECT_EQ(place.file, "/w/a.cu");
  EXPECT_EQ(place.line, 2);
  EXPECT_EQ(place.column, 3);
  EXPECT_EQ(source_of_ptx_line(ptx, 7).file, "/w/b.cuh");
  EXPECT_EQ(source_of_ptx_line(ptx, 1).line, 0);
}

}  // namespace
}  // namespace tarsia::jit
