"""Kernels and functions of MobulaOP on the CPU: types, arguments, threads, reductions."""

import ctypes
import multiprocessing
import threading

import numpy as np
import pytest
from threads import at_once

import tarsia
import tarsia.mobula as mobula
from tarsia.mobula._instances import Source

HEAD = '#include "mobula_op.h"\nnamespace mobula {\n'
ADD = HEAD + """
template <typename T>
MOBULA_DEVICE T mk_sum(T a, T b) { return a + b; }
template <typename T>
MOBULA_KERNEL mk_add_kernel(const int n, const T* a, const T* b, T* c) {
  parfor(n, [&](int i) { c[i] = mk_sum(a[i], b[i]); });
}
}
"""


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64"])
def test_tensors_tell_the_type(load, dtype):
    add = load("mk_types", ADD).mk_add
    a, b = (np.arange(40).reshape(5, 8) % 7).astype(dtype), np.ones((5, 8), dtype)
    c = np.zeros((5, 8), dtype)
    assert add(a.size, a, b, c) is None
    assert (c == (a + b if dtype != "bool" else a | b)).all()


def test_torch_tensors_and_mixtures_on_the_cpu(load):
    torch = pytest.importorskip("torch")
    add = load("mk_torch", ADD).mk_add
    a, b, c = torch.arange(6.0), torch.ones(6), torch.zeros(6)
    add(a.numel(), a, b, c)
    assert c.tolist() == [1, 2, 3, 4, 5, 6]
    version = c._version
    add(a.size, a, b, c)  # the method that PyTorch has where NumPy has a number
    assert c._version > version
    add(6, a, np.full(6, 10, np.float32), c)
    assert c.tolist() == [10, 11, 12, 13, 14, 15]
    x = torch.arange(12.0).reshape(3, 4).T  # not contiguous
    out = torch.zeros(4, 6)[:, ::2]
    add(12, x, x, out)
    assert torch.equal(out, 2 * x)


def test_keywords_and_slices(load):
    add = load("mk_slices", ADD).mk_add
    a, c = np.random.rand(5, 5), np.zeros((5, 5))
    add(n=10, a=a[:, 1:3], b=a[:, 2:4], c=c[:, 3:])
    assert np.allclose(c[:, 3:], a[:, 1:3] + a[:, 2:4]) and (c[:, :3] == 0).all()
    add(25, a.T, b=a, c=c)
    assert np.allclose(c, a.T + a)


TEXTS = HEAD + """
#include <cstring>
MOBULA_FUNC int mk_length(const char* text) { return static_cast<int>(std::strlen(text)); }
MOBULA_KERNEL mk_bytes_kernel(const int n, const char* text, char* out) {
  parfor(n, [&](int i) { out[i] = text[i]; });
}
}
"""


def test_texts_are_arguments(load):
    func = load("mk_texts", TEXTS)
    assert func.mk_length("abc") == 3 and func.mk_length(b"abcd") == 4 and func.mk_length("\u00e9") == 2
    assert func.mk_length(text="") == 0
    out = np.zeros(3, np.int8)
    func.mk_bytes(3, "abc", out)
    assert out.tobytes() == b"abc"
    func.mk_bytes(3, np.array([1, 2, 3], np.int8), out)
    assert out.tolist() == [1, 2, 3]
    with pytest.raises(tarsia.ArgumentTypeError, match="mk_length: 'text' takes a str, bytes, or a tensor of NumPy, PyTorch or CuPy, got int 3"):
        func.mk_length(3)
    with pytest.raises(tarsia.ArgumentTypeError, match="mk_bytes: 'out' takes a tensor"):
        func.mk_bytes(3, "abc", "abc")
    with pytest.raises(tarsia.ArgumentValueError, match="mk_length: argument 'text' .*without NUL characters"):
        func.mk_length("a\0b")


