"""Ops that are declared or used wrongly: an error that names the op and the place, and the process lives."""

import re

import numpy as np
import pytest

import tarsia

X = np.ones((2, 3), np.float32)
FORWARD = '.forward("cpu", [](tarsia::Context&) {})'

ATTRIBUTE = "before any .attribute(…)"
IMPLEMENTATION = "before any .forward(…) or .backward(…)"
DECLARATIONS = {
    ".range(0, 1)": ATTRIBUTE,
    ".at_least(0)": ATTRIBUTE,
    ".at_most(0)": ATTRIBUTE,
    ".required()": ATTRIBUTE,
    '.choices({"a", "b"})': ATTRIBUTE,
    ".hidden()": "before any .output(…)",
    ".no_gradient()": "before any .input(…)",
    ".priority(2)": IMPLEMENTATION,
    ".when([](const tarsia::BindInfo&) { return true; })": IMPLEMENTATION,
    ".sparse()": IMPLEMENTATION,
    '.named("fast")': IMPLEMENTATION,
    ".honours_requests()": IMPLEMENTATION,
}


@pytest.mark.parametrize("call", DECLARATIONS)
def test_what_has_nothing_before_it_is_refused_at_load(call):
    name = call[1:call.index("(")]
    source = f'#include <tarsia/op.h>\n\nTARSIA_OP(misplaced)\n    {call}\n    .attribute("n", 1){FORWARD};\n'
    with pytest.raises(tarsia.LoadError, match=re.escape(f"has .{name}(…) {DECLARATIONS[call]}")) as caught:
        tarsia.load_inline({"misplaced.cc": source})
    assert re.search(r"op 'misplaced' \(misplaced.cc:[345]\)", str(caught.value))
    assert "misplaced" not in tarsia.ops


@pytest.mark.parametrize("text, said", [
    ('.input("x").input("x")', "declares input 'x' twice"),
    ('.output("y").output("y")', "declares output 'y' twice"),
    (".input(nullptr)", "has an input without a name"),
    (".attribute<int>(nullptr)", "has an attribute without a name"),
    (".inplace(0, 7)", "declares an in-place pair of ports that it does not have"),
    ('.forward(nullptr, [](tarsia::Context&) {})', "has a forward for an unknown device"),
    (".default_inputs(5)", r"has .default_inputs\(5\): 0 to 4"),
    ('.input("x").output("x")', "declares input and output 'x': give them two names"),
    ('.input("x").attribute("x", 1)', "declares input and attribute 'x': give them two names"),
    ('.output("z").attribute("z", 1)', "declares output and attribute 'z': give them two names"),
    ('.input("a b")', "declares input 'a b': write letters, digits and underscores"),
    ('.output("a-b")', "declares output 'a-b': write letters"),
    ('.attribute("2d", 1)', "declares attribute '2d': write letters"),
    ('.input("")', "has an input without a name"),
    ('.output("")', "has an output without a name"),
    ('.attribute("", 1)', "has an attribute without a name"),
    ('.attribute("out", 1)', "declares attribute 'out', but calls take out= for output tensors: choose another name"),
    ('.attribute("req", 1)', "declares attribute 'req', but calls take req= for write requests"),
    ('.infer([](tarsia::BindInfo&) {}).infer([](tarsia::BindInfo&) {})', r"has two .infer\(…\)"),
    ('.state([](const tarsia::BindInfo&) { return new int; }).state([](const tarsia::BindInfo&) { return new int; })',
     r"has two .state\(…\)"),
    ('.arity([](const tarsia::BindInfo&, int*, int*) {}).arity([](const tarsia::BindInfo&, int*, int*) {})', r"has two .arity\(…\)"),
    ('.attribute("k", "a").range(0, 1)', "bounds attribute 'k', which is a .*: .range"),
    ('.attribute("k", true).at_least(0)', "bounds attribute 'k', which is a "),
    ('.attribute("k", "a").choices({})', r"attribute 'k' with .choices\({}\), which no value fits"),
    ('.attribute("k", "a").choices({"a", "b", "a"})', "attribute 'k' with choice 'a' twice"),
    ('.attribute("k", 3).range(5, 1)', "bounds attribute 'k' so that no int32 fits: it has to be from 5 to 1$"),
    ('.attribute<double>("k").range(5, 1)', "so that no float64 fits: it has to be from 5 to 1$"),
    ('.attribute<int>("k").at_least(5).at_most(1)', "from 5 to 1$"),
    ('.attribute<int>("k").range(0.2, 0.7)', "so that no int32 fits: it has to be from 0.2 to 0.7$"),
    ('.attribute<unsigned>("k").at_most(-1)', "so that no uint32 fits: it has to be at most -1$"),
    ('.attribute<unsigned char>("k").at_least(300)', "so that no uint8 fits: it has to be at least 300$"),
    ('.attribute("k", 1.0).at_least(__builtin_nan(""))', "bounds attribute 'k' by NaN"),
    ('.attribute<float>("k").range(0, __builtin_nan(""))', "bounds attribute 'k' by NaN"),
    ('.attribute("k", 7).range(0, 5)', "a default that does not fit: .* has to be from 0 to 5, not 7"),
    ('.attribute("k", __builtin_nan("")).at_least(0)', "a default that does not fit: .* has to be at least 0, not nan"),
    ('.attribute("k", "a").choices({"a", nullptr})', "attribute 'k' with a choice whose text is null"),
    ('.attribute("k", 1).required()', r"attribute 'k' with a default and .required\(\)"),
])
def test_declarations_that_do_not_hold_together_are_refused_at_load(text, said):
    with pytest.raises(tarsia.LoadError, match=f"op 'incoherent'.*{said}"):
        tarsia.load_inline(f"#include <tarsia/op.h>\nTARSIA_OP(incoherent){text}{FORWARD};")


