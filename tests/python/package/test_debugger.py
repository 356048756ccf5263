"""Debuggers find modules by their paths, and sources by the copies that the cache keeps."""

import os
import re
import shutil
import subprocess
import sys

import pytest

import tarsia

pytestmark = pytest.mark.skipif(not shutil.which("gdb"), reason="needs gdb")

LLDBS = ("lldb", "lldb-22")
SOURCE = """\
struct Point { int x, y; };
static int twice(int value) {
  Point point{value, 2 * value};
  return point.y;
}
int four_times(int value) { return twice(value) + twice(value); }
"""
PROGRAM = """
import sys, tarsia
library = tarsia.load_inline({{"maths.cc": {source!r}}}, debug={debug}, opt=0)
print("result", library.four_times(5), flush=True)
"""


OPTIMISED = """\
#include <vector>
static volatile int sink;
static inline int store(int value) {
  sink = value;
  return value + 1;
}
[[gnu::noinline]] static int deeper(int value) {
  return store(value) * 3;
}
int four_times(int value) {
  std::vector<int> all(4, deeper(value));
  sink = all[1];
  return all[0] + all[3] - 2 * deeper(value) + 4 * value;
}
"""


def gdb(tmp_path, commands, debug=True, program=PROGRAM, source=SOURCE, **environment):
    """What gdb prints for a program that calls four_times(5)."""
    (tmp_path / "program.py").write_text(program.format(source=source, debug=debug))
    arguments = [part for command in ("set pagination off", "set confirm off", "set breakpoint pending on", *commands)
                 for part in ("-ex", command)]
    done = subprocess.run(["gdb", "-nx", "-q", "-batch", *arguments, "--args", sys.executable, tmp_path / "program.py"],
                          capture_output=True, text=True, timeout=120, env={**os.environ, **environment})
    return done.stdout + done.stderr


def test_a_breakpoint_stops_at_its_line_in_the_string(tmp_path):
    said = gdb(tmp_path, ["break maths.cc:4", "run", "bt 3", "print point", "list", "delete", "continue"])
    assert re.search(r"#0 .*twice \(value=5\) at .*/maths\.cc:4", said), said
    assert re.search(r"#1 .*four_times \(value=5\) at .*/maths\.cc:6", said), said
    assert "{x = 5, y = 10}" in said
    assert "Point point{value, 2 * value};" in said, "the copy of the source is shown"
    assert "result 20" in said


def test_lines_are_known_without_debug_information_of_variables(tmp_path):
    said = gdb(tmp_path, ["break maths.cc:4", "run", "bt 3", "delete", "break maths.cc:12", "continue", "bt 1", "delete",
                          "continue"], program=PROGRAM.replace(", debug={debug}, opt=0", ""), source=OPTIMISED)
    assert re.search(r"#0 .*store\b.* at maths\.cc:4", said), f"the function that was inlined\n{said}"
    assert re.search(r"#1 .*deeper\b.* at maths\.cc:8", said), said
    assert re.search(r"#2 .*four_times\b.* at maths\.cc:11", said), said
    assert re.search(r"#0 .*four_times\b.* at maths\.cc:12", said), said
    assert "result 20" in said


SORTS = """\
#include <algorithm>
#include <vector>
int four_times(int value) {
  std::vector<int> all{3, value, 1, 2};
  std::sort(all.begin(), all.end(), [](int a, int b) {
    return a < b;
  });
  return all[3] * 4;
}
"""


def test_lines_of_what_a_header_s_function_calls_are_known(tmp_path):
    said = gdb(tmp_path, ["break maths.cc:6", "run", "bt 1", "delete", "break maths.cc:8", "continue", "bt 1", "delete",
                          "continue"], program=PROGRAM.replace(", debug={debug}, opt=0", ""), source=SORTS)
    assert re.search(r"#0 .* at maths\.cc:6", said), said
    assert re.search(r"#0 .* at maths\.cc:8", said), said
    assert "result 20" in said