SCALARS = HEAD + """
template <typename T1, typename T2>
MOBULA_KERNEL mk_fill_kernel(const int n, const T1 value, T2* out) {
  parfor(n, [&](int i) { out[i] = static_cast<T2>(value * 2); });
}
template <typename T>
MOBULA_KERNEL mk_scale_kernel(const int n, T by, T* out) { parfor(n, [&](int i) { out[i] *= by; }); }
template <typename T>
MOBULA_FUNC T mk_first(const T* a, T* b) { b[0] = a[0]; return a[0]; }
MOBULA_FUNC int mk_answer() { return 42; }
template <typename T>
MOBULA_KERNEL mk_address_kernel(const int n, const void* p, T* out) {
  parfor(n, [&](int) {});
  *out = reinterpret_cast<T>(p);
}
}
"""


def test_numbers(load):
    func = load("mk_scalars", SCALARS)
    out = np.zeros(4)
    for value, result in ((ctypes.c_int(3), 6), (ctypes.c_float(1.5), 3), (ctypes.c_double(0.25), 0.5), (np.float32(2.5), 5)):
        func.mk_fill(4, value, out)
        assert (out == result).all()
    func.mk_scale(4, 3, out)  # T is double by `out`
    assert (out == 15).all()
    whole = np.full(4, 2, np.int64)
    func.mk_scale(4, 3, whole)
    assert (whole == 6).all()
    for dtype in (np.int32, np.int64, np.float32, np.float64):
        a, b = np.array([39.5]).astype(dtype), np.zeros(1, dtype)
        assert func.mk_first(a, b) == a[0] == b[0]
    assert func.mk_answer() == 42
    address = np.zeros(1, np.int64)
    for p in (ctypes.c_void_p(3939), 3939):
        func.mk_address(1, p, address)
        assert address[0] == 3939
    func.mk_address(1, address, address)
    assert address[0] == address.ctypes.data


THREADS = HEAD + """
MOBULA_KERNEL mk_turns_kernel(const int n, int* out) {
  const int threads = get_num_threads(), t = get_thread_num();
  for (int i = 0; i < n; ++i) {
    if (i % threads == t) ++*out;
    __syncthreads();
  }
}
MOBULA_KERNEL mk_count_kernel(const int n, int* threads, int* calls) {
  threads[get_thread_num()] = get_num_threads();
  parfor(n * 3, [&](int i) { atomic_add(1, calls + i % n); });
  __syncthreads();
  parfor(n / 2, [&](int i) { calls[i] += 100; });
}
MOBULA_KERNEL mk_early_kernel(const int n, int* out) {
  if (get_thread_num() % 2) return;
  for (int i = 0; i < 100; ++i) __syncthreads();
  if (get_thread_num() == 0) *out = get_num_threads();
}
MOBULA_KERNEL mk_fail_kernel(const int n, const int on, int* out) {
  __syncthreads();
  if (get_thread_num() == on) CHECK_EQ(*out, 7) << "on thread " << on;
  for (int i = 0; i < 10; ++i) __syncthreads();
  if (get_thread_num() == 0) *out = 1;
}
template <typename T>
MOBULA_KERNEL mk_twice_kernel(const int n, T* x) { parfor(n, [&](int i) { x[i] *= 2; }); }
MOBULA_FUNC void mk_run(const int n, float* x) {
  KERNEL_RUN(mk_twice_kernel<float>)(n, x);
  KERNEL_RUN_BEGIN(0);
  KERNEL_RUN(mk_twice_kernel<float>)(n / 2, x);
  KERNEL_RUN_END();
}
}
"""


def test_threads_share_the_work_and_wait_for_each_other(load):
    func = load("mk_threads", THREADS)
    with mobula.config.TempConfig(HOST_NUM_THREADS=7):
        out = np.zeros(1, np.int32)
        func.mk_turns(2000, out)
        assert out[0] == 2000
        threads, calls = np.zeros(40, np.int32), np.zeros(40, np.int32)
        func.mk_count(40, threads, calls)
        assert (threads[:7] == 7).all() and (threads[7:] == 0).all()
        assert (calls[:20] == 103).all() and (calls[20:] == 3).all()
        func.mk_count(3, threads, calls)  # no more threads than the first argument says
        assert (threads[:3] == 3).all()
        func.mk_early(7, out)
        assert out[0] == 7
    with mobula.config.TempConfig(USING_OPENMP=False):
        func.mk_count(40, threads, calls)
        assert threads[0] == 1
    x = np.ones(4, np.float32)
    func.mk_run(4, x)
    assert x.tolist() == [4, 4, 2, 2]
    func.mk_turns(0, out)
    func.mk_turns(-3, out)
    assert out[0] == 7


