"""`tarsia serve`, and processes that compile with its compilers."""

import os
import pathlib
import signal
import stat
import subprocess
import sys
import tempfile

import pytest

import tarsia

COMPILE = """
import os, pathlib, tarsia
print(tarsia.load_inline({source!r}).f())
for status in pathlib.Path("/proc").glob("[0-9]*/status"):
    try: fields = dict(line.split(":\\t", 1) for line in status.read_text().splitlines())
    except OSError: continue
    if fields["PPid"] == str(os.getpid()): print("started", fields["Name"])"""


class Service:
    def __init__(self, folder, *options, keeps_log=False):
        """keeps_log: what it logs, from warnings on, can be read from process.stderr."""
        self.socket = str(folder / "tarsia.sock")
        self.folder = folder
        self.process = subprocess.Popen([sys.executable, "-m", "tarsia", "serve", "--socket", self.socket, *options], text=True,
                                        stderr=subprocess.PIPE if keeps_log else None,
                                        env={**os.environ, "TARSIA_CACHE_DIR": str(folder / "service"), **({"TARSIA_LOG": "warn"} if keeps_log else {})})
        while not os.path.exists(self.socket) or not self.metrics():
            assert self.process.poll() is None

    def metrics(self):
        out = subprocess.run([sys.executable, "-m", "tarsia", "serve", "--metrics", "--socket", self.socket], text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        return dict(line.rsplit(" ", 1) for line in out.splitlines() if not line.startswith("#"))

    def start_client(self, name, value, include=""):
        source = f"{include}\nint f() {{ return {value}; }} // {name}"
        return subprocess.Popen([sys.executable, "-c", COMPILE.format(source=source)], text=True, stdout=subprocess.PIPE,
                                env={**os.environ, "TARSIA_CACHE_DIR": str(self.folder / name), "TARSIA_SERVICE": self.socket})

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


NOBODY = 65534


@pytest.fixture
def open_folder():
    """A folder that every user may write to, for sockets of several users."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chmod(folder, 0o777)
        yield pathlib.Path(folder)


def as_nobody(code, *words, **options):
    """A program of another user's, in the standard library alone: it may not be allowed to read this checkout."""
    return subprocess.Popen(["/usr/bin/python3", "-I", "-c", code, *map(str, words)], user=NOBODY, group=NOBODY, extra_groups=[], cwd="/", text=True,
                            stdout=subprocess.PIPE, **options)


@pytest.fixture
def service(tmp_path):
    one = Service(tmp_path, "--workers", "2")
    yield one
    if one.process.poll() is None:
        one.stop()


def test_processes_compile_with_its_compilers_and_start_none(service):
    clients = [service.start_client(f"client{i}", i) for i in range(6)]
    assert [client.communicate(timeout=120)[0].split() for client in clients] == [[str(i)] for i in range(6)]
    figures = service.metrics()
    assert figures["tarsia_service_leases_total"] == "6" and figures["tarsia_service_workers_started_total"] == "2"
    assert figures['tarsia_service_workers{state="idle"}'] == "2"


def test_its_figures_have_those_of_the_cache(service, tmp_path):
    for _ in range(2):
        service.start_client("service", 3).communicate(timeout=120)
    figures = service.metrics()
    assert figures['tarsia_cache_hits_total{tier="disk"}'] == figures['tarsia_cache_misses_total{reason="absent"}'] == "1"
    assert figures["tarsia_cache_compiles_total"] == figures["tarsia_cache_compile_seconds_count"] == "1"
    assert figures["tarsia_service_lent_seconds_count"] == figures['tarsia_service_wait_seconds_bucket{le="+Inf"}'] == "1"
    assert 0 < float(figures["tarsia_cache_compile_seconds_sum"]) < 300


def test_it_is_this_users_alone_and_leaves_nothing(service):
    assert stat.S_IMODE(os.stat(service.socket).st_mode) == 0o600
    assert service.stop() == 0
    assert not os.path.exists(service.socket)


def test_a_process_of_another_user_is_sent_away(open_folder):
    home = open_folder / "service"
    home.mkdir()
    os.chmod(home, 0o755)
    service = Service(home, keeps_log=True)
    try:
        os.chmod(service.socket, 0o666)  # as if the modes did not keep others away
        stranger = as_nobody("""
import socket, sys
with socket.socket(socket.AF_UNIX) as one:
    one.settimeout(60)
    one.connect(sys.argv[1])
    try: print(one.recv(4096))
    except ConnectionResetError: print(b"")""", service.socket)
        assert stranger.communicate(timeout=120)[0] == "b''\n"
        assert service.start_client("own", 5).communicate(timeout=120)[0].split() == ["5"]
        figures = service.metrics()
        assert figures["tarsia_service_leases_total"] == "1"
    finally:
        service.stop()
    assert f"a process of user {NOBODY} was sent away" in service.process.stderr.read()


def test_a_socket_of_another_user_is_not_used(open_folder):
    path = open_folder / "tarsia.sock"
    stranger = as_nobody("""
import os, socket, sys
with socket.socket(socket.AF_UNIX) as one:
    one.bind(sys.argv[1])
    os.chmod(sys.argv[1], 0o666)
    one.listen(8)
    print("listens", flush=True)
    peer, _ = one.accept()
    print(peer.recv(1 << 20))""", path)
    assert stranger.stdout.readline() == "listens\n"
    client = subprocess.run([sys.executable, "-c", COMPILE.format(source="int f() { return 6; } // a secret")], text=True, capture_output=True,
                            env={**os.environ, "TARSIA_CACHE_DIR": str(open_folder / "own"), "TARSIA_SERVICE": str(path), "TARSIA_LOG": "info"}, timeout=120)
    out = client.stdout.split("\n")
    assert out[0] == "6" and out[1].startswith("started tarsia-compil"), client.stderr
    assert "it is another user's" in client.stderr
    assert stranger.communicate(timeout=60)[0] == "b''\n"


def test_clients_go_on_when_it_is_gone(service):
    service.process.kill()
    service.process.wait()
    out = service.start_client("later", 5).communicate(timeout=120)[0].split("\n")
    assert out[0] == "5" and out[1].startswith("started tarsia-compil")


def test_clients_open_their_own_headers(service, tmp_path):
    (tmp_path / "value.h").write_text("#define VALUE 17\n")
    code = f"""
import tarsia
print(tarsia.load_inline('#include "value.h"\\nint f() {{ return VALUE; }}', include_dirs=[{str(tmp_path)!r}]).f())"""
    out = subprocess.run([sys.executable, "-c", code], text=True, stdout=subprocess.PIPE, check=True,
                         env={**os.environ, "TARSIA_CACHE_DIR": str(tmp_path / "own"), "TARSIA_SERVICE": service.socket}).stdout
    assert out.split() == ["17"] and service.metrics()["tarsia_service_leases_total"] == "1"


def test_a_compiler_that_took_cpp_takes_cuda_as_well(tmp_path):
    try:
        tarsia.load_inline("__global__ void k(float* x) { *x = 1; }")
    except tarsia.NotFound as error:
        pytest.skip(f"no device code: {error}")
    one = Service(tmp_path, "--workers", "1")
    try:
        assert one.start_client("first", 1).communicate(timeout=120)[0].split() == ["1"]
        kernel = one.start_client("second", 2, "__global__ void k(float* x) { *x = 1; }")
        assert kernel.communicate(timeout=120)[0].split() == ["2"]
        assert one.metrics()["tarsia_service_workers_started_total"] == "1"
    finally:
        one.stop()


def test_a_second_service_is_refused(service):
    second = subprocess.run([sys.executable, "-m", "tarsia", "serve", "--socket", service.socket], text=True,
                            stderr=subprocess.PIPE, timeout=60)
    assert second.returncode != 0 and "listens" in second.stderr


def test_the_unit_names_the_command():
    unit = pathlib.Path(__file__).parents[3] / "tools/service/tarsia.service"
    assert "tarsia serve --socket %t/tarsia.sock" in unit.read_text()


@pytest.mark.parametrize("option", ["--workers=0", "--workers=100000", "--per-client=0", "--queue=0"])
def test_numbers_that_make_no_sense_are_refused(tmp_path, option):
    done = subprocess.run([sys.executable, "-m", "tarsia", "serve", "--socket", str(tmp_path / "s"), option], capture_output=True, text=True,
                          timeout=60)
    assert done.returncode == 2 and option.split("=")[0] in done.stderr and not (tmp_path / "s").exists()


def test_it_serves_and_stops_while_it_starts_compilers(tmp_path):
    service = Service(tmp_path, "--workers", "200")  # answers before they have all started
    assert float(service.metrics()["tarsia_service_workers_started_total"]) < 200
    assert service.stop() == 0 and not os.path.exists(service.socket)
