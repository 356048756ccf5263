// The scanner of device texts: includes and names.
#include "jit/worker/device/nvrtc_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tarsia::jit {
namespace {

using testing::Contains;
using testing::Not;
using testing::UnorderedElementsAre;

std::vector<std::string> includes_of(const std::vector<IncludeLine>& lines) {
  std::vector<std::string> names;
  for (const IncludeLine& line : lines) names.push_back((line.angled ? "<" : "\"") + line.name);
  return names;
}

TEST(NvrtcSource, includes_are_found_with_their_places) {
  const std::string text =
      "#include <a/b.h>\n  #  include \"c.cuh\" // why\n/* #include <no.h>\n#include <no2.h> */\n"
      "const char *s = \"\\\n#include <no3.h>\";\nauto r = R\"x(\n#include <no4.h>\n)x\";\n// \\\n#include "
      "<no5.h>\n"
      "#include MACRO\n#include <d>\n";
  SourceNames names = scan_source(text);
  EXPECT_THAT(includes_of(names.includes), testing::ElementsAre("<a/b.h", "\"c.cuh", "<d"));
  EXPECT_EQ(names.includes[1].line, 2);
  EXPECT_EQ(text.substr(names.includes[1].begin, names.includes[1].end - names.includes[1].begin),
            "\"c.cuh\"");
}

TEST(NvrtcSource, names_in_comments_strings_and_includes_do_not_count) {
  const std::string text =
      "#include <hidden>\n// comment\nint f(int x) { return g(\"text\") + 'c' + 1'000 + 0x1p-3; }\n#define M "
      "used\n";
  SourceNames names = scan_source(text);
  EXPECT_THAT(names.identifiers, UnorderedElementsAre("int", "f", "x", "return", "g", "M", "used"));
}

TEST(NvrtcSource, std_names_and_using_directives_are_told_apart) {
  SourceNames names =
      scan_source("float m = std::max(a, ::std :: numeric_limits<float>::max()); other::min(1, 2);");
  EXPECT_THAT(names.std_names, UnorderedElementsAre("max", "numeric_limits"));
  EXPECT_FALSE(names.using_std);
  EXPECT_TRUE(scan_source("using namespace std;").using_std);
  EXPECT_FALSE(scan_source("using namespace cuda;").using_std);
}

TEST(NvrtcSource, code_begins_after_the_directives) {
  const std::string text = "// c\n#include <a>\n#define X \\\n  int y;\n\nint x;\n#include <b>\n";
  EXPECT_EQ(scan_source(text).first_code, text.find("int x"));
  EXPECT_EQ(scan_source("#include <a>\n").first_code, 13u);
}

TEST(NvrtcSource, launches_and_device_lambdas_have_places) {
  SourceNames names =
      scan_source("void f() {\n  k<<<1, 2>>>();\n  g([=] __device__(int x) { return x; });\n}");
  EXPECT_EQ(names.launch.line, 2);
  EXPECT_EQ(names.launch.column, 4);
  EXPECT_EQ(names.device_lambda.line, 3);
  EXPECT_EQ(names.device_lambda.column, 9);
}

TEST(NvrtcSource, arrays_before_device_are_no_lambdas) {
  EXPECT_EQ(scan_source("extern float x[3];\n__device__ int y[2];").device_lambda.line, 0);
  EXPECT_EQ(scan_source("float x[3] __device__;").device_lambda.line, 0);
  EXPECT_EQ(scan_source("auto l = [a, b[1]](int x) { return x; };\n__device__ int y;").device_lambda.line, 0);
}

TEST(NvrtcSource, quick_scan_finds_the_same_includes) {
  EXPECT_THAT(includes_of(scan_includes("#include <a.h>\n# include \"b.h\"\nno_include <c>\n#include X\n")),
              testing::ElementsAre("<a.h", "\"b.h"));
}

TEST(NvrtcSource, unfinished_text_ends_the_scan) {
  for (const char* text :
       {"/* open", "\"open", "R\"x(open", "#include <open", "#", "'", "a\\", "#define X \\", "[", "R\""})
    EXPECT_TRUE(scan_source(text).includes.empty()) << text;
}

}  // namespace
}  // namespace tarsia::jit
