"""Transcripts of sessions: those of examples/, and how they are read."""

import pathlib

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


def test_what_may_be_anything():
    assert transcript.agrees("at …", "at 0x7f") and transcript.agrees("a\n… b", "a\nx b")
    assert not transcript.agrees("at …", "at 0x7f\nmore") and not transcript.agrees("at", "at 1")