def test_members_have_defaults_and_may_be_required():
    tarsia.load_inline(f"""#include <tarsia/op.h>
struct Params {{ int k = 1; }};
TARSIA_OP(with_required_member).attribute("k", &Params::k).required(){FORWARD};""")
    with pytest.raises(tarsia.ArgumentError, match="'k'"):
        tarsia.ops.with_required_member(X)


NULLS = """#include <tarsia/op.h>
#include <functional>
struct Params { int k = 1; };
struct State {};
void (*const run)(tarsia::Context&) = nullptr;
void (*const run_noexcept)(tarsia::Context&) noexcept = nullptr;
void (*const infer)(tarsia::BindInfo&) = nullptr;
void (*const arity)(const tarsia::BindInfo&, int*, int*) = nullptr;
State* (*const state)(const tarsia::BindInfo&) = nullptr;
bool (*const applies)(const tarsia::BindInfo&) = nullptr;
int Params::* const member = nullptr;
const char* const text = nullptr;
"""


@pytest.mark.parametrize("call, said", [
    ('.forward("gpu", run)', "has .forward(…) with a null function"),
    ('.backward("cpu", run_noexcept)', "has .backward(…) with a null function"),
    (".infer(infer)", "has .infer(…) with a null function"),
    (".infer(std::function<void(tarsia::BindInfo&)>())", "has .infer(…) with a null function"),
    (".arity(arity)", "has .arity(…) with a null function"),
    (".state(state)", "has .state(…) with a null function"),
    (".when(applies)", "has .when(…) with a null function"),
    ('.attribute("k", member)', "has attribute 'k' with a null member"),
    ('.attribute("k", text)', "has a default that does not fit"),
    ('.attribute("k", std::vector<const char*>{"a", nullptr})', "has a default that does not fit"),
])
@pytest.mark.parametrize("door", ["inline", "g++"])
def test_null_functions_and_members_are_refused_at_load(call, said, door, load_text):
    source = f"{NULLS}#include <vector>\nTARSIA_OP(nulls){FORWARD}\n    {call};\n"
    with pytest.raises(tarsia.LoadError, match=re.escape(said)) as caught:
        tarsia.load_inline({"nulls.cc": source}) if door == "inline" else load_text(source)
    assert re.search(r"op 'nulls' \(.*:1[45]\)", str(caught.value))


def test_functions_that_are_there_are_none_of_these():
    tarsia.load_inline("""#include <tarsia/op.h>
#include <functional>
static void zero(tarsia::Context& c) { c.output(0).data<float>()[0] = 0; }
static void seven(tarsia::Context& c) noexcept { c.output(0).data<float>()[0] = 7; }
TARSIA_OP(by_pointer).forward("cpu", seven);
TARSIA_OP(by_object).forward("cpu", std::function<void(tarsia::Context&)>(zero));""")
    assert tarsia.ops.by_pointer(X)[0, 0] == 7 and tarsia.ops.by_object(X)[0, 0] == 0