def test_line_tables_are_of_the_source_alone_and_the_same_everywhere(tmp_path):
    modules = []
    for k in range(2):
        program = PROGRAM.format(source=OPTIMISED, debug=False).replace(", opt=0", "") + f"library.export({str(tmp_path / f'{k}.so')!r})"
        subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path,
                       env={**os.environ, "TARSIA_CACHE_DIR": str(tmp_path / f"cache{k}")})
        modules.append((tmp_path / f"{k}.so").read_bytes())
    assert modules[0] == modules[1]
    assert b"maths.cc" in modules[0] and b"/tarsia/src" not in modules[0] and str(tmp_path).encode() not in modules[0]
    assert b"stl_vector.h" not in modules[0], "lines of headers"


LITERAL = """\
import tarsia
inner = "int outside() {{\\n  return 7;\\n}}"
library = tarsia.load_inline({prefix}'''{first}
struct Point {{ int x, y; }};
{directive}
static int twice(int value) {{
  Point point{{value, 2 * value}};
  return point.y;
}}
int four_times(int value) {{ return twice(value) + twice(value); }}
''', debug=True, opt=0)
print("result", library.four_times(5), flush=True)
"""


@pytest.mark.parametrize("first", ["", "#include <vector>", "__global__ void kernel(int* x) { *x = 1; }"])
def test_a_literal_is_known_by_the_python_file_s_own_lines(tmp_path, first):
    program = LITERAL.format(prefix="", first=first, directive="")
    said = gdb(tmp_path, ["break program.py:8", "run", "bt 2", "print point", "list", "delete", "continue"],
               program=program.replace("{", "{{").replace("}", "}}"))
    assert re.search(rf"#0 .*twice \(value=5\) at {tmp_path}/program\.py:8", said), said
    assert re.search(rf"#1 .*four_times \(value=5\) at {tmp_path}/program\.py:10", said), said
    assert "{x = 5, y = 10}" in said and re.search(r"^12\s+print\(", said, re.MULTILINE), said
    assert "result 20" in said


def test_lines_directives_of_the_text_count(tmp_path):
    program = LITERAL.format(prefix="", first="", directive='#line 100 "made.y"')
    said = gdb(tmp_path, ["break made.y:102", "run", "bt 1", "delete", "continue"],
               program=program.replace("{", "{{").replace("}", "}}"))
    assert re.search(r"#0 .*twice \(value=5\) at .*made\.y:102", said), said
    assert "result 20" in said


def test_a_text_that_is_put_together_is_known_by_its_copy(tmp_path):
    program = LITERAL.format(prefix="inner + ", first="", directive="")
    said = gdb(tmp_path, ["break source:8", "run", "bt 1", "list", "delete", "continue"],
               program=program.replace("{", "{{").replace("}", "}}"))
    assert re.search(r"#0 .*twice \(value=5\) at .*/source:8", said), said
    assert "int outside" not in said and "Point point{value" in said and "result 20" in said, said


@pytest.mark.parametrize("options", ["debug=True, opt=0", "lineinfo=True, opt=0"])
def test_a_source_file_is_known_by_its_own_path(tmp_path, options):
    file = tmp_path / "op.cc"
    file.write_text(SOURCE)
    program = f"""
import tarsia
library = tarsia.load({str(file)!r}, {options})
print("result", library.four_times(5), flush=True)
"""
    said = gdb(tmp_path, [f"break {file}:4", "run", "bt 2", "list", "delete", "continue"], program=program.replace("{", "{{").replace("}", "}}"))
    assert re.search(rf"#0 .*twice.* at {re.escape(str(file))}:4", said), said
    assert "Point point{value, 2 * value};" in said and "result 20" in said, said


@pytest.mark.parametrize("cached", [True, False])
def test_gdb_goes_through_a_process_with_modules(tmp_path, cached):
    folder = tmp_path / "cache"
    if not cached:
        folder.write_text("no folder")
    said = gdb(tmp_path, ["break four_times", "run", "info sharedlibrary", "delete", "continue"], debug=False,
               TARSIA_CACHE_DIR=str(folder))
    assert "four_times" in said and "result 20" in said, said
    assert ("cache/1/module/" if cached else "/proc/") in said


