"""What op code is given on a GPU: memory, devices, random numbers."""


import pytest
from gpu_support import inline, wait_until
from threads import at_once

import tarsia

torch = pytest.importorskip("torch")

SOURCE = r"""
#include <tarsia/op.h>
#include <curand_kernel.h>
#include <stdexcept>

__global__ void uniform_kernel(float* y, long n, uint64_t seed, uint64_t offset) {
  TARSIA_GRID_LOOP(i, n) {
    curandStatePhilox4_32_10_t state;
    curand_init(seed, i, offset, &state);
    y[i] = curand_uniform(&state);
  }
}
tarsia::Tensor uniform(const tarsia::Tensor& like, tarsia::Stream s) {
  tarsia::Tensor y = tarsia::empty_like(like);
  tarsia::RandomRange range = tarsia::reserve_random(y.device(), 4);
  uniform_kernel<<<tarsia::blocks(y.numel()), 256, 0, s>>>(y.data<float>(), y.numel(), range.seed, range.offset);
  return y;
}

// Draws from the device's persistent states.
__global__ void states_kernel(curandStatePhilox4_32_10_t* states, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = curand_uniform(&states[i]);
}
// The same from states that are made anew.
__global__ void fresh_kernel(uint64_t seed, float* y, float* z, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  curandStatePhilox4_32_10_t state;
  curand_init(seed, i, 0, &state);
  y[i] = curand_uniform(&state);
  z[i] = curand_uniform(&state);
}
int draw(float* y, int n, cudaStream_t s) {
  uint32_t count = 0;
  auto* states = static_cast<curandStatePhilox4_32_10_t*>(tarsia::detail::host()->random_states(
      tarsia::detail::host()->call_device(), TARSIA_RANDOM_PHILOX, &count));
  if (!states) throw std::runtime_error("no states");
  states_kernel<<<(n + 255) / 256, 256, 0, s>>>(states, y, n);
  return int(count);
}
void fresh(int64_t seed, float* y, float* z, int n, cudaStream_t s) { fresh_kernel<<<(n + 255) / 256, 256, 0, s>>>(uint64_t(seed), y, z, n); }

int devices() { return tarsia::device_count(); }
int attribute(int device, int which) {
  int value = 0;
  if (tarsia::detail::host()->device_attribute(device, which, &value)) throw std::runtime_error("no such attribute");
  return value;
}

__global__ void fill_kernel(char* p, long n, char value) { TARSIA_GRID_LOOP(i, n) p[i] = value; }
__global__ void compare_kernel(const char* a, const char* b, long n, int* bad) {
  TARSIA_GRID_LOOP(i, n) if (a[i] != 1 || b[i] != 2) *bad = 1;
}
// Two pieces of scratch are aligned and do not overlap.
bool scratch(int* bad, long n, cudaStream_t s) {
  tarsia::Device device = tarsia::gpu_device();
  char *a = static_cast<char*>(tarsia::scratch(n, device)), *b = static_cast<char*>(tarsia::scratch(n, device));
  tarsia::scratch(0, device);
  fill_kernel<<<tarsia::blocks(n), 256, 0, s>>>(a, n, 1);
  fill_kernel<<<tarsia::blocks(n), 256, 0, s>>>(b, n, 2);
  compare_kernel<<<tarsia::blocks(n), 256, 0, s>>>(a, b, n, bad);
  return reinterpret_cast<uintptr_t>(a) % 256 == 0 && reinterpret_cast<uintptr_t>(b) % 256 == 0;
}
// Memory of the pool that the caller keeps.
int64_t allocate(long n, cudaStream_t s) {
  void* p = tarsia::detail::host()->allocate(uint64_t(n), tarsia::gpu_device(), s);
  if (!p) throw std::runtime_error("no memory");
  fill_kernel<<<tarsia::blocks(n), 256, 0, s>>>(static_cast<char*>(p), n, 1);
  return int64_t(p);
}
void deallocate(int64_t p, cudaStream_t s) { tarsia::detail::host()->deallocate(reinterpret_cast<void*>(p), tarsia::gpu_device(), s); }
tarsia::Tensor huge(int64_t n) { return tarsia::empty({n}, tarsia::float32, tarsia::gpu_device()); }
"""


@pytest.fixture
def lib():
    return inline(SOURCE, name="gpu_resources")


def test_a_seed_determines_what_is_drawn(lib):
    like = torch.empty(1_000_000, device="cuda")
    tarsia.seed(1)
    first, second = lib.uniform(like), lib.uniform(like)
    tarsia.seed(1)
    again = lib.uniform(like)
    tarsia.seed(2)
    other = lib.uniform(like)
    assert torch.equal(first, again) and not torch.equal(first, second) and not torch.equal(first, other)
    for drawn in (first, second, other):
        assert 0 < drawn.min().item() and drawn.max().item() <= 1 and abs(drawn.mean().item() - 0.5) < 0.005
        assert abs(drawn.var().item() - 1 / 12) < 0.001
    assert abs(torch.corrcoef(torch.stack([first, second]))[0, 1].item()) < 0.01


