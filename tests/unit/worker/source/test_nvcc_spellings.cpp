// Launches as Clang takes them: their brackets joined, their braces with a type.
#include "jit/worker/source/nvcc_spellings.h"

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

std::string named(std::string text) {
  name_braced_launches(text);
  return text;
}

TEST(NameBracedLaunches, a_type_stands_before_the_braces_of_grid_and_block) {
  EXPECT_EQ(named("k<<<n, {16, 16, 1}, 0, s>>>(x, {1});"), "k<<<n, dim3{16, 16, 1}, 0, s>>>(x, {1});");
  EXPECT_EQ(named("k<<<{1, 2}, {f({3}), 4}>>>(x);"), "k<<<dim3{1, 2}, dim3{f({3}), 4}>>>(x);");
  EXPECT_EQ(named("a<<<1, {2}>>>(); b<<<{3}, 4>>>();"), "a<<<1, dim3{2}>>>(); b<<<dim3{3}, 4>>>();");
}

TEST(NameBracedLaunches, leaves_other_text_alone) {
  for (const char* text : {"k<<<1, 2>>>(x);", "k<<<dim3{1, 2}, T{3}>>>(x);", "k<<<1, 2, {0}, s>>>(x);",
                           "k<<<f({1}), g[h{2}]>>>(x);", "\"k<<<1, {2}>>>(x)\"", "// k<<<1, {2}>>>(x)",
                           "k<<<1, 2>>>(x); T y{3};", "", "x = {1};", "k<<<1, {2"})
    EXPECT_EQ(named(text), text == std::string("k<<<1, {2") ? "k<<<1, dim3{2" : text);
}

std::string typed(std::string text) {
  type_main(text);
  return text;
}

TEST(TypeMain, int_stands_before_a_main_without_a_type) {
  EXPECT_EQ(typed("main() {}"), "int main() {}");
  EXPECT_EQ(typed("#include <cstdio>\nmain(int n, char** v) {}"),
            "#include <cstdio>\nint main(int n, char** v) {}");
  EXPECT_EQ(typed("void f() {}\nmain\n() {}"), "void f() {}\nint main\n() {}");
  EXPECT_EQ(typed("int x;\n#define A \\\n  b\n\nmain() {}"), "int x;\n#define A \\\n  b\n\nint main() {}");
  EXPECT_EQ(typed("main(); main() {}"), "int main(); int main() {}");
  EXPECT_EQ(typed("#ifdef A\nint g(int x) {\n#else\nint g() {\n#endif\n  return 1; }\nmain() {}"),
            "#ifdef A\nint g(int x) {\n#else\nint g() {\n#endif\n  return 1; }\nint main() {}");
}

TEST(TypeMain, leaves_other_text_alone) {
  for (const char* text :
       {"int main() {}", "auto main() -> int {}", "int\nmain() {}", "void f() { main(); }",
        "struct S { int main(); };", "int x = main();", "#define main() f()", "#define M \\\n main()",
        "// main()", "\"main()\"", "int a; main = 3;", "namespace n { void main(); }",
        "extern \"C\" int main() {}", "", "mainly(1);", "}main"})
    EXPECT_EQ(typed(text), text);
}

}  // namespace
}  // namespace tarsia::jit
