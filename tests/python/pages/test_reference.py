"""docs/reference/ is what the public headers say, and each of their public declarations has a comment."""

import shutil
import subprocess
import sys

import pytest
from pages import DOCS

REPO = DOCS.parent


def check(root):
    return subprocess.run([sys.executable, root / "scripts" / "reference"], capture_output=True, text=True)


def test_the_pages_are_those_of_the_headers():
    done = check(REPO)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def tree(tmp_path):
    """What the script reads, to be changed."""
    for folder in ("include", "docs/reference"):
        shutil.copytree(REPO / folder, tmp_path / folder)
    (tmp_path / "scripts").mkdir()
    shutil.copy(REPO / "scripts" / "reference", tmp_path / "scripts")
    return tmp_path


def test_declarations_without_a_comment_are_named(tree):
    added = {  # header: (what stands behind it, the text, its name)
        "tensor.h": ("/// Returns the number of GPUs; 0 without a driver.\n", "inline int bare() { return 1; }\n", "tarsia::bare"),
        "library.h": ("  /// Takes over one reference.\n  explicit Library(", "  int bare() const { return 1; }\n", "tarsia::Library::bare"),
        "c_api.h": ("/// Seeds the random states of all devices.", "TARSIA_API void tarsia_bare(void);\n", "tarsia_bare"),
        "abi.h": ("/// A parameter of a function or kernel.\n", "typedef enum tarsia_none { TARSIA_NONE = 1 } tarsia_none;\n", "tarsia_none"),
        "device.h": ("/// A loop of `i`", "#define TARSIA_BARE 1\n\n", "TARSIA_BARE"),
    }
    faults = []
    for header, (behind, text, name) in added.items():
        path = tree / "include" / "tarsia" / header
        before = path.read_text()
        assert before.count(behind) == 1
        path.write_text(before.replace(behind, text + behind))
        line = before.count("\n", 0, before.index(behind)) + 1
        faults.append(f"include/tarsia/{header}:{line}: {name} has no comment")
    done = check(tree)
    assert done.returncode == 1
    assert sorted(line for line in done.stdout.splitlines() if line.endswith("has no comment")) == sorted(faults)


def test_a_changed_comment_or_signature_makes_its_page_stale(tree):
    for header, old, new in (("errors.h", "/// The step that failed:", "/// The part that failed:"), ("op_abi.h", "TARSIA_MAX_NDIM = 32", "TARSIA_MAX_NDIM = 33")):
        path = tree / "include" / "tarsia" / header
        assert path.read_text().count(old) == 1
        path.write_text(path.read_text().replace(old, new))
    done = check(tree)
    assert done.returncode == 1
    assert done.stdout.splitlines() == [f"docs/reference/{page} is not what the headers say: scripts/reference --write" for page in ("cpp.md", "c_api.md")]


@pytest.mark.parametrize("page, said", [
    ("cpp.md", "- `Function function(std::string_view name) const`\n\n  Returns the function of a qualified name"),
    ("cpp.md", "std::optional<std::vector<std::string>> functions;"),
    ("op.md", "`OpDefinition& range(double min, double max)`"),
    ("op.md", "bool operator==(tarsia_dtype a, tarsia_dtype b);"),
    ("c_api.md", "  TARSIA_COMPILE_ERROR = 2,"),
    ("c_api.md", "  const tarsia_define* defines;\n  uint64_t n_defines;"),
])
def test_the_pages_have_what_users_reach(page, said):
    assert said in (DOCS / "reference" / page).read_text()


def test_internals_and_private_members_are_left_out():
    for page in (DOCS / "reference").iterdir():
        text = page.read_text()
        assert "AnyViews" not in text and "m_tensor" not in text and "in_backward" not in text, page.name
