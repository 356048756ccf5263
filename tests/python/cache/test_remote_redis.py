"""Modules through a shared store in Redis: redis-server for real, with and without users."""

import random
import socket
import time

import pytest
from stores import Host, Redis, Rogue, served


@pytest.fixture
def store():
    """The URL of a store, and a connection to it."""
    with served("redis") as url:
        redis = Redis(url)
        yield url, redis
        redis.close()


def test_what_one_machine_compiles_others_fetch(tmp_path, store, keys):
    url, redis = store
    key = keys("key")
    assert Host(tmp_path / "builder", url, sign=key).load()["origin"] == "compiled"
    assert len(redis.entries()) == 2  # the list of files, and the module
    reader = Host(tmp_path / "deep/in/reader", url, trust=key + ".pub")
    got = reader.load()
    assert (got["origin"], got["answer"], got["hits"]) == ("remote", 42, 1)
    assert reader.load()["origin"] == "disk"
    other = Host(tmp_path / "other", url, trust=key + ".pub", near=43).load()
    assert (other["origin"], other["answer"], other["misses"]) == ("compiled", 43, 1)
    assert len(redis.entries()) == 2  # a reader sends nothing


def near_with(size):
    """A near.h whose module has so many bytes more, which no compression makes small."""
    kept = ", ".join(str(byte) for byte in random.Random(1).randbytes(size))
    return ("#define NEAR 42\n" if not size else
            f"inline constexpr unsigned char large[] = {{{kept}}};\nstatic int at = 7;\n#define NEAR (large[at] == {random.Random(1).randbytes(size)[7]} ? 42 : 1)\n"
            "const void* tarsia_test_kept() { return large; }\n")


@pytest.mark.parametrize("size, gets", [(0, 1), (150_000, 2)])
def test_a_small_module_comes_with_its_list(tmp_path, store, keys, size, gets):
    url, redis = store
    key = keys("key")
    hosts = Host(tmp_path / "builder", url, sign=key), Host(tmp_path / "reader", url, trust=key + ".pub")
    for host in hosts:
        (host.folder / "near.h").write_text(near_with(size))
    assert hosts[0].load()["origin"] == "compiled"
    redis.ask("CONFIG", "RESETSTAT")
    got = hosts[1].load()
    assert (got["origin"], got["answer"], got["hits"]) == ("remote", 42, 1)
    assert f"cmdstat_get:calls={gets}," in str(redis.ask("INFO", "commandstats"))


def test_users_with_passwords_read_and_write_what_they_may(tmp_path, keys):
    key = keys("key")
    with served("redis", "--acl", lines=2) as (builder_url, reader_url):
        builder = Host(tmp_path / "builder", builder_url, sign=key)
        builder.load(TARSIA_LOG="trace")
        reader = Host(tmp_path / "reader", reader_url, trust=key + ".pub")
        assert reader.load(TARSIA_LOG="trace")["origin"] == "remote"
        for host, url in ((builder, builder_url), (reader, reader_url)):
            assert url.split(":")[2].split("@")[0] not in host.told
        # Who may only read is refused by the server, and still reads.
        writer = Host(tmp_path / "writer", reader_url, sign=key)
        got = writer.load(before="tarsia.load_inline('int more() { return 1; }')",
                          after="end = time.monotonic() + 20\n"
                                "while not tarsia.stats()['cache']['remote']['not_sent'] and time.monotonic() < end: time.sleep(0.01)",
                          TARSIA_LOG="warn")
        assert (got["origin"], got["failures"], got["not_sent"]) == ("remote", 1, 1) and "NOPERM" in writer.told
        stranger = Host(tmp_path / "stranger", builder_url.split("builder:")[0] + builder_url.split("@")[1], trust=key + ".pub")
        got = stranger.load(TARSIA_LOG="warn")
        assert (got["origin"], got["failures"]) == ("compiled", 1) and "NOAUTH" in stranger.told
        wrong = Host(tmp_path / "wrong", builder_url.replace("builder:", "builder:x"), trust=key + ".pub")
        assert wrong.load(TARSIA_LOG="warn")["origin"] == "compiled" and "WRONGPASS" in wrong.told


