"""tarsia.Session: cells that share what they define."""

import subprocess
import sys

import numpy as np
import pytest
import tarsia
from cells import ok, value


def test_expressions_have_values(session):
    assert value(session, "1 + 2") == "3"
    assert value(session, "1.0f / 3") == "0.33333334"
    assert value(session, "2.0") == "2.0"
    assert value(session, "'c'") == "'c'"
    assert value(session, "\"a\\n\"") == "\"a\\n\""
    assert value(session, "true") == "true"
    assert value(session, "nullptr") == "nullptr"
    assert value(session, "int a[3] = {1, 2, 3}; a") == "{1, 2, 3}"
    assert value(session, "(unsigned char)7") == "7"


def test_a_stream_has_no_value(session):
    cell = session.run("#include <iostream>\n#include <sstream>\nstd::cout << \"x\"").raise_if_failed()
    assert cell.value is None and cell.stdout == "x"
    assert session.run("std::ostringstream() << 1").raise_if_failed().value is None


@pytest.mark.parametrize("text, values", [
    (["#ifndef G\n#define G\nint g() { return 2; }\n#endif", "g()", "g() + 1"], [None, "2", "3"]),
    (["#ifdef NO\nint e = 1;\n#else\nint e = 2;\n#endif\nint k = 5;", "e", "e + k"], [None, "2", "7"]),
    (["#if 1\n#if 0\nint a = 1;\n#elif 1\nint a = 3;\nint b() { return a; }\n#endif\n#endif", "a = 4; b()", "b()"], [None, "4", "4"]),
    (["#if 1\nvoid f() {\n#else\nvoid f(int) {\n#endif\n}\nint z = 2", "f(); z", "void f() { z = 7; }", "f(); z"], [None, "2", None, "7"]),
    (["struct V { int x; int operator-(int y) { return x - y; } };", "V{5} - 2", "int x = int{3} - int{1}; x", "if (x) { x = 9; }\n-x"], [None, "3", "2", "-9"]),
    (["namespace { int h() { return 1; } }\nh()", "h()", "namespace { int h() { return 2; } }\nh()", "h()"], ["1", "1", "2", "2"]),
])
def test_conditions_signs_and_unnamed_namespaces(session, text, values):
    assert [value(session, one) for one in text] == values


def test_labels_and_their_goto_stand_in_a_block(session):
    cell = session.run("int y = 1;\nagain: y++; if (y < 5) goto again;")
    assert not cell.ok and "between { and }" in cell.diagnostics[0].message
    ok(session, "int y = 1;\n{ again: y++; if (y < 5) goto again; }")
    assert value(session, "y") == "5"


@pytest.mark.parametrize("isolated", [False, True])
def test_undefined_behaviour_ends_the_cell_in_which_it_happens(isolated):
    session = tarsia.Session(debug="undefined", isolated=isolated)
    ok(session, "int add(int a, int b) { return a + b; }")
    cell = session.run("add(2147483647, 1)")
    assert (cell.ok, cell.error_class) == (False, "UndefinedBehaviour")
    assert cell.error.startswith("cell 2: undefined behaviour: cell 1:1:34: signed integer overflow"), cell.error
    assert value(session, "add(1, 2)") == "3"


def test_main_is_a_function_like_others(session):
    ok(session, "int main() { return 3; }", "int g() { return main() + 1; }", "int main() { return 5; }")
    assert (value(session, "main()"), value(session, "g()")) == ("5", "6")


def test_a_semicolon_hides_the_value(session):
    assert value(session, "1 + 2;") is None


def test_variables_live_on(session):
    ok(session, "int x = 5;", "x += 2;", "for (int i = 0; i < 3; i++) x += i;")
    assert value(session, "x") == "10"


def test_declarations_and_statements_mix_in_their_order(session):
    assert value(session, "int a = 1; a += 1; int b = a; a = 10; b") == "2"


