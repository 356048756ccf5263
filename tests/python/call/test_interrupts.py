"""Ctrl-C ends what a library does: at once where it asks, and otherwise with a report."""

import signal
import subprocess

import pytest
from programs import ended, program

LOOP = """
library = load('''#include <tarsia/op.h>
#include <unistd.h>
static volatile bool has_begun; bool begun() { return has_begun; } static void begin() { if (write(1, "begun\\\\n", 6) != 6) throw 1; has_begun = true; }
int spins(int n) { begin(); for (volatile int64_t i = 0;; i = i + 1) { } }
int asks(int n) { begin(); for (;;) tarsia::check_interrupt(); }
int asks_in_vain(int n) {
  begin();
  for (;;) try { tarsia::check_interrupt(); } catch (...) { return n; }
}
static void forward(tarsia::Context& c) { asks(1); }
TARSIA_OP(asks_as_op).input("x").output("y").forward("cpu", forward);
''')
"""


def interrupted(call, **environment):
    """A program that is sent SIGINT again and again, from the moment that its call has begun."""
    process = program(LOOP + call, **environment)
    assert process.stdout.readline() == "begun\n", process.communicate()[1]
    for _ in range(600):
        process.send_signal(signal.SIGINT)
        try:
            process.wait(timeout=0.1)
            break
        except subprocess.TimeoutExpired:
            continue
    output, errors = ended(process, 60)
    return process.returncode, output, errors


@pytest.mark.parametrize("call", ["library.asks(1)", "library.asks_in_vain(1)",
                                  "tarsia.ops.asks_as_op(np.zeros(3, np.float32))"])
def test_ctrl_c_ends_a_loop_that_asks(call):
    process = program(LOOP + f"""
try:
    {call}
except KeyboardInterrupt as error:
    print(type(error).__name__, library.asks_in_vain._parameters is not None)
""")
    assert process.stdout.readline() == "begun\n"
    process.send_signal(signal.SIGINT)
    output, errors = ended(process)
    assert (process.returncode, output) == (0, "KeyboardInterrupt True\n"), errors


def test_a_second_ctrl_c_ends_a_loop_that_does_not_ask_and_says_where():
    code, _, errors = interrupted("library.spins(5)")
    assert code == -signal.SIGINT
    lines = errors.splitlines()
    assert lines[0] == "tarsia: interrupted twice (SIGINT) in int spins(int n), source:4" and lines[1] == "  called with n = 5"
    assert "spins" in lines[2] and lines[2].endswith("source:4")


def test_it_ends_without_a_report_where_those_are_off():
    code, _, errors = interrupted("library.spins(5)", TARSIA_CRASH_REPORT="0")
    assert (code, errors) == (-signal.SIGINT, "")


def test_one_ctrl_c_is_pythons_where_reports_are_off():
    process = program(LOOP + """
try:
    library.asks(1)
except KeyboardInterrupt:
    print("interrupted")
""", TARSIA_CRASH_REPORT="0")
    assert process.stdout.readline() == "begun\n"
    process.send_signal(signal.SIGINT)
    assert ended(process) == ("interrupted\n", "") and process.returncode == 0


def test_a_second_ctrl_c_ends_an_inference_that_does_not_end():
    code, _, errors = interrupted("""
load('''#include <tarsia/op.h>
#include <unistd.h>
static void infer(tarsia::BindInfo&) { if (write(1, "begun\\\\n", 6) == 6) for (volatile long i = 0;; i = i + 1) { } }
TARSIA_OP(endless).infer(infer).forward("cpu", [](tarsia::Context&) {});''')
tarsia.ops.endless(np.zeros(3, np.float32))""")
    assert code == -signal.SIGINT
    assert errors.splitlines()[0] == "tarsia: interrupted twice (SIGINT) in op 'endless', inference, source:4"


def test_asking_outside_of_a_call_that_can_be_interrupted_goes_on():
    process = program("""
library = load('''#include <tarsia/op.h>
#include <thread>
int f(int n) {
  for (int i = 0; i < n; ++i) tarsia::check_interrupt();
  std::thread([n] { for (int i = 0; i < n; ++i) tarsia::check_interrupt(); }).join();
  return n;
}''')
print(library.f(100000))""")
    assert ended(process)[0] == "100000\n"


def test_a_daemon_thread_that_asks_does_not_keep_the_process_from_its_end():
    process = program(LOOP + """
threading.Thread(target=library.asks, args=(1,), daemon=True).start()
while not library.begun(): pass
print("ends", flush=True)""")
    output, errors = ended(process)
    assert (process.returncode, output, errors) == (0, "begun\nends\n", "")


PARALLEL = LOOP + """
library = load('''#include <tarsia/op.h>
#include <atomic>
#include <unistd.h>
int throws(int n) {
  std::atomic<int> done{0};
  #pragma omp parallel for num_threads(2) schedule(static)
  for (int i = 0; i < 40; ++i) {
    if (i == 0 && write(1, "begun\\\\n", 6) != 6) done = -1;
    tarsia::check_interrupt();
    usleep(50000);
    ++done;
  }
  return done;
}
int asks(int n) {
  std::atomic<bool> stop{false};
  std::atomic<int> done{0};
  #pragma omp parallel for num_threads(2) schedule(static)
  for (int i = 0; i < 1000; ++i) {
    if (i == 0 && write(1, "begun\\\\n", 6) != 6) done = -1;
    if (tarsia::interrupted()) stop = true;
    if (stop) continue;
    usleep(50000);
    ++done;
  }
  return done < 1000 ? 0 : 1;
}''')
try:
    library.NAME(1)
except KeyboardInterrupt as error:
    print(type(error).__name__)
"""


@pytest.mark.parametrize("name", ["throws", "asks"])
def test_ctrl_c_ends_a_parallel_loop_that_asks_and_the_process_lives(name):
    process = program(PARALLEL.replace("NAME", name))
    assert process.stdout.readline() == "begun\n", process.communicate()[1]
    process.send_signal(signal.SIGINT)
    output, errors = ended(process)
    assert (process.returncode, output) == (0, "KeyboardInterrupt\n"), errors
