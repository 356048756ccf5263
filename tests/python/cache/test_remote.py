"""Modules through a shared store: nginx for real, and servers that do what no server should."""

import contextlib
import hashlib
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import threading
import time

import places
import pytest

if not shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin"):
    pytest.skip("nginx is not installed", allow_module_level=True)

SOURCE = '#include "near.h"\nint answer() { return NEAR; }\n'
HTTP_CACHE = places.REPO / "scripts/http-cache"


@contextlib.contextmanager
def http_cache(*words):
    """Runs scripts/http-cache; gives the URL."""
    server = subprocess.Popen([HTTP_CACHE, *words], stdout=subprocess.PIPE, text=True)
    try:
        yield server.stdout.readline().strip()
    finally:
        server.terminate()
        server.wait(10)


@pytest.fixture
def store(tmp_path):
    """The URL of a store, and its folder."""
    folder = tmp_path / "store"
    with http_cache("--folder", str(folder)) as url:
        yield url, folder / "cache"


@pytest.fixture
def keys(tmp_path):
    """Makes a pair of keys by the command; gives the path of the signing key."""

    def make(name):
        done = subprocess.run([places.command(), "cache", "keygen", str(tmp_path / name)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return str(tmp_path / name)

    return make


class Host:
    """A machine: a checkout and a cache folder of its own."""

    def __init__(self, folder, url="", sign="", trust="", near=42):
        self.folder = folder
        folder.mkdir(parents=True)
        (folder / "near.h").write_text(f"#define NEAR {near}\n")
        (folder / "op.cc").write_text(SOURCE)
        env = {name: value for name, value in os.environ.items() if not name.startswith(("TARSIA_REMOTE", "TARSIA_SIGN", "TARSIA_TRUST"))}
        self.env = {**env, "TARSIA_CACHE_DIR": str(folder / "cache"), "TARSIA_REMOTE": url}
        if sign:
            self.env["TARSIA_SIGN_KEY"] = sign
        if trust:
            self.env["TARSIA_TRUST"] = trust

    def run(self, text, fails=False, **env):
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", text], cwd=self.folder, env={**self.env, **env}, capture_output=True, text=True, timeout=300)
        assert (done.returncode != 0) == fails, (done.stdout, done.stderr)
        self.told = done.stderr
        return done.stderr if fails else json.loads(done.stdout.splitlines()[-1])

    def load(self, before="", after="", source="'op.cc'", **env):
        """Loads the source in a new process. Gives origin, answer, the seconds that it took, and what the store did."""
        return self.run(f"""
import json, os, sys, time, tarsia
{before}
start = time.monotonic()
lib = tarsia.load({source})
took = time.monotonic() - start
{after}
counts = tarsia.statistics()["cache"]
print(json.dumps({{"origin": lib.origin, "answer": lib.answer(), "took": took, "hits": counts["hits"]["remote"], **counts["remote"]}}))
""", **env)


def blobs(folder):
    return sorted(path for path in (folder / "cas").rglob("*") if path.is_file())


def replace_blob(folder, change):
    """Changes every envelope in the store, and lets the names in ac/ follow."""
    for path in blobs(folder):
        old = path.read_bytes()
        new = change(old)
        path.write_bytes(new)
        renamed = path.with_name(hashlib.sha256(new).hexdigest())
        path.rename(renamed)
        for result in (folder / "ac").rglob("*"):
            data = result.read_bytes()
            if path.name.encode() not in data:
                continue
            size = lambda n: bytes([n & 127 | 128, n >> 7]) if 128 <= n < 1 << 14 else varint(n)  # noqa: E731
            assert data.count(path.name.encode()) == 1
            result.write_bytes(action_result(renamed.name, len(new)))


def varint(n):
    out = bytearray()
    while n >= 0x80:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out + bytes([n]))


def action_result(name, size):
    digest = b"\x0a\x40" + name.encode() + b"\x10" + varint(size)
    file = b"\x0a\x0ctarsia-entry\x12" + varint(len(digest)) + digest
    return b"\x12" + varint(len(file)) + file


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
])
def test_settings_that_make_no_sense_are_errors_that_say_so(tmp_path, store, keys, env, says):
    key = keys("key")
    os.chmod(key + ".pub", 0o600)
    host = Host(tmp_path / "host", store[0])
    text = host.run("import tarsia; tarsia.load('op.cc')", fails=True, **{name: value.replace("KEY", key) for name, value in env.items()})
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
    first = {path: path.read_bytes() for path in (folder / "ac").rglob("*")}
    Host(tmp_path / "two", url, sign=key, near=2).load()
    [module] = [path for path in first if path.read_bytes() == first[path]]  # the list's was replaced
    [newer] = [path for path in (folder / "ac").rglob("*") if path not in first]
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
    with http_cache("--user", "bob:secret") as url:
        with_user = url.replace("http://", "http://bob:secret@")
        builder = Host(tmp_path / "builder", with_user, sign=key)
        builder.load(TARSIA_LOG="trace")
        assert "secret" not in builder.told
        assert Host(tmp_path / "reader", url, trust=key + ".pub").load()["origin"] == "remote"
        stranger = Host(tmp_path / "stranger", with_user.replace("secret", "guess"), sign=key, near=1)
        assert stranger.load(after="lib2 = 0", TARSIA_LOG="trace")["origin"] == "compiled"
        assert "status 401" in stranger.told and "guess" not in stranger.told
        assert Host(tmp_path / "reader2", url, trust=key + ".pub", near=1).load()["origin"] == "compiled"


