"""Many processes over a small disk and a store that fails, some of them killed: no wrong result, and nothing grows.

TARSIA_SOAK_ROUNDS=20000 makes a night of it.
"""

import os
import random
import subprocess
import sys

import pytest
from stores import Rogue, make_keys, reset

ROUNDS = int(os.environ.get("TARSIA_SOAK_ROUNDS", "120"))
PROCESSES = 8

CLIENT = """
import gc, os, random, resource, sys, tarsia
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
seed, rounds = int(sys.argv[1]), int(sys.argv[2])
rng = random.Random(seed)

def held():
    gc.collect()
    status = open("/proc/self/status").read()
    return len(os.listdir("/proc/self/fd")), int(status.partition("VmRSS:")[2].split()[0]) // 1024

for i in range(rounds):
    value = rng.randrange(4 * rounds)
    try:
        lib = tarsia.load_inline(f"int f() {{ return {value}; }} // {'x' * 3000}")
        assert lib.f() == value, (lib.f(), value)
        del lib
    except tarsia.Error as error:
        print("error", type(error).__name__, error, file=sys.stderr)
    if i == rounds // 2: before = held()
    print("round", i, flush=True)
after = held()
print("done", after[0] - before[0], after[1] - before[1], flush=True)
"""


def start(seed, environment):
    return subprocess.Popen([sys.executable, "-W", "ignore", "-c", CLIENT, str(seed), str(ROUNDS)], text=True, env=environment,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_killed_processes_a_full_disk_and_a_failing_store_give_no_wrong_result(tmp_path):
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o700)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,mode=700", "tmpfs", cache], capture_output=True).returncode != 0:
        pytest.skip("mounts are not allowed here")
    server = Rogue(reset)
    environment = {**os.environ, "TARSIA_CACHE_DIR": str(cache), "TARSIA_REMOTE": server.url, "TARSIA_TRUST": make_keys(tmp_path / "key") + ".pub"}
    rng = random.Random(1)
    try:
        running = [start(seed, environment) for seed in range(PROCESSES)]
        # Each is killed after some of its rounds, and half of them more than once.
        for number in range(PROCESSES * 3 // 2):
            victim = number % PROCESSES
            for _ in range(rng.randrange(1, ROUNDS // 4)):
                assert running[victim].stdout.readline().startswith("round")
            running[victim].kill()
            running[victim].communicate()
            running[victim] = start(PROCESSES + number, environment)
        for process in running:
            out, errors = process.communicate(timeout=600 + ROUNDS)
            assert process.returncode == 0, errors[-2000:]
            descriptors, megabytes = map(int, out.split("done")[1].split())
            assert descriptors <= 8 and megabytes <= 64, (descriptors, megabytes)
            assert not errors, errors[-2000:]
    finally:
        server.close()
        subprocess.run(["umount", "-l", cache], check=True)
