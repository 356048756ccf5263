"""Ops written in Python that leave outputs on a GPU unwritten."""

import threading

import pytest
from gpu_support import HOLD, Gate, inline, require_gpus

import tarsia

torch = pytest.importorskip("torch")

DTYPES = ["float32", "float64", "float16", "bfloat16", "int32", "int64", "uint8", "bool", "complex64"]


@pytest.fixture(autouse=True)
def gpu():
    require_gpus()


def other_name(x, y):
    y = x * 2  # noqa: F841


def copy(x, y):
    y.copy_(x)


def define(forward, **options):
    return tarsia.define_op(forward, name="py_unwritten_gpu", **options)


@pytest.mark.parametrize("dtype", DTYPES)
def test_an_output_on_a_gpu_that_is_not_written_is_an_error(dtype):
    x = torch.ones(4, 4, device="cuda").to(getattr(torch, dtype))
    op = define(other_name)
    with pytest.raises(tarsia.OpError, match="op 'py_unwritten_gpu', forward on GPU 0: output 'y' is not written: forward has to"):
        op(x)
    for again in (x, x[:2], x):  # another try, another binding
        with pytest.raises(tarsia.OpError, match="output 'y' is not written"):
            op(again)


def test_what_is_written_in_part_or_through_views_is_fine():
    def through_a_view(x, y):
        y.view(-1)[:8] = x.view(-1)[:8]

    def last(x, y):
        y[-1, -1] = 3

    def nan(x, y):
        y.fill_(float("nan"))

    def zero(x, y):
        y.zero_()

    x = torch.arange(16, device="cuda", dtype=torch.float32).reshape(4, 4)
    assert torch.equal(define(through_a_view)(x)[:2], x[:2])
    assert define(last)(x)[-1, -1] == 3
    assert define(nan)(x).isnan().all()
    for shape in ((), (1,), (0,), (3,)):
        assert define(zero)(x.new_ones(shape)).tolist() == x.new_zeros(shape).tolist()


def test_a_gradient_on_a_gpu_that_is_not_written_is_an_error():
    op = define(copy, backward=lambda dy, x, y, dx: None)
    x = torch.ones(4, device="cuda")
    with pytest.raises(tarsia.OpError, match="op 'py_unwritten_gpu', backward on GPU 0: the gradient of 'x' is not written"):
        op.backward(x, x, x)


def test_a_callers_memory_is_set():
    x = torch.ones(4, 4, device="cuda")
    out = torch.full_like(x, 3)
    op = define(other_name)
    assert op(x, out=out) is out and (out == 3).all()
    with pytest.raises(tarsia.OpError, match="output 'y' is not written"):  # that call was not looked at
        op(x)


def test_a_call_that_raises_is_not_the_one_that_has_written():
    broken = [True]

    def forward(x, y):
        if broken[0]:
            raise ValueError("broken")

    op = define(forward)
    x = torch.ones(4, device="cuda")
    with pytest.raises(ValueError, match="broken"):
        op(x)
    broken[0] = False
    with pytest.raises(tarsia.OpError, match="output 'y' is not written"):
        op(x)


def test_once_a_binding_has_written_its_calls_do_not_wait():
    library = inline(HOLD)
    op = define(copy)
    x = torch.ones(4, 4, device="cuda")
    op(x)
    stream, gate = torch.cuda.Stream(), Gate()
    with torch.cuda.stream(stream):
        library.hold(gate.address)
        y = op(x)
        assert not stream.query()
        gate.open()
    stream.synchronize()
    assert torch.equal(y, x)


def test_nothing_waits_while_a_stream_is_captured():
    def double(x, y):
        torch.mul(x, 2, out=y)

    op = define(double)
    x = torch.ones(4, 4, device="cuda")
    x * 2
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = op(x)
    x.fill_(5)
    graph.replay()
    assert (y == 10).all()
    unwritten = define(other_name)
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        unwritten(x)
    with pytest.raises(tarsia.OpError, match="output 'y' is not written"):  # the capture was not its first run
        unwritten(x)


def beside_a_capture(call):
    """Calls on a stream of its own while another thread captures. Returns what `call` gave and what went wrong."""
    captures, called = threading.Event(), threading.Event()
    x = torch.ones(4, 4, device="cuda")
    graph, stream, errors = torch.cuda.CUDAGraph(), torch.cuda.Stream(), []
    with torch.cuda.stream(stream):
        call(x[:2])  # what is loaded at first is not to be so beside a capture
    torch.cuda.synchronize()

    def capture():
        try:
            with torch.cuda.graph(graph, capture_error_mode="global"):
                x * 3
                captures.set()
                called.wait(30)
        except RuntimeError as error:
            errors.append(error)

    thread = threading.Thread(target=capture)
    thread.start()
    assert captures.wait(30)
    made = None
    try:
        with torch.cuda.stream(stream):
            made = call(x)
    except RuntimeError as error:
        errors.append(error)
    called.set()
    thread.join()
    return made, errors


def test_a_capture_of_another_thread_goes_on():
    beside_a_capture(torch.clone)  # PyTorch's own first time ends the capture
    made, errors = beside_a_capture(define(copy))
    assert not errors and (made == 1).all()
    with pytest.raises(tarsia.OpError, match="output 'y' is not written"):
        define(other_name)(made)
