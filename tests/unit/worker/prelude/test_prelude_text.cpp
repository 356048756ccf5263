// Which leading includes become a prelude, and in which order.
#include "jit/worker/prelude/prelude_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tarsia::jit {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

PreludeText text_of(const std::string& source, const std::string& own_header = "own.h",
                    const std::string& own_text = "") {
  CompileRequest request;
  request.headers.push_back({own_header, own_text});
  return prelude_text(leading_includes({"a.cc", source}, request).includes);
}

TEST(PreludeText, order_and_repetition_of_standard_headers_do_not_count) {
  EXPECT_THAT(text_of("#include <vector>\n#include <map> // why\n/* and */ #include <vector>\nint x;").free,
              ElementsAre("<map>", "<vector>"));
  EXPECT_THAT(text_of("#include \"tarsia/op.h\"\n#include <cmath>\n").free,
              ElementsAre("<cmath>", "<tarsia/op.h>"));
}

TEST(PreludeText, other_headers_keep_their_order_and_end_the_run) {
  PreludeText text = text_of("#include <vector>\n#include <sys/wait.h>\n#include <omp.h>\n#include <map>\n");
  EXPECT_THAT(text.free, ElementsAre("<vector>"));
  EXPECT_THAT(text.ordered, ElementsAre("<sys/wait.h>", "<omp.h>", "<map>"));
}

TEST(PreludeText, macros_that_no_header_knows_do_not_end_it) {
  EXPECT_THAT(text_of("#define N 16\r\n#define CHECK(x) \\\n  x\n#include <vector>\n").free,
              ElementsAre("<vector>"));
  for (const char* macro : {"_GNU_SOURCE", "min(a, b) a", "NDEBUG", "CUDA_NO_HALF", "__N", "INT_MAX 3"})
    EXPECT_THAT(text_of(std::string("#define ") + macro + "\n#include <vector>\n").free, IsEmpty()) << macro;
}

TEST(PreludeText, macros_that_mobula_asks_for_end_it_where_it_may_follow) {
  for (const char* macro : {"LOG(x)", "CHECK(x) x", "USING_CUDA 1", "HOST_NUM_THREADS 4"}) {
    const std::string define = std::string("#define ") + macro + "\n";
    EXPECT_THAT(text_of(define + "#include <vector>\n").free, ElementsAre("<vector>")) << macro;
    EXPECT_THAT(text_of(define + "#include <vector>\n#include <mobula_op.h>\n").free, IsEmpty()) << macro;
    EXPECT_THAT(text_of(define + "#include \"own.h\"\n", "own.h", "#include \"mobula_op.h\"\n").free,
                IsEmpty())
        << macro;
  }
}

TEST(PreludeText, a_cuda_source_has_a_layer_for_each_header_that_is_not_cheap) {
  EXPECT_THAT(cuda_layers({"<stdio.h>", "\"cuda_runtime.h\"", "<vector>", "<chrono>", "\"cuda_fp16.h\"",
                           "<iostream>", "<vector>"}),
              ElementsAre("cuda_fp16.h", "iostream", "vector", "chrono"));
  EXPECT_THAT(cuda_layers({"<vector>", "<omp.h>", "<map>"}), ElementsAre("vector", "map"));
  EXPECT_THAT(cuda_layers({"<vector>", "<third.h>", "<map>"}), ElementsAre("vector"));
}

TEST(PreludeText, a_header_of_the_users_is_looked_into) {
  for (const char* own : {"#include <map>\nint x;\n", "// it\n#pragma once\n#include <map>\n",
                          "/* it */\n#ifndef OWN_H_\n#define OWN_H_\n\n#include <map>\n#endif\n"})
    EXPECT_THAT(text_of("#include <vector>\n#include \"own.h\"\n#include <set>\n", "own.h", own).free,
                ElementsAre("<map>", "<vector>"))
        << own;
  for (const char* own : {"#ifndef A\n#define B\n#include <map>\n", "#ifdef A\n#include <map>\n#endif\n",
                          "int x;\n#include <map>\n", "#include \"own.h\"\n#include <map>\n"})
    EXPECT_THAT(text_of("#include <vector>\n#include \"own.h\"\n", "own.h", own).free,
                ElementsAre("<vector>"))
        << own;
  EXPECT_THAT(text_of("#include \"sub/own.h\"\n", "sub/own.h", "#include <map>\n").free, IsEmpty());
}

TEST(PreludeText, it_ends_where_something_else_begins) {
  EXPECT_THAT(text_of("#include <vector>\n#if 1\n#include <map>\n").free, ElementsAre("<vector>"));
  EXPECT_THAT(text_of("#include <vector> int x;\n").free, IsEmpty());
  EXPECT_THAT(text_of("#include \"mine.h\"\n#include <map>\n").free, IsEmpty());
  EXPECT_THAT(text_of("#include <vector>\n", "vector").free, IsEmpty());
}

}  // namespace
}  // namespace tarsia::jit
