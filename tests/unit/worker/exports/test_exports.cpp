// What sources export, how it is described, and how it is called, by host compiles in this process.
#include <gmock/gmock.h>

#include "tests/unit/worker/compile_fixture.h"

namespace tarsia::jit {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

class ExportsTest : public CompileTest {};

TEST_F(ExportsTest, c_style_function_is_exported_and_called) {
  CompileResult result = compile(request("a.cc", "double add(double a, double b) { return a + b; }\n"));
  ASSERT_TRUE(result.ok) << errors(result);
  Opened library(result.module);
  const tarsia_function* add = library.function("add");
  ASSERT_NE(add, nullptr);
  EXPECT_STREQ(add->signature, "double add(double a, double b)");
  EXPECT_STREQ(add->location, "a.cc:1");
  ASSERT_EQ(add->n_params, 2u);
  EXPECT_STREQ(add->params[1].name, "b");
  tarsia_value args[2] = {}, out = {};
  args[0].f = 1.5;
  args[1].f = 2;
  ASSERT_EQ(add->call(args, 2, &out), 0);
  EXPECT_EQ(out.kind, TARSIA_KIND_FLOAT);
  EXPECT_EQ(out.f, 3.5);
}

TEST_F(ExportsTest, macros_of_the_users_do_not_reach_what_describes_the_exports) {
  CompileRequest asked = request("a.cc",
                                 "#include <string>\n#define size 3\n#define name x\n#define data y\n"
                                 "#define value 4\n#define T float\n#define type\n"
                                 "int f(int a, std::string s) { return a + value + int(s.length()); }\n");
  asked.options.defines.push_back({"shape", "7"});
  CompileResult result = compile(asked);
  ASSERT_TRUE(result.ok) << errors(result);
  EXPECT_NE(Opened(result.module).function("f"), nullptr);
}

TEST_F(ExportsTest, default_arguments_may_be_left_out) {
  CompileResult result =
      compile(request("a.cc", "int f(int a, int b = 10, int c = 100) { return a + b + c; }"));
  ASSERT_TRUE(result.ok) << errors(result);
  Opened library(result.module);
  const tarsia_function* f = library.function("f");
  EXPECT_EQ(f->n_required, 1u);
  tarsia_value args[3] = {}, out = {};
  args[0].i = 1;
  args[1].i = 2;
  f->call(args, 1, &out);
  EXPECT_EQ(out.i, 111);
  f->call(args, 2, &out);
  EXPECT_EQ(out.i, 103);
}

TEST_F(ExportsTest, what_is_not_exported_says_why) {
  CompileResult result = compile(request(
      "a.cc",
      "struct Foo { int x; ~Foo(); };\n"
      "static int hidden(int x) { return x; }\n"
      "template <class T> T generic(T x) { return x; }\n"
      "namespace { int local(int x) { return x; } }\n"
      "int takes(Foo f) { return f.x; }\n"
      "int* gives() { return nullptr; }\n"
      "namespace ns { inline namespace v1 { int good(int x) { return generic(hidden(local(x))); } } }\n"));
  ASSERT_TRUE(result.ok) << errors(result);
  Opened library(result.module);
  EXPECT_THAT(library.functions(), ElementsAre("ns::good"));
  std::map<std::string, std::string> skipped;
  for (uint64_t i = 0; i < library.module->n_skipped; ++i)
    skipped[library.module->skipped[i].name] = library.module->skipped[i].reason;
  ASSERT_EQ(skipped.size(), 5u);
  EXPECT_THAT(skipped["takes"], HasSubstr("'Foo'"));
  EXPECT_THAT(skipped["gives"], HasSubstr("tarsia::Tensor"));
  EXPECT_EQ(skipped["hidden"], "is static; TARSIA_EXPORT(hidden) exports it");
  EXPECT_THAT(skipped["generic"], HasSubstr("write `template float generic<float>(float);` below it"));
  EXPECT_EQ(skipped["local"], "lies in an anonymous namespace; TARSIA_EXPORT(local) exports it");
}

TEST_F(ExportsTest, overloads_are_several_functions_of_one_name) {
  CompileResult result =
      compile(request("a.cc", "int f(int x) { return 1; }\ndouble f(double x) { return 2; }\n"));
  ASSERT_TRUE(result.ok) << errors(result);
  EXPECT_THAT(Opened(result.module).functions(), ElementsAre("f", "f"));
}

TEST_F(ExportsTest, marked_functions_only) {
  CompileResult result =
      compile(request("a.cc",
                      "#include <tarsia/op.h>\nint f(int x) { return x; }\n"
                      "namespace ns { int g(int x) { return x; } }\nTARSIA_EXPORT(ns::g)\n"));
  ASSERT_TRUE(result.ok) << errors(result);
  EXPECT_THAT(Opened(result.module).functions(), ElementsAre("ns::g"));
}

TEST_F(ExportsTest, marks_reach_static_functions_and_instantiations_in_all_files) {
  CompileRequest asked = request("a.cc", R"(
#include <tarsia/op.h>
template <class T> T twice(T x) { return x + x; }
namespace my { static int inner(int x) { return x; } }
static int g(int x) { return x; }
static int g(float x) { return 7; }
int other() { return 1; }
TARSIA_EXPORT(twice<int>)
TARSIA_EXPORT(my::inner)
TARSIA_EXPORT(g, int(float))
)");
  asked.files.push_back({"b.cc", "// TARSIA_EXPORT\nint unmarked() { return 2; }\n"});
  CompileResult result = compile(asked);
  ASSERT_TRUE(result.ok) << errors(result);
  Opened library(result.module);
  EXPECT_THAT(library.functions(), UnorderedElementsAre("twice<int>", "my::inner", "g"));
  result = compile(request("a.cc", "// TARSIA_EXPORT(f)\nint f() { return 1; }\n"));
  ASSERT_TRUE(result.ok) << errors(result);
  EXPECT_THAT(Opened(result.module).functions(), ElementsAre("f"));
}

TEST_F(ExportsTest, functions_in_c_are_exported_and_skipped_like_others) {
  CompileRequest asked = request("a.c", R"(
#include <stddef.h>
struct pair { int a, b; };
int twice(int x) { return 2 * x; }
float sum(const float *restrict x, size_t n) { float s = 0; for (size_t i = 0; i < n; i++) s += x[i]; return s; }
struct pair swap(struct pair p) { return p; }
static int hidden(int x) { return x; }
inline int inlined(int x) { return hidden(x); }
)");
  asked.files.push_back({"b.cc", "extern \"C\" int twice(int);\nint four(int x) { return 2 * twice(x); }\n"});
  CompileResult result = compile(asked);
  ASSERT_TRUE(result.ok) << errors(result);
  Opened library(result.module);
  EXPECT_THAT(library.functions(), UnorderedElementsAre("twice", "sum", "four"));
  EXPECT_STREQ(library.function("twice")->location, "a.c:4");
  tarsia_value args[2] = {}, out = {};
  args[0].i = 21;
  EXPECT_EQ(library.function("twice")->call(args, 1, &out), 0);
  EXPECT_EQ(out.i, 42);
}

TEST_F(ExportsTest, restricted_to_the_functions_asked_for) {
  CompileRequest asked = request("a.cc", "int f(int x) { return x; }\nint g(int x) { return x; }\n");
  asked.options.functions = {"g"};
  CompileResult result = compile(asked);
  ASSERT_TRUE(result.ok) << errors(result);
  EXPECT_THAT(Opened(result.module).functions(), ElementsAre("g"));
}

TEST_F(ExportsTest, functions_asked_for_that_no_text_has_are_named_with_those_that_there_are) {
  CompileRequest asked =
      request("a.cc", "int f(int x) { return x; }\nstatic int hidden() { return hidden(); }\n");
  asked.files.push_back({"b.c", "int g(void) { return 1; }\n"});
  asked.options.functions = std::vector<std::string>{"hidden", "g", "nope"};
  CompileResult result = compile(asked);
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.stage, Stage::source);
  EXPECT_THAT(result.missing_functions, ElementsAre("hidden", "nope"));
  EXPECT_THAT(result.exportable_functions, ElementsAre("f", "g"));
  EXPECT_EQ(result.module, "");
}

}  // namespace
}  // namespace tarsia::jit