@pytest.mark.parametrize("on", [0, 3, 6])
def test_a_failed_check_on_one_thread_ends_the_kernel(load, on):
    func = load("mk_failure", THREADS)
    with mobula.config.TempConfig(HOST_NUM_THREADS=7):
        out = np.zeros(1, np.int32)
        with pytest.raises(tarsia.OpError, match=rf"mk_failure.cpp:\d+ check failed: \*out == 7: 0 vs 7 on thread {on}"):
            func.mk_fail(7, on, out)
        assert out[0] == 0
        out[0] = 7
        func.mk_fail(7, on, out)
        assert out[0] == 1


def test_outside_of_kernels_a_thread_is_alone(load):
    func = load("mk_alone", HEAD + """
MOBULA_FUNC int mk_outside() {
  int calls = 0;
  parfor(5, [&](int) { ++calls; });
  __syncthreads();
  return 10 * calls + get_num_threads();
}
}
""")
    assert func.mk_outside() == 51


REDUCE = HEAD + """
template <typename T>
MOBULA_KERNEL mk_sum_kernel(const int n, const T* x, T* out) {
  Reduce(n, x, out, add_residual_reduce_func<T>, add_residual_merge_func<T>, T(0));
}
template <typename T>
MOBULA_KERNEL mk_plain_sum_kernel(const int n, const T* x, T* out) { Reduce(n, x, out, add_func<T>, T(0)); }
template <typename T>
MOBULA_KERNEL mk_max_kernel(const int n, const T* x, T* out) { Reduce(n, x, out, max_func<T>, x[0]); }
template <typename T>
MOBULA_KERNEL mk_helpers_kernel(const int n, T* x) {
  parfor(1, [&](int) {
    mobula_map([](T v) { return v + 1; }, x, 3);
    mobula_reduce(ADD_FUNC<T>, x, 3, 1, x + 3);
    mobula_reduce(MAX_FUNC<T>, x, 2, 2, x + 4);
    x[5] = get_middle_loop_offset(7, 4, 3);
    CArray<T> all{6, x};
    all[6] = all[3] + static_cast<T>(all.size);
    UNUSED(n, all);
  });
}
}
"""


@pytest.mark.parametrize("threads", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 1000, 100001])
def test_reductions(load, threads, n):
    func = load("mk_reduce", REDUCE)
    with mobula.config.TempConfig(HOST_NUM_THREADS=threads):
        x = np.random.default_rng(n).random(n, np.float32)
        out = np.full(n, np.nan, np.float32)
        func.mk_sum(n, x, out)
        exact = x.astype(np.float64).sum()
        assert abs(out[0] - exact) <= 2 * np.spacing(np.float32(exact))  # as if it had been rounded once or twice
        func.mk_max(n, x, out)
        assert out[0] == x.max()
        whole = np.arange(n)
        sums = np.zeros(n, np.int64)
        func.mk_plain_sum(n, whole, sums)
        assert sums[0] == whole.sum()


def test_helpers(load):
    x = np.array([1.0, 2, 3, 0, 0, 0, 0])
    load("mk_helpers", REDUCE).mk_helpers(1, x)
    assert x.tolist() == [2, 3, 4, 9, 4, 25, 15]


