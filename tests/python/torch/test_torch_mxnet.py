"""Ops of MXNet's extension API as operators of PyTorch: tensors one by one where their numbers are fixed, attributes as arguments."""

import re

import pytest

import tarsia

torch = pytest.importorskip("torch")

SOURCE = r"""
#include "mxnet/lib_api.h"
#include <algorithm>
#include <cmath>
using namespace mxnet::ext;
using Map = std::unordered_map<std::string, std::string>;
static std::string get(const Map& attrs, const char* name, const char* otherwise) {
  return attrs.count(name) ? attrs.at(name) : otherwise;
}
static size_t count(const MXTensor& x) {
  size_t n = 1;
  for (auto extent : x.shape) n *= extent;
  return n;
}
static MXReturnValue same_types(const Map&, std::vector<int>* in, std::vector<int>* out) {
  for (int& one : *out) one = in->at(0);
  return MX_SUCCESS;
}
static MXReturnValue same_shapes(const Map&, std::vector<std::vector<unsigned>>* in, std::vector<std::vector<unsigned>>* out) {
  for (auto& one : *out) one = in->at(0);
  return MX_SUCCESS;
}

// y = slope * x + shift where x is negative; `mode` is "linear" or "square".
static MXReturnValue parse_leaky(const Map& attrs, int* in, int* out) {
  const std::string mode = get(attrs, "mode", "linear");
  if (mode != "linear" && mode != "square") {
    MX_ERROR_MSG << "mode is " << mode;
    return MX_FAIL;
  }
  *in = 1, *out = 1;
  return MX_SUCCESS;
}
static MXReturnValue leaky(const Map& attrs, std::vector<MXTensor>* in, std::vector<MXTensor>* out, const OpResource&) {
  const float slope = std::stof(get(attrs, "slope", "0.25")), shift = std::stof(get(attrs, "shift", "0"));
  const bool square = get(attrs, "mode", "linear") == "square";
  for (size_t i = 0; i < count(in->at(0)); ++i) {
    const float x = in->at(0).data<float>()[i];
    out->at(0).data<float>()[i] = square ? x * x : x < 0 ? slope * x + shift : x;
  }
  return MX_SUCCESS;
}
static MXReturnValue leaky_backward(const Map& attrs, std::vector<MXTensor>* in, std::vector<MXTensor>* out, const OpResource&) {
  const float slope = std::stof(get(attrs, "slope", "0.25"));
  for (size_t i = 0; i < count(in->at(0)); ++i)
    out->at(0).data<float>()[i] = in->at(0).data<float>()[i] * (in->at(1).data<float>()[i] < 0 ? slope : 1);
  return MX_SUCCESS;
}
REGISTER_OP(torch_leaky).setForward(leaky, "cpu").setBackward(leaky_backward, "cpu").setParseAttrs(parse_leaky)
    .setInferType(same_types).setInferShape(same_shapes);

// Two inputs, `parts` outputs: a + i * b.
static MXReturnValue parse_fan(const Map& attrs, int* in, int* out) {
  *in = 2, *out = std::stoi(get(attrs, "parts", "2"));
  return MX_SUCCESS;
}
static MXReturnValue fan(const Map&, std::vector<MXTensor>* in, std::vector<MXTensor>* out, const OpResource&) {
  for (size_t k = 0; k < out->size(); ++k)
    for (size_t i = 0; i < count(in->at(0)); ++i)
      out->at(k).data<float>()[i] = in->at(0).data<float>()[i] + float(k) * in->at(1).data<float>()[i];
  return MX_SUCCESS;
}
static MXReturnValue fan_backward(const Map&, std::vector<MXTensor>* in, std::vector<MXTensor>* out, const OpResource&) {
  const size_t n = (in->size() - 2) / 2;
  for (size_t i = 0; i < count(out->at(0)); ++i) {
    float a = 0, b = 0;
    for (size_t k = 0; k < n; ++k) a += in->at(k).data<float>()[i], b += float(k) * in->at(k).data<float>()[i];
    out->at(0).data<float>()[i] = a, out->at(1).data<float>()[i] = b;
  }
  return MX_SUCCESS;
}
REGISTER_OP(torch_fan).setForward(fan, "cpu").setBackward(fan_backward, "cpu").setParseAttrs(parse_fan)
    .setInferType(same_types).setInferShape(same_shapes);

// `n` has to be given.
static MXReturnValue parse_needs(const Map& attrs, int* in, int* out) {
  *in = std::stoi(attrs.at("n")), *out = 1;
  return MX_SUCCESS;
}
REGISTER_OP(torch_needs).setForward(fan, "cpu").setParseAttrs(parse_needs).setInferType(same_types).setInferShape(same_shapes);

// y = x - mean, and mean counts the calls unless it is frozen.
static MXReturnValue parse_running(const Map&, int* in, int* out) {
  *in = 2, *out = 1;
  return MX_SUCCESS;
}
static MXReturnValue running(const Map& attrs, std::vector<MXTensor>* in, std::vector<MXTensor>* out, const OpResource&) {
  for (size_t i = 0; i < count(in->at(0)); ++i)
    out->at(0).data<float>()[i] = in->at(0).data<float>()[i] - in->at(1).data<float>()[0];
  if (get(attrs, "frozen", "0") == "0") in->at(1).data<float>()[0] += 1;
  return MX_SUCCESS;
}
static MXReturnValue running_backward(const Map& attrs, std::vector<MXTensor>* in, std::vector<MXTensor>* out, const OpResource&) {
  for (size_t i = 0; i < count(in->at(0)); ++i) out->at(0).data<float>()[i] = in->at(0).data<float>()[i];
  if (get(attrs, "late", "0") == "1") in->at(2).data<float>()[0] += 10;  // as batch norms of MXNet did
  return MX_SUCCESS;
}
static MXReturnValue running_writes(const Map& attrs, std::vector<int>* indices) {
  if (get(attrs, "frozen", "0") == "0") indices->push_back(1);
  return MX_SUCCESS;
}
REGISTER_OP(torch_running).setForward(running, "cpu").setBackward(running_backward, "cpu").setParseAttrs(parse_running)
    .setInferType(same_types).setInferShape(same_shapes).setMutateInputs(running_writes);

MXReturnValue initialize(int) { return MX_SUCCESS; }
"""


