"""Shared stores for tests: nginx and Redis for real, servers that do what no server should, and machines that ask them."""

import contextlib
import hashlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time

import places
import pytest

SOURCE = '#include "near.h"\nint answer() { return NEAR; }\n'


@contextlib.contextmanager
def served(script, *words, lines=1):
    """Runs scripts/http-cache or scripts/redis; gives the URL, or several."""
    program = {"http-cache": "nginx", "redis": "redis-server"}[script]
    if not shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin"):
        pytest.skip(f"{program} is not installed")
    server = subprocess.Popen([places.REPO / "scripts" / script, *words], stdout=subprocess.PIPE, text=True)
    try:
        urls = [server.stdout.readline().strip() for _ in range(lines)]
        yield urls[0] if lines == 1 else urls
    finally:
        server.terminate()
        server.wait(10)
        server.stdout.close()


def make_keys(path):
    """A pair of keys by the command; gives the path of the signing key."""
    done = subprocess.run([places.command(), "cache", "keygen", str(path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return str(path)


class Host:
    """A machine: a checkout and a cache folder of its own."""

    def __init__(self, folder, url="", sign="", trust="", near=42):
        self.folder = folder
        folder.mkdir(parents=True)
        (folder / "near.h").write_text(f"#define NEAR {near}\n")
        (folder / "op.cc").write_text(SOURCE)
        env = {name: value for name, value in os.environ.items() if not name.startswith(("TARSIA_REMOTE", "TARSIA_SIGN", "TARSIA_TRUST", "TARSIA_CONFIG"))}
        self.env = {**env, "TARSIA_CACHE_DIR": str(folder / "cache"), "XDG_CONFIG_HOME": str(folder / "config"), "TARSIA_REMOTE": url}
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
counts = tarsia.stats()["cache"]
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


class Redis:
    """Speaks to a server of Redis, given its URL."""

    def __init__(self, url):
        host, _, rest = url.rpartition("@")[2].removeprefix("redis://").partition(":")
        self._socket = socket.create_connection((host, int(rest.partition("/")[0])))
        self._file = self._socket.makefile("rb")
        if "@" in url:
            self.ask("AUTH", *url.removeprefix("redis://").rpartition("@")[0].split(":"))

    def ask(self, *words):
        data = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        self._socket.sendall(b"*%d\r\n" % len(data) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in data))
        return self._reply()

    def _reply(self):
        line = self._file.readline()[:-2]
        kind, rest = line[:1], line[1:]
        if kind == b"$":
            return None if rest == b"-1" else self._file.read(int(rest) + 2)[:-2]
        if kind == b"*":
            return [self._reply() for _ in range(int(rest))]
        assert kind != b"-", rest
        return int(rest) if kind == b":" else rest

    def entries(self):
        """Without leases, which a process that ends in a hurry may leave behind."""
        return {key: self.ask("GET", key) for key in self.ask("KEYS", "tarsia:*") if not re.match(b"tarsia:lease:", key if isinstance(key, bytes) else key.encode())}

    def close(self):
        self._file.close()
        self._socket.close()
