"""Sources for MXNet's extension API, of every generation, unchanged: as strings, and built ahead of time by g++."""

import gc
import pathlib
import threading

import numpy as np
import pytest
from threads import at_once

import tarsia

FOLDER = pathlib.Path(__file__).parent


@pytest.fixture(scope="module", params=["inline", "c++11", "c++20"])
def door(request, build_library):
    """Loads a source by one of the doors."""

    def load(name):
        text = (FOLDER / name).read_text()
        if request.param == "inline":
            return tarsia.load_inline({name: text})
        return tarsia.load(build_library(text, f"-std={request.param}"))

    return load


@pytest.fixture
def library(door):
    loaded = []

    def load(name):
        loaded.append(door(name))
        return loaded[-1]

    yield load
    for lib in loaded:
        lib.unload()


def matrices(*shapes):
    rng = np.random.default_rng(1)
    return [rng.standard_normal(shape).astype(np.float32) for shape in shapes]


def test_arguments_by_pointer(library):
    assert set(library("by_pointer.cc").ops) == {"mx_gemm", "mx_state_gemm", "mx_noise"}
    a, b = matrices((3, 4), (4, 5))
    bound = tarsia.op("mx_gemm").bind(a, b)
    c = bound(a, b)
    assert np.allclose(c, a @ b, atol=1e-5)
    g = np.ones_like(c)
    da, db = bound.backward(g, a, b, c)
    assert np.allclose(da, g @ b.T, atol=1e-5) and np.allclose(db, a.T @ g, atol=1e-5)


def test_state_belongs_to_a_bound_op_and_ends_with_it(library):
    lib = library("by_pointer.cc")
    a, b = matrices((2, 3), (3, 2))
    first, second = (tarsia.op("mx_state_gemm").bind(a, b, start=n) for n in (0, 100))
    for bound, start in ((first, 0), (second, 100), (first, 1)):
        assert np.isclose(bound(a, b)[0, 0] - (a @ b)[0, 0], start + 1, atol=1e-4)
    if lib.origin != "prebuilt":
        before = lib.states_destroyed()
        del first, bound
        gc.collect()
        assert lib.states_destroyed() == before + 1


def test_errors_name_op_function_and_what_the_library_says(library):
    library("by_pointer.cc")
    a, b = matrices((2, 3), (4, 2))
    with pytest.raises(tarsia.OpError) as error:
        tarsia.ops.mx_gemm(a, b)
    text = str(error.value)
    assert "op 'mx_gemm'" in text and "inferShape failed" in text
    assert text.count("the inner extents are 3 and 4") == 1 and text.endswith(":82)")
    with pytest.raises(tarsia.OpError, match=r"inferType failed: expected input 1 to be float32 \(.*:64\)$"):
        tarsia.ops.mx_gemm(a, a.T.astype(np.float64, order="C"))
    with pytest.raises(tarsia.Error, match="input 1 is of a dtype that this API does not have"):
        tarsia.ops.mx_gemm(a, a.T.astype(bool, order="C"))
    with pytest.raises(tarsia.ArgumentError, match="op 'mx_gemm' takes 2 inputs, not 1"):
        tarsia.ops.mx_gemm(a)


def test_messages_of_threads_stay_apart(library):
    library("by_pointer.cc")

    def fail(n):
        a, b = matrices((2, n), (n + 1, 2))
        for _ in range(50):
            with pytest.raises(tarsia.OpError) as caught:
                tarsia.ops.mx_gemm(a, b)
            told = str(caught.value)
            assert told.count("the inner extents") == 1 and f"are {n} and {n + 1} (" in told

    at_once(fail, range(2, 8))


def test_auxiliary_states_and_attributes_as_mxnet_writes_them(library):
    library("by_pointer.cc")
    x, count = np.zeros(2000, np.float32), np.zeros(1, np.float32)
    tarsia.seed(3)
    first = tarsia.ops.mx_noise(x, count, text=True)
    assert count[0] == 1 and abs(first.mean()) < 0.2 and 0.8 < first.std() < 1.2
    second = tarsia.ops.mx_noise(x, count, text="True")
    assert not np.array_equal(first, second)
    tarsia.seed(3)
    assert np.array_equal(first, tarsia.ops.mx_noise(x, count))
    with pytest.raises(tarsia.OpError, match="parseAttrs failed: text is 2"):
        tarsia.ops.mx_noise(x, count, text=2)
    count.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        tarsia.ops.mx_noise(x, count)


