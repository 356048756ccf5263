"""The command `tarsia cache`, with entries that real compiles made."""

import json
import os
import subprocess
import sys

import places
import pytest

import tarsia

SOURCE = '#include "near.h"\nint answer() { return NEAR; }\n'


@pytest.fixture
def cache(tmp_path):
    """Runs `tarsia` with words in a folder with a source and a cache of its own; raises unless it ends with `code`."""
    (tmp_path / "near.h").write_text("#define NEAR 42\n")
    (tmp_path / "op.cc").write_text(SOURCE)
    env = {**os.environ, "TARSIA_CACHE_DIR": str(tmp_path / "cache")}

    def run(*words, code=0):
        done = subprocess.run([places.command(), *map(str, words)], cwd=tmp_path, capture_output=True, text=True, timeout=300, env=env)
        assert done.returncode == code, (done.stdout, done.stderr)
        return done.stdout if code == 0 else done.stdout + done.stderr

    def python(text):
        done = subprocess.run([sys.executable, "-c", text], cwd=tmp_path, capture_output=True, text=True, timeout=300, env=env)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run.python = python
    run.folder = tmp_path
    return run


def stats(cache):
    return json.loads(cache("cache", "stats", "--json"))


def modules(cache):
    return sorted((cache.folder / "cache/1/module").rglob("*.so"))


def test_stats_count_the_requests_of_all_processes(cache):
    empty = stats(cache)
    assert empty["entries"] == empty["bytes"] == 0 and not any(empty["hits"].values()) and not any(empty["misses"].values())
    load = "import tarsia, json; lib = tarsia.load('op.cc'); lib = tarsia.load('op.cc'); "
    print_counts = load + "print(json.dumps(tarsia.stats()['cache']))"
    first = json.loads(cache.python(print_counts))
    assert first["misses"]["absent"] == first["compiles"] == first["hits"]["memory"] == 1
    second = json.loads(cache.python(print_counts))
    assert second["hits"] == {"disk": 1, "memory": 1, "remote": 0} and second["compiles"] == 0
    now = stats(cache)
    assert now["hits"] == {"disk": 1, "memory": 2, "remote": 0}
    assert now["misses"] == {"absent": 1, "changed": 0, "damaged": 0, "fault": 0, "gone": 0}
    assert now["compiles"] == now["entries"] == 1
    assert now["bytes"] == sum(of["bytes"] for of in now["kinds"].values()) > modules(cache)[0].stat().st_size
    assert "hits       3 (disk 1, memory 2)" in cache("cache", "stats")


def test_stats_speak_prometheus_text(cache):
    cache.python("import tarsia; tarsia.load('op.cc'); tarsia.load('op.cc')")
    lines = cache("cache", "stats", "--prometheus").splitlines()
    samples = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    assert samples['tarsia_cache_hits_total{tier="memory"}'] == samples['tarsia_cache_misses_total{reason="absent"}'] == "1"
    assert samples["tarsia_cache_compiles_total"] == samples["tarsia_cache_entries"] == "1"
    now = stats(cache)
    assert samples["tarsia_cache_bytes"] == str(now["bytes"]) and samples["tarsia_cache_max_bytes"] == str(now["max_bytes"])
    kinds = {line.split()[2]: line.split()[3] for line in lines if line.startswith("# TYPE")}
    times = "tarsia_cache_compile_seconds"
    assert kinds.pop(times) == "histogram" and samples.pop(times + "_count") == "1" and 0 < float(samples.pop(times + "_sum")) < 300
    buckets = [samples.pop(name) for name in list(samples) if name.startswith(times + "_bucket{le=")]
    assert buckets == sorted(buckets) and buckets[-1] == "1"
    assert {name.split("{")[0] for name in samples} == set(kinds)
    assert all((kind == "counter") == name.endswith("_total") for name, kind in kinds.items())
    expected = {f"tarsia_cache_{name}_total": now[name] for name in ("compiles", "compile_failures", "waits", "forbidden", "store_failures")}
    for group, label in (("hits", "tier"), ("misses", "reason"), ("remote", "event")):
        expected |= {f'tarsia_cache_{group}_total{{{label}="{member}"}}': number for member, number in now[group].items()}
    assert {name: int(value) for name, value in samples.items() if name.split("{")[0].endswith("_total")} == expected
    limits, numbers = zip(*now["compile_seconds"]["ranges"], strict=True)
    assert limits[0] == 0.01 and limits[-1] is None and sum(numbers) == 1 and now["compile_seconds"]["sum"] > 0
    assert "excludes" in cache("cache", "stats", "--json", "--prometheus", code=2)


