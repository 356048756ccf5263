"""Modules through a shared store behind HTTP: nginx for real."""

import json
import os
import pathlib
import subprocess
import sys

import places
import pytest
from stores import Host, blobs, replace_blob, served


@pytest.fixture
def store(tmp_path):
    """The URL of a store, and its folder."""
    folder = tmp_path / "store"
    with served("http-cache", "--folder", str(folder)) as url:
        yield url, folder / "cache"


def test_what_one_machine_compiles_others_fetch(tmp_path, store, keys):
    url, folder = store
    key = keys("key")
    builder = Host(tmp_path / "builder", url, sign=key)
    assert builder.load()["origin"] == "compiled"
    assert len(blobs(folder)) == 2  # pending write-back is finished at exit: the list of files, and the module
    reader = Host(tmp_path / "deep/in/reader", url, trust=key + ".pub")
    got = reader.load()
    assert (got["origin"], got["answer"], got["hits"]) == ("remote", 42, 1)
    again = reader.load()
    assert (again["origin"], again["hits"], again["misses"]) == ("disk", 0, 0)
    other = Host(tmp_path / "other", url, trust=key + ".pub", near=43)
    got = other.load()
    assert (got["origin"], got["answer"], got["misses"]) == ("compiled", 43, 1)
    assert got["sent"] == got["not_sent"] == 0 and len(blobs(folder)) == 2  # a reader sends nothing


def test_what_several_machines_compile_of_one_source_is_all_kept(tmp_path, store, keys):
    url, _ = store
    key = keys("key")
    for near in (1, 2, 3):
        assert Host(tmp_path / f"builder{near}", url, sign=key, near=near).load()["origin"] == "compiled"
    for near in (1, 2, 3):
        got = Host(tmp_path / f"reader{near}", url, trust=key + ".pub", near=near).load()
        assert (got["origin"], got["answer"]) == ("remote", near)


def test_kernels_travel_too(tmp_path, store, keys):
    url, _ = store
    key = keys("key")
    kernel = '#include "near.h"\n__global__ void k(int* x) { *x = NEAR; }\nint answer() { return NEAR; }\n'
    hosts = [Host(tmp_path / "builder", url, sign=key), Host(tmp_path / "reader", url, trust=key + ".pub")]
    for host in hosts:
        (host.folder / "op.cu").write_text(kernel)
    assert [host.load(source="'op.cu'")["origin"] for host in hosts] == ["compiled", "remote"]


def test_who_signs_needs_no_trust_and_gets_its_own(tmp_path, store, keys):
    url, _ = store
    key = keys("key")
    assert [Host(tmp_path / name, url, sign=key).load()["origin"] for name in "ab"] == ["compiled", "remote"]


def test_the_signing_key_is_private_and_its_worker_never_sees_it(tmp_path, store, keys):
    key = keys("key")
    assert os.stat(key).st_mode & 0o777 == 0o600
    done = subprocess.run([places.command(), "cache", "keygen", key], capture_output=True, text=True)
    assert done.returncode != 0 and "exists already" in done.stderr
    host = Host(tmp_path / "host", store[0], sign=key)
    host.load(after="""
children = open(f"/proc/self/task/{os.getpid()}/children").read().split()
assert children
for child in children:
    environment = open(f"/proc/{child}/environ").read()
    assert "TARSIA_SIGN_KEY" not in environment and "TARSIA_REMOTE" not in environment, environment
    open_files = [os.readlink(f"/proc/{child}/fd/{fd}") for fd in os.listdir(f"/proc/{child}/fd")]
    assert os.environ["TARSIA_SIGN_KEY"] not in open_files
""")
    os.chmod(key, 0o644)
    assert "chmod 600" in Host(tmp_path / "careless", store[0], sign=key).run("import tarsia; tarsia.load('op.cc')", fails=True)


