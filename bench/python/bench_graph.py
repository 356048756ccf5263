"""Graphs: what a node costs, how long a plan takes, and a transformer beside PyTorch, its memory included.

    python bench/python/bench_graph.py [--layers 12] [--tokens 128]

On the CPU: a chain of ops that do nothing to speak of, against the same bound op called in a loop of C++; and the time of a plan
for 10,000 nodes. On a GPU: a transformer's forward at batch 1 in float16, eager PyTorch (scaled_dot_product_attention) and a
Tarsia graph of the same weights, called and as a CUDA graph, beside PyTorch's own CUDA graph; and the most memory that each
takes beyond weights and input. With two GPUs, the same transformer with half of its layers on each, and two towers of feed-forward
layers, both on one GPU and one on each; PyTorch with its tensors moved by hand beside both.
Medians; both sides in this run.
"""

import argparse
import os
import pathlib
import statistics
import time

import numpy as np

import tarsia

HERE = pathlib.Path(__file__).parent

NOTHING = r"""
#include <tarsia/op.h>
TARSIA_OP(bench_nothing).forward("cpu", [](tarsia::Context& c) { c.output(0).data<float>()[0] = c.input(0).data<const float>()[0] + 1; });
#include <cmath>
TARSIA_OP(bench_sines).forward("cpu", [](tarsia::Context& c) {
  for (int64_t i = 0; i < c.input(0).numel(); ++i) c.output(0).data<float>()[i] = std::sin(c.input(0).data<const float>()[i]);
});
#include <chrono>
#include <tarsia/inner_op.h>
// ns a call of the bound op itself, over n calls.
TARSIA_OP(bench_loop).input("x").attribute("n", int64_t(1000)).output("ns").infer([](tarsia::BindInfo& i) {
  i.output(0).set_shape({1});
  i.output(0).set_dtype(i.input(0).dtype());
}).forward("cpu", [](tarsia::Context& c) {
  const tarsia::InnerOp op("bench_nothing", {c.input(0)});
  const tarsia::Tensor y = c.scratch_tensor(c.input(0).shape(), c.input(0).dtype());
  const int64_t n = c.attribute<int64_t>("n");
  const auto begin = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < n; ++i) op({c.input(0)}, {y});
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
  c.output(0).data<float>()[0] = static_cast<float>(took.count() / n);
});
"""


def median(times):
    return statistics.median(times)


def timed(f, n=15):
    times = []
    for _ in range(n):
        begin = time.perf_counter()
        f()
        times.append(time.perf_counter() - begin)
    return median(times)


def chain(nodes):
    g = tarsia.Graph()
    x = g.input("x")
    for _ in range(nodes):
        x = g.bench_nothing(x)
    g.output(x)
    return g


def branches():
    """Heavy branches at the same time, and the same graph one step after the other, in turns."""
    for elements in (1 << 17, 1 << 20):
        x = np.linspace(0, 1, elements, dtype=np.float32)
        g = tarsia.Graph()
        value = g.input("x")
        for _ in range(2):
            g.output(g.bench_sines(value))
        out = tuple(np.empty_like(x) for _ in range(2))
        runs = {}
        for size in ("1", "1000000"):
            os.environ["TARSIA_FLOW_SIZE_MB"] = size
            runs[size] = g.bind(x=x)
        times = {size: [] for size in runs}
        for _ in range(100):
            for size, bound in runs.items():
                start = time.perf_counter()
                bound(x, out=out)
                times[size].append(time.perf_counter() - start)
        for what, of in (("median", median), ("best", min)):
            once, after = (of(times[size]) for size in runs)
            print(f"two branches of {elements} sines at once, {what}: {once * 1e3:.2f} ms, one after the other {after * 1e3:.2f} ms: {once / after:.2f} of it")
    del os.environ["TARSIA_FLOW_SIZE_MB"]