def test_ls_and_show_tell_of_the_entries(cache):
    assert cache("cache", "ls") == "the cache has no entries\n" and cache("cache", "ls", "--json") == "[]\n"
    cache.python("import tarsia; tarsia.load('op.cc', name='mine')")
    cache("compile", "-O3", "op.cc", "-o", "lib.so")
    listed = cache("cache", "ls").splitlines()
    assert len(listed) == 3 and any(line.endswith("mine") for line in listed) and any(line.endswith("op.cc") for line in listed)
    mine = next(one for one in json.loads(cache("cache", "ls", "--json")) if one["library"] == "mine")
    assert mine["path"] in map(str, modules(cache)) and mine["files"] >= 1
    shown = json.loads(cache("cache", "show", mine["key"][:10], "--json"))
    inputs = {one["name"]: one["shown"] for one in shown["inputs"]}
    assert inputs["option opt"] == "2" and inputs["file op.cc"] == f"{len(SOURCE)} bytes" and inputs["the CPU"].startswith("x86-64")
    near = next(one for one in shown["files"] if one["path"].endswith("near.h"))
    assert near["state"] == "the same"
    (cache.folder / "near.h").write_text("#define NEAR 43\n")
    assert "near.h: changed" in cache("cache", "show", mine["key"])
    assert "no entry's key begins with 'zz'" in cache("cache", "show", "zz", code=1)
    assert "several entries' keys begin with ''" in cache("cache", "show", "", code=1)


def test_explain_ends_with_the_input_that_differs(cache):
    assert "no entry is of a source with these files" in cache("cache", "explain", "op.cc")
    cache.python("import tarsia; tarsia.load('op.cc')")
    assert "op.cc [" in cache("cache", "explain", "op.cc") and "hits the entry" in cache("cache", "explain", "op.cc")
    hit = json.loads(cache("cache", "explain", "op.cc", "--json"))
    assert hit["hit"] and hit["nearest"]["key"] in str(modules(cache)[0]).replace("/", "") and not hit["differences"]

    def last(*words):
        return cache("cache", "explain", *words).splitlines()[-1].strip()

    assert last("op.cc", "-O3") == "option opt: it was 2, and is 3"
    assert last("op.cc", "-DN=4") == "option defines: it was empty, and is N=4"
    assert last("op.cc", "--march", "znver3") == "option march: it was empty, and is znver3"
    (cache.folder / "near.h").write_text("#define NEAR 43000\n")
    assert last("op.cc").endswith("near.h: its content changed (19 bytes)")
    (cache.folder / "near.h").write_text("#define NEAR 42\n")
    assert json.loads(cache("cache", "explain", "op.cc", "--json"))["hit"]
    (cache.folder / "near.h").unlink()
    assert last("op.cc").endswith("near.h: it is gone")
    (cache.folder / "near.h").write_text("#define NEAR 42\n")
    (cache.folder / "op.cc").write_text(SOURCE + "\n")
    assert last("op.cc") == f"file op.cc: its text changed ({len(SOURCE)} bytes then, {len(SOURCE) + 1} bytes now)"


def test_explain_finds_a_file_that_appeared_before_another(cache):
    first, second = cache.folder / "first", cache.folder / "second"
    first.mkdir(), second.mkdir()
    (second / "far.h").write_text("#define FAR 1\n")
    (cache.folder / "far.cc").write_text("#include <far.h>\nint far() { return FAR; }\n")
    words = "far.cc", "-I", first, "-I", second
    cache("compile", *words, "-o", "lib.so")
    assert "hits the entry" in cache("cache", "explain", *words)
    (first / "far.h").write_text("#define FAR 2\n")
    root, last = cache("cache", "explain", *words).splitlines()[-2:]
    assert root.strip() == f"(<include_dirs 0> is {first})"
    assert last.strip() == "<include_dirs 0>/far.h: it appeared: the compiler had looked for it in vain"