@pytest.fixture(scope="module", autouse=True)
def lib():
    lib = tarsia.load_inline({"torch_mxnet.cc": SOURCE})
    yield lib
    for name in tarsia.torch.registered():
        if "torch_" in name:
            tarsia.torch.unregister(name)
    lib.unload()


def registered(op, **options):
    return tarsia.torch.register(tarsia.op(op), **options)


def schema(operator):
    return re.sub(r"\.version\d+", "", str(operator.default._schema))


def test_tensors_are_taken_and_given_one_by_one():
    assert schema(registered("torch_leaky")) == "tarsia::torch_leaky(Tensor input) -> Tensor"
    assert schema(registered("torch_fan")) == "tarsia::torch_fan(Tensor input1, Tensor input2) -> (Tensor, Tensor)"
    x = torch.tensor([-4.0, 2.0], requires_grad=True)
    y = torch.ops.tarsia.torch_leaky(x)
    assert torch.equal(y, torch.tensor([-1.0, 2.0]))
    y.sum().backward()
    assert torch.equal(x.grad, torch.tensor([0.25, 1.0]))


def test_attributes_that_are_fixed_decide_the_numbers():
    three = registered("torch_fan", attributes={"parts": 3}, name="torch_fan3")
    assert schema(three) == "tarsia::torch_fan3(Tensor input1, Tensor input2) -> (Tensor, Tensor, Tensor)"
    a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    outputs = three(a, b)
    assert [one[0].item() for one in outputs] == [1, 2, 3]
    outputs[2].sum().backward()
    assert torch.equal(a.grad, torch.ones(2)) and torch.equal(b.grad, torch.full((2,), 2.0))


def test_attributes_are_arguments():
    leaky = registered("torch_leaky", arguments={"slope": 0.5, "shift": float, "mode": str})
    assert schema(leaky) == "tarsia::torch_leaky(Tensor input, *, float slope=0.5, float shift, str mode) -> Tensor"
    leaky = registered("torch_leaky", arguments={"slope": 0.5, "mode": "linear"}, attributes={"shift": 1.0})
    assert schema(leaky) == 'tarsia::torch_leaky(Tensor input, *, float slope=0.5, str mode="linear") -> Tensor'
    x = torch.tensor([-4.0, 2.0], requires_grad=True)
    assert torch.equal(leaky(x), torch.tensor([-1.0, 2.0])) and torch.equal(leaky(x, mode="square"), torch.tensor([16.0, 4.0]))
    leaky(x, slope=2.0).sum().backward()
    assert torch.equal(x.grad, torch.tensor([2.0, 1.0]))
    with pytest.raises(tarsia.Error, match="mode is cube"):
        leaky(x, mode="cube")


def test_an_argument_that_decides_the_numbers_leaves_lists():
    assert schema(registered("torch_fan", arguments={"parts": 2})) == "tarsia::torch_fan(Tensor[] inputs, *, SymInt parts=2) -> Tensor[]"
    assert len(torch.ops.tarsia.torch_fan([torch.ones(1), torch.ones(1)], parts=4)) == 4
    assert schema(registered("torch_needs")) == "tarsia::torch_needs(Tensor[] inputs) -> Tensor[]"
    assert schema(registered("torch_needs", attributes={"n": 2})) == "tarsia::torch_needs(Tensor input1, Tensor input2) -> Tensor"