def on_cpu():
    tarsia.load_inline(NOTHING)
    x = np.ones(4, np.float32)
    nodes = 1000
    bound = chain(nodes).bind(x=x)
    out = np.empty_like(x)
    bound(x, out=out)
    per_node = timed(lambda: bound(x, out=out)) / nodes * 1e9
    call = float(median([tarsia.ops.bench_loop(x, n=10000)[0] for _ in range(5)]))
    print(f"a node of a chain of {nodes}: {per_node:.0f} ns, a call of its op alone {call:.0f} ns, so {per_node - call:+.0f} ns (asked <= 100)")
    branches()
    g = chain(10_000)
    bind = timed(lambda: g.bind(x=x), 5)
    plan = g.bind(x=x).plan
    print(f"10,000 nodes: bound in {bind * 1e3:.0f} ms, of which the memory plan {plan.milliseconds:.1f} ms (asked <= 50)")


def weights(layers, width, torch, gpus=1):
    def half(*shape):
        return (torch.randn(*shape, device=device) * 0.02).half()

    made = []
    for i in range(layers):
        device = f"cuda:{i * gpus // layers}"
        made.append(
            {
                "ln1": (torch.ones(width, device=device).half(), half(width)),
                "qkv": (half(3 * width, width), half(3 * width)),
                "out": (half(width, width), half(width)),
                "ln2": (torch.ones(width, device=device).half(), half(width)),
                "up": (half(4 * width, width), half(4 * width)),
                "down": (half(width, 4 * width), half(width)),
            }
        )
    return made