@pytest.mark.parametrize("env, says", [
    ({}, "TARSIA_TRUST"),
    ({"TARSIA_TRUST": "/nowhere.pub"}, "keygen"),
    ({"TARSIA_TRUST": "KEY"}, "is a signing key"),
    ({"TARSIA_SIGN_KEY": "KEY.pub"}, "is no signing key"),
    ({"TARSIA_TRUST": "KEY.pub", "TARSIA_REMOTE": "ftp://user:secret@nowhere/"}, "ftp://nowhere/ is no URL"),
    ({"TARSIA_TRUST": "KEY.pub", "TARSIA_REMOTE": "http://user:a/secret@nowhere/cache"}, "http://nowhere/cache has an @"),
    ({"TARSIA_TRUST": "KEY.pub", "TARSIA_REMOTE": "redis://user:a/secret@nowhere"}, "redis://nowhere has an @"),
    ({"TARSIA_TRUST": "KEY.pub", "TARSIA_REMOTE": "redis://user:secret,b@nowhere"}, "number 2 of its URLs"),
    ({"TARSIA_TRUST": "KEY.pub", "TARSIA_REMOTE": "http://nowhere/cache?token=secret"}, "http://nowhere/cache has an @, a ?"),
    ({"TARSIA_TRUST": "REVOKED", "TARSIA_SIGN_KEY": "KEY"}, "is revoked"),
    ({"TARSIA_TRUST": " , "}, "TARSIA_TRUST is set, and names no file"),
    ({"TARSIA_SIGN_KEY": "/tmp"}, "a folder or a device"),
    ({"TARSIA_TRUST": "KEY.pub", "TARSIA_REMOTE": "redis://u:secret@127.0.0.1:99999/0"}, "no port between 1 and 65535"),
    ({"TARSIA_TRUST": "KEY.pub", "TARSIA_REMOTE": "redis://127.0.0.1:0/0"}, "no port between 1 and 65535"),
    ({"TARSIA_TRUST": "KEY.pub", "TARSIA_REMOTE": "http://u:secret@127.0.0.1:99999/c"}, "no port between 1 and 65535"),
    ({"TARSIA_TRUST": "KEY.pub", "TARSIA_REMOTE": "https://u:secret@h:bad/"}, "no port between 1 and 65535"),
    ({"TARSIA_TRUST": "KEY.pub", "TARSIA_REMOTE": "http:///cache"}, "names no host"),
    ({"TARSIA_TRUST": "KEY.pub", "TARSIA_REMOTE": "http://"}, "names no host"),
    ({"TARSIA_TRUST": "KEY.pub", "TARSIA_REMOTE": "http://127.0.0.1:1/a b"}, "a space or a control character"),
    ({"TARSIA_TRUST": "KEY.pub", "TARSIA_REMOTE": "http://u:pa@secret@host/c"}, "@ is %40"),
])
def test_settings_that_make_no_sense_are_errors_that_say_so(tmp_path, store, keys, env, says):
    key = keys("key")
    os.chmod(key + ".pub", 0o600)
    (tmp_path / "revoked").write_text(pathlib.Path(key + ".pub").read_text().replace("tarsia public key 1", "revoked"))
    host = Host(tmp_path / "host", store[0])
    text = host.run("import tarsia; tarsia.load('op.cc')", fails=True, **{name: value.replace("KEY", key).replace("REVOKED", str(tmp_path / "revoked")) for name, value in env.items()})
    assert says in text and "secret" not in text