def test_functions_call_those_of_earlier_cells(session):
    ok(session, "int square(int a) { return a * a; }", "int next(int a) { return square(a) + 1; }")
    assert value(session, "next(3)") == "10"


def test_a_function_that_is_defined_again_reaches_earlier_code(session):
    ok(session, "int f(int a) { return a; }", "int g(int a) { return f(a) + 1; }", "int f(int a) { return a * 100; }")
    assert value(session, "g(3)") == "301"
    assert session.undo() == []  # the cell of g(3)
    assert session.undo() == ["f"]
    assert value(session, "g(3)") == "4"


def test_a_function_may_be_called_in_the_cell_that_replaces_it(session):
    ok(session, "int f() { return 1; }")
    assert value(session, "int f() { return 2; }\nf()") == "2"


def test_recursion_and_forward_declarations(session):
    assert value(session, "int fact(int n) { return n < 2 ? 1 : n * fact(n - 1); }\nfact(10)") == "3628800"
    ok(session, "int later(int); int user(int a) { return later(a) + 1; }")
    missing = session.run("user(1)")
    assert not missing.ok and "no cell has defined" in missing.error
    ok(session, "int later(int a) { return a * 10; }")
    assert value(session, "user(1)") == "11"


def test_classes_whose_virtual_functions_are_defined_outside_of_them(session):
    ok(session, "struct A { virtual int g(); int a = 5; virtual ~A() {} };\nint A::g() { return 1; }", "A a;")
    assert value(session, "a.g()") == "1"
    assert value(session, "struct B : A { int g() override { return 2; } }; B b; A& r = b; r.g()") == "2"
    assert value(session, "#include <typeinfo>\ntypeid(r) == typeid(B) && dynamic_cast<B*>(&r)") == "true"
    ok(session, "void throws() { throw B(); }")
    assert value(session, "int n = 0; try { throws(); } catch (A& x) { n = x.g(); } n") == "2"
    ok(session, "int A::g() { return 10; }")
    assert value(session, "a.g() + A().g()") == "20"
    ok(session, "struct K { virtual int later(); };", "K* k = new K;", "int K::later() { return 4; }")
    assert value(session, "k->later() + K().later()") == "8"
    ok(session, "struct L { virtual int l() { return 1; } int li = 4; };\n"
                "struct R { virtual int r(); virtual ~R(); }; int R::r() { return 2; } R::~R() {}\n"
                "struct LR : L, R { virtual int key(); int r() override; ~LR() override; int own = 6; };\n"
                "int LR::key() { return 9; } int LR::r() { return own; } LR::~LR() {}")
    assert value(session, "LR lr; R& as_r = lr; as_r.r() + lr.key()") == "15"
    assert value(session, "struct D : LR { int key() override { return 7; } }; R* d = new D; int got = d->r(); delete d; got") == "6"


def test_another_result_type_is_noted(session):
    ok(session, "int f(int a) { return a; }", "int g(int a) { return f(a) + 1; }")
    cell = session.run("double f(int a) { return 0.5 * a; }").raise_if_failed()
    assert cell.notes == ["'g' of cell 2 keeps the earlier 'int (int)': this one is 'double (int)'"]
    assert value(session, "f(3)") == "1.5"
    assert value(session, "g(3)") == "4"


def test_overloads_stand_side_by_side(session):
    ok(session, "int f(int a) { return 1; }", "int f(double a) { return 2; }")
    assert (value(session, "f(1)"), value(session, "f(1.0)")) == ("1", "2")


def test_a_variable_of_another_type_takes_the_place(session):
    ok(session, "int x = 3;", "int get() { return x; }", "double x = 2.5;")
    assert (value(session, "x"), value(session, "get()")) == ("2.5", "3")


def test_a_variable_of_the_same_type_reaches_earlier_code(session):
    ok(session, "int x = 3;", "int get() { return x; }", "int x = 4;")
    assert value(session, "get()") == "4"