def test_modules_are_mapped_from_the_cache_s_files(tmp_path):
    program = PROGRAM.format(source=SOURCE, debug=False) + "print(open('/proc/self/maps').read())"
    folder = tmp_path / "cache"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True,
                          env={**os.environ, "TARSIA_CACHE_DIR": str(folder)})
    mapped = re.findall(rf"r-xp .* ({re.escape(str(folder))}/\S+\.so)", done.stdout)
    assert mapped and all(os.path.exists(path) for path in mapped)


def test_copies_of_sources_are_kept_for_modules_with_debug_information_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("TARSIA_CACHE_DIR", str(tmp_path))
    tarsia.load_inline({"a.cc": "int f() { return 1; }"})
    assert not (tmp_path / "1" / "source").exists()
    tarsia.load_inline({"sub/a.cc": '#include "b.h"\nint f() { return one(); }', "b.h": "static int one() { return 1; }\n"},
                       debug=True, include_dirs=[tmp_path])
    assert sorted(path.name for path in (tmp_path / "1" / "source").rglob("*.*")) == ["a.cc", "b.h"]


@pytest.mark.skipif(not any(map(shutil.which, LLDBS)), reason="needs lldb")
def test_lldb_stops_at_a_line_of_the_string(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM.format(source=SOURCE, debug=True))
    lldb = next(filter(shutil.which, LLDBS))
    arguments = [part for command in ("breakpoint set --file maths.cc --line 4", "run", "bt 2", "frame variable point", "kill")
                 for part in ("-o", command)]
    done = subprocess.run([lldb, "-x", "-b", *arguments, "--", sys.executable, tmp_path / "program.py"],
                          capture_output=True, text=True, timeout=240)
    said = done.stdout + done.stderr
    assert re.search(r"frame #0: .*`twice\(value=5\) at maths\.cc:4", said), said
    assert re.search(r"frame #1: .*`four_times\(value=5\) at maths\.cc:6", said), said
    assert re.search(r"x = 5\s+y = 10", said)
    assert "-> 4   \t  return point.y;" in said and "checksum mismatch" not in said, said


@pytest.mark.skipif(not shutil.which("valgrind"), reason="needs valgrind")
def test_valgrind_names_function_and_line_of_an_invalid_read(tmp_path):
    source = """\
#include <cstdlib>
static double total(const double* x, int n) {
  double sum = 0;
  for (int i = 0; i <= n; ++i)
    sum += x[i];
  return sum;
}
int mean_of_ones(int n) {
  double* ones = static_cast<double*>(std::malloc(n * sizeof(double)));
  for (int i = 0; i < n; ++i) ones[i] = 1;
  const double mean = total(ones, n) / n;
  std::free(ones);
  return mean >= 1;
}
"""
    program = f"import tarsia\nlibrary = tarsia.load_inline({{'ones.cc': {source!r}}}, lineinfo=True)\nprint(library.mean_of_ones(1000))\n"
    (tmp_path / "program.py").write_text(program)
    subprocess.run([sys.executable, tmp_path / "program.py"], check=True, timeout=240)  # compiles it
    done = subprocess.run(["valgrind", "-q", sys.executable, tmp_path / "program.py"], capture_output=True, text=True, timeout=300,
                          env={**os.environ, "PYTHONMALLOC": "malloc", "TARSIA_CRASH_REPORT": "0"})
    found = re.search(r"Invalid read of size 8\n.* at 0x\w+: total \(.*ones\.cc:5\)\n.* by 0x\w+: mean_of_ones\(int\) \(.*ones\.cc:11\)\n",
                      done.stderr)
    assert found, done.stderr[-4000:]
    assert re.search(r"0 bytes after a block of size 8,000 alloc'd\n.*\n.* by 0x\w+: mean_of_ones\(int\) \(.*ones\.cc:9\)", done.stderr)
