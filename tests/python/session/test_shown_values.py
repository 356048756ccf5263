"""How cells show values."""

import pytest
from cells import ok, value


@pytest.mark.parametrize("text, shown", [
    ('L"wi\\u00e4de"', '"wi\N{LATIN SMALL LETTER A WITH DIAERESIS}de"'), ('u"a\\U0001F600c"', '"a\N{GRINNING FACE}c"'),
    ('U"\\u20ac"', '"\N{EURO SIGN}"'), ('u8"x"', '"x"'), ("L'x'", "'x'"), ("char16_t(0xd800)", r"'\x{d800}'"), ("char32_t(0x20ac)", "'\N{EURO SIGN}'"),
    ('#include <string>\nstd::u32string(U"x\\n")', r'"x\n"'), ('#include <string_view>\nstd::wstring_view(L"abc")', '"abc"'),
    ("(const wchar_t*)nullptr", "nullptr"), ("wchar_t b[8] = L\"xy\"; b", '"xy"'), ("char c[2] = {'a', 'b'}; c", '"ab"'),
    ("(__int128)1 << 100", str(1 << 100)), ("-((__int128)1 << 126) - ((__int128)1 << 126)", str(-(1 << 127))),
    ("~(unsigned __int128)0", str((1 << 128) - 1)), ("(__int128)0", "0"), ("1.5L", "1.5"), ("1.0L / 3", "0.33333333333333333334")])
def test_wide_text_and_numbers_are_shown_whole(session, text, shown):
    assert value(session, text) == shown


@pytest.mark.parametrize("text, shown", [
    ("struct B { operator bool() const { return true; } }; B()", "(B) {}"), ("struct I { operator int() const { return 3; } }; I()", "(I) {}"),
    ("[] { return 1; }", None), ("struct P { operator const void*() const { return nullptr; } }; P()", "(P) {}"),
    ("enum E { one, two }; two", "(E) 1"), ("enum class F : short { one = 7 }; F::one", "(F) 7"),
    ("enum G { g }; std::ostream& operator<<(std::ostream& out, G) { return out << \"gee\"; }\ng", "gee"),
    ("struct S { operator int() const { return 3; } friend std::ostream& operator<<(std::ostream& out, const S&) { return out << 'S'; } }; S()", "S"),
    ("struct Base { }; std::ostream& operator<<(std::ostream& out, const Base&) { return out << \"base\"; }\nstruct D : Base { operator bool() const { return true; } }; D()", "base"),
    ("namespace n { template <class T> struct V { T a; }; template <class T> std::ostream& operator<<(std::ostream& out, const V<T>& v) { return out << v.a; } }\nn::V<int>{4}", "4"),
    ("#include <vector>\nstd::vector<bool> v{true, false}; v", "{true, false}"), ("#include <vector>\nstd::vector<bool> w{true, false}; w[1]", "false"),
    ("#include <atomic>\nstd::atomic<int> a{5}; a", "5"), ("#include <bitset>\nstd::bitset<3>(5)", "101"), ("#include <complex>\nstd::complex<float>(1, 2)", "(1,2)"),
    ("#include <filesystem>\nstd::filesystem::path(\"a\")", '"a"'), ("#include <string>\nstd::string(\"a\")", '"a"'),
    ("#include <variant>\nstd::variant<int, double> x = 2.5; x", "2.5"), ("#include <variant>\n#include <string>\nstd::variant<int, std::string> y = \"s\"; y", '"s"'),
    ("#include <ranges>\n#include <vector>\nstd::vector<int> u{1, 2, 3, 4}; u | std::views::filter([](int i) { return i % 2 == 0; })", "{2, 4}"),
    ("#include <ranges>\nstd::views::iota(1, 7) | std::views::filter([](int i) { return i % 2; }) | std::views::transform([](int i) { return i * i; })", "{1, 9, 25}"),
    ("#include <ranges>\nstd::views::iota(0)", "{" + "".join(f"{i}, " for i in range(200)) + "…}"),
    ("#include <vector>\nstd::vector<int>(200, 7)", "{" + ", ".join(["7"] * 200) + "}"),
])
def test_values_are_shown_as_their_types_say(session, text, shown):
    cell = session.run("#include <iostream>\n" + text).raise_if_failed()
    if shown is None:
        assert cell.value.startswith("(") and ") at 0x" in cell.value
    else:
        assert cell.value == shown