def test_what_needs_a_replaced_type_is_taken_back_and_named(session):
    ok(session, "struct P { int a; };", "P p{1};")
    cell = session.run("struct P { int z; };").raise_if_failed()
    assert cell.undone == ["p"]
    assert value(session, "P{4}.z") == "4"


def test_a_failed_cell_changes_nothing(session):
    ok(session, "int x = 1;")
    failed = session.run("int y = 2; int x = ;")
    assert not failed.ok and failed.error_class == "CompileError"
    assert failed.diagnostics[0].file == "cell 2" and failed.diagnostics[0].line == 1
    assert not session.run("y").ok
    assert value(session, "x") == "1"


def test_containers_strings_and_pairs_are_shown(session):
    ok(session, "#include <map>\n#include <optional>\n#include <string>\n#include <vector>")
    assert value(session, "std::vector<int> v{1, 2}; v.push_back(3); v") == "{1, 2, 3}"
    assert value(session, "std::map<std::string, std::vector<int>> m{{\"a\", {1, 2}}}; m") == "{(\"a\", {1, 2})}"
    assert value(session, "std::optional<double> o; o") == "nothing"
    assert value(session, "o = 2; o") == "2.0"
    assert value(session, "std::make_pair(1, 2.5f)") == "(1, 2.5)"
    assert value(session, "std::string(\"x\")") == "\"x\""
    assert value(session, "std::vector<int>(100000, 7)").endswith("…}")


def test_types_of_the_user_are_shown_by_their_operator(session):
    ok(session, "#include <iostream>",
       "struct V { int a; }; std::ostream& operator<<(std::ostream& o, const V& v) { return o << \"V\" << v.a; }")
    assert value(session, "V{5}") == "V5"
    assert value(session, "struct W {}; W{}") == "(W) {}"
    assert value(session, "enum class Color { red, green }; Color::green") == "(Color) 1"


def test_output_is_kept(session):
    assert session.run("#include <cstdio>\nprintf(\"hi %d\\n\", 3);").stdout == "hi 3\n"


def test_lambdas_templates_macros_and_namespaces(session):
    ok(session, "auto add = [](int a, int b) { return a + b; };", "template <class T> T twice(T a) { return a + a; }",
       "#define SQUARE(x) ((x) * (x))", "namespace ns { int deep = 4; int f() { return deep; } static int hidden = 9; }",
       "static int counter = 0; static int count() { return ++counter; }", "template <class T> T& kept() { static T one; return one; }")
    assert value(session, "add(1, 2)") == "3"
    assert value(session, "twice(2.5f)") == "5.0"
    assert value(session, "SQUARE(7)") == "49"
    assert value(session, "ns::f() + ns::hidden") == "13"
    assert value(session, "count(); count()") == "2"
    assert value(session, "kept<int>() += 1; kept<int>()") == "1"
    assert value(session, "kept<int>() += 1; kept<int>()") == "2"


def test_constants_and_bindings(session):
    ok(session, "const int N = 5; constexpr int M = N * 2;", "#include <cmath>\nconst double root = std::sqrt(16.0 * N);",
       "#include <utility>\nauto [p, q] = std::make_pair(3, 4);")
    assert value(session, "int a[M]; sizeof(a)") == "40"
    assert value(session, "p * q") == "12"
    assert value(session, "root * root > 79.9").startswith("true")


def test_constants_have_their_turn(session):
    assert value(session, "int x = 1; x = 5; const int y = x; x = 6; y") == "5"
    assert value(session, "y") == "5"


def test_ops_of_several_cells(session):
    for name in ("first", "second"):
        ok(session, f'TARSIA_OP(session_{name}).forward("cpu", [](tarsia::Context& c) {{ c.output(0).data<float>()[0] = 1; }});')
    assert session.ops == ["session_first", "session_second"]
    session.undo()
    assert session.ops == ["session_first"] and tarsia.op("session_first") is not None


