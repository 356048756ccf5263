"""The compiler is kept from all files but the toolchain's and those that a source may read."""

import os
import pathlib
import subprocess
import sys
import time

import pytest

import tarsia

try:
    tarsia.load_inline("int probe_of_isolation() { return 1; }")
except tarsia.Error as error:
    if not isinstance(error, (tarsia.NotFound, tarsia.Unsupported)):
        raise
    pytest.skip(f"no compiler: {error}", allow_module_level=True)

SECRET = "plantedsecret"


def workers():
    """The compilers that this process has started."""
    mine = []
    for status in pathlib.Path("/proc").glob("[0-9]*/status"):
        try:
            fields = dict(line.split(":\t", 1) for line in status.read_text().splitlines())
            if int(fields["PPid"]) == os.getpid() and fields["Name"].startswith("tarsia-comp"):
                mine.append((status.parent, fields))
        except (OSError, ValueError):
            pass
    return mine


def fresh(code, **environment):
    """What a fresh interpreter prints."""
    return subprocess.run([sys.executable, "-c", code], env={**os.environ, **environment}, text=True, check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout


def test_a_compiler_has_a_filter_no_new_rights_and_a_bare_environment(monkeypatch):
    monkeypatch.setenv("PLANTED", SECRET)
    tarsia.load_inline(f"int filtered() {{ return {os.getpid()}; }}")
    assert workers()
    for folder, fields in workers():
        assert fields["Seccomp"] == "2" and fields["NoNewPrivs"] == "1"
        assert SECRET not in (folder / "environ").read_text()


def test_what_the_setting_says_now_holds_for_compilers_that_wait(tmp_path):
    code = """
import os, pathlib, tarsia
for i, value in enumerate(("off", "on", "on", "off", "required")):
    os.environ["TARSIA_ISOLATION"] = value
    assert tarsia.load_inline(f"int f() {{ return {i}; }}").f() == i
    for status in pathlib.Path("/proc").glob("[0-9]*/status"):
        fields = dict(line.split(":\\t", 1) for line in status.read_text().splitlines())
        if fields["PPid"] == str(os.getpid()) and fields["State"][0] != "Z": print(value, fields["Seccomp"])
print(tarsia.stats()["workers_started"])
os.environ["TARSIA_ISOLATION"] = "perhaps"
try:
    tarsia.load_inline("int g() { return 1; }")
except ValueError as error:
    print(error)"""
    told = fresh(code, TARSIA_CACHE_DIR=str(tmp_path / "cache")).splitlines()
    assert told[:6] == ["off 0", "on 2", "on 2", "off 0", "required 2", "4"], told
    assert "TARSIA_ISOLATION is 'perhaps'" in told[6]


def test_isolation_can_be_switched_off_and_required(tmp_path):
    code = """
import tarsia
print(tarsia.load_inline("int f() { return 5; }").f())
import os, pathlib
for status in pathlib.Path("/proc").glob("[0-9]*/status"):
    fields = dict(line.split(":\\t", 1) for line in status.read_text().splitlines())
    if fields["PPid"] == str(os.getpid()): print(fields["Seccomp"])"""
    for value, seen in (("off", "0"), ("required", "2")):
        assert fresh(code, TARSIA_ISOLATION=value, TARSIA_CACHE_DIR=str(tmp_path / value)).split()[:2] == ["5", seen]
    with pytest.raises(subprocess.CalledProcessError) as caught:
        fresh("import tarsia; tarsia.load_inline('int f() { return 1; }')", TARSIA_ISOLATION="maybe",
              TARSIA_CACHE_DIR=str(tmp_path / "maybe"))
    assert "set it to on, off or required" in caught.value.output


@pytest.mark.parametrize("source", [
    '#include "{0}"\nint f() {{ return 1; }}',
    '#include <{0}>\nint f() {{ return 1; }}',
    'const char t[] = {{\n#embed "{0}"\n}};\nint f() {{ return t[0]; }}',
    '#if !__has_include("{0}")\n#error absent\n#endif\nint f() {{ return 1; }}',
    'asm(".incbin \\"{0}\\"");\nint f() {{ return 1; }}',
    'asm(".macro m x\\n.incbin \\"\\\\x\\"\\n.endm\\nm {0}");\nint f() {{ return 1; }}',
    '#pragma GCC dependency "{0}"\n#include "{0}"\nint f() {{ return 1; }}',
    '#import "{0}"\nint f() {{ return 1; }}',
    '#include_next "{0}"\nint f() {{ return 1; }}',
])
def test_a_secret_outside_of_the_folders_cannot_be_read(tmp_path, source):
    secret = tmp_path / "secret"
    secret.write_text(f"{SECRET}\n")
    folder = tmp_path / "include"
    folder.mkdir()
    for path in (str(secret), "../secret", "/etc/shadow", "/proc/self/environ", f"/proc/{os.getpid()}/environ"):
        with pytest.raises(tarsia.CompileError) as caught:
            tarsia.load_inline(source.format(path), include_dirs=[folder])
        assert SECRET not in str(caught.value)


@pytest.mark.parametrize("flag", ["-fplugin=/tmp/p.so", "-Xclang -load", "-mllvm -load=/tmp/p.so", "-fpass-plugin=/tmp/p.so",
                                  "@/tmp/options", "-o/tmp/x", "-ftime-trace=/tmp/x", "-include/etc/shadow", "-imacros/etc/shadow",
                                  "-ivfsoverlay/tmp/x", "-B/tmp", "-fuse-ld=/tmp/ld", "-specs=/tmp/s", "-wrapper", "-fmodule-file=/tmp/x"])
def test_options_that_load_or_write_files_are_refused(flag):
    with pytest.raises((tarsia.ArgumentValueError, tarsia.CompileError, tarsia.Unsupported)):
        tarsia.load_inline("int f() { return 1; }", cflags=flag.split())


def test_headers_by_links_that_lead_out_of_their_folder_are_read(tmp_path):
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "value.h").write_text("#define VALUE 11\n")
    folder = tmp_path / "include"
    folder.mkdir()
    (folder / "value.h").symlink_to(tmp_path / "store" / "value.h")
    (folder / "sub").symlink_to(tmp_path / "store", target_is_directory=True)
    for name in ("value.h", "sub/value.h"):
        assert tarsia.load_inline(f'#include "{name}"\nint linked() {{ return VALUE; }}', include_dirs=[folder]).linked() == 11