def test_atomic_addition_of_all_types(load):
    func = load("mk_atomic", HEAD + """
template <typename T>
MOBULA_KERNEL mk_atomic_kernel(const int n, T* out, T* seen) {
  parfor(n, [&](int i) { seen[i] = atomic_add(2.0, out); });
}
}""")
    with mobula.config.TempConfig(HOST_NUM_THREADS=6):
        for dtype in (np.int32, np.int64, np.uint32, np.float32, np.float64):
            out, seen = np.zeros(1, dtype), np.zeros(3000, dtype)
            func.mk_atomic(3000, out, seen)
            assert out[0] == 6000
            assert (np.sort(seen) == np.arange(0, 6000, 2)).all()  # what was there before


def test_structs(load):
    class Pair(ctypes.Structure):
        _fields_ = (("whole", ctypes.c_int), ("part", ctypes.c_float))

    class Span(ctypes.Structure):
        _fields_ = (("data", ctypes.POINTER(ctypes.c_float)), ("size", ctypes.c_int))

    def span(x):
        tensor = mobula.glue.backend.get_var_glue(x).Tensor(x)
        assert tensor.ctype is ctypes.c_float and tensor.dev_id is None
        return Span(ctypes.cast(tensor.data_ptr, ctypes.POINTER(ctypes.c_float)), x.size)

    mobula.glue.register_cstruct("MkPair", Pair)
    mobula.glue.register_cstruct("MkSpan", Span, span)
    func = load("mk_structs", """
struct MkPair { int whole; float part; };
struct MkSpan { float* data; int size; };
MOBULA_FUNC float mk_total(const MkPair* pair) { return pair->whole + pair->part; }
MOBULA_FUNC void mk_grow(MkPair* pair) { pair->whole += 1; }
MOBULA_KERNEL mk_inc_kernel(const int n, MkSpan* span) {
  CHECK_EQ(n, 1);
  parfor(span->size, [&](int i) { span->data[i] += 1; });
}
""")
    assert func.mk_total((42, 0.5)) == 42.5
    pair = Pair(1, 2)
    func.mk_grow(pair)
    assert pair.whole == 2
    x = np.arange(3, dtype=np.float32)
    func.mk_inc(1, x)
    assert x.tolist() == [1, 2, 3]
    with pytest.raises(tarsia.ArgumentTypeError, match="mk_total: 'pair' takes what the constructor of MkPair takes, got str 'no'"):
        func.mk_total("no")


def test_a_struct_of_a_tensor(load):
    class CTensor(ctypes.Structure):
        _fields_ = (("data", ctypes.POINTER(ctypes.c_double)), ("ndim", ctypes.c_int), ("shape", ctypes.c_longlong * 4))

    def made_of(x):
        tensor = mobula.glue.backend.get_var_glue(x).Tensor(x)
        return CTensor(ctypes.cast(tensor.data_ptr, ctypes.POINTER(ctypes.c_double)), x.ndim, (ctypes.c_longlong * 4)(*x.shape))

    mobula.glue.register_cstruct("CTensor", CTensor, made_of)
    func = load("mk_ctensor", """
struct CTensor {
  double* data;
  int ndim;
  long long shape[4];
  MOBULA_DEVICE long long size() const {
    long long n = 1;
    for (int i = 0; i < ndim; ++i) n *= shape[i];
    return n;
  }
};
template <typename T>
MOBULA_KERNEL mk_rows_kernel(const int n, const CTensor* x, T* sums) {
  const long long columns = x->size() / n;
  parfor(n, [&](int i) {
    sums[i] = 0;
    for (long long j = 0; j < columns; ++j) sums[i] += static_cast<T>(x->data[i * columns + j]);
  });
}
""")
    x, sums = np.random.rand(3, 4, 5), np.zeros(3, np.float32)
    func.mk_rows(3, x, sums)
    assert np.allclose(sums, x.sum((1, 2)))
    torch = pytest.importorskip("torch")
    func.mk_rows(3, torch.from_numpy(x), sums)
    assert np.allclose(sums, x.sum((1, 2)))