def test_initial_values_may_name_functions_of_earlier_cells(session):
    ok(session, "int f(int a) { return a * 10; }", "int g(int a) { return a + 1; }", "int (*table[2])(int) = {f, g};")
    assert value(session, "table[0](2) + table[1](2)") == "23"


def test_classes_with_virtual_functions(session):
    ok(session, "struct A { virtual int f() { return 1; } virtual ~A() {} };", "struct B : A { int f() override { return 2; } };",
       "A* a = new B;")
    assert value(session, "a->f()") == "2"


@pytest.mark.parametrize("isolated", [False, True])
def test_a_session_ends_with_its_block(isolated):
    with tarsia.Session(isolated=isolated) as session:
        assert value(session, "int kept = 3; kept") == "3"
        handle = session._handle
    for use in (lambda: session.run("kept"), lambda: session.ops, session.undo, lambda: session.source,
                lambda: session.complete("ke"), lambda: session.set_options(opt=1)):
        with pytest.raises(tarsia.Error, match=r"the session is closed: begin another with tarsia.Session\(\)"):
            use()
    session.close()
    if isolated:
        assert handle._child._process.returncode == 0


def test_what_a_closed_session_has_defined_is_gone():
    text = 'TARSIA_OP(session_closed).input("x").output("y").forward("cpu", [](tarsia::Context&) { });'
    session, other = tarsia.Session(), tarsia.Session()
    ok(session, text)
    assert tarsia.op("session_closed") is not None
    session.close()
    with pytest.raises(tarsia.NotFound):
        tarsia.op("session_closed")
    ok(other, text)  # the name is free
    assert tarsia.op("session_closed") is not None
    other.close()


def test_the_folder_of_the_cache_can_be_deleted_when_a_session_is_closed(tmp_path, monkeypatch):
    monkeypatch.setenv("TARSIA_CACHE_DIR", str(tmp_path))
    session = tarsia.Session()
    for i in range(10):
        ok(session, f"int deleted_{i}() {{ return {i}; }}")
    session.close()
    before = sorted(tmp_path.rglob("*"))
    again = tarsia.Session()
    for i in range(10):
        ok(again, f"int deleted_{i}() {{ return {i}; }}")
    again.close()
    assert sorted(tmp_path.rglob("*")) == before


def test_ready_values(session):
    assert value(session, "zeros({2, 3})") == "float32[2, 3] cpu\n{{0, 0, 0},\n {0, 0, 0}}"
    assert value(session, "arange(5)") == "float32[5] cpu {0, 1, 2, 3, 4}"
    assert value(session, "auto x = randn({1000}); allclose(x, x)") == "true"
    assert value(session, "zeros({2000})") == "float32[2000] cpu {0, 0, 0, …, 0, 0, 0}"
    ok(session, "int zeros = 3;")  # the name is free for the user's own
    assert value(session, "zeros") == "3"
    failed = session.run("full({-1}, 0)")
    assert not failed.ok and "negative" in failed.error


def test_extents_of_ready_values_are_a_list_or_arguments(session):
    assert value(session, "ones(2, 3)") == value(session, "ones({2, 3})") == "float32[2, 3] cpu\n{{1, 1, 1},\n {1, 1, 1}}"
    assert value(session, "zeros(2)") == value(session, "zeros({2})") == "float32[2] cpu {0, 0}"
    assert value(session, 'ones(2, tarsia::int32, "cpu")') == "int32[2] cpu {1, 1}"
    assert value(session, 'ones(2, "cpu")') == "float32[2] cpu {1, 1}"
    assert value(session, "randn(3, 4, tarsia::float64).shape().size() + rand_uniform(3ul, 4).ndim()") == "4"
    assert value(session, "#include <vector>\nstd::vector<int64_t> shape{1, 2}; zeros(shape)") == "float32[1, 2] cpu\n{{0, 0}}"
    assert value(session, "zeros(ones(2, 1).shape())") == "float32[2, 1] cpu\n{{0},\n {0}}"
    assert "negative" in session.run("zeros(2, -1)").error
    assert not session.run("zeros(2.5)").ok
    assert not session.run("zeros(true)").ok


