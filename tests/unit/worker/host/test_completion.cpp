// What may stand at a place of a cell, as the worker answers it.
#include "jit/worker/host/completion.h"

#include <gmock/gmock.h>

#include "tests/unit/worker/compile_fixture.h"

namespace tarsia::jit {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

class CompletionTest : public CompileTest {
 protected:
  /// `text` has a '|' at the place.
  CompileResult complete(std::string text, const std::string& name = "session.cc") {
    const std::size_t at = text.find('|');
    text.erase(at, 1);
    CompileRequest asked = request(name, "#include <vector>\n#include \"cell 1\"\n#include \"cell 2\"\n");
    asked.headers.push_back(
        {"cell 1",
         "struct Point { int x; double norm(int p) const; private: int hidden; };\n#define K_MOST 3\n"
         "Point point; int square(int a); int square(float a); std::vector<int> values;\n"});
    asked.headers.push_back({"cell 2", text});
    asked.options.cell = "cell 2";
    const std::size_t line_begin = text.rfind('\n', at == 0 ? 0 : at - 1);
    asked.complete_line = int(std::count(text.begin(), text.begin() + std::ptrdiff_t(at), '\n')) + 1;
    asked.complete_column = int(line_begin == text.npos || at == 0 ? at : at - line_begin - 1) + 1;
    return compile(asked);
  }
  static std::vector<std::string> names(const CompileResult& result) {
    std::vector<std::string> all;
    for (const Completion& one : result.completions) all.push_back(one.text);
    return all;
  }
};

TEST_F(CompletionTest, a_name_begun_is_completed_and_told_once) {
  const CompileResult result = complete("int a = 2;\nsqua|re");
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.typed, "squa");
  ASSERT_THAT(names(result), ElementsAre("square"));
  EXPECT_EQ(result.completions[0].detail, "int square(int a)");
}

TEST_F(CompletionTest, members_are_those_that_may_be_named) {
  const CompileResult result = complete("point.|");
  EXPECT_EQ(result.typed, "");
  EXPECT_THAT(names(result), Contains("x"));
  EXPECT_THAT(names(result), Contains("norm"));
  EXPECT_THAT(names(result), Not(Contains("hidden")));
  EXPECT_THAT(names(complete("values.push_|")), ElementsAre("push_back"));
}

TEST_F(CompletionTest, macros_keywords_and_locals) {
  EXPECT_THAT(names(complete("int f() { return K_M|")), ElementsAre("K_MOST"));
  EXPECT_THAT(names(complete("whi|")), ElementsAre("while"));
  EXPECT_THAT(names(complete("int g(int kilometres) {\n  return kilo|; }")), ElementsAre("kilometres"));
}

TEST_F(CompletionTest, headers_of_all_folders) {
  EXPECT_THAT(names(complete("#include <unordered_m|")), ElementsAre("unordered_map>"));
  EXPECT_THAT(names(complete("#include <sys/tim|")), Contains("time.h>"));
  EXPECT_THAT(names(complete("#include <tarsia/op|")), Contains("op.h>"));
}

TEST_F(CompletionTest, names_of_implementations_wait_for_their_first_letter) {
  const std::vector<std::string> members = names(complete("values.|"));
  EXPECT_THAT(members, Contains("push_back"));
  for (const std::string& name : members) EXPECT_FALSE(name.starts_with("_")) << name;
  EXPECT_THAT(names(complete("long standard = __cplus|")), ElementsAre("__cplusplus"));
}

TEST_F(CompletionTest, nothing_where_nothing_can_be_named_and_errors_before_it_are_passed_over) {
  EXPECT_THAT(names(complete("// squ|")), IsEmpty());
  EXPECT_THAT(names(complete("\"squ|\"")), IsEmpty());
  EXPECT_THAT(names(complete("int z = ;\nvoid h() { if (\n squ|")), ElementsAre("square"));
}

TEST_F(CompletionTest, bodies_of_kernels_are_read) {
  if (!have_cuda_headers()) GTEST_SKIP() << "there are no CUDA headers";
  EXPECT_THAT(names(complete("__global__ void k(float* first) { fir|", "session.cu")), ElementsAre("first"));
  EXPECT_THAT(names(complete("__global__ void k(float* a) { a[threadI|", "session.cu")),
              ElementsAre("threadIdx"));
}

}  // namespace
}  // namespace tarsia::jit