def torch_forward(x, layers, torch, attention=True):
    f = torch.nn.functional
    tokens, width = x.shape
    home = x.device
    for w in layers:
        x = x.to(w["ln1"][0].device)
        if attention:
            h = f.layer_norm(x, (width,), *w["ln1"])
            q, k, v = f.linear(h, *w["qkv"]).view(1, tokens, 3, width // 64, 64).permute(2, 0, 3, 1, 4).unbind(0)
            h = f.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(tokens, width)
            x = x + f.linear(h, *w["out"])
        h = f.layer_norm(x, (width,), *w["ln2"])
        x = x + f.linear(f.gelu(f.linear(h, *w["up"]), approximate="tanh"), *w["down"])
    return x.to(home)


def add_layers(g, x, layers, attention=True):
    """The value of a transformer's layers, each on the GPU of its weights. Without attention, they are feed-forward."""

    def p(tensors):
        return [g.parameter(t) for t in tensors]

    for w in layers:
        on = {"device": f"gpu:{w['ln1'][0].device.index}"}
        if attention:
            h = g.bench_layer_norm(x, *p(w["ln1"]), **on)
            h = g.bench_attention(g.bench_linear(h, *p(w["qkv"]), **on), **on)
            x = g.bench_add(x, g.bench_linear(h, *p(w["out"]), **on), **on)
        h = g.bench_layer_norm(x, *p(w["ln2"]), **on)
        x = g.bench_add(x, g.bench_linear(g.bench_linear(h, *p(w["up"]), gelu=True, **on), *p(w["down"]), **on), **on)
    return x


def tarsia_graph(layers):
    g = tarsia.Graph()
    g.output(add_layers(g, g.input("x"), layers))
    return g


def gpu_time(f, torch):
    """Milliseconds of a call when many follow each other."""

    def wait():
        for i in range(torch.cuda.device_count()):
            torch.cuda.synchronize(i)

    for _ in range(20):
        f()
    times = []
    for _ in range(7):
        wait()
        begin = time.perf_counter()
        for _ in range(50):
            f()
        wait()
        times.append((time.perf_counter() - begin) / 50)
    return median(times) * 1e3


def on_two_gpus(n_layers, torch):
    """Layers on two GPUs, one after the other and at the same time."""
    width, tokens = 768, 128
    layers = weights(n_layers, width, torch, gpus=2)
    x = (torch.randn(tokens, width, device="cuda:0") * 0.5).half()
    bound = tarsia_graph(layers).bind(x=x)
    expected, out = torch_forward(x, layers, torch), torch.empty_like(x)
    error = (bound(x=x).float() - expected.float()).abs().max().item() / expected.float().abs().max().item()
    theirs, mine = gpu_time(lambda: torch_forward(x, layers, torch), torch), gpu_time(lambda: bound(x=x, out=out), torch)
    print(f"{n_layers} layers, half of them on each of two GPUs: eager PyTorch {theirs:.3f} ms, a call {mine:.3f} ms, ratio {mine / theirs:.2f}; "
          f"largest difference {error:.1e} of the largest value")

    width, tokens = 2048, 4096
    x = (torch.randn(tokens, width, device="cuda:0") * 0.5).half()
    halves = {}
    for gpus in (1, 2):
        layers = weights(8, width, torch, gpus=gpus)
        halves[gpus] = layers[:4], layers[4:]
    bounds = {}
    for gpus, towers in halves.items():
        g = tarsia.Graph()
        for i, tower in enumerate(towers):
            g.output(add_layers(g, g.input(f"x{i}"), tower, attention=False))
        bounds[gpus] = g.bind(x0=x, x1=x)
    outs = tuple(torch.empty_like(x) for _ in range(2))
    one, two = (gpu_time(lambda bound=bounds[gpus]: bound(x, x, out=outs), torch) for gpus in (1, 2))
    theirs = gpu_time(lambda: [torch_forward(x, tower, torch, attention=False) for tower in halves[2]], torch)
    print(f"two towers of 4 feed-forward layers, {tokens} tokens, width {width}: on one GPU {one:.3f} ms, on two {two:.3f} ms, ratio {two / one:.2f}; "
          f"PyTorch on two {theirs:.3f} ms, ratio {two / theirs:.2f}")


def on_gpu(n_layers, tokens):
    import torch

    if not torch.cuda.is_available():
        print("transformer: no GPU, skipped")
        return
    folders = [d for d in ("/usr/local/cuda/lib64", "/usr/local/cuda/targets/x86_64-linux/lib") if pathlib.Path(d).is_dir()]
    tarsia.load(str(HERE / "graph_ops.cu"), libraries=["cublasLt"], library_dirs=folders)
    torch.manual_seed(0)
    width = 768
    layers = weights(n_layers, width, torch)
    x = (torch.randn(tokens, width, device="cuda") * 0.5).half()
    with torch.no_grad():
        expected = torch_forward(x, layers, torch)
        bound = tarsia_graph(layers).bind(x=x)
        got = bound(x=x)
        error = (got.float() - expected.float()).abs().max().item() / expected.float().abs().max().item()
        print(f"{torch.cuda.get_device_name()}: {n_layers} layers, {tokens} tokens, width {width}; largest difference {error:.1e} of the largest value")

        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        torch_forward(x, layers, torch)
        torch.cuda.synchronize()
        theirs = torch.cuda.max_memory_allocated() - before
        mine = bound.plan.bytes
        print(f"memory beyond weights and input: PyTorch {theirs / 2**20:.2f} MiB, Tarsia {mine / 2**20:.2f} MiB "
              f"(at least {bound.plan.lower_bound / 2**20:.2f} are live; cublasLt's workspace of "
              f"{bound.plan.workspace / 2**20:.2f} included), ratio {mine / theirs:.2f}")

        out = torch.empty_like(x)
        eager = gpu_time(lambda: torch_forward(x, layers, torch), torch)
        called = gpu_time(lambda: bound(x=x, out=out), torch)
        captured = bound.capture()
        got = captured(x=x)
        assert torch.equal(got, bound(x=x)), "the CUDA graph computes something else"
        stream = torch.cuda.current_stream()
        replayed = gpu_time(lambda: captured.replay(stream), torch)
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            bound(x=x, out=out)
            torch_forward(x, layers, torch)
        torch.cuda.synchronize()
        by_hand, torch_graph = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
        with torch.cuda.graph(by_hand):
            bound(x=x, out=out)
        with torch.cuda.graph(torch_graph):
            torch_forward(x, layers, torch)
        hand = gpu_time(by_hand.replay, torch)
        theirs = gpu_time(torch_graph.replay, torch)
        print(f"forward: eager PyTorch {eager:.3f} ms, a call {called:.3f} ms, ratio {called / eager:.2f} (asked <= 1)")
        print(f"CUDA graph: capture() {replayed:.3f} ms, captured by hand {hand:.3f} ms, ratio {replayed / hand:.3f} (asked <= 1.02); "
              f"PyTorch's forward captured {theirs:.3f} ms")
        if torch.cuda.device_count() > 1:
            on_two_gpus(n_layers, torch)
        else:
            print("layers on two GPUs: one GPU, skipped")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--tokens", type=int, default=128)
    arguments = parser.parse_args()
    on_cpu()
    on_gpu(arguments.layers, arguments.tokens)


main()