def test_ranges(session):
    assert value(session, "arange(2, 5)") == "float32[3] cpu {2, 3, 4}"
    assert value(session, "arange(1, 0, -0.25, tarsia::float64)") == "float64[4] cpu {1, 0.75, 0.5, 0.25}"
    assert value(session, 'arange(0, 7, 3, "cpu")') == "float32[3] cpu {0, 3, 6}"
    assert value(session, "arange(3, 1)") == "float32[0] cpu {}"
    for wrong in ("arange(0, 1, 0)", "arange(0, 1.0 / 0)", "arange(0.0 / 0, 1)"):
        assert "arange" in session.run(wrong).error


def test_ready_values_are_there_for_macros_and_headers(tmp_path):
    (tmp_path / "mine.h").write_text("inline auto two_ones() { return ones({2}); }\n")
    (tmp_path / "macros.h").write_text("#define TWO_ZEROS zeros({2})\n")
    zeros, ones = "float32[2] cpu {0, 0}", "float32[2] cpu {1, 1}"
    session = tarsia.Session(include_dirs=[tmp_path])
    assert value(session, '#include "mine.h"\ntwo_ones()') == ones
    assert value(session, "#include <macros.h>\nTWO_ZEROS") == zeros
    assert value(tarsia.Session(defines={"TWO_ONES": "ones({2})"}), "TWO_ONES") == ones
    session = tarsia.Session()
    ok(session, "#define JOINED(a, b) a##b")
    assert value(session, "JOINED(ze, ros)({2})") == zeros


def test_npy_files(session, tmp_path):
    given = np.arange(6, dtype=np.float64).reshape(2, 3)
    np.save(tmp_path / "x.npy", given)
    ok(session, f"auto x = load_npy(\"{tmp_path}/x.npy\");", f"save_npy(\"{tmp_path}/y.npy\", x);")
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), given)
    missing = session.run(f"load_npy(\"{tmp_path}/none.npy\")")
    assert not missing.ok and "none.npy" in missing.error


def test_ops_are_in_the_registry_until_they_are_taken_back(session):
    ok(session, """
        static void scale(tarsia::Context& c) {
          for (long i = 0; i < c.input(0).numel(); i++)
            c.output(0).data<float>()[i] = 3 * c.input(0).data<const float>()[i];
        }
        TARSIA_OP(session_scale).input("x").output("y").forward("cpu", scale);
    """)
    assert session.ops == ["session_scale"]
    np.testing.assert_array_equal(tarsia.ops.session_scale(np.ones(2, np.float32)), [3, 3])
    session.undo()
    assert session.ops == []
    with pytest.raises(tarsia.NotFound):
        tarsia.op("session_scale")


def test_replaying_a_session_compiles_nothing(session):
    texts = ["int f(int a) { return a; }", "int x = f(2);", "int f(int a) { return 2 * a; }", "x + f(1)"]
    ok(session, *texts)
    again = tarsia.Session()
    cells = [again.run(text) for text in texts]
    assert cells[-1].value == "4"
    assert {cell.origin for cell in cells} <= {"memory", "disk"}


def test_two_sessions_have_their_own_variables():
    one, other = tarsia.Session(), tarsia.Session()
    ok(one, "int x = 1;")
    ok(other, "int x = 1;")
    ok(one, "x = 5;")
    assert (value(one, "x"), value(other, "x")) == ("5", "1")


def test_the_same_cell_runs_again(session):
    ok(session, "int x = 0;", "x++;", "x++;")
    assert value(session, "x") == "2"


def test_static_initialisers_of_a_source_may_make_tensors():
    library = tarsia.load_inline("""
        #include <tarsia/op.h>
        static tarsia::Tensor made = tarsia::empty({3}, tarsia::float32, {TARSIA_CPU, 0});
        static tarsia::Tensor shared = made;
        long n() { return made.numel() + shared.numel(); }
    """)
    assert library.n() == 6