def test_an_instance_is_compiled_once_and_ahead_of_time(load):
    func = load("mk_build", ADD)
    func.mk_add.build("cpu", ["float"])
    func.mk_add.build("cpu", {"T": "int64"})
    func.mk_add.build("cpu", ["double"])
    compiled = tarsia.stats()
    for dtype in (np.float32, np.int64, np.float64):
        x = np.ones(3, dtype)
        func.mk_add(3, x, x, x)
        assert (x == 2).all()
    assert tarsia.stats() == compiled
    for wrong, message in ((["float", "int"], "takes the types of T, got 2"), (["half"], "'half' is no type of elements"),
                           ({"U": "int"}, "takes the types of T, got U")):
        with pytest.raises(tarsia.ArgumentValueError, match=message):
            func.mk_add.build("cpu", wrong)
    with pytest.raises(tarsia.ArgumentValueError, match="ctx is 'cpu' or 'cuda', not 'tpu'"):
        func.mk_add.build("tpu", ["float"])


def test_kernels_compile_for_gpus(load):
    load("mk_gpu", THREADS).mk_turns.build("cuda")
    load("mk_gpu_reduce", REDUCE).mk_sum.build("cuda", ["double"])
    mobula.func.mk_helpers.build("cuda", ["float"])
    load("mk_gpu_numbers", SCALARS).mk_fill.build("cuda", ["float", "int"])
    mobula.func.mk_first.build("cuda", ["float"])


@pytest.mark.parametrize("using", ["", "using namespace cub;"])
@pytest.mark.parametrize("kernel, is_of_the_grid", [
    ("MOBULA_KERNEL k_kernel(const int n, const int* x, int* y) { __shared__ cub::BlockReduce<int, 256>::TempStorage held;"
     " y[blockIdx.x] = cub::BlockReduce<int, 256>(held).Sum(x[mobula::get_thread_num()]); }", False),
    ("MOBULA_KERNEL k_kernel(const int n, int* y) { y[mobula::get_thread_num()] = 1; __syncthreads(); y[0] = 2; }", True),
    ("namespace mobula { MOBULA_KERNEL k_kernel(const int n, int* y) { y[get_thread_num()] = 1; __syncthreads(); y[0] = 2; } }", True)])
def test_headers_of_cub_keep_the_barrier_of_a_block(using, kernel, is_of_the_grid):
    lib = tarsia.load_inline({"k.cu": f'#include "mobula_op.h"\n#include <cub/block/block_reduce.cuh>\n{using}\n{kernel}\n'}, arch="sm_90")
    assert ("%envreg" in lib.k_kernel.ptx) == is_of_the_grid  # where a grid's barrier finds its memory
    assert "bar.sync" in lib.k_kernel.ptx


def test_threads_of_the_caller_may_call_at_once(load):
    add = load("mk_callers", ADD).mk_add
    outs = [np.zeros(1000, np.float64 if k % 2 else np.float32) for k in range(8)]

    def run(out):
        for _ in range(50):
            add(out.size, out, np.ones_like(out), out)

    at_once(run, outs)
    assert all((out == 50).all() for out in outs)


def test_a_compile_keeps_no_other_waiting(load, monkeypatch):
    func = load("mk_beside", ADD)
    begun, other = threading.Event(), threading.Event()
    compile = Source._compile

    def compile_slowly(self, text, on_gpu):
        if "<float>" in text:
            begun.set()
            assert other.wait(60)
        return compile(self, text, on_gpu)

    monkeypatch.setattr(Source, "_compile", compile_slowly)
    slow, quick = np.ones(3, np.float32), np.ones(3)
    thread = threading.Thread(target=func.mk_add, args=(3, slow, slow, slow))
    thread.start()
    try:
        assert begun.wait(60)
        quick_thread = threading.Thread(target=func.mk_add, args=(3, quick, quick, quick))
        quick_thread.start()
        quick_thread.join(30)
        assert quick.tolist() == [2, 2, 2]
    finally:
        other.set()
        thread.join()
    assert slow.tolist() == [2, 2, 2]


