// Include lines are found as the preprocessor would find them.
#include "jit/include_lines.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace tarsia::jit {
namespace {

using Includes = std::vector<std::pair<std::string, bool>>;

Includes includes_of(std::string_view text) {
  Includes found;
  EXPECT_FALSE(any_include(text, [&](std::string_view name, bool is_angled) {
    found.emplace_back(name, is_angled);
    return false;
  }));
  return found;
}

TEST(IncludeLines, include_lines_of_every_layout) {
  EXPECT_EQ(includes_of("#include <a.h>\n#include \"b/c.h\"\r\n  # \tinclude\t<d>// <e>\n#include<f.h>"),
            (Includes{{"a.h", true}, {"b/c.h", false}, {"d", true}, {"f.h", true}}));
}

TEST(IncludeLines, other_lines_are_none) {
  EXPECT_EQ(
      includes_of("x #include <a.h>\n#define A <b.h>\n#include HEADER\n#include <c.h\n#include \"d.h\n>\n#"),
      Includes{});
  EXPECT_EQ(includes_of(""), Includes{});
}

TEST(IncludeLines, the_search_ends_with_the_first_that_is_wanted) {
  int seen = 0;
  EXPECT_TRUE(any_include("#include <a>\n#include <b>\n#include <c>", [&](std::string_view name, bool) {
    ++seen;
    return name == "b";
  }));
  EXPECT_EQ(seen, 2);
}

TEST(IncludeLines, a_header_is_included_by_its_whole_name) {
  EXPECT_TRUE(includes_header("int x;\n# include \"mobula_op.h\"\n", "mobula_op.h"));
  EXPECT_FALSE(includes_header("#include \"my_mobula_op.h\"\n// mobula_op.h", "mobula_op.h"));
}

}  // namespace
}  // namespace tarsia::jit
