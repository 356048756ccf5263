"""The history that prompts share."""

import os

from threads import at_once

from tarsia._session.history import History


def test_entries_are_kept_with_their_lines(tmp_path):
    path = str(tmp_path / "a" / "history")
    history = History(path)
    assert history.entries() == []
    for text in ("1 + 1", "int f() {\n  return 1; }\n", "  \n", ":undo", "\N{GREEK SMALL LETTER PI} \udcff"):
        history.add(text)
    assert History(path).entries() == ["1 + 1", "int f() {\n  return 1; }", ":undo", "\N{GREEK SMALL LETTER PI} ?"]
    assert os.stat(path).st_mode & 0o777 == 0o600 and os.stat(os.path.dirname(path)).st_mode & 0o777 == 0o700


def test_lines_of_any_file_are_entries(tmp_path):
    (tmp_path / "history").write_bytes(b"int x;\n\nx\rx\xff\nlast")
    assert History(str(tmp_path / "history")).entries() == ["int x;", "x\rx\N{REPLACEMENT CHARACTER}", "last"]


def test_many_at_once_lose_nothing(tmp_path):
    path = str(tmp_path / "history")

    def write(which):
        history = History(path)
        for i in range(200):
            history.add(f"{which} {i}")

    at_once(write, range(4))
    assert sorted(History(path).entries()) == sorted(f"{which} {i}" for which in range(4) for i in range(200))


def test_a_long_file_is_cut_to_its_latest_entries(tmp_path, monkeypatch):
    monkeypatch.setattr("tarsia._session.history._LONGEST", 1000)
    history = History(str(tmp_path / "history"))
    for i in range(500):
        history.add(f"entry {i}")
    entries = history.entries()
    assert (tmp_path / "history").stat().st_size < 1100
    assert entries == [f"entry {i}" for i in range(500 - len(entries), 500)] and len(entries) > 40


def test_failures_are_told_once(tmp_path, capsys):
    (tmp_path / "file").touch()
    history = History(str(tmp_path / "file" / "history"))
    history.add("1")
    history.add("2")
    assert capsys.readouterr().err == f"the history is not kept: File exists: {tmp_path}/file/history\n"
    assert history.entries() == []
