"""Shared stores that are slow, broken or gone: a look-up ends in time, the store is left alone, and the source compiles."""

import contextlib
import shutil
import socket
import ssl
import subprocess
import threading
import time

import pytest
from stores import Host, Rogue, answer, drip, endless, reset, served


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


def answers_reads_alone(connection):
    """Has nothing, by HTTP or by Redis, and says nothing to who writes."""
    while request := connection.recv(1 << 20):
        if request.startswith(b"GET "):
            connection.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
        elif request.startswith(b"*2\r\n$3\r\nGET"):
            connection.sendall(b"$-1\r\n")


@pytest.mark.parametrize("scheme", ["http", "redis"])
def test_a_store_that_is_silent_to_who_writes_is_waited_for_once(tmp_path, keys, scheme):
    server = Rogue(answers_reads_alone)
    url = server.url if scheme == "http" else server.url.replace("http", "redis").replace("/cache", "/0")
    host = Host(tmp_path / "host", url, sign=keys("key"))
    many = "".join(f"tarsia.load_inline('int f{i}() {{ return {i}; }}')\n" for i in range(4))
    for turn in range(2):
        (host.folder / "near.h").write_text(f"#define NEAR {turn}\n")
        got = host.load(before=many if turn == 0 else "")
        assert (got["origin"], got["answer"]) == ("compiled", turn)
        assert got["failures"] == (1 if turn == 0 else 0), got
    server.close()


def test_a_store_that_takes_no_entry_before_a_programs_end_is_left_alone_by_the_next(tmp_path, keys):
    server = Rogue(answers_reads_alone)
    host = Host(tmp_path / "host", server.url, sign=keys("key"))
    # Without leases, the entry itself is the first that is written: when the program ends, nobody has answered yet.
    ends = "import time, tarsia; t = time.monotonic(); tarsia.load_inline('int f() {{ return {}; }}'); print(time.monotonic() - t)"
    host.run(ends.format(1), TARSIA_REMOTE_ACCESS="write")
    host.run(ends.format(2), TARSIA_REMOTE_ACCESS="write")
    assert server.connections == 1
    server.close()


def test_a_program_ends_while_what_it_compiled_is_sent(tmp_path, keys):
    """OpenSSL takes itself apart when the program ends, and must not while a connection is being made: a long configuration
    keeps it busy, some milliseconds up to a second."""
    server = Rogue(answers_reads_alone)
    key = keys("key")
    for n in range(6):
        host = Host(tmp_path / f"host{n}", server.url, sign=key)  # another one would leave the store alone
        (tmp_path / "openssl.cnf").write_text("openssl_conf = none\n" + "".join(f"a{i} = b\n" for i in range(30000 * (n + 1))))
        host.run(f"import tarsia; print(tarsia.load_inline('int f() {{ return {n}; }}').f())", TARSIA_REMOTE_ACCESS="write",
                 OPENSSL_CONF=str(tmp_path / "openssl.cnf"))
    server.close()