def test_arguments_by_value(library):
    library("by_value.cc")
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert np.array_equal(tarsia.ops.mx_scale(x), 2 * x)
    bound = tarsia.op("mx_scale").bind(x, factor=0.5)
    assert np.array_equal(bound(x), x / 2)
    counting = tarsia.op("mx_count").bind(x, start="7")
    assert [counting(x)[0, 0] for _ in range(2)] == [8, 9]
    with pytest.raises(tarsia.OpError, match="op 'mx_count', backward.*does not support backward"):
        counting.backward(x, x, x)


def test_the_first_form(library):
    library("first_form.cc")
    x = np.arange(3.0)
    assert tarsia.ops.mx_add(x, add=1.5).tolist() == [1.5, 2.5, 3.5]
    with pytest.raises(tarsia.OpError, match="op 'mx_add'.*parseAttrs failed"):
        tarsia.ops.mx_add(x)


def test_release_1_7(library):
    lib = library("by_reference.cc")
    x = np.arange(3)
    assert tarsia.ops.mx_from_json(x, subgraph_sym_json='{"heads": [[0, 5, 0]], "nodes": []}').tolist() == [5, 6, 7]
    y = np.zeros(2, np.float32)
    assert tarsia.ops.mx_subgraph(y, y, y)[0] == 3
    warnings = [str(warning.message) for warning in lib.warnings]
    assert any("pass 'mx_pass'" in text and "partitioner 'mx_partitioner'" in text for text in warnings)


def test_other_forms_that_the_interface_allows(library):
    lib = library("forms.cc")
    x = np.arange(5, dtype=np.float32)
    for dtype in ("float32", "float64", "uint8", "int32", "int8", "int64"):
        y = tarsia.ops.forms_scale(x.astype(dtype), scale=3)
        assert y.dtype == dtype and np.array_equal(y, 3 * x)
    with pytest.raises(tarsia.OpError, match="forward failed: dtype 2 is not supported"):
        tarsia.ops.forms_scale(x.astype(np.float16))
    (dx,) = tarsia.op("forms_scale").bind(x, scale=2).backward([x], [x], [x])
    assert np.array_equal(dx, 2 * x)
    assert np.array_equal(tarsia.ops.forms_add3(x), x + 3) and np.array_equal(tarsia.ops.forms_add4(x), x + 4)
    assert np.array_equal(tarsia.ops.forms_pick(x), x)
    least, most = tarsia.ops.forms_min_max(x, -x, x + 1, n=3)
    assert np.array_equal(least, -x) and np.array_equal(most, x + 1)
    sums, left = np.ones(5, np.float32), np.ones(5, np.float32)
    tarsia.op("forms_min_max").bind(x, -x)(x, -x, out=[sums, left], req=["add", "null"])
    assert np.array_equal(sums, 1 - x) and left.tolist() == [1] * 5
    assert tarsia.op("forms_min_max").infer([(2, 3), None], [None, None]) == ([(2, 3)] * 4, ["float32"] * 4)
    with pytest.raises(tarsia.OpIndexError, match="op 'forms_missing', forward on the CPU: .*at"):
        tarsia.ops.forms_missing(x)
    with pytest.raises(tarsia.OpError, match="op 'forms_plain', backward.*does not support backward"):
        tarsia.op("forms_plain").bind(x).backward([x], [x], [x])
    assert tarsia.ops.forms_values(x)[0] == 0
    for shape in ((), (0,), (1, 1, 1, 1, 1)):
        assert tarsia.ops.forms_add3(np.ones(shape, np.float32)).shape == shape
    warnings = " ".join(str(warning.message) for warning in lib.warnings)
    assert "partitioner 'forms_partitioner', pass 'forms_pass'" in warnings


