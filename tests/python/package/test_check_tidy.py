"""scripts/check-tidy on small repositories: which files it takes to be changed. A stand-in for clang-tidy lists them."""

import json
import os
import shutil
import subprocess

import pytest
from places import REPO

SCRIPTS = [REPO / "scripts/check-tidy", REPO / "scripts/check-layers"]
FILES = {
    "base/a.cpp": '#include "base/a.h"\n',
    "base/a.h": "",
    "base/alone.h": "",
    "cache/user.cpp": '#include "base/alone.h"\n',
    "cache/other.cpp": "",
    "tests/test_a.cpp": '#include "base/alone.h"\n',
    "jit/not_built.cpp": "",
}
BUILT = ["base/a.cpp", "cache/user.cpp", "cache/other.cpp", "tests/test_a.cpp"]

pytestmark = pytest.mark.skipif(not shutil.which("git"), reason="needs git")


class Repository:
    def __init__(self, root):
        self.root = root

    def git(self, *arguments):
        done = subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@t", *arguments], cwd=self.root, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def commit(self, **changes):
        for path, text in changes.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "change")

    def checked(self, *arguments, **environment):
        """The files that clang-tidy is given, and whether the script passes."""
        build = self.root / "build/release"
        unity = build / "Unity/unity_0_cxx.cxx"
        unity.parent.mkdir(parents=True, exist_ok=True)
        together = [self.root / name for name in BUILT[1:]]  # compiled at a time
        unity.write_text("".join(f'/* NOLINT */\n#include "{path}"\n' for path in together))
        commands = [{"directory": str(self.root), "file": str(path), "command": f"c++ -c {path}"} for path in [self.root / BUILT[0], unity]]
        (build / "compile_commands.json").write_text(json.dumps(commands, indent=1))
        seen = self.root / "build/seen"
        seen.write_text("")
        tools = self.root / "build/tools"
        tools.mkdir(exist_ok=True)
        (tools / "clang-tidy-22").write_text(f'#!/bin/sh\nfor file; do :; done\necho "$file" >>"{seen}"\ncase $file in *other*) exit 1;; esac\n')
        (tools / "clang-tidy-22").chmod(0o755)
        environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "TARSIA_CI_BASE": "", **environment}
        done = subprocess.run(["bash", self.root / "scripts/check-tidy", *arguments], env=environment, capture_output=True, text=True)
        assert done.stdout.startswith("check-tidy: "), done.stderr
        return sorted(seen.read_text().split()), done.returncode == 0


@pytest.fixture
def repository(tmp_path):
    result = Repository(tmp_path / "work")
    (result.root / "scripts").mkdir(parents=True)
    for script in SCRIPTS:
        shutil.copy(script, result.root / "scripts")
    (result.root / ".gitignore").write_text("/build\n")
    result.git("init", "-q", "-b", "main")
    result.commit(**FILES)
    return result


def test_on_the_main_branch_the_last_commit_counts(repository):
    repository.commit(**{"cache/user.cpp": "// other\n"})
    repository.commit(**{"base/a.cpp": "// other\n", "README.md": "x"})
    assert repository.checked() == (["base/a.cpp"], True)


def test_on_a_branch_all_its_commits_and_what_is_not_committed_count(repository):
    repository.git("checkout", "-q", "-b", "branch")
    repository.commit(**{"base/a.cpp": "// other\n"})
    repository.commit(**{"cache/other.cpp": "// other\n"})
    (repository.root / "cache/user.cpp").write_text("// other\n")
    assert repository.checked() == (["base/a.cpp", "cache/other.cpp", "cache/user.cpp"], False)


@pytest.mark.parametrize("header, source", [("base/a.h", "base/a.cpp"), ("base/alone.h", "cache/user.cpp")])
def test_a_header_is_checked_with_a_source_that_includes_it(repository, header, source):
    repository.commit(**{header: "#pragma once\n"})
    assert repository.checked() == ([source], True)


def test_files_that_are_gone_or_not_built_are_left_out(repository):
    (repository.root / "base/a.cpp").unlink()
    repository.commit(**{"jit/not_built.cpp": "// other\n"})
    assert repository.checked() == ([], True)


def test_a_clone_of_depth_1_is_checked_whole(repository, tmp_path):
    clone = Repository(tmp_path / "clone")
    subprocess.run(["git", "clone", "-q", "--depth", "1", f"file://{repository.root}", clone.root], check=True)
    assert clone.checked()[0] == ["base/a.cpp", "cache/other.cpp", "cache/user.cpp"]


def test_another_commit_to_compare_with(repository):
    first = repository.git("rev-parse", "HEAD")
    repository.commit(**{"cache/user.cpp": "// other\n"})
    repository.commit(**{"base/a.cpp": "// other\n"})
    assert repository.checked(TARSIA_CI_BASE=first) == (["base/a.cpp", "cache/user.cpp"], True)


def test_all(repository):
    assert repository.checked("--all") == (["base/a.cpp", "cache/other.cpp", "cache/user.cpp"], False)


def test_what_the_time_does_not_allow_is_told(repository):
    repository.commit(**{"cache/user.cpp": "// other\n// and more\n", "base/a.cpp": "// other\n"})
    assert repository.checked("--minutes", "5") == (["base/a.cpp", "cache/user.cpp"], True)
    assert repository.checked("--minutes", "0") == ([], True)