def test_the_deadline_is_half_a_second(tmp_path, keys):
    server = Rogue(FAILING["silent"])
    host = Host(tmp_path / "host", server.url, trust=keys("key") + ".pub")
    got = host.run("""
import json, os, time, tarsia
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
    assert 0.4 < once - without < 1.5, got
    assert then - without < 0.2, got
    server.close()


def test_a_host_that_takes_no_connections_costs_a_tenth_of_a_second(tmp_path, keys):
    """Its queue is full, so the kernel drops what comes: as behind a firewall that swallows packets."""
    with socket.socket() as server, contextlib.ExitStack() as stack:
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        for _ in range(4):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(server.getsockname())
        address = f"127.0.0.1:{server.getsockname()[1]}"
        for url in (f"http://{address}/cache", f"redis://{address}/0"):
            key = keys(url[:4] + "-key") + ".pub"
            got = [Host(tmp_path / f"{url[:5]}{i}", url, trust=key).run("""
import json, os, time, tarsia
url, os.environ["TARSIA_REMOTE"] = os.environ["TARSIA_REMOTE"], ""
def took(text):
    start = time.monotonic()
    tarsia.load_inline(text)
    return time.monotonic() - start
took("int zero() { return 0; }")
without = min(took(f"int a{i}() {{ return {i}; }}") for i in range(5))
os.environ["TARSIA_REMOTE"] = url
print(json.dumps([took("int b() { return 1; }") - without, tarsia.stats()["cache"]["remote"]["failures"]]))
""") for i in range(3)]
            assert {failures for _, failures in got} == {1}
            assert 0.05 < min(longer for longer, _ in got) < 0.45, got  # a silent one would take half a second; a busy machine adds to it


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
        after="assert int(open('/proc/self/status').read().partition('VmHWM:')[2].split()[0]) < 400_000")
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
                          "while not tarsia.stats()['cache']['remote']['not_sent'] >= 6 and time.monotonic() < end: time.sleep(0.01)")
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
    end = host.run("import tarsia, time; tarsia.load('op.cc'); print(time.monotonic())", TARSIA_REMOTE_ACCESS="write")
    assert 0.3 < time.monotonic() - end < 1, (began, end)
    server.close()


@pytest.fixture
def tls(tmp_path):
    """The file of a certificate for 127.0.0.1, and what a server with it needs."""
    if not shutil.which("openssl"):
        pytest.skip("needs openssl")
    certificate, secret = tmp_path / "certificate", tmp_path / "secret"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
                    "-keyout", secret, "-out", certificate], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, secret)
    return certificate, context


def test_a_server_whose_certificate_nobody_vouches_for_is_asked_nothing(tmp_path, keys, tls):
    asked = []

    def act(connection):
        with tls[1].wrap_socket(connection, server_side=True) as secured:
            asked.append(secured.recv(4096))

    server = Rogue(act)
    host = Host(tmp_path / "host", server.url.replace("http://", "https://"), trust=keys("key") + ".pub")
    got = host.load()
    assert (got["origin"], got["failures"]) == ("compiled", 1)
    assert b"".join(asked) == b""
    server.close()


def copy(source, to, noted=None):
    """Passes on what comes, and that nothing comes any more."""
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            if noted is not None:
                noted.append(data)
            to.sendall(data)
        to.shutdown(socket.SHUT_WR)


def test_a_server_with_a_trusted_certificate_takes_and_gives_entries(tmp_path, keys, tls):
    with served("http-cache") as url:
        asked = []

        def act(connection):  # as a proxy in front of the store
            with tls[1].wrap_socket(connection, server_side=True) as secured, \
                    socket.create_connection(("127.0.0.1", int(url.split(":")[2].split("/")[0]))) as behind:
                back = threading.Thread(target=copy, args=(behind, secured), daemon=True)
                back.start()
                copy(secured, behind, asked)
                back.join()

        server = Rogue(act)
        https, key = server.url.replace("http://", "https://"), keys("key")
        got = Host(tmp_path / "writes", https, sign=key).load(SSL_CERT_FILE=str(tls[0]))
        assert (got["origin"], got["answer"], got["failures"]) == ("compiled", 42, 0)
        reader = Host(tmp_path / "reads", https, trust=key + ".pub")
        got = reader.load(SSL_CERT_FILE=str(tls[0]))
        assert (got["origin"], got["answer"], got["failures"], got["hits"]) == ("remote", 42, 0, 1)
        assert any(data.startswith(b"PUT /cache/") for data in asked) and any(data.startswith(b"GET /cache/") for data in asked)
        # The same store, without the certificate and under a name that is not on it.
        n = len(asked)
        for i, (url, trusted) in enumerate([(https, {}), (https.replace("127.0.0.1", "localhost"), {"SSL_CERT_FILE": str(tls[0])})]):
            got = Host(tmp_path / f"refuses{i}", url, trust=key + ".pub").load(**trusted)
            assert (got["origin"], got["failures"], got["hits"]) == ("compiled", 1, 0), url
        assert len(asked) == n
        server.close()