@pytest.mark.parametrize("call", ["tarsia::empty({2}, tarsia::float32, tarsia::cpu_device())", "(tarsia::check_interrupt(), 1)",
                                  "tarsia::device_count()", "tarsia::Stream::current()", "tarsia::reserve_random(tarsia::cpu_device(), 4)"])
def test_static_initialisers_call_what_needs_no_call_under_way(call):
    lib = tarsia.load_inline(f"#include <tarsia/op.h>\nstatic auto made = {call};\nint f() {{ return &made != nullptr; }}")
    assert lib.f() == 1


@pytest.mark.parametrize(("call", "said"), [
    ("tarsia::scratch(8, tarsia::cpu_device())", "no call is under way on this thread"),
    ("tarsia::scratch_tensor({2}, tarsia::float32, tarsia::cpu_device())", "no call is under way on this thread"),
    ("tarsia::random_states(tarsia::cpu_device(), 1, nullptr)", "no call is under way on this thread"),
    ('tarsia::InnerOp("nobody_has_it", {})', "there is no op 'nobody_has_it'")])
def test_what_static_initialisers_cannot_have_is_an_error_of_the_load(call, said):
    source = f"#include <tarsia/op.h>\nstatic auto made = {call};\nint f() {{ return &made != nullptr; }}"
    with pytest.raises(tarsia.LoadError, match=f"a static initialiser threw: .*{said}"):
        tarsia.load_inline(source)


def test_a_declaration_after_the_load_is_an_error_of_its_call():
    library = tarsia.load_inline("""#include <tarsia/op.h>
int declare() {
  tarsia::OpDefinition::add("late", "late.cc:3");
  return 1;
}
TARSIA_OP(early).forward("cpu", [](tarsia::Context&) {});""")
    with pytest.raises(ValueError, match=r"op 'late' \(late.cc:3\) is declared after its library's ops were registered"):
        library.declare()


@pytest.mark.parametrize("text, said", [
    ('TARSIA_OP("quoted")' + FORWARD + ";", r"write TARSIA_OP\(name\), without quotes"),
    ("void f() { TARSIA_OP(inside)" + FORWARD + "; }", "TARSIA_OP stands at namespace scope"),
])
def test_names_with_quotes_and_declarations_in_functions_do_not_compile(text, said, load_text):
    with pytest.raises(tarsia.CompileError, match=said):
        tarsia.load_inline(f"#include <tarsia/op.h>\n{text}")
    with pytest.raises(AssertionError, match=said):  # by g++
        load_text(f"#include <tarsia/op.h>\n{text}")


@pytest.mark.parametrize("name", ["a b", "a::", "::a", "a::::b", "1a", "a-b", "a:b", "a%", "a.", "ns::2d", "a, b", ""])
def test_declared_names_that_are_no_identifiers_are_refused(name, load_text):
    said = r"op '' \(.*:2\) has no name" if not name else rf"op '{re.escape(name)}' \(.*:2\) has a name that nobody can call it by"
    with pytest.raises(tarsia.LoadError, match=said):
        tarsia.load_inline(f"#include <tarsia/op.h>\nTARSIA_OP({name}){FORWARD};")
    with pytest.raises(tarsia.LoadError, match=said):
        load_text(f"#include <tarsia/op.h>\nTARSIA_OP({name}){FORWARD};")


@pytest.mark.parametrize("name", ["named_well", "_named", "ns::named", "ns.named", "n2::d2.x", "größe"])
def test_names_of_identifiers_are_taken(name):
    assert name in tarsia.load_inline(f"#include <tarsia/op.h>\nTARSIA_OP({name}){FORWARD};").ops


@pytest.mark.parametrize("name", ['a"b', "a b", "a'b", "a\tb", "a::", "1a", "a-b"])
def test_names_that_nobody_can_write_are_refused(name):
    with pytest.raises(tarsia.LoadError, match="has a name that nobody can call it by"):
        tarsia.define_op(lambda x, y: None, name=name)