@pytest.mark.parametrize("state, says", [(("CONFIG", "SET", "maxmemory", "1"), "OOM"), (("REPLICAOF", "127.0.0.1", "1"), "READONLY")])
def test_a_server_that_takes_nothing_is_left_alone_with_entries_and_still_read(tmp_path, store, keys, state, says):
    url, redis = store
    key = keys("key")
    Host(tmp_path / "builder", url, sign=key).load()
    redis.ask("CONFIG", "SET", "maxmemory-policy", "noeviction")
    redis.ask(*state)
    writer = Host(tmp_path / "writer", url, sign=key)
    got = writer.load(before="".join(f"tarsia.load_inline('int f{i}() {{{{ return {i}; }}}}')\n".replace("{{{{", "{").replace("}}}}", "}") for i in range(3)),
                      after="end = time.monotonic() + 20\n"
                            "while not tarsia.stats()['cache']['remote']['not_sent'] >= 3 and time.monotonic() < end: time.sleep(0.01)",
                      TARSIA_LOG="warn")
    assert (got["origin"], got["failures"], got["sent"], got["not_sent"]) == ("remote", 1, 0, 3) and says in writer.told


@pytest.mark.parametrize("change", [
    lambda b: b[:-1] + bytes([b[-1] ^ 1]),
    lambda b: b[:90] + bytes([b[90] ^ 1]) + b[91:],
    lambda b: b[: len(b) // 2],
    lambda b: b"",
    lambda b: b"<html>it works</html>",
], ids=["signature", "content", "truncated", "empty", "html"])
def test_a_tampered_entry_is_refused_and_compiled(tmp_path, store, keys, change):
    url, redis = store
    key = keys("key")
    Host(tmp_path / "builder", url, sign=key).load()
    for name, value in redis.entries().items():
        redis.ask("SET", name, change(value))
    got = Host(tmp_path / "reader", url, trust=key + ".pub").load()
    assert (got["origin"], got["answer"], got["refused"], got["hits"]) == ("compiled", 42, 1, 0)


def test_an_entry_replayed_under_another_key_is_refused(tmp_path, store, keys):
    url, redis = store
    key = keys("key")
    Host(tmp_path / "one", url, sign=key, near=1).load()
    first = redis.entries()
    Host(tmp_path / "two", url, sign=key, near=2).load()
    [other] = [value for name, value in redis.entries().items() if name not in first]
    for name in first:
        redis.ask("SET", name, other)
    got = Host(tmp_path / "reader", url, trust=key + ".pub", near=1).load()
    assert (got["origin"], got["answer"], got["refused"]) == ("compiled", 1, 1)


def test_a_value_of_another_type_and_one_of_512_mib_are_misses(tmp_path, store, keys):
    url, redis = store
    key = keys("key")
    Host(tmp_path / "builder", url, sign=key).load()
    names = list(redis.entries())
    for name in names:
        redis.ask("DEL", name)
        redis.ask("LPUSH", name, "x")
    got = Host(tmp_path / "reader", url, trust=key + ".pub").load()
    assert (got["origin"], got["refused"], got["failures"]) == ("compiled", 1, 0)
    redis.ask("CONFIG", "SET", "maxmemory", 0)
    for name in names:
        redis.ask("DEL", name)
        redis.ask("SETRANGE", name, (512 << 20) - 1, "x")
    got = Host(tmp_path / "reader2", url, trust=key + ".pub").load(
        after="assert int(open('/proc/self/status').read().partition('VmHWM:')[2].split()[0]) < 400_000")
    # Redis copies it first, and may not have begun to answer when the time is over.
    assert got["origin"] == "compiled" and got["refused"] + got["failures"] == 1


def silent(connection):
    connection.recv(1 << 20)
    time.sleep(60)


def drip(connection):
    connection.recv(1 << 20)
    connection.sendall(b"$1000\r\n")
    for _ in range(1000):
        connection.sendall(b"x")
        time.sleep(0.2)


def closes(connection):
    connection.recv(1 << 20)
    connection.sendall(b"$1000\r\nhalf")
    connection.close()


def html(connection):
    connection.recv(1 << 20)
    connection.sendall(b"<html>it works</html>\r\n")


def many(connection):
    connection.recv(1 << 20)
    connection.sendall(b"*1000000\r\n" + b":1\r\n" * 1000000)


@pytest.mark.parametrize("act", [silent, drip, closes, html, many])
def test_a_server_that_does_not_answer_is_left_alone_by_all_processes(tmp_path, keys, act):
    server = Rogue(act)
    host = Host(tmp_path / "host", server.url.replace("http://", "redis://").replace("/cache", "/0"), trust=keys("key") + ".pub")
    got = host.load(before="tarsia.load_inline('int warm() { return 1; }')")
    assert (got["origin"], got["failures"], got["skipped"]) == ("compiled", 1, 1)
    (host.folder / "near.h").write_text("#define NEAR 7\n")
    got = host.load()
    assert (got["origin"], got["answer"], got["failures"], got["skipped"]) == ("compiled", 7, 0, 1)
    assert server.connections == 1
    server.close()


def test_a_connection_that_the_server_closed_while_it_was_idle_is_opened_again(tmp_path, store, keys):
    url, redis = store
    key = keys("key")
    builder = Host(tmp_path / "builder", url, sign=key)
    builder.load()
    port = url.rpartition(":")[2].split("/")[0]
    reader = Host(tmp_path / "reader", url, trust=key + ".pub")
    got = reader.load(before=f"""
tarsia.load_inline('int warm() {{ return 1; }}')
import socket
admin = socket.create_connection(("127.0.0.1", {port}))
admin.sendall(b"CLIENT KILL TYPE normal SKIPME yes\\r\\n")
assert admin.recv(100).startswith(b":")
""")
    assert (got["origin"], got["failures"]) == ("remote", 0)
    redis._socket.close()


@pytest.mark.parametrize("url, says", [("redis://", "names no host"), ("redis://:99999999/0", "names no host"),
                                       ("redis://host:port/0", "no port between 1 and 65535"),
                                       ("redis://user@host/0", "is no URL of Redis"), ("redis://host/db", "is no URL of Redis")])
def test_a_url_that_is_none_is_an_error(tmp_path, keys, url, says):
    text = Host(tmp_path / "host", url, sign=keys("key")).run("import tarsia; tarsia.load('op.cc')", fails=True)
    assert says in text


def test_the_first_of_several_stores_that_has_it_gives_it(tmp_path, store, keys):
    url, redis = store
    key = keys("key")
    with served("http-cache") as http:
        Host(tmp_path / "builder", f"{http},{url}", sign=key).load()  # both get it
        assert len(redis.entries()) == 2
    # The first one is gone.
    got = Host(tmp_path / "reader", f"{http},{url}", trust=key + ".pub").load()
    assert (got["origin"], got["failures"]) == ("remote", 1)


def unsigned_with_payload(envelope, payload):
    """The envelope with another payload, and without a signature (cache/remote/envelope.h): one raw block of zstd's."""
    assert len(payload) < 256
    block = (len(payload) << 3 | 1).to_bytes(3, "little") + payload
    frame = b"\x28\xb5\x2f\xfd\x20" + bytes([len(payload)]) + block
    head = envelope[:48] + bytes(8) + bytes(4) + len(payload).to_bytes(8, "little") + len(frame).to_bytes(8, "little")
    return head + frame + bytes(64)


def test_a_module_that_does_not_load_here_is_a_miss(tmp_path, store, keys):
    url, redis = store
    builder, reader = Host(tmp_path / "builder", url, sign=keys("key")), Host(tmp_path / "reader", url, trust="unsafe-unsigned")
    for host in (builder, reader):
        (host.folder / "near.h").write_text(near_with(150_000))  # too large to come with its list
    builder.load()
    for name, value in redis.entries().items():
        if value[12:16] == b"\1\0\0\0":  # the module
            redis.ask("SET", name, unsigned_with_payload(value, b"\x7fELF and no more"))
        else:
            head, signature = value[:48] + bytes(8) + value[56:-64], bytes(64)
            redis.ask("SET", name, head + signature)
    got = reader.load(TARSIA_LOG="warn")
    assert (got["origin"], got["answer"], got["hits"]) == ("compiled", 42, 1) and "does not load here" in reader.told
    assert reader.load()["origin"] == "disk"


def test_a_server_that_dies_while_it_is_written_to_kills_nobody(tmp_path, keys):
    def act(connection):
        while True:
            request = connection.recv(4096)
            if not request.startswith(b"*2\r\n$3\r\nGET"):
                break
            connection.sendall(b"$-1\r\n")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        connection.close()

    server = Rogue(act)
    host = Host(tmp_path / "host", server.url.replace("http://", "redis://").replace("/cache", "/0"), sign=keys("key"))
    got = host.load(before="import signal; signal.signal(signal.SIGPIPE, signal.SIG_DFL)",
                    after="[tarsia.load_inline(f'int f{i}() {{ return {i}; }}') for i in range(5)]\n"
                          "end = time.monotonic() + 20\n"
                          "while not tarsia.stats()['cache']['remote']['not_sent'] >= 6 and time.monotonic() < end: time.sleep(0.01)")
    assert (got["origin"], got["sent"], got["not_sent"], got["failures"]) == ("compiled", 0, 6, 1)
    assert server.connections < 12  # no storm
    server.close()