@pytest.mark.parametrize("text, shown", [
    ("struct { unsigned a : 3; int b : 5; bool c : 1; } bits{5, -3, true};\nbits.a", "5"),
    ("struct { unsigned a : 3; int b : 5; bool c : 1; } bits{5, -3, true};\nbits.b", "-3"),
    ("struct { unsigned a : 3; int b : 5; bool c : 1; } bits{5, -3, true};\nbits.c", "true"),
    ("struct __attribute__((packed)) P { char a; int b; } p{1, 2};\np.b", "2"),
    ("#include <tuple>\nstd::tuple<>{}", "()"), ("#include <array>\nstd::array<int, 0>{}", "{}"),
    ("#include <array>\nstd::array<std::array<int, 2>, 2>{{{1, 2}, {3, 4}}}", "{{1, 2}, {3, 4}}"),
    ("#include <any>\nstd::any{}", "(std::any) nothing"), ("#include <any>\n#include <string>\nstd::any{std::string()}", "(std::any) of std::string"),
    ("#include <memory>\nstd::unique_ptr<int>()", "(int *) nullptr"), ("#include <memory>\nstd::shared_ptr<char>()", "(char *) nullptr"),
    ("#include <memory>\n#include <vector>\nstd::vector<std::unique_ptr<int[]>>(2)", "{(int *) nullptr, (int *) nullptr}"),
    ("#include <queue>\nstd::queue<int>({1, 2})", "{1, 2}"), ("#include <stack>\nstd::stack<int>({1, 2})", "{1, 2}"),
    ("#include <queue>\nstd::priority_queue<int>{}", "{}"), ("#include <valarray>\nstd::valarray<int>{1, 2, 3}", "{1, 2, 3}"),
    ("#include <typeindex>\n#include <vector>\nstd::type_index(typeid(3.5))", "double"), ("#include <typeinfo>\ntypeid(const char*)", "char const*"),
    ("#include <stdexcept>\nstd::runtime_error(\"why\")", '(std::runtime_error) "why"'),
    ("#include <compare>\n1 <=> 2", "(std::strong_ordering) less"), ("#include <compare>\n2 <=> 2", "(std::strong_ordering) equal"),
    ("#include <compare>\n1.0 <=> __builtin_nan(\"\")", "(std::partial_ordering) unordered"),
    ("#include <chrono>\nstd::chrono::system_clock::from_time_t(2)", "2000000000ns since the clock's epoch"),
    ("#include <chrono>\nstd::chrono::year(2024)/3/5", "2024-03-05"), ("(_Float16)1.5", "1.5"), ("(__bf16)1.5f", "1.5"),
    ("typedef int v4 __attribute__((vector_size(16))); v4{1, 2, 3, 4}", "{1, 2, 3, 4}"), ("typedef int v4 __attribute__((vector_size(16))); v4 v = {1, 2, 3, 4}; v[2]", "3"),
    ("typedef float e3 __attribute__((ext_vector_type(3))); e3 v = {1, 2, 3}; v", "{1.0, 2.0, 3.0}"),
    ("typedef float e3 __attribute__((ext_vector_type(3))); e3 v = {1, 2, 3}; v.zx", "{3.0, 1.0}"),
    ("typedef float e3 __attribute__((ext_vector_type(3))); e3 v = {1, 2, 3}; v.y", "2.0"),
    ("_Complex double c = 1.0 + 2.0i; c", "(1.0,2.0)"), ("struct M { int v; }; &M::v", "(int M::*) of a member"), ("struct M { int v; }; (int M::*)nullptr", "(int M::*) nullptr"),
    ("struct P { double x, y; }; P{1, 2}", "(P) {1.0, 2.0}"), ("struct P { int x, y, z; }; P{1, 2, 3}", "(P) {1, 2, 3}"),
    ("struct P { int x, y, z, other; }; P{1, 2, 3}", "(P) {.x = 1, .y = 2, .z = 3, .other = 0}"), ("struct P { int x; float y; }; P{}", "(P) {.x = 0, .y = 0.0}"), ("struct P { int x : 3, y : 4; }; P{}", "(P) {.x = 0, .y = 0}"), ("int none[0]; none", None),
    ("#include <source_location>\nstd::source_location::current()", "cell 1:3"), ("auto f = [](int x) { return x; }; f", None),
    ("#include <functional>\nint g(int x) { return x; }\n(std::function<int(int)>(g))(3)", "3"), ("#include <span>\nint g[2][2] = {{1, 2}, {3, 4}}; std::span<int>{g[1]}", "{3, 4}"),
])
def test_odd_values_are_shown_as_their_types_say(session, text, shown):
    test_values_are_shown_as_their_types_say(session, text, shown)


