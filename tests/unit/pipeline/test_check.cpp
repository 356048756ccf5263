// Sources that are refused before any compiler sees them, and the places that the messages name.
#include "pipeline/check.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace tarsia::pipeline {
namespace {

Source source(const std::string& text, const std::string& name = "a.cc") {
  return {.files = {{name, text}}};
}

Diagnostic refused(const Source& source) {
  try {
    check(source);
  } catch (const InvalidSource& error) {
    EXPECT_EQ(error.stage(), Stage::source);
    return error.diagnostics().at(0);
  }
  ADD_FAILURE() << "taken";
  return {};
}

std::string wrong(const Source& source) {
  try {
    check(source);
  } catch (const ArgumentError& error) {
    EXPECT_EQ(error.code(), ErrorCode::argument_value);
    return error.what();
  }
  return {};
}

TEST(Check, good_sources_pass) {
  check(source("int f() { return 1; }"));
  check(source(""));
  check(source("// ä €\xF0\x9F\x98\x80 \xEF\xBB\xBF 12345678"));
  check(source("int x;", "sub/dir/a..b.cc"));
}

TEST(Check, nul_bytes_and_bad_utf8_are_placed) {
  for (std::size_t at = 0; at < 40; ++at) {
    std::string text = "first line\nsecond line is a bit longer\n";
    text.resize(40, 'x');
    text[at] = '\0';
    const Diagnostic nul = refused(source(text, "bad.cu"));
    const int line = at > 37 ? 3 : at > 10 ? 2 : 1;
    EXPECT_EQ(nul.file, "bad.cu");
    // Where the byte took a newline's place, the next line begins later.
    if (at != 10 && at != 38) {
      EXPECT_EQ(nul.line, line) << at;
      EXPECT_EQ(nul.column, static_cast<int>(line == 1 ? at : line == 2 ? at - 11 : at - 39) + 1) << at;
    }
    EXPECT_NE(nul.message.find("NUL"), std::string::npos);
    text[at] = '\xff';
    EXPECT_NE(refused(source(text)).message.find("0xff"), std::string::npos);
  }
  const Diagnostic placed = refused(source("ab\ncd \xC3\xA4 \x80"));
  EXPECT_EQ(placed.line, 2);
  EXPECT_EQ(placed.column, 7);
}

TEST(Check, malformed_sequences_of_every_sort_are_refused) {
  for (const char* text : {"\x80", "\xC0\xAF", "\xC1\xBF", "\xC3", "\xC3(", "\xE0\x80\xAF", "\xE2\x82",
                           "\xED\xA0\x80", "\xF0\x80\x80\x80", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80",
                           "\xF0\x9F\x98", "\xFE", "\xFF", "12345678\xE2\x82"}) {
    refused(source(text));
  }
  for (const char* text : {"\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEF\xBF\xBF",
                           "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF",
                           "1234567\xC3\xA4"
                           "12345678"}) {
    check(source(text));
  }
}

TEST(Check, headers_are_checked_as_files_are) {
  Source bad = source("int x;");
  bad.headers = {{"h.h", "\xff"}};
  EXPECT_EQ(refused(bad).file, "h.h");
}

TEST(Check, size_has_a_limit) {
  Source big = source(std::string(k_max_source_bytes / 2, 'x'));
  big.headers = {{"h.h", std::string(k_max_source_bytes / 2 + 1, 'x')}};
  EXPECT_NE(refused(big).message.find("64 MiB"), std::string::npos);
}

TEST(Check, file_names_stay_inside_the_source) {
  for (const char* name : {"", "/etc/passwd", "../a.cc", "a/../b.cc", "a/..", "./a.cc", "a//b.cc", "a/",
                           "a\nb.cc", "a\\b.cc", "a\"b.cc"}) {
    EXPECT_NE(wrong(source("", name)), "") << name;
  }
  EXPECT_NE(wrong(Source{}), "");
  Source twice = source("", "a.cc");
  twice.headers = {{"a.cc", ""}};
  EXPECT_NE(wrong(twice).find("two files"), std::string::npos);
}

TEST(Check, options_are_known_ones) {
  const auto with = [](auto change) {
    Source changed = source("");
    change(changed.options);
    return wrong(changed);
  };
  using Options = jit::CompileOptions;
  for (const char* std : {"", "c++98", "c++20 -fplugin=x", "C++20", "c11"}) {
    EXPECT_NE(with([&](Options& o) { o.std = std; }), "") << std;
  }
  for (const char* std : {"c++11", "c++14", "c++17", "c++20", "c++23"}) {
    EXPECT_EQ(with([&](Options& o) { o.std = std; }), "") << std;
  }
  EXPECT_NE(with([&](Options& o) { o.opt = 4; }), "");
  EXPECT_NE(with([&](Options& o) { o.opt = -1; }), "");
  for (const char* arch :
       {"", "native", "90", "sm_", "sm_9", "sm_9000", "sm_9x", "compute_90", "sm_90 -o x"}) {
    EXPECT_NE(with([&](Options& o) { o.archs = {arch}; }), "") << arch;
  }
  for (const char* arch : {"sm_75", "sm_90", "sm_90a", "sm_100f", "sm_120"}) {
    EXPECT_EQ(with([&](Options& o) { o.archs = {arch}; }), "") << arch;
  }
  for (const char* name :
       {"", "1A", "A B", "A=1", "-DA", "A\n#include </etc/passwd>", "F(", "F(x)y", "F(x", "ä"}) {
    EXPECT_NE(with([&](Options& o) { o.defines = {{name, "1"}}; }), "") << name;
  }
  for (const char* name : {"A", "_a1", "F(x)", "F(x, ...)", "F()"}) {
    EXPECT_EQ(with([&](Options& o) { o.defines = {{name, "1"}}; }), "") << name;
  }
  EXPECT_NE(with([&](Options& o) { o.defines = {{"A", "1\n2"}}; }), "");
  for (const char* library : {"", "-lz", "-Wl,-rpath", "z;rm", "z\n", "@file"}) {
    EXPECT_NE(with([&](Options& o) { o.libraries = {library}; }), "") << library;
  }
  for (const char* library : {"z", "stdc++", "libcublas.so.13", "/usr/lib/libz.so", "sub/libx.a"}) {
    EXPECT_EQ(with([&](Options& o) { o.libraries = {library}; }), "") << library;
  }
  EXPECT_EQ(with([&](Options& o) { o.host_headers = "theirs"; }),
            "host_headers 'theirs' is unknown: it may be own or system");
  EXPECT_EQ(with([&](Options& o) { o.std = "c++2"; }),
            "std 'c++2' is unknown: it may be c++11, c++14, c++17, c++20 or c++23");
  EXPECT_EQ(with([&](Options& o) { o.opt = 4; }), "opt 4 is unknown: it may be 0 to 3");
  EXPECT_EQ(with([&](Options& o) { o.kernels_file = "any"; }), "");
  EXPECT_NE(with([&](Options& o) { o.include_dirs = {""}; }), "");
  EXPECT_NE(with([&](Options& o) { o.library_dirs = {"a\nb"}; }), "");
  EXPECT_NE(with([&](Options& o) { o.functions = {""}; }), "");
  EXPECT_NE(with([&](Options& o) { o.functions = {"f\"); evil"}; }), "");
  EXPECT_EQ(with([&](Options& o) { o.functions = {"ns::f"}; }), "");
}

}  // namespace
}  // namespace tarsia::pipeline
