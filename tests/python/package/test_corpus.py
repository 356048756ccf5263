"""scripts/corpus: which files of a list Tarsia takes, and the classes of the others."""

import pathlib
import subprocess
import sys

SCRIPT = pathlib.Path(__file__).parents[3] / "scripts" / "corpus"


def corpus(folder, *arguments):
    command = [sys.executable, SCRIPT, folder / "list.txt", folder / "checkouts", "--results", folder / "results", *arguments]
    return subprocess.run([str(one) for one in command], capture_output=True, text=True, check=True).stdout


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_it_says_which_files_are_taken_and_why_others_are_not(tmp_path):
    source = tmp_path / "checkouts/someone+something/src"
    write(source / "good.cpp", '#include "value.h"\nint twice() { return 2 * VALUE + EXTRA; }\n')
    write(source / "bad.cpp", '#include "absent.h"\n')
    write(source / "include/value.h", "#define VALUE 3\n")
    write(tmp_path / "list.txt", "# a list\ngroup small\nin someone/something 0123abc\nwith -I src/include -D EXTRA=1 --std c++17\n"
                                 "src/*.cpp\nsrc/missing.cpp\n")
    said = corpus(tmp_path, "--table", tmp_path / "table.txt")
    assert "small: 1 of 2 taken, 50 %" in said
    assert "[a header that is not found] host: someone+something/src/bad.cpp:1: 'absent.h' file not found" in said
    assert "   1 a header that is not found: small 1" in said
    assert "not in the checkouts: someone/something: src/missing.cpp" in said
    assert str(tmp_path) not in (tmp_path / "table.txt").read_text()


def test_results_are_kept_until_the_source_or_its_options_change(tmp_path):
    source = tmp_path / "checkouts/someone+something/one.cpp"
    write(source, "int one() { return ONE; }\n")
    lines = "group small\nin someone/something 0123abc\none.cpp -D ONE=1\n"
    write(tmp_path / "list.txt", lines)
    corpus(tmp_path)
    kept = sorted((tmp_path / "results").glob("*.json"))
    assert len(kept) == 1
    assert corpus(tmp_path, "--no-run").startswith("taken")
    corpus(tmp_path)
    assert sorted((tmp_path / "results").glob("*.json")) == kept
    write(tmp_path / "list.txt", lines.replace("ONE=1", "ONE=2"))
    corpus(tmp_path)
    assert len(list((tmp_path / "results").glob("*.json"))) == 2


def test_an_edit_is_measured_and_leaves_the_source_as_it_was(tmp_path):
    source = tmp_path / "checkouts/someone+something/one.cpp"
    text = "int one() { return 1; }\n"
    write(source, text)
    write(tmp_path / "list.txt", "group small\nin someone/something 0123abc\none.cpp\n")
    said = corpus(tmp_path, "--edit")
    assert "    seconds after an edit, 1 files: in the median " in said
    assert source.read_text() == text
    assert "new process" in said and "edit" in corpus(tmp_path, "--no-run")


def test_a_table_of_nothing_is_an_error_that_says_why(tmp_path):
    write(tmp_path / "checkouts/someone+something/one.cpp", "int one() { return 1; }\n")
    write(tmp_path / "list.txt", "group small\nin someone/something 0123abc\none.cpp\n")
    write(tmp_path / "empty.txt", "group small\nin someone/something 0123abc\nmissing.cpp\n")
    for name, arguments, why in (("list.txt", ["--only", "nothing_of_that_name"], "--only fits no file"),
                                 ("list.txt", ["--no-run"], "nothing was"),
                                 ("empty.txt", [], "the checkouts have none of the list's files")):
        command = [sys.executable, SCRIPT, tmp_path / name, tmp_path / "checkouts", "--results", tmp_path / "results", *arguments]
        done = subprocess.run([str(one) for one in command], capture_output=True, text=True)
        assert done.returncode == 1 and why in done.stderr, done
