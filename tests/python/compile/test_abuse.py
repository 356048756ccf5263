"""Sources that would make the compiler read what it must not, crash, or take what there is of memory."""

import os
import subprocess
import sys

import pytest

import tarsia

try:
    tarsia.load_inline("int probe() { return 1; }")
except tarsia.Error as error:
    if not isinstance(error, (tarsia.NotFound, tarsia.Unsupported)):
        raise
    pytest.skip(f"no compiler: {error}", allow_module_level=True)

# The first byte of data.bin.
FIRST = r"""
asm(".section .rodata\n.globl embedded\n.hidden embedded\nembedded: .incbin \"data.bin\"\n.text");
extern "C" const unsigned char embedded[];
int first() { return embedded[0]; }
"""


def in_a_process(code, **environment):
    """What a fresh interpreter prints."""
    return subprocess.run([sys.executable, "-c", code], env={**os.environ, **environment}, text=True, check=True,
                          stdout=subprocess.PIPE).stdout.split()


def kind_of_failure(source, **environment):
    """The error that a source is, in a process of its own."""
    return in_a_process(f"""
import tarsia
try:
    print(tarsia.load_inline({source!r}, timeout=300))
except tarsia.Error as error:
    print(type(error).__name__)
print(tarsia.load_inline("int next() {{ return 7; }}").next())""", **environment)


def test_a_file_that_assembly_reads_decides_which_module(tmp_path):
    code = f"""
import tarsia
lib = tarsia.load_inline({FIRST!r}, include_dirs=[{str(tmp_path)!r}])
print(lib.first(), lib.origin)"""
    for content in b"abb":
        (tmp_path / "data.bin").write_bytes(bytes([content]))
        out = in_a_process(code)
        assert out[0] == str(content)
    assert out[1] == "disk"


def test_what_assembly_and_the_linker_must_not_read_is_not_quoted(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("plantedsecret and more\n")
    for source, options in ((f'asm(".include \\"{secret}\\"");\nint f() {{ return 1; }}', {}),
                            ("int f() { return 1; }", {"libraries": [str(secret)]})):
        with pytest.raises(tarsia.CompileError) as caught:
            tarsia.load_inline(source, **options)
        assert "plantedsecret" not in str(caught.value) and "secret" in str(caught.value)


def test_a_nul_in_a_header_on_disk_is_an_invalid_source(tmp_path):
    (tmp_path / "x.h").write_bytes(b"// a\n/*\0*/\n#define VALUE 2\n")
    with pytest.raises(tarsia.InvalidSource, match=r"x\.h:2:3: fatal error: NUL byte"):
        tarsia.load_inline('#include "x.h"\nint f() { return VALUE; }', include_dirs=[tmp_path])


def test_a_damaged_library_is_no_crash(tmp_path):
    (tmp_path / "libcut.a").write_bytes(b"!<arch>\nfile.o/         0           0     0     644     9999999   `\nshort\n")
    with pytest.raises(tarsia.CompileError, match=r"libcut\.a"):
        tarsia.load_inline("int f() { return 1; }", libraries=[str(tmp_path / "libcut.a")])
    assert tarsia.load_inline("int g() { return 2; }").g() == 2


@pytest.mark.parametrize("pragma", ["overflow_stack", "crash", "llvm_fatal_error"])
def test_a_crash_of_the_compiler_is_told_and_the_next_source_compiles(pragma):
    with pytest.raises(tarsia.CompilerCrashed):
        tarsia.load_inline(f"#pragma clang __debug {pragma}\nint f() {{ return 1; }}")
    assert tarsia.load_inline(f"int after_{pragma}() {{ return 3; }}").functions == (f"after_{pragma}",)


def test_a_crash_with_both_compilers_of_device_code_is_told():
    with pytest.raises(tarsia.CompilerCrashed):
        tarsia.load_inline("#pragma clang __debug crash\n__global__ void k() {}")
    assert tarsia.load_inline("int after_both() { return 4; }").after_both() == 4


def test_an_array_beyond_the_memory_is_a_limit():
    source = "constexpr char a[3000000000ull] = {1};\nint f(long i) { return a[i]; }"
    assert kind_of_failure(source, TARSIA_COMPILER_MEMORY_MB="1024") == ["ResourceLimit", "7"]


def has_device_code():
    try:
        tarsia.load_inline("__global__ void probe() {}")
    except tarsia.Error:
        return False
    return True


# Elements at which an allocation of the code generator, or of the linker, fails with much of the limit left.
@pytest.mark.parametrize("elements", [60_000_000, 100_000_000, 130_000_000])
def test_in_a_compiler_that_has_compiled_before_it_is_a_limit_each_time(elements):
    kernel = "tarsia.load_inline('__global__ void k(int* x) { *x = 1; }')" if has_device_code() else ""
    outcomes = in_a_process(f"""
import tarsia
tarsia.load_inline("int before() {{ return 1; }}")
{kernel}
for i in range(2):
    try:
        tarsia.load_inline("constexpr int a[{elements}] = {{1, 2}};\\nint f(int i) {{ return a[i]; }}", timeout=60)
    except tarsia.Error as error:
        print(type(error).__name__)
    print(tarsia.load_inline("int next() {{ return %d; }}" % i).next())""", TARSIA_COMPILER_MEMORY_MB="1024")
    assert outcomes == ["ResourceLimit", "0", "ResourceLimit", "1"]


def test_device_code_beyond_the_memory_is_a_limit():
    if not has_device_code():
        pytest.skip("no device code")
    source = """
template <class T, T... I> struct S {};
template <int N> using M = __make_integer_seq<S, int, N>;
__global__ void k(int* x) { M<200000000> m; *x = sizeof(m); }"""
    assert kind_of_failure(source, TARSIA_COMPILER_MEMORY_MB="1024") == ["ResourceLimit", "7"]
