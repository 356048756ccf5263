"""Transcripts of sessions: those of examples/, and how they are read."""

import pathlib
import subprocess
import sys

import pytest

import tarsia
from tarsia._session import transcript

REPO = pathlib.Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("path", sorted((REPO / "examples").glob("*.repl")), ids=lambda path: path.name)
def test_examples(path):
    differences, now = transcript.run(tarsia.Session(isolated=True), path.read_text())
    assert differences == []
    assert now == path.read_text()


def test_a_difference_is_told_and_written():
    text = "About it.\n>>> 1 +\n... 1\n3\n>>> 2\n2\n"
    differences, now = transcript.run(tarsia.Session(), text)
    assert differences == [("1 +\n1", "3", "2")]
    assert now == "About it.\n>>> 1 +\n... 1\n2\n>>> 2\n2\n"


def test_broken_utf8_in_a_transcript_is_an_answer(tmp_path):
    path = tmp_path / "broken.repl"
    path.write_bytes(b'>>> auto s = "\xff";\n1\n>>> 2\n2\n')
    done = subprocess.run([sys.executable, "-m", "tarsia", "repl", path], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1 and "got:\ncell 1:1:11: error: the byte 0xff is not UTF-8" in done.stdout and done.stderr == "", done
    subprocess.run([sys.executable, "-m", "tarsia", "repl", "--write", path], check=True, timeout=120)
    assert path.read_bytes().startswith(b'>>> auto s = "\xff";\ncell 1:1:11: error: ') and path.read_bytes().endswith(b"\n>>> 2\n2\n")
    assert subprocess.run([sys.executable, "-m", "tarsia", "repl", path], capture_output=True, timeout=120).returncode == 0


def test_what_may_be_anything():
    assert transcript.agrees("at …", "at 0x7f") and transcript.agrees("a\n… b", "a\nx b")
    assert not transcript.agrees("at …", "at 0x7f\nmore") and not transcript.agrees("at", "at 1")


def test_a_file_without_prompts_is_no_transcript(tmp_path):
    (tmp_path / "foo.cpp").write_text("int f() { return 1; }\n")
    done = subprocess.run([sys.executable, "-m", "tarsia", "repl", str(tmp_path / "foo.cpp")], capture_output=True, text=True)
    assert done.returncode == 2 and "foo.cpp: no line begins with '>>> '" in done.stderr and "tarsia run FILE" in done.stderr
    assert done.stdout == ""