def test_subgraphs_as_graphs(library):
    library("forms.cc")
    graph = """{"nodes": [{"op": "null", "name": "x", "inputs": []},
                          {"op": "scale", "name": "twice", "attrs": {"by": "2"}, "inputs": [[0, 0, 0]]},
                          {"op": "exp", "name": "e", "inputs": [[1, 0, 0]]}],
                "arg_nodes": [0], "heads": [[2, 0, 0]]}"""
    x = np.arange(4, dtype=np.float32)
    assert np.allclose(tarsia.ops.forms_expression(x, subgraph_sym_json=graph), np.exp(2 * x))
    with pytest.raises(tarsia.OpError, match="Forward failed: no op log"):
        tarsia.ops.forms_expression(x, subgraph_sym_json=graph.replace('"exp"', '"log"'))
    with pytest.raises(tarsia.OpError, match="Forward failed: the graph has other inputs or outputs"):
        tarsia.ops.forms_expression(x, subgraph_sym_json="[")


def test_a_state_made_by_new_gets_a_warning():
    import os
    import subprocess
    import sys

    code = f"""
import numpy as np, tarsia
lib = tarsia.load_inline(open({str(FOLDER / "forms.cc")!r}).read())
tarsia.ops.forms_plain(np.ones(1, np.float32)), tarsia.ops.forms_quiet(np.ones(1, np.float32))
"""
    run = subprocess.run([sys.executable, "-c", code], env=dict(os.environ, TARSIA_LOG="warn"), stderr=subprocess.PIPE,
                         text=True, check=True)
    assert "op 'forms_plain': createOpState makes its state with new" in run.stderr
    assert "forms_quiet" not in run.stderr


@pytest.mark.parametrize("options", [{"defines": {"_GLIBCXX_DEBUG": "1"}}, {"defines": {"_GLIBCXX_USE_CXX11_ABI": "0"}},
                                     {"defines": {"_GLIBCXX_ASSERTIONS": "1"}}, {"std": "c++11"}, {"std": "c++23"},
                                     {"opt": 0}, {"debug": True}], ids=str)
def test_options_of_the_compiler(options):
    for name in ("by_pointer.cc", "by_value.cc", "by_reference.cc"):
        lib = tarsia.load_inline((FOLDER / name).read_text(), **options)
        a, b = matrices((3, 4), (4, 5))
        if name == "by_pointer.cc":
            bound = tarsia.op("mx_state_gemm").bind(a, b)
            assert np.allclose(bound(a, b), a @ b + (np.arange(15) == 0).reshape(3, 5), atol=1e-5)
            with pytest.raises(tarsia.OpError, match="the inner extents are 4 and 3"):
                tarsia.ops.mx_gemm(a, a)
        lib.unload()


HEADER = """
#pragma once
#include "lib_api.h"
MXReturnValue twice(const std::unordered_map<std::string, std::string>& attrs, std::vector<MXTensor>* inputs,
                    std::vector<MXTensor>* outputs, const OpResource& res);
"""
FIRST = """
#include "twice.h"
MXReturnValue parseAttrs(const std::unordered_map<std::string, std::string>&, int* in, int* out) {
  return *in = *out = 1, MX_SUCCESS;
}
MXReturnValue inferType(const std::unordered_map<std::string, std::string>&, std::vector<int>* in, std::vector<int>* out) {
  return out->at(0) = in->at(0), MX_SUCCESS;
}
MXReturnValue inferShape(const std::unordered_map<std::string, std::string>&, std::vector<std::vector<unsigned>>* in,
                         std::vector<std::vector<unsigned>>* out) {
  return out->at(0) = in->at(0), MX_SUCCESS;
}
REGISTER_OP(mx_twice).setForward(twice, "cpu").setParseAttrs(parseAttrs).setInferType(inferType).setInferShape(inferShape);
MXReturnValue initialize(int version) { return MX_SUCCESS; }
"""
SECOND = """
#include "twice.h"
MXReturnValue twice(const std::unordered_map<std::string, std::string>& attrs, std::vector<MXTensor>* inputs,
                    std::vector<MXTensor>* outputs, const OpResource& res) {
  for (int64_t i = 0; i < inputs->at(0).size(); ++i)
    outputs->at(0).data<float>()[i] = 2 * inputs->at(0).data<float>()[i];
  return MX_SUCCESS;
}
static MXReturnValue own(const std::unordered_map<std::string, std::string>&, std::vector<MXTensor>*, std::vector<MXTensor>*,
                         const OpResource&) {
  MX_ERROR_MSG << "said in the second file";
  return MX_FAIL;
}
static MXReturnValue parseAttrs(const std::unordered_map<std::string, std::string>&, int* in, int* out) {
  return *in = *out = 1, MX_SUCCESS;
}
static MXReturnValue inferType(const std::unordered_map<std::string, std::string>&, std::vector<int>* in, std::vector<int>* out) {
  return out->at(0) = in->at(0), MX_SUCCESS;
}
static MXReturnValue inferShape(const std::unordered_map<std::string, std::string>&, std::vector<std::vector<unsigned>>* in,
                                std::vector<std::vector<unsigned>>* out) {
  return out->at(0) = in->at(0), MX_SUCCESS;
}
REGISTER_OP(mx_says).setForward(own, "cpu").setParseAttrs(parseAttrs).setInferType(inferType).setInferShape(inferShape);
"""