def test_values_of_cuda_are_shown(session):
    ok(session, "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n__global__ void k() {}")
    for text, shown in (("__float2half(1.5f)", "1.5"), ("__nv_bfloat16(2.5f)", "2.5"), ("make_float4(1, 2, 3, 4)", "(float4) {1.0, 2.0, 3.0, 4.0}"), ("dim3(3)", "(dim3) {3, 1, 1}"),
                        ("make_uchar2(1, 2)", "(uchar2) {1, 2}"), ("make_longlong3(1, 2, 3)", "(longlong3) {1, 2, 3}")):
        assert value(session, text) == shown


@pytest.mark.parametrize("text, name", [("std::function<int(int)>(fun)", "fun"), ("std::span<int>(grid[0])", "grid"), ("double(x)", "x"), ("int a = 1;\nint(unknown)", "unknown")])
def test_a_value_that_cpp_reads_as_a_declaration_is_told(session, text, name):
    ok(session, "#include <functional>\n#include <span>\nint fun(int x) { return x; }\nint grid[1][2] = {{1, 2}}; int x = 7;")
    result = session.run(text)
    error = result.diagnostics[-1]
    assert not result.ok and f"C++ reads this as a declaration of '{name}'" in error.message and error.line == text.count("\n") + 1
    assert value(session, "fun(3) + x + grid[0][1]") == "12"
    assert session.run(text + ";").ok


@pytest.mark.parametrize("text", ["int (a) = 3", "int (*p)(int) = nullptr", "int (&r)[2] = *new int[1][2]", "int(b);", "int (c){4}", "int *(d)", "double e(3)"])
def test_declarations_with_brackets_stay_such(session, text):
    assert session.run(text).ok


POINT = "struct P { int x; float y; };\n"