def test_states_are_those_of_curand_and_persist(lib):
    n = 4096
    first, second, y, z = (torch.zeros(n, device="cuda") for _ in range(4))
    tarsia.seed(3)
    assert lib.draw(first, n) >= n
    lib.draw(second, n)
    lib.fresh(0 + 127 * 3, y, z, n)  # the seed of device 0
    assert torch.equal(first, y) and torch.equal(second, z)
    tarsia.seed(3)
    lib.draw(second, n)
    assert torch.equal(second, first)


def test_states_pass_from_stream_to_stream_in_order(lib):
    n = 32768
    drawn, y, z = ([torch.zeros(n, device="cuda") for _ in range(2)], torch.zeros(n, device="cuda"), torch.zeros(n, device="cuda"))
    work = torch.randn(4096, 4096, device="cuda")
    streams = [torch.cuda.Stream() for _ in range(2)]
    torch.cuda.synchronize()
    for seed in range(1, 9):
        tarsia.seed(seed)
        for out, stream in zip(drawn, streams):
            with torch.cuda.stream(stream):
                if stream is streams[0]:
                    work @ work  # what is drawn first is drawn late
                lib.draw(out, n)
        torch.cuda.synchronize()
        lib.fresh(127 * seed, y, z, n)
        assert torch.equal(drawn[0], y) and torch.equal(drawn[1], z)


def test_calls_of_several_threads_draw_from_states_of_their_own(lib):
    n, rounds = 32768, 50
    tarsia.seed(4)
    drawn = [[torch.zeros(n, device="cuda") for _ in range(rounds)] for _ in range(4)]
    streams = [torch.cuda.Stream() for _ in drawn]
    torch.cuda.synchronize()

    def draw(each):
        mine, stream = each
        with torch.cuda.stream(stream):
            for out in mine:
                lib.draw(out, n)

    at_once(draw, zip(drawn, streams))
    torch.cuda.synchronize()
    first = torch.stack([out[:8] for mine in drawn for out in mine])
    assert len(torch.unique(first, dim=0)) == 4 * rounds  # no two drew from one state at once


def test_a_captured_graph_has_states_of_its_own_that_go_on(lib):
    n = 4096
    tarsia.seed(5)
    x, outside, y, z = (torch.zeros(n, device="cuda") for _ in range(4))
    lib.draw(x, n)  # its code is loaded

    def captured():
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            lib.draw(x, n)
        return graph

    def replays(graph):
        values = []
        for _ in range(3):
            graph.replay()
            values.append(x.clone())
        return values

    tarsia.seed(5)
    graph, other = captured(), captured()
    values = replays(graph) + replays(other)
    assert all(0 < value.min().item() for value in values)
    assert len(torch.unique(torch.stack(values), dim=0)) == len(values)
    for _ in range(2):  # calls draw what they draw without graphs
        lib.draw(outside, n)
        values.append(outside.clone())
    lib.fresh(127 * 5, y, z, n)
    assert torch.equal(values[-2], y) and torch.equal(values[-1], z)
    # States of a graph that is gone are made anew for another one.
    del graph, other
    tarsia.seed(5)
    assert wait_until(lambda: any(torch.equal(replays(captured())[0], value) for value in (values[0], values[3])))


def test_devices_are_told(lib):
    properties = torch.cuda.get_device_properties(0)
    assert lib.devices() == torch.cuda.device_count()
    assert (lib.attribute(0, 75), lib.attribute(0, 76)) == (properties.major, properties.minor)
    assert lib.attribute(0, 16) == properties.multi_processor_count
    with pytest.raises(tarsia.Error):
        lib.attribute(1000, 75)


def test_doctor_tells_of_the_gpus(lib):
    gpus = [line for line in tarsia.doctor()["lines"] if line["part"].startswith("GPU")]
    assert len(gpus) == torch.cuda.device_count() and all(line["found"] for line in gpus)
    assert torch.cuda.get_device_name(0) in gpus[0]["detail"]


def test_scratch(lib):
    bad = torch.zeros(1, device="cuda", dtype=torch.int32)
    for n in (1, 1000, 1 << 20, 100 << 20, 3):
        assert lib.scratch(bad, n)
    assert bad.item() == 0


def test_the_pool(lib):
    stream = torch.cuda.Stream()
    for s in (None, stream):
        addresses = {lib.allocate(1 << 20, s) for _ in range(10)}
        assert len(addresses) == 10
        for address in addresses:
            lib.deallocate(address, s)
    torch.cuda.synchronize()


def test_memory_that_is_not_there_is_an_error(lib):
    with pytest.raises(tarsia.OutOfMemory):
        lib.huge(1 << 45)
    assert lib.huge(10).shape == (10,)


def test_memory_is_given_back(lib):
    size = 1 << 27  # elements: half a GiB
    for _ in range(2 * torch.cuda.mem_get_info()[1] // (4 * size)):
        torch.cuda.synchronize()
        assert wait_until(lambda: made(lib, size)), "there is no memory left"


def made(lib, size):
    try:
        return lib.huge(size).shape == (size,)
    except tarsia.OutOfMemory:  # what was dropped is freed a little later
        return False