def test_a_set_of_files(tmp_path):
    import subprocess

    for name, text in (("first.cc", FIRST), ("second.cc", SECOND), ("twice.h", HEADER)):
        (tmp_path / name).write_text(text)
    from places import include_dir

    built = tmp_path / "libset.so"
    subprocess.run(["g++", "-std=c++14", "-shared", "-fPIC", f"-I{include_dir()}", "first.cc", "second.cc", "-o", built],
                   cwd=tmp_path, check=True)
    sets = (lambda: tarsia.load_inline({"first.cc": FIRST, "second.cc": SECOND}, headers={"twice.h": HEADER}),
            lambda: tarsia.load(built))
    for load in sets:
        lib = load()
        assert set(lib.ops) == {"mx_twice", "mx_says"}
        x = np.ones(3, np.float32)
        assert tarsia.ops.mx_twice(x).tolist() == [2, 2, 2]
        with pytest.raises(tarsia.OpError, match=r"said in the second file \(second.cc:11\)"):
            tarsia.ops.mx_says(x)
        lib.unload()


def test_two_libraries_of_the_same_names_stay_apart(build_library):
    text = (FOLDER / "by_value.cc").read_text()
    first = tarsia.load(build_library(text))
    x = np.ones(2, np.float32)
    bound = tarsia.op("mx_scale").bind(x)
    second = tarsia.load(build_library(text.replace(": 2;", ": 3;").replace("mx_count", "mx_other")))
    assert set(second.ops) == {"mx_scale", "mx_other"}
    assert bound(x).tolist() == [2, 2] and tarsia.ops.mx_scale(x).tolist() == [3, 3]
    third = tarsia.load(build_library(text))
    assert tarsia.ops.mx_scale(x).tolist() == [2, 2]
    for lib in (first, second, third):
        lib.unload()


MINIMAL = """
#include "lib_api.h"
typedef const std::unordered_map<std::string, std::string>& A;
typedef std::vector<MXTensor>* T;
MXReturnValue forward(A, T, T, const OpResource&) { return MX_SUCCESS; }
MXReturnValue parseAttrs(A, int* in, int* out) { *in = *out = 1; return MX_SUCCESS; }
MXReturnValue inferType(A, std::vector<int>*, std::vector<int>*) { return MX_SUCCESS; }
MXReturnValue inferShape(A, std::vector<std::vector<unsigned>>*, std::vector<std::vector<unsigned>>*) { return MX_SUCCESS; }
REGISTER_OP(mx_minimal)%s;
MXReturnValue initialize(int) { return MX_SUCCESS; }
"""
ALL = {"setForward": '.setForward(forward, "cpu")', "setParseAttrs": ".setParseAttrs(parseAttrs)",
       "setInferType": ".setInferType(inferType)", "setInferShape": ".setInferShape(inferShape)"}


