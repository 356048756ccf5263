// Brackets of launches, joined in place.
#include "jit/worker/source/launch_brackets.h"

#include <gtest/gtest.h>

namespace tarsia::jit {
namespace {

std::string joined(std::string text) {
  join_launch_brackets(text);
  return text;
}

TEST(JoinLaunchBrackets, joins_what_is_apart_and_moves_nothing_else) {
  EXPECT_EQ(joined("k << <1, 2 >> > (x);"), "k <<< 1, 2 >>>  (x);");
  EXPECT_EQ(joined("k<< <1, 2>>>(x);"), "k<<< 1, 2>>>(x);");
  EXPECT_EQ(joined("k<<<1, 2>> >(x);"), "k<<<1, 2>>> (x);");
  EXPECT_EQ(joined("k<float> <<\t<1, f(2 >> 1) >>  >(x);"), "k<float> <<< 1, f(2 >> 1) >>>  (x);");
  EXPECT_EQ(joined("#define L(k) k << <1, 1 >> >\n"), "#define L(k) k <<< 1, 1 >>> \n");
}

TEST(JoinLaunchBrackets, leaves_other_text_alone) {
  for (const char* text :
       {"k<<<1, 2>>>(x);", "friend S& operator<< <>(S&, T);", "operator<< <int>(s, t);", "A<B<C<int>> > x;",
        "\"k << <1, 2 >> > (x)\"", "// k << <1, 2 >> > (x)", "/* k << <1 */", "R\"(k << <1)\"", "a << b < c;",
        "k <<\n<1, 2 >> > (x);", "x >> > y", "", "'<' << ' '", "\"unfinished << <1"})
    EXPECT_EQ(joined(text), text);
}

TEST(JoinLaunchBrackets, a_comment_between_them_goes) {
  EXPECT_EQ(joined("k <</* grid */<1, 1>>>(x);"), "k <<<          1, 1>>>(x);");
  EXPECT_EQ(joined("k <</* a\nb */<1, 1>>>(x);"), "k <</* a\nb */<1, 1>>>(x);");
}

}  // namespace
}  // namespace tarsia::jit