def test_a_macro_that_is_defined_again_names_what_keeps_the_earlier_one(session):
    ok(session, "#define N 4\nint n() { return N; }", "int unrelated() { return 1; }")
    cell = session.run("#define N 6").raise_if_failed()
    assert (cell.notes, cell.diagnostics) == (["'n' of cell 1 keeps the earlier 'N'"], [])
    cell = session.run("n() + N").raise_if_failed()
    assert (cell.value, cell.diagnostics, cell.notes) == ("10", [], [])


def test_an_op_that_is_defined_again_with_another_signature_is_noted(session):
    op = 'TARSIA_OP(noted_again).input("x")@.output("y").forward("cpu", [](tarsia::Context&) { });'
    ok(session, op.replace("@", ""))
    assert session.run(op.replace("@", "")).raise_if_failed().notes == []
    (note,) = session.run(op.replace("@", '.input("z")')).raise_if_failed().notes
    assert "noted_again(x) -> y at cell 2:1, now noted_again(x, z) -> y at cell 3:1" in note


@pytest.mark.parametrize("text, name", [
    ("thread_local int x = 5;", "x"), ("int five() { return 5; } thread_local int x = five();", "x"), ("static thread_local int x = 5;", "x"),
    ("int five() { return 5; } static thread_local int x = five();", "x"), ("__thread int x = 5;", "x"), ("namespace { thread_local int x = 5; }", "x"),
    ("namespace n { thread_local int x = 5; }", "n::x"), ("struct S { static thread_local int x; }; thread_local int S::x = 5;", "S::x"),
    ("int five() { return 5; } inline thread_local int x = five();", "x"), ("thread_local int own = 5; thread_local int& x = own;", "x"),
    ("template <class T> thread_local T y = 5;", "y<int>"), ("inline int& x() { thread_local int own = 5; return own; }", "x()"),
    ("__global__ void k() {} thread_local int x = 5;", "x"), ("extern \"C\" { thread_local int x = 5; }", "x")])
def test_thread_local_variables_live_on_for_each_thread(session, text, name):
    ok(session, "#include <thread>", text, f"{name} += 2;", f"int get() {{ return {name}; }}", f"int* at() {{ return &{name}; }}")
    assert session.run(f"{name} + 10 * get()").value == "77"
    assert session.run(f"int other = 0; std::thread([] {{ {name} *= 3; other = get(); }}).join(); 100 * other + {name}").value == "1507"
    assert session.run(f"at() == &{name}").value == "true"


def test_thread_local_variables_are_defined_again_and_taken_back(session):
    ok(session, "thread_local int x = 5; int own() { return x; }", "int get() { return x; }", "int start() { return 7; }",
       "thread_local int x = start(); int both() { return x + get(); }")
    assert session.run("both() + own()").value == "21"
    session.undo(), session.undo()
    assert session.run("get() + own()").value == "10"
    cell = session.run("int x = 1;").raise_if_failed()
    assert cell.notes == [f"'{name}' of cell {number} keeps the earlier 'thread_local int': this one is 'int'" for name, number in
                          (("own", 1), ("get", 2))]
    assert session.run("x + get()").value == "6"


def test_thread_local_objects_end_with_their_thread(session):
    ok(session, "#include <thread>", "int alive = 0;", "struct Counted { Counted() { ++alive; } ~Counted() { --alive; } int n = 1; };",
       "thread_local Counted counted;", "int within = 0; std::thread([] { counted.n = 2; within = 10 * alive + counted.n; }).join();")
    assert session.run("100 * within + alive").value == "1200"
    cell = session.run("extern thread_local int nowhere;\nnowhere")
    assert not cell.ok and "nowhere" in cell.error and "define it" in cell.error