def _in_child(queue):
    x = np.ones(100, np.float32)
    mobula.func.mk_add(100, x, x, x)
    queue.put(x.sum())


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_goes_on(load):
    add = load("mk_fork", ADD).mk_add
    x = np.ones(100, np.float32)
    add(100, x, x, x)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    children = [context.Process(target=_in_child, args=(queue,)) for _ in range(3)]
    for child in children:
        child.start()
    assert [queue.get(timeout=60) for _ in children] == [200] * 3
    for child in children:
        child.join()


def test_the_header_alone_in_a_source():
    lib = tarsia.load_inline(r"""
#include "mobula_op.h"
using namespace mobula;
template <typename T>
MOBULA_KERNEL cube_kernel(const int n, const T* x, T* y) {
  parfor(n, [&](int i) { y[i] = x[i] * x[i] * x[i]; });
}
void cube(const int n, const float* x, float* y) { KERNEL_RUN(cube_kernel<float>)(n, x, y); }
MOBULA_KERNEL width_kernel(const int n, int* out) { if (get_thread_num() == 0) *out = get_num_threads(); }
int width(int n) { int out = 0; KERNEL_RUN(width_kernel)(n, &out); return out; }
""")
    x = np.arange(5, dtype=np.float32)
    y = np.zeros_like(x)
    lib.cube(5, x, y)
    assert y.tolist() == [0, 1, 8, 27, 64]
    assert lib.width(1) == 1
    assert lib.width(1000) >= 1


@pytest.mark.parametrize("threads", [1, 3])
def test_macros_before_the_header_hold(threads):
    lib = tarsia.load_inline(f"""
#define HOST_NUM_THREADS {threads}
#include "mobula_op.h"
using namespace mobula;
MOBULA_KERNEL width_kernel(const int n, int* out) {{ if (get_thread_num() == 0) *out = get_num_threads(); }}
int width(int n) {{ int out = 0; KERNEL_RUN(width_kernel)(n, &out); return out; }}
""")
    assert lib.width(1000) == threads


def test_macros_of_the_header_that_are_defined_before_it_stay():
    lib = tarsia.load_inline("""
#define LOG(x) 3
#define CHECK(x) 40
#include "mobula_op.h"
#if defined(CHECK_EQ) || defined(LOG_INFO)
#error "these belong to the header's own CHECK and LOG"
#endif
int both(int x) { return x + LOG(INFO) + CHECK(x); }
""")
    assert lib.both(0) == 43 and lib.warnings == []


WIDTH = """#include "mk_reached.h"
using namespace mobula;
MOBULA_KERNEL width_kernel(const int n, int* out) { if (get_thread_num() == 0) *out = get_num_threads(); }
int width(int n) { int out = 0; KERNEL_RUN(width_kernel)(n, &out); return out; }
"""


@pytest.mark.parametrize("options, width", [({}, 3), ({"openmp": True}, 3), ({"cflags": ["-fno-openmp"]}, 1),
                                            ({"defines": {"HOST_NUM_THREADS": 1}}, 1),
                                            ({"defines": {"USING_OPENMP": 0, "HOST_NUM_THREADS": 3}}, 1)])
def test_a_header_on_disk_that_includes_the_header(tmp_path, options, width):
    (tmp_path / "mk_reached.h").write_text('#pragma once\n#include "mobula_op.h"\n')
    lib = tarsia.load_inline(WIDTH, include_dirs=[tmp_path], **{"defines": {"HOST_NUM_THREADS": 3}, **options})
    assert lib.width(1000) == width
    assert not lib.warnings


def test_logging_goes_to_standard_output(load, capfd):
    func = load("mk_log", 'MOBULA_FUNC void mk_say(const int n) { LOG(INFO) << "n is " << n; if (n > 1) LOG(FATAL) << "too " << "many"; }')
    func.mk_say(1)
    out = capfd.readouterr().out
    assert out.startswith("[INFO] ") and out.endswith("mk_log.cpp:1 n is 1\n")
    with pytest.raises(tarsia.OpError, match="mk_log.cpp:1 too many"):
        func.mk_say(2)