@pytest.mark.parametrize("missing", sorted(ALL))
def test_a_missing_function_is_refused_at_load(missing):
    setters = "".join(text for name, text in ALL.items() if name != missing)
    function = missing[3].lower() + missing[4:]
    with pytest.raises(tarsia.LoadError, match=f"op 'mx_minimal' .* has no {function}.*{missing}"):
        tarsia.load_inline(MINIMAL % setters)
    assert "mx_minimal" not in tarsia.ops


def test_contexts_are_checked_at_load():
    with pytest.raises(tarsia.LoadError, match="op 'mx_minimal' .*sets forward for \"cpu\" twice"):
        tarsia.load_inline(MINIMAL % ("".join(ALL.values()) + '.setForward(forward, "cpu")'))
    with pytest.raises(tarsia.LoadError, match="\"tpu\": \"cpu\" and \"gpu\" are known"):
        tarsia.load_inline(MINIMAL % ("".join(ALL.values()) + '.setForward(forward, "tpu")'))


def test_what_inference_leaves_unknown_is_an_error():
    lib = tarsia.load_inline(MINIMAL % "".join(ALL.values()))
    with pytest.raises(tarsia.OpError, match="op 'mx_minimal', inference: output 0 is left unknown"):
        tarsia.ops.mx_minimal(np.zeros(2, np.float32))
    lib.unload()


INITIALIZE = """
#include <iostream>
#include "mxnet/lib_api.h"
using namespace mxnet::ext;
MXReturnValue initialize(int version) {
  if (version >= %d) return MX_SUCCESS;
  MX_ERROR_MSG << "MXNet " << version << " is too old" << std::endl;
  return MX_FAIL;
}
"""


@pytest.mark.parametrize("built", [False, True])
def test_a_library_may_have_no_ops(built, build_library):
    load = (lambda text: tarsia.load(build_library(text))) if built else tarsia.load_inline
    assert list(load(INITIALIZE % 20000).ops) == []
    with pytest.raises(tarsia.LoadError, match=r"initialize failed: MXNet 20000 is too old \(.*:7\)"):
        load(INITIALIZE % 99999)


def test_a_library_may_refuse():
    text = MINIMAL % "".join(ALL.values())
    refusing = text.replace("initialize(int) { return", 'initialize(int) { MX_ERROR_MSG << "not today"; return')
    with pytest.raises(tarsia.LoadError, match=r"initialize failed: not today \(.*:\d+\)"):
        tarsia.load_inline(refusing.replace("return MX_SUCCESS; }\n", "return MX_FAIL; }\n").replace(
            "*in = *out = 1; return MX_FAIL", "*in = *out = 1; return MX_SUCCESS"))
    assert "mx_minimal" not in tarsia.ops


@pytest.mark.parametrize("header, qualified", [("lib_api.h", ""), ("mxnet/lib_api.h", "mxnet::ext::")])
def test_a_program_finds_initialize_in_a_library(header, qualified, build_library):
    """As a library's own test does, which loads it without a host."""
    path = build_library(f'#include "{header}"\n' + 'extern "C" mxnet::ext::MXReturnValue initialize(int version) { return version >= 10400 ? mxnet::ext::MX_SUCCESS : mxnet::ext::MX_FAIL; }', "-std=c++11")
    lib = tarsia.load_inline(f"""
#include <dlfcn.h>
#include "{header}"
int initialized(const char* path, int version) {{
  void* handle = dlopen(path, RTLD_LAZY);
  if (!handle) return -1;
  auto initialize = ({qualified}initialize_t)dlsym(handle, MXLIB_INITIALIZE_STR);
  const int result = initialize ? initialize(version) : -2;
  dlclose(handle);
  return result;
}}
""")
    assert [lib.initialized(str(path), version) for version in (10300, 10500)] == [0, 1]


def test_threads_load_the_same_source():
    """They share its mapping while their loads overlap, and so what its code registers."""
    source = {"by_value.cc": (FOLDER / "by_value.cc").read_text()}
    lib = tarsia.load_inline(source)
    expected = sorted(lib.ops)
    lib.unload()
    assert expected
    barrier = threading.Barrier(8)

    def load(_):
        for _ in range(40):
            barrier.wait(60)
            lib = tarsia.load_inline(source)
            assert sorted(lib.ops) == expected
            lib.unload()

    at_once(load, range(8))
