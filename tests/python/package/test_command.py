"""The command `tarsia`, as a user types it: real compiles in processes of their own."""

import json
import os
import subprocess

import places
import pytest

import tarsia


@pytest.fixture(scope="module")
def command(tmp_path_factory):
    """Runs `tarsia` with words, in a folder, and gives the finished process."""
    program = places.command()
    cache = tmp_path_factory.mktemp("cache")

    def run(*words, cwd=None, input=None, **env):
        return subprocess.run([program, *map(str, words)], cwd=cwd, input=input, capture_output=True, text=True,
                              errors="replace", timeout=300,
                              env={**os.environ, "TARSIA_CACHE_DIR": str(cache), **env})

    done = run("doctor", "--json")
    report = json.loads(done.stdout)
    compiler = next(line for line in report["lines"] if line["part"] == "compiler")
    if not compiler["path"]:
        pytest.skip(f"no compiler: {compiler['detail']}")
    assert done.returncode == 0, report
    run.report = report
    return run


PROGRAM = r"""
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

static int helper(int x) { return x; }

int main(int argc, char** argv) {
  for (int i = 0; i < argc; ++i) std::printf("%d:%s\n", i, argv[i]);
  if (argc > 1 && !std::strcmp(argv[1], "exit")) std::exit(7);
  if (argc > 1 && !std::strcmp(argv[1], "throw")) throw std::runtime_error("not today");
  return helper(40 + argc);
}
"""


def test_main_gets_the_file_and_all_that_follows(command, tmp_path):
    (tmp_path / "program.cc").write_text(PROGRAM)
    done = command("run", "program.cc", "-v", "a b", "--", "doctor", cwd=tmp_path)
    assert done.stdout.splitlines() == ["0:program.cc", "1:-v", "2:a b", "3:--", "4:doctor"]
    assert done.returncode == 45 and done.stderr == ""
    done = command("run", "-O0", tmp_path / "program.cc", "--", "-O9")
    assert done.stdout.splitlines() == [f"0:{tmp_path}/program.cc", "1:-O9"] and done.returncode == 42


def test_main_may_exit_and_throw(command, tmp_path):
    (tmp_path / "program.cc").write_text(PROGRAM)
    assert command("run", "program.cc", "exit", cwd=tmp_path).returncode == 7
    done = command("run", "program.cc", "throw", cwd=tmp_path)
    assert done.returncode == 1 and "program.cc: main ended by an exception: not today" in done.stderr


def test_a_program_in_c_reads_its_input(command, tmp_path):
    (tmp_path / "echo.c").write_text("""
#include <stdio.h>
int main(int argc, char** argv) {
  int class = getchar();  /* no C++ */
  putchar(class);
  puts(argv[argc - 1]);
}
""")
    done = command("run", tmp_path / "echo.c", "last", input="x")
    assert done.stdout == "xlast\n" and done.returncode == 0, done.stderr