def test_explain_knows_a_source_by_each_of_its_names(cache):
    below = cache.folder / "below"
    below.mkdir()
    (below / "op.cc").write_text("int one() { return 1; }")
    for load in ("tarsia.load('below/op.cc')", "tarsia.load_inline(open('below/op.cc').read())"):
        cache.python(f"import tarsia; {load}")
        assert "hits the entry" in cache("cache", "explain", "below/op.cc")
        cache("cache", "clear")


def test_verify_finds_damage_and_removes_it(cache):
    cache.python("import tarsia; tarsia.load('op.cc'); tarsia.load_inline('int f() { return 1; }')")
    assert " entries are whole, 0 damaged" in cache("cache", "verify")
    path = modules(cache)[0]
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    assert f"damaged: {path}: it is not whole" in cache("cache", "verify", code=1)
    assert path.exists()  # who only asks changes nothing
    damaged = json.loads(cache("cache", "verify", "--json", "--remove"))["damaged"]
    assert [(one["path"], one["removed"]) for one in damaged] == [(str(path), True)] and not path.exists()
    assert " 0 damaged" in cache("cache", "verify")


def test_a_damaged_entry_is_told_compiled_again_and_counted(cache):
    load = "import tarsia; print(tarsia.load('op.cc').origin)"
    cache.python(load)
    [path] = modules(cache)
    path.write_bytes(path.read_bytes()[:-1])
    for _ in range(2):  # asking changes nothing
        told = cache("cache", "explain", "op.cc")
        assert "not in the cache: damaged" in told and told.endswith(f"the module {path.parent.name}{path.name[:10]}: it is damaged\n")
    assert "damaged: " in cache("cache", "verify", code=1)
    assert cache.python(load) == "compiled\n"
    assert stats(cache)["misses"]["damaged"] == 1
    assert "it was found damaged before, and set aside" in cache("cache", "verify", code=1)
    cache("cache", "verify", "--remove")
    assert " 0 damaged" in cache("cache", "verify")


def test_damage_of_what_stands_beside_the_modules_harms_nothing(cache):
    load = "import tarsia; print(tarsia.load('op.cc').origin)"
    cache.python(load)
    root = cache.folder / "cache/1"
    [inputs] = (path for path in (root / "inputs").rglob("*") if path.is_file())
    inputs.write_bytes(b"x" * 500)
    (root / "counts").write_bytes(b"TarsiaCt" + b"\xff" * 5000)
    assert cache.python(load) == "disk\n"
    assert stats(cache)["hits"] == {"disk": 1, "memory": 0, "remote": 0} and stats(cache)["compiles"] == 0  # counted anew
    assert cache("cache", "ls").splitlines()[1].endswith("?")
    assert "they are not kept any more" in cache("cache", "show", json.loads(cache("cache", "ls", "--json"))[0]["key"])
    assert "hits the entry" in cache("cache", "explain", "op.cc")
    (cache.folder / "op.cc").write_text(SOURCE + "//")
    assert "no entry is of a source with these files" in cache("cache", "explain", "op.cc")
    assert f"damaged: {inputs}" in cache("cache", "verify", code=1)


def test_many_processes_count_together(cache):
    cache.python("import tarsia; tarsia.load('op.cc')")
    load = "import tarsia, os; libs = [tarsia.load('op.cc') for _ in range(5)]; pid = os.fork()\nif pid == 0: tarsia.load('op.cc')\nelse: os.waitpid(pid, 0)"
    env = {**os.environ, "TARSIA_CACHE_DIR": str(cache.folder / "cache")}
    running = [subprocess.Popen([sys.executable, "-c", load], cwd=cache.folder, env=env) for _ in range(8)]
    for _ in range(5):
        assert stats(cache)["entries"] == 1  # asked meanwhile
        json.loads(cache("cache", "ls", "--json")), cache("cache", "verify")
    assert [one.wait(300) for one in running] == [0] * 8
    now = stats(cache)
    assert now["hits"] == {"disk": 8, "memory": 8 * 5, "remote": 0} and now["compiles"] == 1 and now["misses"]["absent"] == 1


