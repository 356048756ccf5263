"""Two checkouts at different paths build identical bytes, and share the entries of one cache folder."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import places
import pytest

# What a header may make of its own path: __FILE__, an assertion, a static table, lines for debuggers, std::source_location.
HEADER = """
#pragma once
#include <cassert>
#include <source_location>
#include <stdexcept>
#include "ops/detail.h"
inline const char* header_file() { return __FILE__; }
inline const char* header_place(std::source_location at = std::source_location::current()) { return at.file_name(); }
inline int checked(int x) { assert(x != 1); if (x == 2) throw std::runtime_error(__FILE__ ": two"); return detail(x) + 1; }
"""
SOURCE = """
#include "ops/add.h"
int add(int x) { return checked(x); }
const char* file() { return header_file(); }
const char* place() { return header_place(); }
const char* own() { return __FILE__; }
"""
KERNEL = '#include "ops/scale.cuh"\n__global__ void scale(float* x) { x[0] = scaled(x[0]); }\nint one() { return 1; }\n'


class Checkout:
    def __init__(self, folder, cache):
        self.folder, self.cache = folder, cache
        (folder / "inc/ops").mkdir(parents=True)
        self.write("inc/ops/add.h", HEADER)
        self.write("inc/ops/detail.h", "#pragma once\ninline int detail(int x) { return x; }\n")
        self.write("inc/ops/scale.cuh", "__device__ inline float scaled(float x) { return 2 * x; }\n")
        self.write("op.cc", SOURCE)
        self.write("op.cu", KERNEL)

    def write(self, name, text):
        (self.folder / name).write_text(text)

    def load(self, name="op.cc", then="", **options):
        """Loads a source in a process of its own. Gives its origin, the module's bytes, and what `then` puts into `out`."""
        options.setdefault("include_dirs", ["inc"])
        text = f"""
import json, os, tarsia
lib = tarsia.load({name!r}, **{options!r})
out = {{"origin": lib.origin}}
{then}
print(json.dumps(out))
"""
        env = {**os.environ, "TARSIA_CACHE_DIR": str(self.cache)}
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", text], cwd=self.folder, env=env, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def explain(self, *words):
        done = subprocess.run([places.command(), "cache", "explain", *words], cwd=self.folder, env={**os.environ, "TARSIA_CACHE_DIR": str(self.cache)},
                              capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def modules(self):
        return {path.name: path.read_bytes() for path in (self.cache / "1/module").rglob("*.so")}

    def holds(self, module):
        return str(self.folder).encode() in module


@pytest.fixture
def checkouts(tmp_path):
    """Two checkouts at different paths and depths. `of` gives them one cache folder or one each."""

    def of(shared=True):
        return (Checkout(tmp_path / "one", tmp_path / "cache"),
                Checkout(tmp_path / "another/place/two", tmp_path / ("cache" if shared else "cache2")))

    return of


def test_a_source_of_another_checkout_hits_and_says_the_same(checkouts):
    one, two = checkouts()
    ask = "out.update(sum=lib.add(41), file=lib.file(), place=lib.place(), own=lib.own())"
    first = one.load(then=ask)
    assert first["origin"] == "compiled"
    second = two.load(then=ask)
    assert second == {**first, "origin": "disk"}
    assert first == {"origin": "compiled", "sum": 42, "file": "ops/add.h", "place": "op.cc", "own": "op.cc"}
    assert two.load()["origin"] == "disk"
    assert len(one.modules()) == 1


@pytest.mark.parametrize("name", ["op.cc", "op.cu"])
@pytest.mark.parametrize("options", [{}, {"opt": 0}, {"dev": True}, {"opt": 3, "cflags": ["-UNDEBUG"]}], ids=str)
def test_two_checkouts_build_identical_bytes_under_the_same_key(checkouts, name, options):
    one, two = checkouts(shared=False)
    assert one.load(name, **options)["origin"] == two.load(name, **options)["origin"] == "compiled"
    assert one.modules() == two.modules() and len(one.modules()) == 1
    [module] = one.modules().values()
    assert str(one.folder.parent).encode() not in module


def test_debug_information_names_the_checkout_and_is_not_shared(checkouts):
    one, two = checkouts()
    assert one.load(debug=True)["origin"] == two.load(debug=True)["origin"] == "compiled"
    assert one.load(debug=True)["origin"] == two.load(debug=True)["origin"] == "disk"
    assert any(str(one.folder).encode() in module for module in one.modules().values())


def test_a_header_that_differs_or_appears_in_one_checkout_is_compiled_there(checkouts):
    one, two = checkouts()
    two.write("inc/ops/detail.h", "#pragma once\ninline int detail(int x) { return 2 * x; }\n")
    assert one.load(then="out['sum'] = lib.add(20)")["sum"] == 21
    assert two.load(then="out['sum'] = lib.add(20)") == {"origin": "compiled", "sum": 41}
    shutil.copy(one.folder / "inc/ops/detail.h", two.folder / "inc/ops/detail.h")
    assert two.load(then="out['sum'] = lib.add(20)") == {"origin": "disk", "sum": 21}
    (two.folder / "ops").mkdir()  # beside the source, before include_dirs
    two.write("ops/detail.h", "#pragma once\ninline int detail(int x) { return 3 * x; }\n")
    assert two.load(then="out['sum'] = lib.add(20)") == {"origin": "compiled", "sum": 61}


def test_folders_that_lie_in_each_other_are_not_confused(checkouts):
    """What the first folder has below itself is looked for there first, wherever the second one lies."""
    one, two = checkouts()
    source = '#include "ops/which.h"\nint which() { return WHICH; }\n'
    for checkout in (one, two):
        checkout.write("which.cc", source)
        checkout.write("inc/ops/which.h", "#define WHICH 1\n")
        (checkout.folder / "far/ops").mkdir(parents=True)
        checkout.write("far/ops/which.h", "#define WHICH 1\n")
    ask = "out['which'] = lib.which()"
    assert one.load("which.cc", ask, include_dirs=["inc/ops/..", "inc/ops"])["origin"] == "compiled"
    assert two.load("which.cc", ask, include_dirs=["inc", "inc/ops"])["origin"] == "disk"
    two.write("inc/ops/which.h", "#define WHICH 2\n")
    assert two.load("which.cc", ask, include_dirs=["inc", "far"])["which"] == 2


def test_an_include_that_climbs_into_another_folder_is_followed_at_each_place(checkouts):
    """In one checkout "../common/a.h" leads to the second folder; in the other one that folder lies elsewhere."""
    one, two = checkouts()
    for checkout, second in ((one, "common"), (two, "far/common")):
        for folder in {"common", second}:
            (checkout.folder / folder).mkdir(parents=True, exist_ok=True)
            checkout.write(f"{folder}/a.h", "#define A 1\n")
        checkout.write("inc/up.h", '#include "../common/a.h"\n')
        checkout.write("up.cc", '#include "up.h"\nint a() { return A; }\n')
    assert one.load("up.cc", include_dirs=["inc", "common"])["origin"] == "compiled"
    for n, inc in enumerate(("inc", "inc/ops/..", "./inc/"), start=2):
        two.write("common/a.h", f"#define A {n}\n")
        assert one.load("up.cc", include_dirs=[inc, "common"])["origin"] == "disk"
        assert two.load("up.cc", "out['a'] = lib.a()", include_dirs=[inc, "far/common"])["a"] == n


def test_an_include_that_climbs_within_a_folder_is_the_same_everywhere(checkouts):
    one, two = checkouts()
    for checkout in (one, two):
        (checkout.folder / "common").mkdir()
        checkout.write("common/a.h", "#define A 1\n")
        checkout.write("inc/up.h", '#include "../common/a.h"\n')
        checkout.write("up.cc", '#include "up.h"\nint a() { return A; }\n')
    assert one.load("up.cc", include_dirs=[".", "inc"])["origin"] == "compiled"
    assert two.load("up.cc", include_dirs=[".", "inc"])["origin"] == "disk"
    two.write("common/a.h", "#define A 2\n")
    assert two.load("up.cc", "out['a'] = lib.a()", include_dirs=[".", "inc"]) == {"origin": "compiled", "a": 2}


def test_warnings_name_the_file_of_the_checkout_that_asks(checkouts):
    one, two = checkouts()
    for checkout in (one, two):
        checkout.write("inc/ops/detail.h", '#pragma once\n#warning "old"\ninline int detail(int x) { return x; }\n')
    ask = "out['files'] = [w.file for w in lib.warnings if 'old' in w.message]"
    for checkout, origin in ((one, "compiled"), (two, "disk"), (one, "disk")):
        told = checkout.load(then=ask)
        assert told["origin"] == origin
        assert told["files"] == [str(checkout.folder / "inc/ops/detail.h")]


def test_a_checkout_with_a_failing_header_does_not_fail_the_other(checkouts):
    one, two = checkouts()
    one.write("inc/ops/detail.h", '#error "broken here"\n')
    both = f"""
import os
for folder in ({str(one.folder)!r}, {str(two.folder)!r}):
    os.chdir(folder)
    try:
        out[folder] = tarsia.load("op.cc", include_dirs=["inc"]).origin
    except tarsia.CompileError as error:
        out[folder] = str(error)
"""
    told = two.load("op.cu", then=both)
    assert "broken here" in told[str(one.folder)] and told[str(two.folder)] == "compiled"


def test_explain_names_files_by_the_folder_that_they_were_found_in(checkouts):
    one, two = checkouts()
    words = "op.cc", "-I", "inc"
    one.load()
    assert "hits the entry" in two.explain(*words)
    assert two.load()["origin"] == "disk"
    assert "hits the entry" in two.explain(*words)
    # The folder of the source comes first, so that of the headers is the second.
    for checkout in (one, two):
        checkout.write("inc/ops/detail.h", "#pragma once\ninline int detail(int x) { return x; }//\n")
        told = checkout.explain(*words).splitlines()
        assert "is not in the cache: changed" in told[0]
        assert told[-2].strip() == f"(<include_dirs 1> is {checkout.folder}/inc)"
        assert told[-1].strip().startswith("<include_dirs 1>/ops/detail.h: its content changed")
    [difference] = json.loads(two.explain(*words, "--json"))["differences"]
    assert difference["input"] == "<include_dirs 1>/ops/detail.h"
    two.write("inc/ops/detail.h", (one.folder / "inc/ops/detail.h").read_text())
    assert one.load()["origin"] == "compiled"
    assert "hits the entry" in two.explain(*words)
    # What lies elsewhere is no difference; what is asked for otherwise is.
    assert two.explain(*words, "-O3").splitlines()[-1].strip() == "option opt: it was 2, and is 3"
    (two.folder / "more").mkdir()
    assert two.explain(*words, "-I", "more").splitlines()[-1].strip().startswith("option include_dirs: it was ")


def test_explain_in_a_checkout_that_never_compiled_tells_what_differs_there(checkouts):
    one, two = checkouts()
    two.write("inc/ops/detail.h", "#pragma once\ninline int detail(int x) { return x + 1; }\n")
    one.load()
    told = two.explain("op.cc", "-I", "inc").splitlines()
    assert "is not in the cache: changed" in told[0] and told[-1].strip().startswith("<include_dirs 1>/ops/detail.h: its content changed")


@pytest.mark.parametrize("root", ["/", "/usr"])
def test_a_folder_that_holds_the_machines_takes_nothing_off_names(checkouts, root):
    one, two = checkouts()
    ask = "out.update(file=lib.file(), place=lib.place(), own=lib.own())"
    for checkout in (one, two):
        for folders in (["inc", root], [root, "inc"]):
            told = checkout.load(then=ask, include_dirs=folders)
            assert told == {"origin": told["origin"], "file": "ops/add.h", "place": "op.cc", "own": "op.cc"}
    # In "/" lies everything: what a file is called there, the place decides.
    assert two.load(include_dirs=["inc", root])["origin"] == "disk"


def test_a_warning_that_tells_of_a_place_is_told_there_alone(checkouts):
    one, two = checkouts()
    for checkout in (one, two):
        checkout.write("inc/ops/detail.h", f'#pragma once\n#warning "see {one.folder}/inc/README"\ninline int detail(int x) {{ return x; }}\n')
    ask = "out['messages'] = [w.message for w in lib.warnings]"
    assert one.load(then=ask)["origin"] == "compiled"
    assert two.load(then=ask)["origin"] == "compiled"  # the same text, but it is kept for the place that it names
    for checkout in (one, two):
        told = checkout.load(then=ask)
        assert told["origin"] == "disk" and any(str(one.folder) in message for message in told["messages"])


def test_warnings_of_a_kernels_headers_name_the_file_of_the_checkout_that_asks(checkouts):
    one, two = checkouts()
    for checkout in (one, two):
        checkout.write("inc/ops/scale.cuh", "__device__ inline float scaled(float x) { int unused = 1; return 2 * x; }\n")
    ask = "out['files'] = sorted({w.file for w in lib.warnings})"
    first, second = one.load("op.cu", ask), two.load("op.cu", ask)
    assert (first["origin"], second["origin"]) == ("compiled", "disk")
    assert [file.replace(str(one.folder), str(two.folder)) for file in first["files"]] == second["files"]


GUARDED = """
#ifdef __CUDA_ARCH__
#include "ops/guarded.cuh"
#endif
__global__ void check(int* x) {
#ifdef __CUDA_ARCH__
  guard(x);
#endif
}
"""


def test_device_code_that_names_its_headers_stays_at_its_place(checkouts):
    """NVRTC reads this header from disk itself, since only the device includes it; __FILE__ there is a whole path."""
    one, two = checkouts()
    for checkout in (one, two):
        checkout.write("inc/ops/guarded.cuh", "#include <cassert>\n__device__ inline void guard(int* x) { assert(*x != 1); }\n")
        checkout.write("guarded.cu", GUARDED)
    for _ in range(2):
        origins = [checkout.load("guarded.cu")["origin"] for checkout in (one, two)]
    assert origins == ["disk", "disk"]
    modules = one.modules().values()
    assert len(modules) == 2
    assert sorted((one.holds(module), two.holds(module)) for module in modules) == [(False, True), (True, False)]


def test_device_code_of_another_checkout_is_made_again_when_a_header_changes_here(checkouts):
    """The parts of a compile have the files of the place that reads them."""
    one, two = checkouts()
    for checkout in (one, two):
        checkout.write("inc/ops/guarded.cuh", "__device__ inline void guard(int* x) { *x = 1; }\n")
        checkout.write("guarded.cu", GUARDED)
    assert one.load("guarded.cu")["origin"] == "compiled"
    assert two.load("guarded.cu")["origin"] == "disk"
    two.write("guarded.cu", GUARDED + "int one() { return 1; }\n")
    assert two.load("guarded.cu")["origin"] == "compiled"
    assert two.load("guarded.cu")["origin"] == "disk"
    two.write("inc/ops/guarded.cuh", "__device__ inline void guard(int* x) { *x = 2; }\n")
    assert two.load("guarded.cu")["origin"] == "compiled"


def test_a_kernels_sliced_header_names_itself_by_its_folder(checkouts):
    one, two = checkouts()
    for checkout in (one, two):
        checkout.write("inc/ops/scale.cuh", "#include <cassert>\n__device__ inline float scaled(float x) { assert(x != 1); return 2 * x; }\n")
    assert [one.load("op.cu")["origin"], two.load("op.cu")["origin"]] == ["compiled", "disk"]
    [module] = one.modules().values()
    assert b"ops/scale.cuh" in module and not one.holds(module)


def test_lines_of_device_code_are_those_of_the_checkout(checkouts):
    one, two = checkouts()
    for checkout in (one, two):
        assert checkout.load("op.cu", lineinfo=True)["origin"] == "compiled"
    assert sorted((one.holds(module), two.holds(module)) for module in one.modules().values()) == [(False, True), (True, False)]


@pytest.mark.parametrize("line", [
    '#include "{path}"',
    "#include NAME(ROOT/inc/ops/whole.h)",
    '#if __has_include("{path}")\n#define WHOLE 1\n#else\n#define WHOLE 2\n#endif',
], ids=["include", "macro", "has_include"])
def test_a_whole_path_means_a_file_of_this_machine(checkouts, line):
    """The same text in both checkouts names a file of the first one, which the second may not read."""
    one, two = checkouts()
    for checkout in (one, two):
        checkout.write("inc/ops/whole.h", "#define WHOLE 1\n")
        checkout.write("whole.cc", "#define NAME(x) TEXT(x)\n#define TEXT(x) #x\n" + line.format(path=one.folder / "inc/ops/whole.h")
                       + "\nint whole() { return WHOLE; }\n")
    options = {"include_dirs": ["inc"], "defines": {"ROOT": str(one.folder)}}
    ask = "out['whole'] = lib.whole()"
    assert one.load("whole.cc", ask, **options) == {"origin": "compiled", "whole": 1}
    assert one.load("whole.cc", ask, **options) == {"origin": "disk", "whole": 1}
    if "has_include" in line:
        assert two.load("whole.cc", ask, **options) == {"origin": "compiled", "whole": 2}
    else:
        with pytest.raises(AssertionError, match="CompileError"):
            two.load("whole.cc", ask, **options)


def test_what_the_assembler_reads_by_a_whole_path_stays_at_its_place(checkouts):
    one, two = checkouts()
    for checkout in (one, two):
        checkout.write("inc/data.txt", "1")
        checkout.write("data.cc", f"""
asm(".pushsection .rodata\\ndata: .incbin \\"{one.folder}/inc/data.txt\\"\\n.popsection");
extern "C" const char data[];
int first() {{ return data[0] - '0'; }}
""")
    assert one.load("data.cc", "out['first'] = lib.first()") == {"origin": "compiled", "first": 1}
    with pytest.raises(AssertionError, match="CompileError"):
        two.load("data.cc")


def test_a_header_that_includes_itself_by_its_name_is_found(checkouts):
    one, two = checkouts()
    for checkout in (one, two):
        checkout.write("inc/ops/again.h", "#ifndef ONCE\n#define ONCE\n#include __FILE__\n#else\n#define AGAIN 7\n#endif\n")
        checkout.write("again.cc", '#include "ops/again.h"\nint again() { return AGAIN; }\n')
    ask = "out['again'] = lib.again()"
    assert one.load("again.cc", ask) == {"origin": "compiled", "again": 7}
    assert two.load("again.cc", ask) == {"origin": "disk", "again": 7}


def test_what_another_checkout_compiled_is_there_where_nothing_may_be_compiled(checkouts):
    one, two = checkouts()
    one.load()
    told = two.load(then="""
with tarsia.no_compile():
    out["again"] = tarsia.load("op.cc", include_dirs=["inc"]).origin
out["counts"] = tarsia.stats()["cache"]
""")
    assert told["origin"] == "disk" and told["again"] == "memory"
    assert told["counts"]["hits"] == {"disk": 1, "memory": 1, "remote": 0} and told["counts"]["compiles"] == 0 and not any(told["counts"]["misses"].values())


def test_a_pack_brings_modules_to_another_place(checkouts):
    one, two = checkouts(shared=False)
    one.load()
    for checkout, word in ((one, "export"), (two, "import")):
        subprocess.run([places.command(), "cache", word, str(one.folder / "ops.pack")], check=True, capture_output=True,
                       env={**os.environ, "TARSIA_CACHE_DIR": str(checkout.cache)})
    assert two.load(then="out['sum'] = lib.add(41)") == {"origin": "disk", "sum": 42}


@pytest.mark.parametrize("text", [
    'const char* now() { return __DATE__ " " __TIME__; }',
    "int now() { return __TIMESTAMP__[0]; }",
    '#include "now.h"\nint now() { return then(); }',
], ids=["text", "stamp", "header"])
def test_what_asks_for_the_time_is_never_kept(checkouts, text):
    one, two = checkouts()
    for checkout in (one, two):
        checkout.write("inc/now.h", "#include <vector>\ninline int then() { return __TIME__[7]; }\n")
        checkout.write("now.cc", text + "\n")
    assert one.load("now.cc")["origin"] == one.load("now.cc")["origin"] == two.load("now.cc")["origin"] == "compiled"
    assert not one.modules()
    # Whoever wants to keep it says what time it is.
    defines = {"__DATE__": '"Jan  1 2026"', "__TIME__": '"00:00:00"', "__TIMESTAMP__": '"then"'}
    options = {"defines": defines, "cflags": ["-Wno-builtin-macro-redefined"]}
    assert [checkout.load("now.cc", **options)["origin"] for checkout in (one, two)] == ["compiled", "disk"]


def test_the_place_of_this_package_is_not_in_a_module(checkouts):
    one, _ = checkouts()
    import tarsia

    one.write("own.cc", "#include <tarsia/op.h>\n#include <vector>\n" + SOURCE)
    one.load("own.cc")
    [module] = one.modules().values()
    assert str(pathlib.Path(tarsia.__file__).parent).encode() not in module