MISUSE = """
#include <tarsia/op.h>
#include <string>
#include <vector>
struct State {};
struct Parameters { int k = 1; };

static void use(tarsia::Context& c) {
  const tarsia::Tensor x = c.input(0), none;
  std::memset(c.output(0).data(), 0, c.output(0).bytes());
  switch (c.attribute<int>("which")) {
    case 0: c.input(3); break;
    case 1: c.input(-1); break;
    case 2: c.output(1); break;
    case 3: c.request(9); break;
    case 4: x.size(9); break;
    case 5: x.size(-3); break;
    case 6: x.shape()[2]; break;
    case 7: x.stride(2); break;
    case 8: c.state<State>(); break;
    case 9: c.params<Parameters>(); break;
    case 10: c.info().params<Parameters>(); break;
    case 11: c.info().input(2); break;
    case 12: c.info().output(-1).shape(); break;
    case 13: c.info().input(0).size(4); break;
    case 14: c.out_grad(0); break;
    case 15: c.in_grad(0); break;
    case 16: c.forward_input(0); break;
    case 17: c.forward_output(0); break;
    case 18: c.input_storage(3); break;
    case 19: c.output_storage(3); break;
    case 20: c.sparse_input(5); break;
    case 21: c.sparse_output(5); break;
    case 22: c.allocate_sparse(5, 1); break;
    case 23: c.scratch<float>(-1); break;
    case 24: c.scratch_tensor({-1}, tarsia::float32); break;
    case 25: none.shape(); break;
    case 26: none.data(); break;
    case 27: none.is_contiguous(); break;
    case 28: tarsia::Sparse(nullptr, TARSIA_CSR).count(); break;
    case 29: c.attribute<std::vector<std::string>>("list"); break;
    case 30: (c.attribute<std::array<int, 4>>("pair")); break;
    case 31: x.at<float>(1, 3); break;
    case 32: x.at<float>(-1, 0); break;
    case 33: x.at<float>(1); break;
    case 34: x.at<double>(0, 0); break;
    case 35: tarsia::empty({-1}, tarsia::float32, c.device()); break;
    case 36: c.input(nullptr); break;
    case 37: c.output(nullptr); break;
    case 38: c.request(nullptr); break;
    case 39: c.info().input_index(nullptr); break;
    case 40: c.info().output(nullptr); break;
    case 41: c.attribute<int>(nullptr); break;
    case 42: c.info().has_attribute(nullptr); break;
    case 43: tarsia::InnerOp(nullptr, {x}); break;
    case 44: tarsia::InnerOp("misused", {x}, {{nullptr, 1}}); break;
    case 45: tarsia::InnerOp("misused", {x}, {{"which", static_cast<const char*>(nullptr)}}); break;
  }
}
TARSIA_OP(misused).input("x").output("y")
    .attribute("which", 0)
    .attribute("list", std::vector<int>{1, 2})
    .attribute("pair", std::array<int, 2>{{3, 4}})
    .forward("cpu", use)
    .backward("cpu", [](tarsia::Context& c) {
      std::memset(c.in_grad(0).data(), 0, c.in_grad(0).bytes());
      switch (c.attribute<int>("which")) {
        case 0: c.out_grad(1); break;
        case 1: c.forward_input(1); break;
        case 2: c.forward_output(-1); break;
        case 3: c.in_grad(1); break;
        case 4: c.sparse_forward_input(1); break;
        case 5: c.sparse_forward_output(1); break;
        case 6: c.input(3); break;
      }
    });
TARSIA_OP(misinferred).infer([](tarsia::BindInfo& i) { i.output(1) = i.input(0); }).forward("cpu", use);
TARSIA_OP(fewer_than_none).arity([](const tarsia::BindInfo&, int* n, int*) { *n = -1; }).forward("cpu", use);

int64_t size_of(const tarsia::Tensor& x, int i) { return x.size(i); }
"""


@pytest.fixture(scope="module")
def lib():
    library = tarsia.load_inline({"misuse.cc": "#include <array>\n#include <cstring>\n" + MISUSE})
    yield library
    library.unload()