class Rogue:
    """A server on a port of its own that answers each connection by `act(connection, number)`."""

    def __init__(self, act):
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}/cache"
        self.connections = 0
        self.open = []
        threading.Thread(target=self._serve, args=(act,), daemon=True).start()

    def _serve(self, act):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            self.connections += 1
            self.open.append(connection)
            threading.Thread(target=self._answer, args=(act, connection), daemon=True).start()

    @staticmethod
    def _answer(act, connection):
        with contextlib.suppress(OSError):
            act(connection)

    def close(self):
        self.socket.close()
        for connection in self.open:
            connection.close()


def drip(connection):
    connection.recv(4096)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    for _ in range(1000):
        connection.sendall(b"x")
        time.sleep(0.2)


def reset(connection):
    connection.recv(4096)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    connection.close()


def answer(text):
    def act(connection):
        while connection.recv(4096):
            connection.sendall(text)
    return act


def endless(connection):
    connection.recv(4096)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 536870912\r\n\r\n")
    while True:
        connection.sendall(b"x" * 65536)


FAILING = {
    "silent": lambda connection: connection.recv(1 << 20) and time.sleep(60),
    "drip": drip,
    "reset": reset,
    "error": answer(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"),
    "redirect": answer(b"HTTP/1.1 302 Go\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"),
    "no HTTP": answer(b"+OK hello\r\n"),
}


@pytest.mark.parametrize("fault", FAILING)
def test_a_store_that_does_not_answer_costs_its_deadline_once_for_all_processes(tmp_path, keys, fault):
    server = Rogue(FAILING[fault])
    host = Host(tmp_path / "host", server.url, trust=keys("key") + ".pub")
    got = host.load(before="tarsia.load_inline('int warm() { return 1; }')")
    assert (got["origin"], got["answer"], got["failures"]) == ("compiled", 42, 1)
    assert got["skipped"] == 1 and server.connections == 1  # the second look-up of this process
    (host.folder / "near.h").write_text("#define NEAR 7\n")
    got = host.load()
    assert (got["origin"], got["answer"], got["failures"], got["skipped"]) == ("compiled", 7, 0, 1)
    assert server.connections == 1
    server.close()


def test_the_deadline_is_half_a_second(tmp_path, keys):
    server = Rogue(FAILING["silent"])
    host = Host(tmp_path / "host", server.url, trust=keys("key") + ".pub")
    got = host.run("""
import ctypes, json, time, tarsia, os
first = {}
def took(text):
    start = time.monotonic()
    tarsia.load_inline(text)
    return time.monotonic() - start
os.environ["TARSIA_REMOTE"], url = "", os.environ["TARSIA_REMOTE"]
took("int zero() { return 0; }")
without = min(took(f"int a{i}() {{ return {i}; }}") for i in range(5))
os.environ["TARSIA_REMOTE"] = url
once = took("int b() { return 1; }")
then = min(took(f"int c{i}() {{ return {i}; }}") for i in range(5))
print(json.dumps([without, once, then]))
""")
    without, once, then = got
    assert 0.4 < once - without < 0.9, got
    assert then - without < 0.05, got
    server.close()


def test_nobody_listens(tmp_path, keys):
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}/cache"
    got = Host(tmp_path / "host", url, sign=keys("key")).load()
    assert (got["origin"], got["failures"]) == ("compiled", 1)


