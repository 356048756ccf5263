// The split: what stays for the device, at which lines.
#include <gmock/gmock.h>

#include "tests/unit/worker/split/split_fixture.h"

namespace tarsia::jit {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST_F(SplitTest, host_functions_go_and_lines_stay) {
  DeviceSlice slice = split(
      "void before() {\n  int x = 1;\n  (void)x;\n}\n"
      "__global__ void k(float* x) { x[0] = 1; }\n"
      "int main() { k<<<1, 1>>>(nullptr); }\n");
  EXPECT_EQ(text_of(slice),
            "               \n            \n          \n \n__global__ void k(float* x) { x[0] = 1; }\n" +
                std::string(36, ' ') + "\n");
  EXPECT_THAT(kernels(slice), ElementsAre("k"));
}

TEST_F(SplitTest, an_include_at_the_end_of_the_text_stays) {
  const std::vector<SourceFile> headers = {{"launch.cuh",
                                            "template <class T> __global__ void r(T* x) { *x = 2; }\n"
                                            "void run(float* x) { r<float><<<1, 1>>>(x); }\n"}};
  for (const char* before :
       {"void host() {\n}\n", "struct H { void f() {} };\n", "namespace n {\nvoid host() {}\n}\n"}) {
    const DeviceSlice slice =
        split("__global__ void k(float* x) { *x = 1; }\n" + std::string(before) + "#include \"launch.cuh\"\n",
              headers);
    EXPECT_THAT(texts_of(slice).front(), HasSubstr("\n#include \"launch.cuh\"")) << before;
  }
}

TEST_F(SplitTest, types_and_constants_that_the_device_names_stay) {
  DeviceSlice slice = split(
      "typedef float real;\nstruct Used { real a; };\nstruct Unused { int b; };\nstatic const int N = 4;\n"
      "static const int M = 5;\nconstexpr int twice(int x) { return 2 * x; }\nint host_global = 3;\n"
      "enum { RED, GREEN };\n"
      "__global__ void k(Used u, real* x) { x[N] = u.a + twice(N) + GREEN; }\n");
  std::string text = text_of(slice);
  for (const char* kept : {"typedef float real;", "struct Used", "int N = 4", "twice(int x)", "GREEN"})
    EXPECT_THAT(text, HasSubstr(kept));
  for (const char* gone : {"Unused", "int M", "host_global"}) EXPECT_THAT(text, Not(HasSubstr(gone)));
}

// Which functions of a header's classes device code may call follows from declarations that stand in both
// the header and the text.
TEST_F(SplitTest, macros_make_kernels) {
  DeviceSlice slice = split(
      "#define MAKE(name, op) __global__ void name(float* x) { x[0] = x[0] op 2; }\n"
      "MAKE(mul, *)\nMAKE(add, +)\nvoid f() { mul<<<1, 1>>>(0); }\n");
  EXPECT_THAT(text_of(slice), HasSubstr("MAKE(mul, *)\nMAKE(add, +)\n"));
  EXPECT_THAT(kernels(slice), ElementsAre("mul", "add"));
}

TEST_F(SplitTest, instantiations_that_host_templates_launch_are_found) {
  DeviceSlice slice = split(
      "template <typename T, int N> __global__ void k(T* x) { x[N] = N; }\n"
      "template <typename T> void launch(T* x) { k<T, 7><<<1, 1>>>(x); }\n"
      "template void launch<float>(float*);\n"
      "void run() { launch<double>(nullptr); k<int, 1><<<1, 1>>>(nullptr); }\n");
  EXPECT_THAT(kernels(slice), testing::UnorderedElementsAre("k<float, 7>", "k<double, 7>", "k<int, 1>"));
  EXPECT_THAT(text_of(slice), Not(HasSubstr("launch")));
}

TEST_F(SplitTest, functors_named_in_kernel_arguments_alone_stay) {
  DeviceSlice slice = split(
      "namespace ns { struct Twice { float s; }; }\n"
      "template <class F> __global__ void map(float* x, F f) { x[0] *= f.s; }\n"
      "void run() { map<<<1, 1>>>(nullptr, ns::Twice{2}); }\n");
  EXPECT_THAT(text_of(slice), HasSubstr("struct Twice"));
  EXPECT_THAT(kernels(slice), ElementsAre("map<ns::Twice>"));
}

TEST_F(SplitTest, host_members_of_a_shared_class_are_thinned_out) {
  DeviceSlice slice = split(
      "#include <string>\n"
      "struct P {\n  float b;\n  P(float x) : b(x) { cudaFree(0); }\n  std::string name() const { return "
      "\"p\"; }\n"
      "  __device__ float get() const { return b; }\n};\n"
      "__global__ void k(P p, float* x) { x[0] = p.get(); }\nvoid f() { k<<<1, 1>>>(P(1), nullptr); }\n");
  std::string text = text_of(slice);
  EXPECT_THAT(text, HasSubstr("P(float x) ;"));
  EXPECT_THAT(text, HasSubstr("__device__ float get() const { return b; }"));
  EXPECT_THAT(text, Not(HasSubstr("name()")));
  EXPECT_THAT(text, Not(HasSubstr("cudaFree")));
}

TEST_F(SplitTest, a_class_that_only_the_hosts_members_refer_to_is_declared) {
  const std::string host =
      "struct Base { int b; };\n"
      "class Host : public Base { public: int n; Host(int x) : n(x) {} };\n"
      "template <class T> struct View : Base { T* p; };\nusing Alias = Host;\n"
      "struct Params {\n  int n;\n  Params(const Host& h) : n(h.n) {}\n  Params(View<Host>* v) : n(v->p->n) "
      "{}\n"
      "  void set(Host* h) { n = h->n; }\n  void take(Host h);\n  friend class Maker;\n};\n"
      "class Maker : Base {};\n";
  const DeviceSlice slice = split(host + "__global__ void k(Params p, int* x) { *x = p.n; }\n");
  const std::string text = text_of(slice);
  for (const char* kept : {"class Host", "struct View", "Params(const Host& h)", "void set(Host* h)"})
    EXPECT_THAT(text, HasSubstr(kept));
  for (const char* gone : {"Base", "Host(int", "T* p", "Alias", "void take(Host h) {"})
    EXPECT_THAT(text, Not(HasSubstr(gone)));
  // What device code itself names is there as a whole.
  EXPECT_THAT(text_of(split(host + "__global__ void k(Params p, Host* x) { x->n = p.n; }\n")),
              HasSubstr("Base"));
  if (!have_nvrtc()) return;
  const CompileResult result =
      compile(request("a.cu", host + "__global__ void k(Params p, int* x) { *x = p.n; }\n"));
  EXPECT_TRUE(result.ok) << errors(result);
}

TEST_F(SplitTest, a_specialisation_comes_with_its_arguments) {
  const std::string types =
      "template <class T> struct Limit { static constexpr int value = 1; };\nstruct Big { int b; };\n"
      "template <> struct Limit<Big> { static constexpr int value = 2; };\n"
      "template <class T> struct Wrap { T t; };\n"
      "template <class T> struct Limit<Wrap<T>> { static constexpr int value = 3; };\n";
  const std::string plain = text_of(split(types + "__global__ void k(int* x) { *x = Limit<int>::value; }\n"));
  for (const char* gone : {"Big", "Wrap"}) EXPECT_THAT(plain, Not(HasSubstr(gone)));
  const std::string big =
      text_of(split(types + "__global__ void k(int* x, Big b) { *x = Limit<decltype(b)>::value; }\n"));
  EXPECT_THAT(big, HasSubstr("Limit<Big>"));
  EXPECT_THAT(big, Not(HasSubstr("Wrap")));
  const std::string wrapped =
      text_of(split(types + "template <class T> __device__ int limit() { return Limit<T>::value; }\n"
                            "__global__ void k(int* x) { *x = limit<Wrap<float>>(); }\n"));
  EXPECT_THAT(wrapped, HasSubstr("Limit<Wrap<T>>"));
}

TEST_F(SplitTest, a_specialisation_for_any_template_comes_without_a_name_for_it) {
  const std::string text =
      text_of(split("template <int... N> struct List {};\ntemplate <class T> struct Count;\n"
                    "template <template <int...> class Any, int... N> struct Count<Any<N...>> {\n"
                    "  static constexpr int value = sizeof...(N);\n};\n"
                    "__global__ void k(int* x) { *x = Count<List<1, 2>>::value; }\n"));
  EXPECT_THAT(text, HasSubstr("struct Count<Any<N...>>"));
}

TEST_F(SplitTest, conditionals_inside_host_code_go_on_holding) {
  DeviceSlice slice = split(
      "void host() {\n#ifdef FOO\n  int a;\n#else\n#define LATER 3\n  int b;\n#endif\n}\n"
      "__global__ void k(int* x) { x[0] = LATER; }\n");
  EXPECT_THAT(text_of(slice), HasSubstr("#ifdef FOO\n"));
  EXPECT_THAT(text_of(slice), HasSubstr("#define LATER 3\n"));
  EXPECT_THAT(text_of(slice), Not(HasSubstr("int b")));
}

TEST_F(SplitTest, device_bodies_need_not_parse_as_host_code) {
  DeviceSlice slice = split(
      "__device__ int lane() { int r; asm(\"mov.u32 %0, %laneid;\" : \"=r\"(r)); return r; }\n"
      "__global__ void k(int* x) { x[threadIdx.x] = lane() + __shfl_sync(~0u, 1, 0) + "
      "no_such_thing_on_the_host; }\n");
  EXPECT_THAT(text_of(slice), HasSubstr("laneid"));
}

TEST_F(SplitTest, variables_are_listed) {
  DeviceSlice slice = split(
      "__constant__ float coef[16];\n__device__ int counter;\nnamespace ns { __managed__ double m; }\n"
      "__global__ void k(float* x) { x[0] = coef[1] + counter + ns::m; }\n"
      "double host() { ns::m = 3; return ns::m; }\n");
  ASSERT_EQ(slice.variables.size(), 3u);
  EXPECT_EQ(slice.variables[0].bytes, 64u);
  EXPECT_TRUE(slice.variables[0].constant);
  EXPECT_FALSE(slice.variables[1].managed);
  EXPECT_TRUE(slice.variables[2].managed);
  EXPECT_EQ(slice.variables[2].name, "::ns::m");
}

TEST_F(SplitTest, variables_that_are_only_declared_are_listed_where_they_have_a_size) {
  DeviceSlice slice = split(
      "extern __constant__ float coef[16];\nextern __device__ int sizes[];\nextern __device__ int later;\n"
      "__global__ void k(float* x) { x[0] = coef[1] + sizes[1] + later; }\n"
      "__device__ int later = 3;\n");
  ASSERT_EQ(slice.variables.size(), 2u);
  EXPECT_EQ(slice.variables[0].name, "::coef");
  EXPECT_EQ(slice.variables[0].bytes, 64u);
  EXPECT_EQ(slice.variables[1].name, "::later");
}

TEST_F(SplitTest, an_edit_of_a_kernel_leaves_the_hosts_text) {
  std::string host = "void run(float* x) { k<<<1, 1>>>(x); }\n";
  DeviceSlice before = split("__global__ void k(float* x) { x[0] = 1; }\n" + host);
  DeviceSlice after = split("__global__ void k(float* x) { x[0] = 2; }\n" + host);
  ASSERT_FALSE(before.host_texts.empty());
  EXPECT_EQ(before.host_texts.back()->text, after.host_texts.back()->text);
  EXPECT_NE(text_of(before), text_of(after));
}

TEST_F(SplitTest, wherever_the_kernel_stands_and_however_long_it_becomes) {
  const std::string first = "int f(int x) { return x; }\n", last = "void run(float* x) { k<<<1, 1>>>(x); }\n";
  auto host = [&](const std::string& body) {
    DeviceSlice slice = split(first + "__global__ void k(float* x) { " + body + " }\n" + last);
    std::string text = slice.host_texts.empty() ? "" : slice.host_texts.back()->text;
    std::erase(text, k_device_byte);
    return text;
  };
  EXPECT_EQ(host("x[0] = 1;"), host("x[0] = 1; if (x[1] > 3) { x[2] = 44; }"));
  EXPECT_TRUE(host("x[0] = 1;").starts_with(first + "__global__ void k(float* x) \n" + last));
}

TEST_F(SplitTest, an_edit_of_a_kernel_leaves_the_hosts_object_unless_lines_move) {
  if (!have_nvrtc()) GTEST_SKIP() << "no CUDA headers or no NVRTC";
  const std::string ending = "\n}\nint after() { return 1; }\nvoid run(float* x) { k<<<1, 1>>>(x); }\n";
  const std::string first = "__global__ void k(float* x) {\n  x[0] = 1;" + ending;
  EXPECT_EQ(host_compiles(first, "__global__ void k(float* x) {\n  x[0] = 123456; x[1] = 7;" + ending), 1);
  // Line tables tell where `after` is.
  EXPECT_EQ(host_compiles(first, "__global__ void k(float* x) {\n  x[0] = 1;\n  x[1] = 1;\n" + ending), 2);
  EXPECT_EQ(host_compiles(first, "__global__ void k(float* x) {\n  x[0] = 1;\n  x[1] = 1;\n" + ending), 2);
}

TEST_F(SplitTest, functions_tell_their_new_lines_when_a_kernel_grows) {
  if (!have_nvrtc()) GTEST_SKIP() << "no CUDA headers or no NVRTC";
  for (const int lines : {0, 3}) {
    CompileResult result =
        compile(request("a.cu", "__global__ void k(float* x) {" + std::string(lines, '\n') +
                                    " x[0] = 1; }\nint after() { return 1; }\n"));
    ASSERT_TRUE(result.ok) << errors(result);
    Opened opened(result.module);
    ASSERT_NE(opened.function("after"), nullptr);
    EXPECT_EQ(opened.function("after")->location, "a.cu:" + std::to_string(2 + lines));
  }
}

TEST_F(SplitTest, host_code_that_asks_for_its_line_is_compiled_when_the_line_changes) {
  if (!have_nvrtc()) GTEST_SKIP() << "no CUDA headers or no NVRTC";
  for (const std::string asks :
       {"__LINE__", "(int)std::source_location::current().line()", "__builtin_LINE()"}) {
    parts.kept.clear();
    const std::string first = "#include <source_location>\n__global__ void k(float* x) {",
                      last = " x[0] = 1; }\nint after() { return " + asks + "; }\n";
    EXPECT_EQ(host_compiles(first + last, first + "\n\n" + last), 2) << asks;
    EXPECT_EQ(host_compiles(first + last, first + "\n\n" + last), 2) << asks;  // both are kept
  }
}

TEST_F(SplitTest, what_one_macro_makes_for_both_sides_counts_for_the_host) {
  std::string macro = "#define MAKE(n) __global__ void k(float* x) { x[0] = n; } int host() { return n; }\n";
  DeviceSlice before = split(macro + "MAKE(1)\n"), after = split(macro + "MAKE(2)\n");
  ASSERT_FALSE(before.host_texts.empty());
  EXPECT_NE(before.host_texts.back()->text, after.host_texts.back()->text);
}

TEST_F(SplitTest, the_devices_text_is_plain) {
  DeviceSlice slice =
      split("\xEF\xBB\xBF// \xFF\r__global__ void k(float* x) { register int i = 0; x[i] = 1; }");
  EXPECT_EQ(text_of(slice), "   // ?\n__global__ void k(float* x) {          int i = 0; x[i] = 1; }");
}

TEST_F(SplitTest, what_stays_for_its_name_alone_is_a_doubt) {
  DeviceSlice slice = split(
      "const int width =\n#define W 4\n  W;\n"
      "__global__ void k(int* x) { int width = 2; x[0] = width; }\n");
  ASSERT_EQ(slice.doubts.size(), 1u);
  const Doubt& doubt = slice.doubts[0];
  EXPECT_EQ(doubt.file, "a.cu");
  EXPECT_EQ(doubt.first_line, 1);
  EXPECT_EQ(doubt.last_line, 3);
  std::string text = text_of(slice), left_out;
  for (auto [begin, end] : doubt.ranges) left_out += text.substr(begin, end - begin);
  EXPECT_EQ(left_out, "const int width =\n\n  W;");
}

TEST_F(SplitTest, the_word_host_goes_with_the_body) {
  DeviceSlice slice = split(
      "#define HOST __host__\n"
      "struct T {\n  int n;\n  __host__ int size() const { return n; }\n  HOST int again() const { return n; "
      "}\n"
      "  __host__ T() = default;\n  __host__ constexpr int four() const { return 4; }\n"
      "  __host__ __device__ int get() const { return n; }\n};\n"
      "__global__ void k(T t, int* x) { *x = t.get(); }\n");
  const std::string text = text_of(slice);
  EXPECT_THAT(text, HasSubstr("           int size() const {asm volatile("));
  EXPECT_THAT(text, HasSubstr("       int again() const {asm volatile("));
  EXPECT_THAT(text, HasSubstr("         T() = default;"));
  EXPECT_THAT(text, HasSubstr("         constexpr int four() const { return 4; }"));
  EXPECT_THAT(text, HasSubstr("__host__ __device__ int get() const { return n; }"));
}

TEST_F(SplitTest, traits_made_of_functions_without_bodies_stay) {
  DeviceSlice slice = split(
      "template <int> struct No { static constexpr int v = 0; };\n"
      "template <class T> auto size_of(T*) -> No<T::size>;\nauto size_of(...) -> No<0>;\n"
      "int defined(int);\nint elsewhere(int);\n"
      "template <class T> struct Size : decltype(size_of((T*)0)) {};\n"
      "int defined(int x) { return x; }\n"
      "__global__ void k(int* x) { decltype(defined(1)) elsewhere = Size<int>::v; *x = elsewhere; }\n");
  const std::string text = text_of(slice);
  EXPECT_THAT(text, HasSubstr("auto size_of(T*) -> No<T::size>;\nauto size_of(...) -> No<0>;\n"));
  EXPECT_THAT(text, Not(HasSubstr("int elsewhere(int")));
}

TEST_F(SplitTest, functions_of_the_host_whose_type_is_asked_for_stay_without_their_bodies) {
  DeviceSlice slice = split(
      "#define HOST __attribute__((always_inline)) __host__\n"
      "struct Atom { int v; };\n"
      "template <class T> HOST auto make_atom(T x) { return x; }\n"
      "__host__ Atom plain(int x) { return {x}; }\n"
      "__host__ int both_names(int x) { return x; }\n__device__ int both_names(float x) { return 1; }\n"
      "template <class T> struct Never { decltype(make_atom(T())) atom; };\n"
      "__global__ void k(decltype(plain(1)) a, int* x) { *x = a.v + sizeof(decltype(both_names(1.f))); }\n"
      "template <class T> __device__ void reach(Never<T>*) {}\n"
      "__global__ void l(Never<int>* never) { reach(never); }\n");
  const std::string text = text_of(slice);
  EXPECT_THAT(text, HasSubstr("auto make_atom(T x) {for(;;)__trap();}"));
  EXPECT_THAT(text, HasSubstr("Atom plain(int x) {for(;;)__trap();}"));
  EXPECT_THAT(text, Not(HasSubstr("HOST auto")));
  EXPECT_THAT(text, Not(HasSubstr("__host__ Atom")));
  EXPECT_THAT(text, Not(HasSubstr("int both_names(int")));
}

TEST_F(SplitTest, deleted_templates_of_functions_stay_deleted) {
  DeviceSlice slice = split(
      "template <class T> __host__ __device__ constexpr int stride(T const& x) = delete;\n"
      "template <class T> __host__ __device__ decltype(auto) size(T const& x) { return x.stride; }\n"
      "struct S { int stride; };\n__global__ void k(S s, int* x) { *x = size(s); }\n");
  EXPECT_THAT(text_of(slice), HasSubstr("constexpr int stride(T const& x) = delete;\n"));
}

TEST_F(SplitTest, namespaces_that_a_macro_opens_stay_open) {
  DeviceSlice slice = split(
      "#define OPEN namespace a { namespace b {\n#define CLOSE }}\nOPEN\n__device__ int f() { return 1; "
      "}\nCLOSE\n"
      "__global__ void k(int* x) { *x = a::b::f(); }\n");
  EXPECT_THAT(text_of(slice), HasSubstr("OPEN\n__device__ int f() { return 1; }\nCLOSE\n"));
}

TEST_F(SplitTest, the_brackets_of_an_initial_value_stay) {
  DeviceSlice slice =
      split("constexpr unsigned n(4);\nconst int m(int(5) + 1);\n__global__ void k(int* x) { x[n] = m; }\n");
  EXPECT_THAT(text_of(slice), HasSubstr("constexpr unsigned n(4);\nconst int m(int(5) + 1);\n"));
}

TEST_F(SplitTest, compound_literals_lose_their_brackets) {
  DeviceSlice slice = split(
      "template <class T> struct Two { T a, b; __device__ Two operator+(Two) { return *this; } };\n"
      "__device__ int sum(int2 v) { return v.x + v.y; }\n"
      "__global__ void k(int2* x, int i) {\n  *x = (int2){1, 2};\n  i = sum((struct int2){3, 4});\n"
      "  auto t = (Two<int>){1, 2};\n  if (i) { x->x = (i); }\n  auto f = [](int i) { return i; };\n}\n");
  const std::string text = text_of(slice);
  EXPECT_THAT(
      text, HasSubstr("*x =  int2 {1, 2};\n  i = sum(        int2 {3, 4});\n  auto t =  Two<int> {1, 2};\n"));
  EXPECT_THAT(text, HasSubstr("operator+(Two) { return *this; }"));
  EXPECT_THAT(text, HasSubstr("if (i) { x->x = (i); }\n  auto f = [](int i) { return i; };"));
}

TEST_F(SplitTest, compound_literals_in_macros_lose_their_brackets) {
  DeviceSlice slice = split(
      "#define ONE (int2){ 1, 2 }\n"
      "#define SUM(a, b) \\\n  sum((int2){a, b}) + (a)\n"
      "#define OPEN (x->x) {\n"
      "#define GUARD(i) if (i) { x->x = (i); }\n"
      "#define BLOCK (i) { x->x = 1; }\n"
      "#define BODY (int i) { return i + 1; }\n"
      "__device__ int f BODY\n"
      "__device__ int sum(int2 v) { return v.x + v.y; }\n"
      "__global__ void k(int2* x, int i) {\n  *x = ONE;\n  i = SUM(3, 4);\n  if OPEN i = 2; }\n  "
      "GUARD(i)\n  if BLOCK\n  i = f(i);\n}\n");
  const std::string text = text_of(slice);
  EXPECT_THAT(text, HasSubstr("#define ONE  int2 { 1, 2 }\n"));
  EXPECT_THAT(text, HasSubstr("#define SUM(a, b) \\\n  sum( int2 {a, b}) + (a)\n"));
  EXPECT_THAT(text, HasSubstr("#define OPEN (x->x) {\n"));
  EXPECT_THAT(text, HasSubstr("#define GUARD(i) if (i) { x->x = (i); }\n"));
  EXPECT_THAT(text, HasSubstr("#define BLOCK (i) { x->x = 1; }\n"));
  EXPECT_THAT(text, HasSubstr("#define BODY (int i) { return i + 1; }\n"));
}

TEST_F(SplitTest, constexpr_functions_trap_where_they_throw) {
  DeviceSlice slice = split(
      "#include <stdexcept>\nconstexpr int size(int i) { return i < 0 ? throw std::runtime_error(\"no\") : "
      "i; }\n"
      "__global__ void k(int* x) { *x = size(3); }\n");
  EXPECT_THAT(text_of(slice), HasSubstr("return i < 0 ? tarsia_thrown()"));
  EXPECT_THAT(text_of(slice), Not(HasSubstr("runtime_error")));
}

TEST_F(SplitTest, constexpr_members_and_guides_that_take_the_hosts_types_go) {
  DeviceSlice slice = split(
      "#include <functional>\n#include <string>\n#include <vector>\n"
      "struct Held { int n; std::string s; };\n"
      "template <class T> struct Ref {\n"
      "  const T* data; int n;\n"
      "  constexpr Ref(const T* p, int m) : data(p), n(m) {}\n"
      "  template <class A> constexpr Ref(const std::vector<T, A>& v) : data(v.data()), n(int(v.size())) {}\n"
      "  constexpr bool all(const std::function<bool(const T&)>& f) const { return f(*data); }\n"
      "  constexpr int held(const Held& h) const { return h.n; }\n"
      "  constexpr T first() const { return *data; }\n"
      "};\n"
      "template <class T> Ref(const T*, int) -> Ref<T>;\n"
      "template <class T, class A> Ref(const std::vector<T, A>&) -> Ref<T>;\n"
      "__global__ void k(int* x) { *x = Ref(x, 1).first(); }\n");
  for (const char* gone : {"std::vector", "std::function"}) EXPECT_THAT(text_of(slice), Not(HasSubstr(gone)));
  for (const char* there : {"Ref(const T*, int) -> Ref<T>;", "held(const Held& h)", "first() const"})
    EXPECT_THAT(text_of(slice), HasSubstr(there));
}

TEST_F(SplitTest, members_of_the_hosts_types_leave_the_others_where_they_are) {
  DeviceSlice slice = split(
      "#include <string>\n#include <vector>\nstruct P { std::vector<int> v; int n; std::string a, b; };\n"
      "__global__ void k(decltype(P::n)* x) { *x = 1; }\n");
  EXPECT_THAT(text_of(slice), HasSubstr("struct P { alignas(8) char v[24]; int n; alignas(8) char a[32]; "
                                        "alignas(8) char b[32]; };\n__global__ void k(decltype(P::n)* x)"));
}

TEST_F(SplitTest, includes_made_by_macros_are_named) {
  DeviceSlice slice = split(
      "#define STR(x) #x\n#define INC(x) STR(x.h)\n#include INC(lib)\n#if 0\n#include INC(none)\n#endif\n"
      "__global__ void k(int* x) { *x = LIB; }\n",
      {{"lib.h", "#define LIB 3\n"}});
  EXPECT_THAT(text_of(slice), HasSubstr("#include \"lib.h\" \n#if 0\n"));
  EXPECT_THAT(text_of(slice), Not(HasSubstr("INC(none)")));
  EXPECT_EQ(text_of(slice, "lib.h"), "#define LIB 3\n");
}

TEST_F(SplitTest, constexpr_device_functions_may_call_constexpr_functions_of_the_host) {
  DeviceSlice slice = split(
      "constexpr int host(int i) { return i + 1; }\n"
      "struct C { static __device__ constexpr int f() { return host(1); } };\n"
      "__device__ auto deduced() { return host(2); }\n"
      "__global__ void k(int* x) { *x = C::f() + deduced(); }\nint after() { return host(3); }\n");
  EXPECT_THAT(text_of(slice), HasSubstr("constexpr int host"));
  EXPECT_THAT(kernels(slice), ElementsAre("k"));
}

}  // namespace
}  // namespace tarsia::jit