GRADIENT_ONLY = "is asked for; there is none"
USES = [
    "input 3 is asked for; there is 1, counted from 0", "input -1 is asked for; there is 1", "output 1 is asked for; there is 1",
    "output 9 is asked for", "dimension 9 is asked for of 2 dimensions, counted from 0", "dimension -3 is asked for of 2",
    "dimension 2 is asked for of 2", "dimension 2 is asked for of 2", "has no state: declare .state(f)",
    "has no params: declare .attribute(", "has no params: declare", "input 2 is asked for", "output -1 is asked for",
    "dimension 4 is asked for of 2", f"output gradient 0 {GRADIENT_ONLY}", f"input gradient 0 {GRADIENT_ONLY}",
    f"forward input 0 {GRADIENT_ONLY}", f"forward output 0 {GRADIENT_ONLY}", "input 3 is asked for", "output 3 is asked for",
    "input 5 is asked for", "output 5 is asked for", "output 5 is asked for",
    "scratch for -1 elements of 4 bytes is asked for: a number of elements is not negative", "a tensor's extent cannot be negative",
    "a tensor is asked for its shape or data that was not given", "that was not given", "that was not given", "that was not given",
    "attribute 'list' of op 'misused' is asked for as a type that it does not have",
    "attribute 'pair' of op 'misused' is asked for as a type that it does not have",
    "element (1, 3) of a tensor of shape (2, 3) is asked for", "element (-1, 0) of a tensor of shape (2, 3)",
    "element (1,) of a tensor of shape (2, 3) is asked for: one index is needed for each dimension",
    "the tensor holds float32, but its data is asked for as float64", "negative",
    *(f"an {what} of op 'misused' (misuse.cc:62) is asked for by a null name: pass the name that is declared"
      for what in ("input", "output", "output", "input", "output", "attribute", "attribute")),
    "an inner op is asked for by a null name", "an attribute of the inner op 'misused' has a null name", "attribute 'which'",
]


@pytest.mark.parametrize("which", range(len(USES)), ids=lambda i: f"{i}")
def test_what_is_not_there_is_an_error_of_the_op(lib, which):
    with pytest.raises(tarsia.Error, match=re.escape(USES[which])) as caught:
        tarsia.ops.misused(X, which=which)
    text = str(caught.value)
    assert text.startswith("op 'misused', forward on the CPU: ")
    assert len(re.findall(r"\(misuse.cc:\d+\)", text)) == 1, text


@pytest.mark.parametrize("which, said", [*enumerate(
    ["output gradient 1 is", "forward input 1 is", "forward output -1 is", "input gradient 1 is", "forward input 1 is",
     "forward output 1 is", "input 3 is asked for; there are 3"])])
def test_what_a_gradient_does_not_have_is_an_error_of_the_op(lib, which, said):
    with pytest.raises(IndexError, match=f"op 'misused', backward on the CPU: {said}.*misuse.cc:"):
        tarsia.ops.misused.backward(X, X, X, which=which)


def test_inference_that_asks_for_what_is_not_there_is_an_error_of_the_op(lib):
    with pytest.raises(IndexError, match=r"op 'misinferred', inference: output 1 is asked for; there is 1.*misuse.cc:\d+"):
        tarsia.ops.misinferred(X)
    with pytest.raises(ValueError, match=r"op 'fewer_than_none', number of inputs and outputs: there cannot be fewer than no.*\(misuse.cc:\d+\)$"):
        tarsia.ops.fewer_than_none(X)


def test_functions_are_told_too(lib):
    assert lib.size_of(X, -1) == 3
    with pytest.raises(IndexError, match="dimension 9 is asked for of 2 dimensions"):
        lib.size_of(X, 9)
    with pytest.raises(IndexError, match="dimension 0 is asked for of a scalar, which has none"):
        lib.size_of(np.zeros((), np.float32), 0)


def test_a_library_is_warned_when_it_replaces_an_op_of_another_signature():
    first = tarsia.load_inline({"first.cc": f"#include <tarsia/op.h>\nTARSIA_OP(swapped){FORWARD};"})
    same = tarsia.load_inline({"same.cc": f"#include <tarsia/op.h>\n\nTARSIA_OP(swapped){FORWARD};"})
    assert not same.warnings
    with pytest.warns(tarsia.CompileWarning, match="op 'swapped' replaces that of library"):
        other = tarsia.load_inline({"other.cc": f'#include <tarsia/op.h>\nTARSIA_OP(swapped).input("a").input("b"){FORWARD};'})
    (warning,) = other.warnings
    assert re.search(r"op 'swapped' replaces that of library '.*', which has another signature: swapped\(x\) -> y at .*same.cc:3, "
                     r"now swapped\(a, b\) -> y at .*other.cc:2", warning.message)
    with pytest.warns(UserWarning, match="op 'swapped' replaces that of library .*other"):
        tarsia.define_op(lambda a, y: None, name="swapped")
    for library in (first, same, other):
        library.unload()


TYPES = """#include <tarsia/op.h>
struct Params { int k = 1; };
struct Other { double a = 0, b = 0; };
struct State { int n = 3; };
static State* state(const tarsia::BindInfo&) { return new State; }
TARSIA_OP(types).input("x").output("y").attribute("k", &Params::k).state(state)%s
    .forward("cpu", [](tarsia::Context& c) { c.output(0).data<float>()[0] = c.params<Params>().k + c.state<State>().n; %s });
"""


