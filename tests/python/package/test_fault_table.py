"""docs/acceptance/faults.md: every fault has its number, and every test that it names exists."""

import re

import places

TABLE = (places.REPO / "docs/acceptance/faults.md").read_text()
ROWS = re.findall(r"^\| (\d+) \| ([^|]+) \| ([^|]+) \|$", TABLE, re.MULTILINE)


def test_all_faults_are_there_in_order():
    assert [int(number) for number, _, _ in ROWS] == list(range(1, 48))


def test_each_test_exists():
    for number, _, tests in ROWS:
        for test in tests.strip().split(", "):
            path, _, name = test.partition("::")
            text = (places.REPO / "tests" / path).read_text()
            pattern = rf"^def {name}\(" if path.endswith(".py") else rf"^TEST(_F|_P)?\(\w+,\s*{name}\)"
            assert re.search(pattern, text, re.MULTILINE), f"fault {number}: there is no {test}"
