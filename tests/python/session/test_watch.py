"""Files that run again when they are saved."""

import io
import os
import sys

import pytest

import tarsia
from tarsia._session.commands import Commands
from tarsia._session.watch import Watches


def save(path, text):
    """As most editors do."""
    new = path.with_name(path.name + "~")
    new.write_text(text)
    os.replace(new, path)


def test_a_change_is_told_once(tmp_path):
    file, watches = tmp_path / "a.cc", Watches()
    file.write_text("1")
    watches.add(str(file))
    assert watches.names == [str(file)] and watches.changed() == []
    save(file, "2")
    assert watches.changed() == [str(file)] and watches.changed() == []
    with open(file, "a") as opened:
        opened.write("0")
    assert watches.changed() == [str(file)]
    assert watches.remove(str(file)) and not watches.remove(str(file))
    save(file, "3")
    assert watches.changed() == [] and watches.names == []


def test_a_file_that_is_away_or_empty_is_yet_to_come(tmp_path):
    file, watches = tmp_path / "a.cc", Watches()
    file.write_text("1")
    watches.add(str(file))
    file.unlink()
    assert watches.changed() == []
    file.write_text("")
    assert watches.changed() == []
    file.write_text("22")
    assert watches.changed() == [str(file)]


def test_a_file_that_is_being_written_is_left_alone(tmp_path):
    file, watches = tmp_path / "a.cc", Watches()
    file.write_text("1")
    watches.add(str(file))
    for text in ("12", "123"):
        save(file, text)
        assert watches.changed(settled=True) == []
    assert watches.changed(settled=True) == [str(file)] and watches.changed(settled=True) == []


@pytest.fixture
def ask():
    session = tarsia.Session()
    commands = Commands(session)

    def run(text):
        out = io.StringIO()
        if text:
            commands.run(text, out)
        commands.run_again(commands.changed_files(), out)
        return out.getvalue()

    run.session, run.commands = session, commands
    return run


def test_a_saved_file_takes_the_place_of_what_it_defined(ask, tmp_path):
    file = tmp_path / "f.cc"
    file.write_text("int f() { return 1; }\nf()")
    assert ask(f":watch {file}") == "1\n"
    assert ask(":watch") == f"{file}\n" and ask("") == ""
    ask.session.run("int g() { return f() * 10; }").raise_if_failed()
    save(file, "int f() { return 2; }\nf()")
    assert ask("") == f"{file} changed\n2\n"
    assert ask.session.run("g()").value == "20"
    assert ask(f":watch -{file}") == "" and ask(":watch") == "none\n"
    save(file, "int f() { return 3; }")
    assert ask("") == ""
    with pytest.raises(tarsia.NotFound, match="is not watched"):
        ask(f":watch -{file}")


def test_errors_name_the_file_and_the_session_goes_on(ask, tmp_path, monkeypatch):
    errors = io.StringIO()
    monkeypatch.setattr(sys, "stderr", errors)
    file = tmp_path / "f.cc"
    file.write_text("int f() {\n  return nope; }")
    ask(f":watch {file}")
    assert f"{file}:2:10: error: use of undeclared identifier 'nope'\n      return nope; }}\n             ^\n" in errors.getvalue()
    save(file, "int f() {\n  return 5; }\nf()")
    assert ask("") == f"{file} changed\n5\n"
    file.unlink()
    assert ask("") == ""
    with pytest.raises(tarsia.NotFound, match="cannot read"):
        ask(":watch /nowhere/f.cc")
    assert ask(":watch") == f"{file}\n"