@pytest.mark.parametrize("declared, run, error, said", [
    ("", "c.state<Other>().b = 7;", TypeError, "op 'types' (source:6) has a state of type State, which is asked for as Other"),
    ("", "c.params<Other>();", TypeError, "op 'types' (source:6) has params of type Params, which is asked for as Other"),
    ("", "c.info().params<Other>();", TypeError, "op 'types' (source:6) has params of type Params, which is asked for as Other"),
    ("", "c.info().output(0).set_shape({3});", ValueError, "only the op's inference, .infer(…), may set shapes, dtypes and storage types"),
    ("", "c.info().input(0).set_dtype(tarsia::float64);", ValueError, "only the op's inference"),
    ("", "c.info().input(0) = c.info().output(0);", ValueError, "only the op's inference"),
    (".when([](const tarsia::BindInfo& i) { i.input(0).set_shape({3}); return true; })", "", ValueError, "only the op's inference"),
])
def test_objects_of_another_type_and_metas_outside_of_inference_are_errors(declared, run, error, said):
    after = f".forward(\"cpu\", [](tarsia::Context&) {{}}){declared}" if declared else ""
    tarsia.load_inline(TYPES % (after, run))
    with pytest.raises(error, match=re.escape(said)):
        tarsia.ops.types(X)


METAS = """#include <tarsia/op.h>
static tarsia_meta of(long extent) {
  tarsia_meta m{};
  m.ndim = 2, m.shape[0] = 3, m.shape[1] = extent;
  return m;
}
long unified(long a, long b, bool read_only) {
  tarsia_meta x = of(a), y = of(b);
  tarsia::unify_shape(tarsia::Meta(&x, read_only), tarsia::Meta(&y));
  return x.shape[1] == y.shape[1] ? x.shape[1] : -2;
}
long sized(int dim, long extent, int ndim, bool read_only) {
  tarsia_meta x = of(1);
  x.ndim = ndim;
  tarsia::Meta(&x, read_only).set_size(dim, extent);
  return x.shape[0] * 100 + x.shape[1];
}
"""


def test_an_extent_of_a_meta_outside_of_inference_is_not_written():
    lib = tarsia.load_inline(METAS)
    assert [lib.unified(a, b, False) for a, b in [(-1, 5), (5, -1), (5, 5), (-1, -1)]] == [5, 5, 5, -1]
    assert lib.unified(5, -1, True) == 5  # the other one may be written to
    assert lib.unified(-1, -1, True) == -1
    with pytest.raises(ValueError, match="only the op's inference"):
        lib.unified(-1, 5, True)
    with pytest.raises(ValueError, match="shapes .3, 4. and .3, 5. have to be the same"):
        lib.unified(4, 5, False)
    assert [lib.sized(dim, 7, 2, False) for dim in (0, 1, -1, -2)] == [701, 307, 307, 701]
    with pytest.raises(ValueError, match="only the op's inference"):
        lib.sized(0, 7, 2, True)
    for dim, ndim in [(2, 2), (-3, 2), (0, -1)]:
        with pytest.raises(IndexError):
            lib.sized(dim, 7, ndim, False)


def test_an_op_reads_no_header_for_names_of_types():
    lib = tarsia.load_inline(f"""#include <tarsia/op.h>
#if defined(_CXXABI_H) || defined(_GLIBCXX_CSTDLIB)
#error "each op pays for these"
#endif
#include <cxxabi.h>
TARSIA_OP(reads_little){FORWARD};""")
    lib.unload()


def test_objects_of_the_declared_types_are_given():
    tarsia.load_inline(TYPES % ("", "c.info().params<Params>(); const State& s = c.state<const State>(); (void)s;"))
    assert tarsia.ops.types(X, k=5)[0, 0] == 8


def test_attributes_of_two_structs_are_refused_at_load():
    with pytest.raises(tarsia.LoadError, match="op 'two_structs'.*has attribute 'b' in Other, and its struct of parameters is Params: one struct holds all"):
        tarsia.load_inline(f"""#include <tarsia/op.h>
struct Params {{ int a = 1; }};
struct Other {{ int x[9]; int b = 2; }};
TARSIA_OP(two_structs).attribute("a", &Params::a).attribute("b", &Other::b){FORWARD};""")