@pytest.mark.parametrize("n_heavy", [0, 3000])
def test_headers_that_headers_name_beside_their_folder_are_read(tmp_path, n_heavy):
    (tmp_path / "common.h").write_text('#include "more/more.h"\n')
    (tmp_path / "more").mkdir()
    heavy = "".join(f"#define HEAVY_{i} 'what makes a prelude of it'\n" for i in range(n_heavy))
    (tmp_path / "more" / "more.h").write_text(heavy + "#define VALUE 12\n")
    folder = tmp_path / "include"
    folder.mkdir()
    (folder / "a.h").write_text('#include "../common.h"\n')
    assert tarsia.load_inline('#include "a.h"\nint beside() { return VALUE; }', include_dirs=[folder]).beside() == 12


@pytest.mark.parametrize("soname", [[], ["-Wl,-soname,libtwelve.so.1"]])
def test_libraries_anywhere_are_linked_also_by_links_and_scripts(tmp_path, soname):
    store = tmp_path / "store"
    store.mkdir()
    subprocess.run(["g++", "-shared", "-fPIC", "-x", "c++", "-", "-o", store / "libtwelve.so.1", *soname],
                   input="extern \"C\" int twelve() { return 12; }", text=True, check=True)
    libraries = tmp_path / "lib"
    libraries.mkdir()
    (libraries / "libtwelve.so").symlink_to(store / "libtwelve.so.1")
    (libraries / "libtwelve.so.1").symlink_to(store / "libtwelve.so.1")
    (libraries / "libscript.so").write_text(f"INPUT({store}/libtwelve.so.1)\n")
    source = 'extern "C" int twelve();\nint calls() { return twelve(); }'
    for options in ({"libraries": ["twelve"], "library_dirs": [libraries]},
                    {"libraries": [str(libraries / "libtwelve.so")]},
                    {"libraries": ["script"], "library_dirs": [libraries]}):
        assert tarsia.load_inline(source, **options).calls() == 12


def test_device_code_reads_headers_of_the_users_folders(tmp_path):
    (tmp_path / "scale.h").write_text("template <class T> __device__ T scaled(T x) { return x * 3; }\n")
    source = '#include "scale.h"\n__global__ void scale_by_three(float* x) { *x = scaled(*x); }'
    try:
        lib = tarsia.load_inline(source, include_dirs=[tmp_path], arch="sm_90")
    except tarsia.NotFound as error:
        pytest.skip(f"no device code: {error}")
    assert list(lib.kernels) == ["scale_by_three"]


def test_nothing_of_a_compiler_stays_in_the_temporary_folder(tmp_path):
    fresh("""
import tarsia
print(tarsia.load_inline("int f() { return 5; }").f())""", TMPDIR=str(tmp_path), TARSIA_CACHE_DIR=str(tmp_path / "cache"))
    [folder] = [path for path in tmp_path.iterdir() if path.name.startswith(f"tarsia-{os.geteuid()}-")]
    deadline = time.monotonic() + 60  # the compiler leaves when it sees that its client has ended
    while any(folder.iterdir()):
        assert time.monotonic() < deadline
    assert {path.name for path in tmp_path.iterdir()} == {"cache", folder.name}