def test_statements_have_lambdas_classes_and_static_variables(session):
    ok(session, "#include <vector>", "#include <algorithm>", "template <class F> int call(F f) { return f(2); }", "int total = 0;",
       "for (int i = 0; i < 3; ++i) { auto add = [i](int a) { return a + i; }; total += add(1); }",
       "{ struct Pair { int a, b; int sum() const { return a + b; } }; Pair p{1, 2}; total += p.sum(); }",
       "{ struct Pair { int a; int sum() const { return 10 * a; } }; Pair p{2}; total += p.sum(); }",
       "{ static int n = total; total += n; }", "{ static int n = 1; total += n; auto f = [](auto x) { static int k = 1; return x + k; }; total += f(0); }",
       "try { struct Thrown {}; throw Thrown(); } catch (...) { total += 100; }")
    assert session.run("total").value == "160"
    assert session.run("call([](int a) { return a * total; })").value == "320"
    ok(session, "std::vector<int> v{3, 1, 2};", "{ std::sort(v.begin(), v.end(), [](int a, int b) { return a > b; }); }")
    assert session.run("v").value == "{3, 2, 1}"
    assert session.run("std::transform(v.begin(), v.end(), v.begin(), [](auto x) { return x * x; }); v").value == "{9, 4, 1}"
    ok(session, "int twice_again() { return call([](int a) { return 2 * a; }); }\n{ total = call([](int a) { return 2 * a; }); }")
    assert session.run("total + twice_again()").value == "8"


@pytest.mark.parametrize("isolated", [False, True])
def test_completion(isolated):
    session = tarsia.Session(isolated=isolated)
    ok(session, "struct Punkt { int x; int länge(int a) const { return a; } };", "Punkt größe; int square(int a) { return a * a; }")
    assert session.complete("squ") == {"start": 0, "matches": ["square"], "details": ["int square(int a)"]}
    found = session.complete('"ä"; größe.')
    assert found["start"] == 11 and {"x", "länge"} <= set(found["matches"]) and "square" not in found["matches"]
    assert session.complete("größ") == {"start": 0, "matches": ["größe"], "details": ["Punkt größe"]}
    assert session.complete("int y = squ + 1;", 11)["matches"] == ["square"]
    assert session.complete("int f() {\n  if (squ", 18)["start"] == 16
    assert "vector>" in session.complete("#include <vec")["matches"]
    assert session.complete("")["matches"] and session.complete("nothing_like_it")["matches"] == []
    assert session.complete("squ", 99)["matches"] == session.complete("square", 3)["matches"] == ["square"]
    assert session.run("square(3)").value == "9"


def test_blank_cells_are_no_cells():
    session = tarsia.Session(isolated=True)
    ok(session, "int f() { return 1; }", "int f() { return 2; }", "", "// nothing")
    assert session.run("").origin is None
    assert session.undo() == ["f"]
    assert not session.run("#include <cstdlib>\nabort();").ok
    assert value(session, "f()") == "1"


def test_standards(session):
    old = tarsia.Session(std="c++17")
    assert (value(old, "__cplusplus"), value(session, "__cplusplus")) == ("201703", "202002")
    with pytest.raises(tarsia.ArgumentValueError, match=r"C\+\+17 or newer"):
        tarsia.Session(std="c++14")
    with pytest.raises(tarsia.ArgumentValueError, match=r"C\+\+17 or newer"):
        old.set_options(std="c++11")
    old.set_options(defines={"N": "3"})
    assert value(old, "N + (__cplusplus == 201703L)") == "4"


def test_variables_with_initial_values_in_brackets_live_on(session):
    ok(session, "int e(4); bool b(true); int* p(nullptr); auto f(2.5f);", "int a[2]{1, 2}, n(3);",
       "tarsia::Tensor x(ones({2}));")
    assert value(session, "e + a[1] + n + b") == "10"
    assert value(session, "x.size(0) + f") == "4.5"