@pytest.mark.parametrize("text, refused", [
    (b"HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\n<html>it works</html>", 1),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 1),
    (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", 0),
], ids=["html", "empty", "404"])
def test_answers_that_are_no_entries_are_misses_and_the_store_is_asked_again(tmp_path, keys, text, refused):
    server = Rogue(answer(text))
    got = Host(tmp_path / "host", server.url, trust=keys("key") + ".pub").load(before="tarsia.load_inline('int warm() { return 1; }')")
    assert (got["origin"], got["refused"], got["failures"], got["skipped"], got["misses"]) == ("compiled", 2 * refused, 0, 0, 2)
    server.close()


def test_an_answer_of_512_mib_is_not_read(tmp_path, keys):
    server = Rogue(endless)
    got = Host(tmp_path / "host", server.url, trust=keys("key") + ".pub").load(
        after="import resource; assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 400_000")
    assert (got["origin"], got["refused"]) == ("compiled", 1)
    server.close()


def test_a_server_that_dies_during_a_put_kills_nobody(tmp_path, keys):
    def act(connection):
        request = connection.recv(16)
        if request.startswith(b"GET"):
            connection.recv(4096)
            connection.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        else:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        connection.close()

    server = Rogue(act)
    host = Host(tmp_path / "host", server.url, sign=keys("key"))
    got = host.load(before="import signal; signal.signal(signal.SIGPIPE, signal.SIG_DFL)",
                    after="[tarsia.load_inline(f'int f{i}() {{ return {i}; }}') for i in range(5)]\n"
                          "end = time.monotonic() + 20\n"
                          "while not tarsia.statistics()['cache']['remote']['not_sent'] >= 6 and time.monotonic() < end: time.sleep(0.01)")
    assert (got["origin"], got["sent"], got["not_sent"]) == ("compiled", 0, 6)
    assert got["failures"] == 1 and server.connections < 12  # no storm
    server.close()


def test_the_end_of_a_program_waits_half_a_second_at_most(tmp_path, keys):
    def act(connection):
        if connection.recv(16).startswith(b"GET"):
            connection.recv(4096)
            connection.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            connection.close()
        else:
            time.sleep(60)

    server = Rogue(act)
    host = Host(tmp_path / "host", server.url, sign=keys("key"))
    began = time.monotonic()
    end = host.run("import tarsia, time; tarsia.load('op.cc'); print(time.monotonic())")
    assert 0.3 < time.monotonic() - end < 1.5, (began, end)
    server.close()


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
print(json.dumps([status, tarsia.load("op.cc").origin, tarsia.statistics()["cache"]["remote"]["failures"]]))
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
print(json.dumps([found.count("compiled"), tarsia.statistics()["cache"]["hits"]["remote"]]))
""")
    assert got == [0, 1]


def test_a_disk_without_room_still_gives_the_library(tmp_path, store, keys):
    """The fetched entry cannot be kept: the source is compiled, as it is without a store."""
    url, _ = store
    key = keys("key")
    Host(tmp_path / "builder", url, sign=key).load()
    reader = Host(tmp_path / "reader", url, trust=key + ".pub")
    cache = reader.folder / "cache"
    cache.mkdir(mode=0o700)
    mounted = subprocess.run(["unshare", "-rm", "true"], capture_output=True).returncode == 0
    if not mounted:
        pytest.skip("no private mounts here")
    script = f"mount -t tmpfs -o size=64k,mode=700 tmpfs {cache} && head -c 60000 /dev/zero > {cache}/filler; exec {sys.executable} -W ignore -c \"import tarsia; lib = tarsia.load('op.cc'); assert lib.answer() == 42; print(lib.origin)\""
    done = subprocess.run(["unshare", "-rm", "bash", "-c", script], cwd=reader.folder, env=reader.env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and done.stdout.strip() == "compiled", (done.stdout, done.stderr)