def test_a_number_that_trying_did_not_find_is_an_error():
    fan = registered("torch_fan", arguments={"parts": "2"})  # a text: what it may be, nobody knows
    assert schema(fan) == 'tarsia::torch_fan(Tensor input1, Tensor input2, *, str parts="2") -> (Tensor, Tensor)'
    with pytest.raises(tarsia.Unsupported, match="torch_fan has 3 outputs with these attributes, and its operator 2: fix the attributes"):
        fan(torch.ones(1), torch.ones(1), parts="3")


def test_tracing_and_opcheck():
    leaky = registered("torch_leaky", arguments={"slope": 0.5})
    x = torch.tensor([-4.0, 2.0], requires_grad=True)
    torch.library.opcheck(leaky.default, (x,), {"slope": 0.25}, test_utils=("test_schema", "test_faketensor", "test_autograd_registration"))
    traced = torch.compile(lambda x: leaky(x, slope=2.0), backend="eager", fullgraph=True)
    assert torch.equal(traced(x), torch.tensor([-8.0, 2.0]))


@pytest.mark.parametrize("options, message", [
    ({"arguments": {"slope": [1.0]}}, r"arguments of attributes are bool, int, float or str.*'slope' is \[1.0\]"),
    ({"arguments": {"slope": 1.0}, "attributes": {"slope": 1.0}}, "'slope' is given in attributes and in arguments"),
])
def test_mistakes(options, message):
    with pytest.raises(tarsia.ArgumentTypeError, match=message):
        registered("torch_leaky", **options)


def test_arguments_are_of_ops_that_declare_none():
    lib = tarsia.load_inline("""#include <tarsia/op.h>
    void f(float* x) {}
    TARSIA_OP(torch_declares).input("x").output("y").forward("cpu", [](tarsia::Context&) {});
    """)
    with pytest.raises(tarsia.ArgumentTypeError, match="torch_declares declares its attributes"):
        tarsia.torch.register(tarsia.op("torch_declares"), arguments={"a": 1.0})
    with pytest.raises(tarsia.ArgumentTypeError, match="arguments are attributes of an op"):
        tarsia.torch.register(lib.f, arguments={"a": 1.0})


def test_pytorch_knows_which_inputs_are_written_to():
    running = registered("torch_running")
    assert schema(running) == "tarsia::torch_running(Tensor input1, Tensor(a1!) input2) -> Tensor"
    x, mean, weight = torch.arange(3.0, requires_grad=True), torch.ones(1), torch.ones(1, requires_grad=True)
    scaled = mean * weight  # keeps the mean for its backward
    version = mean._version
    y = running(x, mean)
    assert mean.item() == 2 and mean._version > version
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        scaled.sum().backward()
    (y * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert x.grad.tolist() == [1, 2, 3]
    torch.library.opcheck(running.default, (x, mean))
    assert str(registered("torch_running", attributes={"frozen": 1}, name="torch_frozen").default._schema).endswith(
        "torch_frozen(Tensor input1, Tensor input2) -> Tensor")


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled_graphs_keep_the_order_of_writes(backend):
    running = registered("torch_running")

    def f(x, mean):
        return running(running(x, mean), mean), mean * 100

    x, mean = torch.zeros(2, requires_grad=True), torch.ones(1)
    torch._dynamo.reset()
    y, after = torch.compile(f, backend=backend, fullgraph=True)(x, mean)
    assert y.tolist() == [-3, -3] and after.item() == 300 and mean.item() == 3  # 0 - 1 - 2
    y.sum().backward()
    assert x.grad.tolist() == [1, 1]


@pytest.mark.parametrize("backend", [None, "aot_eager", "inductor"])
def test_a_backward_may_write_to_a_state(backend):
    running = registered("torch_running", attributes={"late": 1}, name="torch_late")
    torch._dynamo.reset()
    f = torch.compile(running, backend=backend, fullgraph=True) if backend else running
    x, mean = torch.zeros(2, requires_grad=True), torch.ones(1)
    y = f(x, mean)
    assert mean.item() == 2
    version = mean._version
    y.sum().backward()
    assert mean.item() == 12 and mean._version > version
    assert x.grad.tolist() == [1, 1]


def test_attributes_that_decide_what_is_written_to_are_fixed():
    running = registered("torch_running", arguments={"frozen": 0}, name="torch_choosing")
    assert schema(running) == "tarsia::torch_choosing(Tensor[] inputs, *, SymInt frozen=0) -> Tensor[]"
    x, mean = torch.ones(2), torch.ones(1)
    assert running([x, mean], frozen=1)[0].tolist() == [0, 0]
    with pytest.raises(tarsia.Unsupported, match=r"torch_running writes to input 1 with these attributes.*attributes=\{"):
        running([x, mean])
    assert mean.item() == 1
