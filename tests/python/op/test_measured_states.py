"""What implementations leave behind between calls, and interrupts, while the fastest is measured."""

import os
import subprocess
import sys

import numpy as np
import pytest
from threads import at_once

import tarsia

OPS = r"""
#include <tarsia/op.h>
#include <chrono>
#include <thread>

static void linger(int us = 400) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(us);
  while (std::chrono::steady_clock::now() < end) {}
}

// A backward that takes what its forward has left in the state.
struct Mask { bool is_there = false; };
static void forward(tarsia::Context& c) {
  c.state<Mask>().is_there = true;
  for (int64_t i = 0; i < c.input(0).numel(); ++i) c.output(0).data<float>()[i] = c.input(0).data<const float>()[i];
}
static void backward(tarsia::Context& c) {
  if (!c.state<Mask>().is_there) throw tarsia::ValueError("backward before forward");
  for (int64_t i = 0; i < c.out_grad(0).numel(); ++i) c.in_grad(0).data<float>()[i] = c.out_grad(0).data<const float>()[i];
}
static void slow_backward(tarsia::Context& c) { linger(); backward(c); }
TARSIA_OP(measured_mask).state([](const tarsia::BindInfo&) { return new Mask(); }).forward("cpu", forward)
    .backward("cpu", slow_backward).named("slow").priority(1).backward("cpu", backward).named("quick");

// A cache that each call moves on in.
static void append(tarsia::Context& c) {
  int64_t& at = c.input(2).data<int64_t>()[0];
  if (at + c.input(0).numel() > c.input(1).numel()) throw tarsia::ValueError("the cache is full");
  for (int64_t i = 0; i < c.input(0).numel(); ++i) c.input(1).data<float>()[at + i] = c.input(0).data<const float>()[i];
  at += c.input(0).numel();
  c.output(0).data<float>()[0] = float(at);
}
static void append_slowly(tarsia::Context& c) { linger(); append(c); }
TARSIA_OP(measured_append).input("x").mutable_input("cache").mutable_input("at").output("y")
    .infer([](tarsia::BindInfo& i) { i.output(0).set_shape({1}); i.output(0).set_dtype(tarsia::float32); })
    .forward("cpu", append_slowly).named("slow").priority(1).forward("cpu", append).named("quick");

// Two that take long, and end if somebody interrupts.
static void wait_for_interrupt(tarsia::Context& c) {
  for (int i = 0; i < 300; ++i) {
    tarsia::check_interrupt();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  c.output(0).data<float>()[0] = 1;
}
static void wait_too(tarsia::Context& c) { wait_for_interrupt(c); }
TARSIA_OP(measured_wait).forward("cpu", wait_for_interrupt).named("one").priority(1).forward("cpu", wait_too).named("other");

static void same(tarsia::Context& c) { linger(100); c.output(0).data<float>()[0] = 1; }
static void as_well(tarsia::Context& c) { same(c); }
TARSIA_OP(measured_alike).forward("cpu", same).named("one").priority(1).forward("cpu", as_well).named("other");
"""


@pytest.fixture(scope="module", autouse=True)
def lib():
    return tarsia.load_inline(OPS)


def test_a_backward_gets_the_state_of_its_forward():
    x = np.ones(64, np.float32)
    bound = tarsia.op("measured_mask").bind(x, implementation="measure")
    assert set(bound.backward_measured) == {"slow", "quick"} and None not in bound.backward_measured.values()
    assert bound.backward_implementation == "quick"


def test_an_input_that_calls_move_on_in_is_made_anew_before_each():
    x, cache, at = np.ones(16, np.float32), np.zeros(40, np.float32), np.zeros(1, np.int64)
    bound = tarsia.op("measured_append").bind(x, cache, at, implementation="measure")
    assert bound.implementation == "quick" and None not in bound.measured.values()
    assert at[0] == 0 and not cache.any()


def test_threads_that_measure_at_once_decide_alike():
    x = np.ones(3, np.float32)
    bound = at_once(lambda _: tarsia.op("measured_alike").bind(x, implementation="measure"), range(4))
    assert len({one.implementation for one in bound}) == 1


def test_an_interrupt_ends_the_measurement_and_is_no_answer(tmp_path):
    script = tmp_path / "measure.py"
    script.write_text(f"""
import os, signal, sys, threading, numpy as np, tarsia
signal.signal(signal.SIGINT, signal.default_int_handler)  # shells ignore it for what runs in the background
tarsia.load_inline({OPS!r})
x = np.ones(1, np.float32)
if sys.argv[1] == "interrupt":
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    try:
        tarsia.op("measured_wait").bind(x, implementation="measure")
    except KeyboardInterrupt:
        print("interrupted")
else:
    print(tarsia.op("measured_wait").bind(x).measured)
""")
    environment = {**os.environ, "TARSIA_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, script, "interrupt"], env=environment, capture_output=True, text=True, timeout=120)
    assert done.stdout == "interrupted\n", done.stderr