def test_processes_load_while_others_clear(cache):
    load = "import tarsia\nfor i in range(10): assert tarsia.load_inline('int f() { return 1; }').f() == 1"
    env = {**os.environ, "TARSIA_CACHE_DIR": str(cache.folder / "cache")}
    running = [subprocess.Popen([sys.executable, "-c", load], cwd=cache.folder, env=env) for _ in range(4)]
    while any(one.poll() is None for one in running):
        cache("cache", "clear")
        cache("cache", "verify")
        cache("cache", "ls")
    assert [one.wait(300) for one in running] == [0] * 4


def test_a_read_only_folder_is_told_of_and_not_changed(cache):
    cache.python("import tarsia; tarsia.load('op.cc')")
    before = stats(cache)
    folder = cache.folder / "cache"
    mount = f"mount --bind {folder} {folder} && mount -o remount,bind,ro {folder}"
    if subprocess.run(["unshare", "--mount", "sh", "-c", mount], capture_output=True).returncode:
        pytest.skip("mounting is not allowed here")

    def run(*words):
        script = f'{mount} && exec "$@"'
        return subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh", *map(str, words)], cwd=cache.folder, capture_output=True, text=True,
                              timeout=300, env={**os.environ, "TARSIA_CACHE_DIR": str(folder)})

    command = places.command()
    assert "hits the entry" in run(command, "cache", "explain", "op.cc").stdout
    assert run(sys.executable, "-c", "import tarsia; print(tarsia.load('op.cc').origin)").stdout == "disk\n"
    now = json.loads(run(command, "cache", "stats", "--json").stdout)
    assert {**now, "since": 0} == {**before, "since": 0}
    assert " 0 damaged" in run(command, "cache", "verify").stdout
    [path] = modules(cache)
    path.write_bytes(b"damaged")
    removed = run(command, "cache", "verify", "--remove")
    assert removed.returncode == 1 and f"damaged: {path}" in removed.stdout and path.exists()
    cleared = run(command, "cache", "clear")
    assert cleared.returncode == 1 and "Read-only file system" in cleared.stderr and path.exists()


def test_prune_and_clear_remove(cache):
    for i in range(4):
        cache.python(f"import tarsia; tarsia.load_inline('int f() {{ return {i}; }}')")
    before = stats(cache)
    most = before["bytes"] // 2
    left = json.loads(cache("cache", "prune", "--max-size", most, "--json"))
    assert left["bytes"] <= most and left["removed"] > 0 and stats(cache)["bytes"] == left["bytes"]
    for wrong in ("", "5X", "-1", "M", "99999999999999999999", "17179869184G"):
        assert "--max-size" in cache("cache", "prune", f"--max-size={wrong}", code=2 if not wrong else 1), wrong
    assert cache("cache", "clear").endswith("0 B are left\n")
    now = stats(cache)
    assert now["entries"] == now["bytes"] == 0 and now["compiles"] == 4  # what was counted stays
    assert cache.python("import tarsia; print(tarsia.load_inline('int f() { return 0; }').origin)") == "compiled\n"


def test_clear_leaves_what_a_program_has_open(cache, monkeypatch):
    monkeypatch.setenv("TARSIA_CACHE_DIR", str(cache.folder / "cache"))
    lib = tarsia.load_inline("int f() { return 8; }")
    assert lib.origin == "compiled"
    cache("cache", "clear")
    assert lib.f() == 8


def test_a_pack_brings_modules_to_another_cache(cache):
    load = "import tarsia; lib = tarsia.load('op.cc'); print(lib.origin, lib.answer())"
    cache.python(load)
    cache.python("import tarsia; tarsia.load_inline('int f() { return 1; }')")
    assert cache("cache", "export", "ops.pack").startswith("2 modules are in ops.pack, ")
    assert cache("cache", "import", "ops.pack") == "2 modules came from ops.pack; 2 of them were there\n"
    cache("cache", "clear")
    assert json.loads(cache("cache", "import", "--json", "ops.pack")) == {
        "modules": 2, "known": 0, "revoked": 0, "signer": "", "bytes": (cache.folder / "ops.pack").stat().st_size}
    assert cache.python("import tarsia\nwith tarsia.no_compile(): print(tarsia.load('op.cc').answer())") == "42\n"
    assert cache.python(load) == "disk 42\n" and "hits the entry" in cache("cache", "explain", "op.cc")
    assert " 0 damaged" in cache("cache", "verify")
    (cache.folder / "near.h").write_text("#define NEAR 43\n")
    assert cache.python(load) == "compiled 43\n"

    cache("cache", "clear")
    pack = (cache.folder / "ops.pack").read_bytes()
    for wrong in (pack[:-1], pack[:1000], b"", pack[:500] + b"!" + pack[501:], b"\x7fELF" + pack):
        (cache.folder / "wrong.pack").write_bytes(wrong)
        assert "wrong.pack is not taken in: it is no whole pack of Tarsia's: " in cache("cache", "import", "wrong.pack", code=1)
    assert stats(cache)["entries"] == 0
    assert "cannot read the pack nowhere.pack" in cache("cache", "import", "nowhere.pack", code=1)
    assert "cannot write nowhere/ops.pack" in cache("cache", "export", "nowhere/ops.pack", code=1)