@pytest.mark.parametrize("text, shown", [
    ("P{1, 2}", "(P) {.x = 1, .y = 2.0}"), ("const P p{1, 2}; p", "(P) {.x = 1, .y = 2.0}"), ("P p[2] = {{1, 2}, {3, 4}}; p", "{(P) {.x = 1, .y = 2.0}, (P) {.x = 3, .y = 4.0}}"),
    ("#include <vector>\nstd::vector<P>{{1, 2}}", "{(P) {.x = 1, .y = 2.0}}"), ("#include <utility>\nstd::pair<P, int>{{1, 2}, 3}", "((P) {.x = 1, .y = 2.0}, 3)"),
    ("#include <map>\nstd::map<int, P>{{5, {1, 2}}}", "{(5, (P) {.x = 1, .y = 2.0})}"), ("P f() { return {1, 2}; }\nf()", "(P) {.x = 1, .y = 2.0}"),
    ("struct Q { P p; int a[2]; unsigned b : 3; unsigned : 2; char t[4]; }; Q{{1, 2}, {3, 4}, 5, \"abc\"}", '(Q) {.p = (P) {.x = 1, .y = 2.0}, .a = {3, 4}, .b = 5, .t = "abc"}'),
    ("struct D : P { const char* s; }; D{{1, 2}, \"hi\"}", '(D) {(P) {.x = 1, .y = 2.0}, .s = "hi"}'), ("struct E {}; E{}", "(E) {}"), ("struct E : P {}; E{1, 2}", "(E) {(P) {.x = 1, .y = 2.0}}"),
    ("#include <string>\n#include <vector>\n#include <optional>\nstruct F { std::string s; std::vector<int> v; std::optional<P> o; }; F{\"a\", {1, 2}, {{1, 2}}}",
     '(F) {.s = "a", .v = {1, 2}, .o = (P) {.x = 1, .y = 2.0}}'),
    ("#include <iostream>\nstruct S { int v; }; std::ostream& operator<<(std::ostream& out, S s) { return out << '<' << s.v << '>'; }\nstruct T : S { S s; }; T{{1}, {2}}", "<1>"),
    ("#include <iostream>\nstruct S { int v; }; std::ostream& operator<<(std::ostream& out, S s) { return out << '<' << s.v << '>'; }\nstruct T { S s; int n; }; T{{1}, 2}", "(T) {.s = <1>, .n = 2}"),
    ("int z = 5; struct R { int& r; P* p; void (*f)(); }; R{z, nullptr, nullptr}", "(R) {.r = 5, .p = (P *) nullptr, .f = (void (*)()) nullptr}"),
    ("struct N { struct { int a; struct { int b; }; }; int c; }; N{{1, {2}}, 3}", "(N) {.a = 1, .b = 2, .c = 3}"), ("struct N { struct { int a; } in; union { int i; float f; } u; }; N{{1}, {2}}.in", "(N::(unnamed struct at cell 1:2:12)) {.a = 1}"),
    ("struct V { int tag; union { int i; const char* s; }; }; V{1, {2}}", "(V) {.tag = 1, union …}"), ("union U { int i; float f; }; U{1}", None),
    ("class C { int h = 3; public: int o = 4; }; C{}", None), ("class C : P { public: int o = 4; }; C{}", None), ("struct C { int a; C(int n) : a(n) {} virtual ~C() {} }; C{1}", "(C) {.a = 1}"),
    ("template <class T> struct G { T t; int n; }; G<G<double>>{{1.5, 2}, 3}", "(G<G<double>>) {.t = (G<double>) {.t = 1.5, .n = 2}, .n = 3}"),
    ("enum class K { a, b }; struct I { K k; volatile bool b; char c; volatile int n; }; I{K::b, true, 'x', 7}", "(I) {.k = (K) 1, .b = true, .c = 'x', .n = 7}"),
    ("#include <atomic>\nstruct A { std::atomic<int> n{3}; _Atomic(int) m = 4; }; A a; a", "(A) {.n = 3, .m = 4}"), ("struct L { int n; int rest[]; }; L l{2}; l", "(L) {.n = 2, .rest = …}"),
    ("namespace { struct H { int n; }; } H{3}", "((anonymous namespace)::H) {.n = 3}"), ("[] { struct W { int n; }; return W{3}; }()", "(W) {.n = 3}"), ("#include <cstdlib>\nstd::div(7, 2)", "(div_t) {.quot = 3, .rem = 1}"),
    ("struct M { P a[2][1]; }; M{}", "(M) {.a = {{(P) {.x = 0, .y = 0.0}}, {(P) {.x = 0, .y = 0.0}}}}"), ("#include <mutex>\nstd::mutex m; m", None),
    ("struct B1 { int i; }; struct B2 : virtual B1 { int j = 2; }; B2{}", None), ("auto l = [n = 3] { return n; }; l", None),
])
def test_members_of_classes_are_shown(session, text, shown):
    shown_values = session.run(POINT + text).raise_if_failed().value
    if shown is None:
        assert ") at 0x" in shown_values
    else:
        assert shown_values == shown


def test_members_of_a_class_that_is_defined_again_are_shown(session):
    assert value(session, "struct P { int x; };\nP{1}") == "(P) {.x = 1}"
    assert value(session, "struct P { double y; };\nP{2}") == "(P) {.y = 2.0}"
    session.undo()
    assert value(session, "P{3}") == "(P) {.x = 3}"
