#!/usr/bin/env python3
"""What a shared store costs: hits of signed entries over an open connection, and a store that is silent.

    bench/python/bench_remote.py [--sources N] [--folder DIR]

Starts nginx and redis-server by scripts/http-cache and scripts/redis on this machine. One process compiles N small sources
and signs their modules. A second one, with a cache folder of its own, loads each from the store; a third loads them from
that folder, as on any later start. The difference is what the store adds: asking for the list and the module, verifying
both signatures, unpacking, and keeping the module in the folder. The silent store accepts connections and says nothing.
Times are those of tarsia.load_inline in ms, as medians and 90th percentiles.

Needs tarsia on Python's path.
"""

import argparse
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile

import tarsia

REPO = pathlib.Path(__file__).resolve().parents[2]
LOAD = """
import json, os, sys, time, tarsia
n, origin = int(sys.argv[1]), sys.argv[2]
source = "int answer{0}(int x) {{ return x * {0} + 1; }}"
assert tarsia.load_inline(source.format(n)).origin == origin  # opens the connection, which the others use again
took = []
for i in range(n):
    time.sleep(0.002)  # what the last load left to a thread is done
    text = source.format(i)
    began = time.perf_counter()
    library = tarsia.load_inline(text)
    took.append((time.perf_counter() - began) * 1000)
    assert library.origin == origin, library.origin
print(json.dumps([took, tarsia.stats()["cache"]["remote"]]))
"""

# Compiles with and without the store by turns, so that both have the same load of the machine.
SILENT = """
import json, os, time, tarsia
url = os.environ["TARSIA_REMOTE"]
def took(i, remote):
    os.environ["TARSIA_REMOTE"] = remote
    began = time.perf_counter()
    tarsia.load_inline(f"int answer{i}(int x) {{ return x * {i} + 1; }}")
    return (time.perf_counter() - began) * 1000
took(0, "")
first = took(1, url)
both = [(took(2 * i, ""), took(2 * i + 1, url)) for i in range(1, 31)]
print(json.dumps([first, [one for one, _ in both], [other for _, other in both], tarsia.stats()["cache"]["remote"]]))
"""


def run(folder, n, origin, **env):
    variables = {**os.environ, "TARSIA_CACHE_DIR": str(folder), **env}
    done = subprocess.run([sys.executable, "-c", LOAD, str(n), origin], env=variables, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def text(times):
    ordered = sorted(times)
    return f"{statistics.median(ordered):7.3f} {ordered[int(len(ordered) * 0.9)]:7.3f}"


def tarsia_command():
    command = pathlib.Path(tarsia.__file__).parent / "bin" / "tarsia"
    return command if command.exists() else pathlib.Path(tarsia.__file__).parents[2] / "bin" / "tarsia"


def make_keys(folder):
    """The variables of a builder, and of a reader."""
    subprocess.run([tarsia_command(), "cache", "keygen", folder / "key"], check=True, stdout=subprocess.DEVNULL)
    return {"TARSIA_SIGN_KEY": str(folder / "key")}, {"TARSIA_TRUST": str(folder / "key.pub")}


def hits(script, n, folder, builder, reader):
    """Times in ms: from the store of this script, and of the same modules from the folder later."""
    server = subprocess.Popen([REPO / "scripts" / script], stdout=subprocess.PIPE, text=True)
    try:
        url = server.stdout.readline().strip()
        for i in range(2):  # the second fills in what the first had no time to send at its end
            run(folder / f"{script}-builder{i}", n, "compiled", TARSIA_REMOTE=url, **builder, TARSIA_REMOTE_ACCESS="write")
        remote, _ = run(folder / script, n, "remote", TARSIA_REMOTE=url, **reader)
        disk, _ = run(folder / script, n, "disk", TARSIA_REMOTE=url, **reader)
    finally:
        server.terminate()
        server.wait()
    return remote, disk


def silent(scheme, folder, reader):
    """How many ms longer the first compile takes with a store that is silent, and the later ones, as a median."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        url = f"http://{address}/cache" if scheme == "http" else f"redis://{address}/0"
        variables = {**os.environ, "TARSIA_CACHE_DIR": str(folder / f"silent-{scheme}"), "TARSIA_REMOTE": url, **reader}
        done = subprocess.run([sys.executable, "-c", SILENT], env=variables, check=True, capture_output=True, text=True)
    first, without, later, counts = json.loads(done.stdout)
    # On a busy machine it takes so long that the store is tried once more.
    assert counts["failures"] + counts["skipped"] == len(later) + 1 and counts["failures"] < len(later) / 4, counts
    return first - statistics.median(without), statistics.median(later) - statistics.median(without)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sources", type=int, default=200)
    parser.add_argument("--folder", help="where the caches lie; by default in the folder for temporary files")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as temporary:
        folder = pathlib.Path(temporary)
        builder, reader = make_keys(folder)
        print(f"{arguments.sources} modules, ms     median     90%")
        for script in ("http-cache", "redis"):
            remote, disk = hits(script, arguments.sources, folder, builder, reader)
            print(f"{script:11} remote {text(remote)}")
            print(f"{'':11} disk   {text(disk)}")
            print(f"{'':11} adds   {statistics.median(remote) - statistics.median(disk):7.3f}", flush=True)
        for scheme in ("http", "redis"):
            first, later = silent(scheme, folder, reader)
            print(f"silent {scheme:5}  the first compile takes {first:.0f} ms more, later ones {later:.2f} ms")


if __name__ == "__main__":
    main()