@pytest.mark.parametrize("change", [
    lambda b: b[:-1] + bytes([b[-1] ^ 1]),
    lambda b: b[:80] + bytes([b[80] ^ 1]) + b[81:],
    lambda b: b[: len(b) // 2],
    lambda b: b"",
    lambda b: b"<html>it works</html>",
    lambda b: b"\0" * 200_000,
], ids=["signature", "content", "truncated", "empty", "html", "zeros"])
def test_a_tampered_entry_is_refused_and_compiled(tmp_path, store, keys, change):
    url, folder = store
    key = keys("key")
    Host(tmp_path / "builder", url, sign=key).load()
    replace_blob(folder, change)
    got = Host(tmp_path / "reader", url, trust=key + ".pub").load()
    assert (got["origin"], got["answer"], got["refused"], got["hits"]) == ("compiled", 42, 1, 0)


def test_an_entry_replayed_under_another_key_is_refused(tmp_path, store, keys):
    url, folder = store
    key = keys("key")
    Host(tmp_path / "one", url, sign=key, near=1).load()
    def results():
        texts = {path: path.read_bytes() for path in (folder / "ac").rglob("*")}
        return {path: text for path, text in texts.items() if b"tarsia lease" not in text}

    first = results()
    Host(tmp_path / "two", url, sign=key, near=2).load()
    [module] = [path for path in first if path.read_bytes() == first[path]]  # the list's was replaced
    [newer] = [path for path in results() if path not in first]
    module.write_bytes(newer.read_bytes())
    got = Host(tmp_path / "reader", url, trust=key + ".pub", near=1).load()
    assert (got["origin"], got["answer"], got["refused"]) == ("compiled", 1, 1)


def test_entries_of_strangers_are_refused_and_revoked_ones_go_from_the_disk(tmp_path, store, keys):
    url, _ = store
    key, stranger = keys("key"), keys("stranger")
    Host(tmp_path / "builder", url, sign=key).load()
    got = Host(tmp_path / "suspicious", url, trust=stranger + ".pub").load()
    assert (got["origin"], got["refused"]) == ("compiled", 1)
    reader = Host(tmp_path / "reader", url, trust=key + ".pub")
    assert reader.load()["origin"] == "remote"
    revoked = tmp_path / "revoked"
    revoked.write_text(pathlib.Path(key + ".pub").read_text().replace("tarsia public key 1", "revoked"))
    both = f"{key}.pub,{revoked}"
    # A hit on the disk asks no store; whoever starts anything that misses drops what the key signed.
    reader.run("import tarsia; tarsia.load_inline('int other() { return 1; }'); print(1)", TARSIA_TRUST=both)
    got = reader.load(TARSIA_TRUST=both)
    assert (got["origin"], got["refused"]) == ("compiled", 1)


def test_unsigned_stores_only_by_the_unsafe_switch(tmp_path, store, keys):
    url, _ = store
    assert Host(tmp_path / "builder", url, trust="unsafe-unsigned").load()["origin"] == "compiled"
    got = Host(tmp_path / "careful", url, trust=keys("key") + ".pub").load()
    assert (got["origin"], got["refused"]) == ("compiled", 1)
    reader = Host(tmp_path / "careless", url, trust="unsafe-unsigned")
    assert reader.load(TARSIA_LOG="warn")["origin"] == "remote"
    assert "can run code here" in reader.told


def test_a_password_is_sent_and_never_shown(tmp_path, keys):
    key = keys("key")
    with served("http-cache", "--user", "bob:secret") as url:
        with_user = url.replace("http://", "http://bob:secret@")
        builder = Host(tmp_path / "builder", with_user, sign=key)
        builder.load(TARSIA_LOG="trace")
        assert "secret" not in builder.told
        assert Host(tmp_path / "reader", url, trust=key + ".pub").load()["origin"] == "remote"
        stranger = Host(tmp_path / "stranger", with_user.replace("secret", "guess"), sign=key, near=1)
        assert stranger.load(after="lib2 = 0", TARSIA_LOG="trace")["origin"] == "compiled"
        assert "status 401" in stranger.told and "guess" not in stranger.told
        assert Host(tmp_path / "reader2", url, trust=key + ".pub", near=1).load()["origin"] == "compiled"


def test_a_forked_child_fetches_by_itself_and_sends_nothing_of_its_parents(tmp_path, store, keys):
    url, folder = store
    key = keys("key")
    Host(tmp_path / "builder", url, sign=key).load()
    Host(tmp_path / "builder7", url, sign=key, near=7).load()
    reader = Host(tmp_path / "reader", url, trust=key + ".pub")
    got = reader.run("""
import json, os, tarsia
assert tarsia.load("op.cc").origin == "remote"
open("near.h", "w").write("#define NEAR 7\\n")
child = os.fork()
if child == 0:
    lib = tarsia.load("op.cc")
    os._exit(0 if (lib.origin, lib.answer()) == ("remote", 7) else 1)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
open("near.h", "w").write("#define NEAR 8\\n")  # the parent's connection is still good
print(json.dumps([status, tarsia.load("op.cc").origin, tarsia.stats()["cache"]["remote"]["failures"]]))
""")
    assert got == [0, "compiled", 0]


def test_threads_that_ask_at_once_fetch_once(tmp_path, store, keys):
    url, _ = store
    key = keys("key")
    Host(tmp_path / "builder", url, sign=key).load()
    got = Host(tmp_path / "reader", url, trust=key + ".pub").run("""
import json, threading, tarsia
found = []
threads = [threading.Thread(target=lambda: found.append(tarsia.load("op.cc").origin)) for _ in range(8)]
[t.start() for t in threads], [t.join() for t in threads]
print(json.dumps([len(found), found.count("compiled"), tarsia.stats()["cache"]["hits"]["remote"]]))
""")
    assert got == [8, 0, 1]


def test_a_disk_without_room_still_takes_modules_of_the_store(tmp_path, store, keys):
    """The fetched entry cannot be kept on disk, and serves from memory."""
    url, _ = store
    key = keys("key")
    Host(tmp_path / "builder", url, sign=key).load()
    reader = Host(tmp_path / "reader", url, trust=key + ".pub")
    cache = reader.folder / "cache"
    cache.mkdir(mode=0o700)
    mounted = subprocess.run(["unshare", "-rm", "true"], capture_output=True).returncode == 0
    if not mounted:
        pytest.skip("mounting is not allowed here")
    script = f"mount -t tmpfs -o size=64k,mode=700 tmpfs {cache} && head -c 60000 /dev/zero > {cache}/filler; exec {sys.executable} -W ignore -c \"import tarsia; lib = tarsia.load('op.cc'); assert lib.answer() == 42; print(lib.origin)\""
    done = subprocess.run(["unshare", "-rm", "bash", "-c", script], cwd=reader.folder, env=reader.env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and done.stdout.strip() == "remote", (done.stdout, done.stderr)


def test_reading_and_writing_are_allowed_separately(tmp_path, store, keys):
    url, folder = store
    key = keys("key")
    Host(tmp_path / "shy", url, sign=key).load(TARSIA_REMOTE_ACCESS="read")
    assert not blobs(folder)
    Host(tmp_path / "builder", url, sign=key).load()
    got = Host(tmp_path / "writer", url, sign=key).load(TARSIA_REMOTE_ACCESS="write")
    assert (got["origin"], got["hits"], got["misses"]) == ("compiled", 0, 0)
    assert Host(tmp_path / "both", url, sign=key).load(TARSIA_REMOTE_ACCESS="read-write")["origin"] == "remote"
    text = Host(tmp_path / "odd", url, sign=key).run("import tarsia; tarsia.load('op.cc')", fails=True, TARSIA_REMOTE_ACCESS="all")
    assert "TARSIA_REMOTE_ACCESS is 'all'" in text


def test_a_config_file_names_the_store_and_the_environment_goes_before_it(tmp_path, store, keys):
    url, _ = store
    key = keys("key")
    Host(tmp_path / "builder", url, sign=key).load()

    def host(name, text):
        made = Host(tmp_path / name)
        del made.env["TARSIA_REMOTE"]
        config = made.folder / "config/tarsia/config"
        config.parent.mkdir(parents=True)
        config.write_text(text)
        return made

    good = f"# the fleet's store\n\nremote = {url}\ntrust={key}.pub\n"
    assert host("reader", good).load()["origin"] == "remote"
    assert host("off", good).load(TARSIA_REMOTE="")["origin"] == "compiled"
    at_home = good.replace(os.path.dirname(key), "~")
    assert "trust=~/" in at_home and host("home", at_home).load(HOME=os.path.dirname(key))["origin"] == "remote"
    text = host("twice", good + f"trust={key}.pub\n").run("import tarsia; tarsia.load('op.cc')", fails=True)
    assert "line 5 gives trust a second time" in text
    elsewhere = host("elsewhere", "")
    (elsewhere.folder / "mine").write_text(good)
    assert elsewhere.load(TARSIA_CONFIG=str(elsewhere.folder / "mine"))["origin"] == "remote"
    text = host("bad", good + "remotes = x\n").run("import tarsia; tarsia.load('op.cc')", fails=True)
    assert "line 5 is none of" in text
    text = elsewhere.run("import tarsia; tarsia.load('op.cc')", fails=True, TARSIA_CONFIG="/nowhere")
    assert "/nowhere is not used" in text


def test_a_revocation_counts_without_a_store_too(tmp_path, store, keys):
    url, _ = store
    key = keys("key")
    Host(tmp_path / "builder", url, sign=key).load()
    reader = Host(tmp_path / "reader", url, trust=key + ".pub")
    assert reader.load()["origin"] == "remote"
    revoked = tmp_path / "revoked"
    revoked.write_text(pathlib.Path(key + ".pub").read_text().replace("tarsia public key 1", "revoked"))
    got = reader.load(TARSIA_REMOTE="", TARSIA_TRUST=str(revoked))
    assert (got["origin"], got["answer"]) == ("compiled", 42)


def test_a_folder_is_gone_through_once_for_a_revocation_and_later_modules_of_the_key_go_too(tmp_path, store, keys):
    url, _ = store
    key = keys("key")
    Host(tmp_path / "builder", url, sign=key).load()
    reader = Host(tmp_path / "reader", url, trust=key + ".pub")
    revoked = tmp_path / "revoked"
    revoked.write_text(pathlib.Path(key + ".pub").read_text().replace("tarsia public key 1", "revoked"))
    suspicious = {"TARSIA_REMOTE": "", "TARSIA_TRUST": str(revoked)}
    reader.run("import tarsia; tarsia.load_inline('int other() { return 1; }'); print(1)", **suspicious)
    [note] = (reader.folder / "cache").rglob("revoked-*")
    written = note.stat().st_mtime_ns
    assert reader.load()["origin"] == "remote"  # by a program that does not know of the revocation
    assert reader.load()["origin"] == "disk"
    got = reader.load(TARSIA_LOG="warn", **suspicious)
    assert (got["origin"], got["answer"]) == ("compiled", 42) and "its signer's key is revoked" in reader.told
    assert note.stat().st_mtime_ns == written
    assert reader.load()["origin"] == "disk"  # what was compiled here since


def test_keys_rotate(tmp_path, store, keys):
    """Readers trust the new key before builders use it, and the old one as long as its entries are of use."""
    url, _ = store
    old, new = keys("old"), keys("new")
    both = tmp_path / "both"
    both.write_text("# 2026\n" + pathlib.Path(old + ".pub").read_text() + pathlib.Path(new + ".pub").read_text())
    Host(tmp_path / "builder1", url, sign=old, trust=str(both), near=1).load()
    Host(tmp_path / "builder2", url, sign=new, trust=str(both), near=2).load()
    for near in (1, 2):
        got = Host(tmp_path / f"reader{near}", url, trust=str(both), near=near).load()
        assert (got["origin"], got["answer"]) == ("remote", near)


def test_without_a_usable_folder_modules_of_the_store_serve_from_memory(tmp_path, store, keys):
    url, _ = store
    key = keys("key")
    Host(tmp_path / "builder", url, sign=key).load()
    reader = Host(tmp_path / "reader", url, trust=key + ".pub")
    (reader.folder / "cache").mkdir()
    (reader.folder / "cache").chmod(0o777)
    got = reader.load(after="assert tarsia.load('op.cc').origin == 'memory'")
    assert (got["origin"], got["answer"]) == ("remote", 42)
    assert not list((reader.folder / "cache").iterdir())


def test_where_nothing_may_be_compiled_the_store_still_serves(tmp_path, store, keys):
    url, _ = store
    key = keys("key")
    Host(tmp_path / "builder", url, sign=key).load()
    got = Host(tmp_path / "reader", url, trust=key + ".pub").run("""
import json, tarsia
with tarsia.no_compile():
    lib = tarsia.load("op.cc")
    try:
        tarsia.load_inline("int other() { return 1; }")
        refused = False
    except tarsia.CompileForbidden:
        refused = True
counts = tarsia.stats()["cache"]
print(json.dumps([lib.origin, refused, counts["hits"]["remote"], counts["misses"]["absent"], counts["forbidden"], counts["compiles"]]))
""")
    assert got == ["remote", True, 1, 1, 1, 0]


def test_without_libcurl_a_warning_says_what_to_install(tmp_path, store, keys):
    url, _ = store
    libraries = tmp_path / "libraries"
    libraries.mkdir()
    (libraries / "libcurl.so.4").touch()  # the dynamic linker finds it, and refuses it
    got = Host(tmp_path / "reader", url, trust=keys("key") + ".pub").run("""
import json, tarsia, warnings
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    lib = tarsia.load("op.cc")
print(json.dumps([lib.origin, [str(one.message) for one in told], tarsia.stats()["cache"]["remote"]["failures"]]))
""", LD_LIBRARY_PATH=str(libraries))
    assert got[0] == "compiled" and got[2] == 0 and len(got[1]) == 1
    assert "needs libcurl.so.4" in got[1][0] and "apt install" in got[1][0]


def test_the_command_tells_what_all_processes_did(tmp_path, store, keys):
    url, _ = store
    key = keys("key")
    builder = Host(tmp_path / "builder", url, sign=key)
    builder.load()
    reader = Host(tmp_path / "reader", url, trust=key + ".pub")
    reader.load()
    reader.load()
    reader.run("import tarsia; tarsia.load_inline('int other() { return 1; }'); print(1)")

    def stats(host, *words):
        done = subprocess.run([places.command(), "cache", "stats", *words], env=host.env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    told = json.loads(stats(reader, "--json"))
    assert told["hits"] == {"memory": 0, "disk": 1, "remote": 1} and told["remote"]["misses"] == 1 and told["compiles"] == 1
    assert sum(told["misses"].values()) == 1  # the hit of the store is none
    assert json.loads(stats(builder, "--json"))["remote"]["sent"] == 1
    assert "remote sent     1" in stats(builder)


def test_a_revoked_key_is_not_laundered_by_who_packs_its_modules(tmp_path, store, keys):
    """A pack tells of all who signed a module before its own signer, and to revoke one of them is enough."""
    url, _ = store
    stolen, packer = keys("stolen"), keys("packer")
    Host(tmp_path / "builder", url, sign=stolen).load()
    middle = Host(tmp_path / "middle", url, trust=stolen + ".pub")
    assert middle.load()["origin"] == "remote"

    def command(host, *words, **env):
        done = subprocess.run([places.command(), *words], cwd=tmp_path, capture_output=True, text=True, timeout=300,
                              env={**os.environ, "TARSIA_CACHE_DIR": str(host.folder / "cache"), "TARSIA_REMOTE": "", **env})
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    command(middle, "cache", "export", "all.pack", TARSIA_SIGN_KEY=packer)  # before anybody knew
    revoked = tmp_path / "revoked"
    revoked.write_text(pathlib.Path(stolen + ".pub").read_text().replace("tarsia public key 1", "revoked"))
    aware = {"TARSIA_REMOTE": "", "TARSIA_TRUST": f"{packer}.pub,{revoked}"}

    late = Host(tmp_path / "late", url, trust=packer + ".pub")
    command(late, "cache", "import", "all.pack", TARSIA_TRUST=packer + ".pub")
    assert late.load(TARSIA_REMOTE="")["origin"] == "disk"
    assert late.load(**aware)["origin"] == "compiled"

    wise = Host(tmp_path / "wise", url)
    told = command(wise, "cache", "import", "all.pack", TARSIA_TRUST=aware["TARSIA_TRUST"])
    assert "0 modules" in told and "1 modules are left out, since the key of one who signed them is revoked" in told
    told = command(middle, "cache", "export", "none.pack", TARSIA_SIGN_KEY=packer, TARSIA_TRUST=str(revoked))
    assert "0 modules are in none.pack" in told and "1 modules are left out" in told