def test_a_folder_that_is_not_used_is_told(cache):
    (cache.folder / "cache").mkdir(mode=0o777)
    (cache.folder / "cache").chmod(0o777)
    for words in (["stats"], ["ls"], ["verify"], ["clear"], ["export", "ops.pack"], ["import", "ops.pack"]):
        assert "others may write to it" in cache("cache", *words, code=1)
    assert "no command 'cach'" in cache("cach", code=2)


def test_links_in_the_folder_are_not_followed(cache):
    """What somebody links into the folder stays whole: fault 18."""
    cache("compile", "op.cc", "-o", "op.so")
    victim = cache.folder / "victim"
    victim.mkdir()
    (victim / "important.txt").write_text("dear")
    for at in ("module/ab", "source/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"):
        (cache.folder / "cache/1" / at).parent.mkdir(exist_ok=True)
        (cache.folder / "cache/1" / at).symlink_to(victim)
    assert "a symbolic link where an entry would be" in cache("cache", "verify", code=1)
    cache("cache", "prune", "--max-size", "0")
    cache("cache", "clear")
    assert (victim / "important.txt").read_text() == "dear" and not modules(cache)
    cache("cache", "verify", "--remove")
    assert (victim / "important.txt").read_text() == "dear" and not (cache.folder / "cache/1/module/ab").is_symlink()


def test_what_is_written_goes_to_files_alone(cache):
    cache("compile", "op.cc", "-o", "op.so")
    os.mkfifo(cache.folder / "fifo")
    for words in (["cache", "export", "fifo"], ["pack", "op.cc", "-o", "fifo"], ["compile", "op.cc", "-o", "fifo"]):
        assert "fifo: it is no regular file; choose another name" in cache(*words, code=1)
    assert (cache.folder / "fifo").is_fifo()
    (cache.folder / "link.pack").symlink_to("target.pack")  # to nothing yet
    for _ in range(2):
        cache("cache", "export", "link.pack")
        assert (cache.folder / "link.pack").is_symlink() and not (cache.folder / "target.pack").is_symlink()
    assert "1 modules came from target.pack; 1 of them were there" in cache("cache", "import", "target.pack")
    umask = os.umask(0o022)
    os.umask(umask)
    assert (cache.folder / "target.pack").stat().st_mode & 0o777 == 0o644 & ~umask


def test_an_output_is_no_source(cache):
    for words in (["pack", "op.cc", "-o", "op.cc"], ["compile", "op.cc", "-o", "./../" + cache.folder.name + "/op.cc"]):
        assert "is a source: give it another name" in cache(*words, code=1)
    assert (cache.folder / "op.cc").read_text() == SOURCE
    told = cache.python("import tarsia, pathlib\ntry: tarsia.compile(pathlib.Path('op.cc'), 'op.cc')\nexcept tarsia.ArgumentValueError as e: print(e)")
    assert "output is the source op.cc" in told and (cache.folder / "op.cc").read_text() == SOURCE


def test_a_misspelt_action_is_suggested(cache):
    assert "there is no command 'cache stat'; did you mean 'stats'?" in cache("cache", "stat", code=2)


def test_explain_tells_of_another_order(cache):
    (cache.folder / "other.cc").write_text("int other() { return 1; }\n")
    cache("compile", "op.cc", "other.cc", "-o", "op.so")
    assert "the order of the files: it was op.cc, other.cc, and is other.cc, op.cc" in cache("cache", "explain", "other.cc", "op.cc")