def test_a_source_without_main_is_listed(command, tmp_path):
    (tmp_path / "ops.cc").write_text("""#include <tarsia/op.h>
namespace ns { float twice(const float* x, int n, double by = 2) { return float(x[n - 1] * by); } }
struct Odd { int x; ~Odd(); };
void strange(Odd) {}
TARSIA_OP(command_scale)
    .input("x").optional_input("bias").output("y")
    .attribute<double>("factor", 2.0)
    .forward("cpu", [](tarsia::Context&) {})
    .backward("cpu", [](tarsia::Context&) {});
""")
    done = command("run", "ops.cc", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("ops.cc: 1 function, 0 kernels, 1 op\n")
    assert "float ns::twice(const float *x, int n, double by" in done.stdout and "ops.cc:2" in done.stdout
    assert "command_scale(x, bias?; factor: float = 2) -> y  [cpu, cpu backward]" in done.stdout
    assert "strange" in done.stdout.split("not exported")[1]
    done = command("run", "ops.cc", "argument", cwd=tmp_path)
    assert done.returncode == 2 and "no main" in done.stderr


def test_kernels_are_listed(command, tmp_path):
    if not command.report["works"]["cuda"]:
        pytest.skip("CUDA sources cannot be compiled here")
    (tmp_path / "relu.cu").write_text("""
__global__ void relu_kernel(const float* x, float* y, long n) { y[0] = x[n]; }
void relu(const float* x, float* y, long n, cudaStream_t stream) { relu_kernel<<<1, 1, 0, stream>>>(x, y, n); }
""")
    done = command("run", "--arch", "sm_80,sm_90", "relu.cu", cwd=tmp_path)
    assert done.stdout.startswith("relu.cu: 1 function, 1 kernel, 0 ops\n"), done.stderr
    assert "relu_kernel(const float *" in done.stdout.split("kernels\n")[1] and "relu.cu:2" in done.stdout


def test_errors_look_like_a_compilers(command, tmp_path):
    (tmp_path / "src" / "part").mkdir(parents=True)
    (tmp_path / "work").mkdir()
    (tmp_path / "src" / "bad.cc").write_text("int f() {\n\treturn /* ä */ nothing;\n}\n")
    done = command("run", "../src/bad.cc", cwd=tmp_path / "work")
    lines = done.stderr.splitlines()
    assert done.returncode == 1 and done.stdout == ""
    assert lines[0] == "../src/bad.cc:2:18: error: use of undeclared identifier 'nothing'"
    assert lines[1:3] == ["    2 | \treturn /* ä */ nothing;", "      | \t" + " " * 15 + "^"]
    assert lines[3] == "tarsia: ../src/bad.cc does not compile (1 error)"

    (tmp_path / "src" / "part" / "bad.h").write_text("int g() { return nothing; }\n")
    (tmp_path / "src" / "user.cc").write_text('#include "part/bad.h"\n')
    done = command("run", "../src/user.cc", cwd=tmp_path / "work")
    assert done.stderr.startswith("../src/part/bad.h:1:18: error: use of undeclared"), done.stderr


def test_a_program_that_does_not_link_says_what_is_missing(command, tmp_path):
    (tmp_path / "a.cc").write_text("int elsewhere(); int f() { return elsewhere(); }\n")
    done = command("compile", "a.cc", "-o", "a.so", cwd=tmp_path)
    assert done.returncode == 1 and "elsewhere" in done.stderr and "a.cc does not link" in done.stderr
    assert not (tmp_path / "a.so").exists()


def test_headers_beside_the_file_and_above_it_are_found(command, tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "common").mkdir()
    (tmp_path / "a" / "b" / "near.h").write_text("#define NEAR 1\n")
    (tmp_path / "common" / "far.h").write_text('#include "other.h"\n')
    (tmp_path / "common" / "other.h").write_text("#define FAR 2\n")
    (tmp_path / "a" / "b" / "main.cc").write_text(
        '#include "near.h"\n#include "../../common/far.h"\nint main() { return NEAR + FAR + MORE; }\n')
    done = command("run", "-DMORE=4", "a/b/main.cc", cwd=tmp_path)
    assert done.returncode == 7, done.stderr


def test_a_header_beside_the_file_hides_no_standard_one(command, tmp_path):
    (tmp_path / "string.h").write_text("#error not this one\n")
    (tmp_path / "main.cc").write_text('#include <string.h>\nint main() { return int(strlen("abc")); }\n')
    done = command("run", "main.cc", cwd=tmp_path)
    assert done.returncode == 3, done.stderr


def test_a_source_of_several_files_becomes_a_library_that_runs(command, tmp_path):
    (tmp_path / "one.cc").write_text('extern "C" int two(void);\nint main() { return two() + 1; }\n')
    (tmp_path / "two.c").write_text("int two(void) { return 2; }\n")
    done = command("compile", "-v", "one.cc", "two.c", "-o", "out.so", cwd=tmp_path)
    assert done.returncode == 0 and "out.so written" in done.stderr
    assert command("run", "./out.so", cwd=tmp_path).returncode == 3
    done = command("run", "-v", "--with", "two.c", "one.cc", cwd=tmp_path)
    assert done.returncode == 3
    assert "one.cc: disk" in done.stderr and "main gave 3" in done.stderr


@pytest.mark.parametrize("words", [
    [], ["run"], ["run", "--nonsense", "x.cc"], ["frobnicate"], ["compile", "x.cc"], ["run", "-O", "7", "x.cc"],
    ["run", "--std", "c++98", "x.cc"], ["doctor", "--yaml"]], ids=" ".join)
def test_a_senseless_command_line_gives_2(command, tmp_path, words):
    (tmp_path / "x.cc").write_text("int main() { return 0; }\n")
    done = command(*words, cwd=tmp_path)
    assert done.returncode == 2 and done.stderr and not done.stdout


def test_a_file_that_is_not_there_is_named(command, tmp_path):
    done = command("run", "absent.cu", cwd=tmp_path)
    assert done.returncode == 1 and done.stderr == "tarsia: error: cannot read 'absent.cu': No such file or directory\n"
    done = command("compile", ".", "-o", "x.so", cwd=tmp_path)
    assert done.returncode == 1 and "Is a directory" in done.stderr


def test_a_file_that_never_ends_is_refused(command, tmp_path):
    (tmp_path / "endless.cc").symlink_to("/dev/zero")
    done = command("run", "endless.cc", cwd=tmp_path)
    assert done.returncode != 0
    assert "endless.cc' is larger than 64 MiB" in done.stderr


def test_the_doctor_tries_what_it_reports(command, tmp_path):
    assert command.report["works"]["host"] is True and command.report["version"] == tarsia.__version__
    parts = [line["part"] for line in command.report["lines"]]
    assert len(set(parts)) == len(parts) and {"compiler", "cache", "NVRTC", "CUDA driver"} <= set(parts)
    for line in command.report["lines"]:
        assert line["detail"], line
    done = command("doctor")
    assert done.returncode == 0 and "Host code compiles." in done.stdout

    (tmp_path / "compiler").write_text("#!/bin/sh\nexit 3\n")
    (tmp_path / "compiler").chmod(0o755)
    done = command("doctor", TARSIA_COMPILER=str(tmp_path / "compiler"), TARSIA_CACHE_DIR=str(tmp_path / "cache"))
    assert done.returncode == 1 and "Host code does NOT compile." in done.stdout and "FAILS" in done.stdout
    for variable, part in (("TARSIA_CACHE_SIZE_MB", "cache"), ("TARSIA_COMPILER_MEMORY_MB", "compiler")):
        done = command("doctor", "--json", **{variable: "-1"})
        (line,) = [line for line in json.loads(done.stdout)["lines"] if line["part"] == part]
        assert done.returncode == 1 and f"{variable} is '-1', which is no size: set it to a whole number" in line["detail"]
    done = command("doctor", TARSIA_COMPILER=str(tmp_path / "none"), TARSIA_CACHE_DIR="/proc/none")
    assert done.returncode == 1 and done.stdout.count("MISSING") >= 1


def test_comments_need_not_be_utf8_but_code_must(command, tmp_path):
    program = tmp_path / "a.cc"
    program.write_bytes(b"// caf\xe9 \\\n still \xe9\n#include <cstdio>\n/* \xb5 */ int main() { std::puts(\"it's\"); }  // \xe9\n")
    done = command("run", program)
    assert (done.returncode, done.stdout) == (0, "it's\n"), done.stderr
    program.write_bytes(b"#include <cstdio>\nint main() { std::puts(\"caf\xe9\"); }\n")
    done = command("run", program)
    assert done.returncode == 1 and "UTF-8" in done.stderr


def test_defaults_are_listed_by_name_and_python_is_told_apart(command, tmp_path):
    (tmp_path / "ops.cc").write_text(r"""
    #include <tarsia/op.h>
    #include <array>
    enum class Kind { relu, gelu };
    TARSIA_OP(command_defaults).input("x").output("y").attribute("kind", Kind::gelu).choices({"relu", "gelu"})
        .attribute("pair", std::array<int, 2>{3, 4}).forward("cpu", [](tarsia::Context&) {});
    """)
    assert "kind: relu|gelu = gelu, pair: " in (listed := command("run", "ops.cc", cwd=tmp_path).stdout) and "= (3, 4)" in listed
    (tmp_path / "ops.py").write_text("import tarsia")
    done = command("check", "ops.py", cwd=tmp_path)
    assert done.returncode != 0 and "'ops.py' is Python" in done.stderr and "assert_op" in done.stderr