def test_expressions_begin_with_a_sign(session):
    assert value(session, "-1") == "-1"
    ok(session, "int i = 3;")
    assert [value(session, text) for text in ("-i", "+i", "// no\n-i * -2", "int j = i\n- 1; -j")] == ["-3", "3", "6", "-2"]
    assert value(session, "#if -1\n-i - 1 // ;\n#endif") == "-4"


def test_a_lambda_after_another_variable_of_its_line_is_called_later(session):
    ok(session, "int much = 1; auto five = [] { return 5; };")
    assert value(session, "five()") == "5"


def test_constructors_and_destructors_outside_of_their_class(session):
    ok(session, "int n = 3; struct A { A(); ~A(); };", "A::A() { n = 7; }\nA::~A() { n--; }", "{ A a; }")
    assert value(session, "n") == "6"
    ok(session, "A::~A() { n = 100; }", "{ A a; }")
    assert value(session, "n") == "100"


@pytest.mark.parametrize("cells", [
    ["struct A { ~A(); }; int n = 0; A::~A() { n--; }", "A a;"],
    ["struct A { ~A(); };", "#include <cstdio>\nA::~A() { std::puts(\"gone\"); std::fflush(stdout); }", "A a;"],
    ["struct A { ~A(); }; A::~A() {}", "A a;", "int helper() { return 1; }\nA::~A() { helper(); }"],
])
def test_objects_end_before_any_code_goes(cells):
    code = f"import tarsia; s = tarsia.Session(); [s.run(one).raise_if_failed() for one in {cells!r}]"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ("gone\n" if "puts" in cells[1] else "")


def test_an_op_that_was_replaced_is_there_again_after_undo(session):
    op = 'TARSIA_OP(undone_op).input("x").output("y").forward("cpu", [](tarsia::Context& c) {{ c.output(0).data<float>()[0] = {}; }});'
    ok(session, op.format(1), op.format(2))
    x = np.zeros(1, np.float32)
    assert tarsia.ops.undone_op(x) == 2
    assert session.undo() == ["undone_op"]
    assert session.ops == ["undone_op"] and tarsia.ops.undone_op(x) == 1
    session.undo()
    assert session.ops == [] and "undone_op" not in tarsia.ops


def test_static_functions_are_called_directly_in_their_own_cell(session):
    ok(session, "static int n() { return 4; } int g() { return n(); }", "int h() { return n(); }")
    cell = session.run("static int n() { return 5; }").raise_if_failed()
    assert cell.notes == ["'g' of cell 1 keeps the earlier 'n'"]
    assert (value(session, "g()"), value(session, "h()"), value(session, "n()")) == ("4", "5", "5")


@pytest.mark.parametrize("declared", [
    "typedef float v4 __attribute__((vector_size(16)));", "typedef int al __attribute__((aligned(16)));", "using v4 = float __attribute__((vector_size(16)));",
    "template <class T> using ptr = T* __attribute__((aligned(16)));", "int f() __attribute__((noinline));", "int f(int) __asm__(\"named\");",
    "struct S { int a; } __attribute__((packed));", "template <class T> struct S { T a; } __attribute__((packed));", "enum E { e } __attribute__((packed));",
    "typedef struct { int a; } Q __attribute__((aligned(16)));", "#define WHOLE typedef int whole;\nWHOLE", "namespace n { typedef int al __attribute__((aligned(16))); int f() __attribute__((pure)); }",
    "extern \"C\" int f(int) __attribute__((const));", "template <class T> T g(T x) __attribute__((noinline));", "struct F;", "int h() noexcept;",
])
@pytest.mark.parametrize("follows", [" int a = 3;", "\nint a = 3;\na += 0;", " static int a = 3;", " int* p = nullptr; int a = 3;"])
def test_attributes_behind_a_declaration_are_its_own(session, declared, follows):
    """What follows in the cell stands for itself in later ones."""
    ok(session, declared + follows)
    assert value(session, "a") == "3"
    ok(session, "int later = 4;", "int a = 5;")
    assert value(session, "a + later") == "9"
