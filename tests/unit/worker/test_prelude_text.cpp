#include "jit/worker/prelude_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tarsia::jit {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

PreludeText text_of(const std::string& source, const std::string& own_header = "own.h", bool cuda = false) {
  CompileRequest request;
  request.headers.push_back({own_header, ""});
  return prelude_text(leading_includes({"a.cc", source}, request), cuda);
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

TEST(PreludeText, cuda_sources_have_the_runtimes_headers_already) {
  const char* text = "#include <stdio.h>\n#include \"cuda_runtime.h\"\n#include <vector>\n";
  EXPECT_THAT(text_of(text, "own.h", true).free, ElementsAre("<cuda_runtime.h>", "<stdio.h>", "<vector>"));
  EXPECT_THAT(text_of(text, "own.h", false).ordered, ElementsAre("\"cuda_runtime.h\"", "<vector>"));
  EXPECT_THAT(text_of("#include <cuda_fp16.h>\n", "own.h", true).ordered, ElementsAre("<cuda_fp16.h>"));
}

TEST(PreludeText, it_ends_where_something_else_begins) {
  EXPECT_THAT(text_of("#include <vector>\n#define A\n#include <map>\n").free, ElementsAre("<vector>"));
  EXPECT_THAT(text_of("#include <vector> int x;\n").free, IsEmpty());
  EXPECT_THAT(text_of("#include \"mine.h\"\n#include <map>\n").free, IsEmpty());
  EXPECT_THAT(text_of("#include <vector>\n", "vector").free, IsEmpty());
}

}  // namespace
}  // namespace tarsia::jit
