"""The README's examples: what they print is what their comments say, and they raise what they say."""

import ast
import contextlib
import io
import re
import subprocess

import pytest
from places import REPO

import tarsia

README = REPO / "README.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", README.read_text(), re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"#\s+(.*)$")


def has_gpu():
    try:
        import torch
    except ImportError:
        return False
    return torch.cuda.is_available()


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: re.search(r"(\w+)\(.*\) \{", block).group(1))
def test_example_does_what_its_comments_say(block):
    names = {}
    lines = block.splitlines()
    for statement in ast.parse(block).body:
        code = compile(ast.Module([statement], []), "README.md", "exec")
        text = "\n".join(lines[statement.lineno - 1 : statement.end_lineno])
        comment = COMMENT.search(lines[statement.end_lineno - 1])
        if 'device="cuda"' in text and not has_gpu():
            assert names["lib"].functions or names["lib"].kernels
            pytest.skip("there is no GPU to call it on; the source was compiled")
        if "import torch" in text:
            pytest.importorskip("torch")
        error = comment and re.match(r"(\w+Error)(: .*)?", comment.group(1))
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            if error:
                with pytest.raises(Exception) as raised:
                    exec(code, names)
                assert error.group(1) in [kind.__name__ for kind in type(raised.value).__mro__]
            else:
                exec(code, names)
        if comment and text.startswith("print("):
            assert printed.getvalue().strip() == comment.group(1)


def test_cpp_example_builds_with_the_command_given_and_prints_what_it_says(tmp_path):
    source = re.search(r"^```cpp\n(.*?)^```", README.read_text(), re.MULTILINE | re.DOTALL).group(1)
    command = re.search(r"^    (g\+\+ .*) && \./norm$", README.read_text(), re.MULTILINE).group(1)
    (tmp_path / "norm.cpp").write_text(source)
    build = subprocess.run(command.replace("$package", tarsia.__path__[0]), shell=True, cwd=tmp_path, capture_output=True, text=True)
    assert build.returncode == 0, build.stderr
    run = subprocess.run(["./norm"], cwd=tmp_path, capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (0, "25\n"), run.stderr


def test_figures_are_those_that_the_benchmark_printed():
    measured = (README.parent / "docs" / "benchmarks" / "h200-cold.txt").read_text()
    assert "$ python bench/python/bench_cold.py\n" in measured
    measured = measured[measured.index("Host and device ReLU"):]
    claims = re.search(r"\*\*It compiles fast.*?\n\n", README.read_text(), re.DOTALL).group()
    shown = [float(number) * (1000 if unit == "s" else 1) for number, unit in re.findall(r"([\d.]+)\s(ms|s)\b", claims)]
    rows = [re.search(rf"^  {name} +([\d,.]+) ", measured, re.MULTILINE).group(1) for name in ("tarsia", "tvm-ffi", "PyTorch load_inline")]
    assert shown == pytest.approx([float(row.replace(",", "")) for row in rows], rel=0.01)


def rows_below(header):
    """The rows of the README's table with this header: a list of cells each."""
    lines = README.read_text().split(f"\n{header}\n")[1].splitlines()[1:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[: lines.index("")]]


def test_numbers_of_published_sources_are_those_of_the_files_linked():
    rows = rows_below("| sources | taken | list of the files |")
    corpora = [("PyTorch", ["torch"]), ("27 others", ["more"]), ("Thrust", ["thrust"]), ("CUB", ["cub"]),
               ("CuTe, CUTLASS, ThunderKittens", ["cute", "cutlass", "thunderkittens", "cutlass-nvrtc", "deepgemm"])]
    assert len(rows) == len(corpora)
    for (sources, taken, link), (word, names) in zip(rows, corpora):
        assert word in sources
        text = (REPO / re.search(r"\((.*)\)", link).group(1)).read_text()
        counts = [re.search(rf"^{name}: (\d+) of (\d+) taken", text, re.MULTILINE).groups() for name in names]
        assert "{} of {}".format(*(sum(int(number) for number in column) for column in zip(*counts))) == taken
        # … and these are the lines of the list, without sources that nvcc refuses, too.
        of = [line.split()[0] for line in text.splitlines() if "nvcc refuses" not in line
              for name in names if re.match(rf"(taken|REFUSED) .* {name}  ", line)]
        assert f"{of.count('taken')} of {len(of)}" == taken


def test_times_below_headers_are_those_that_the_benchmark_printed():
    measured = (REPO / "docs" / "benchmarks" / "preludes.txt").read_text()
    rows = rows_below("| source | first compile | edit | edit, new process | other compiler | arguments of `bench_preludes.py` |")
    assert len(rows) == 4
    for _, *times, other, argument in rows:
        printed = re.search(rf"^\| {argument.strip('`').split('=')[0]} \|(.*)\|$", measured, re.MULTILINE).group(1).split("|")
        shown = [float(re.search(r"([\d.]+) s$", time).group(1)) for time in [*times, other]]
        printed = [*printed[:3], printed[-2]]   # later runs have a column more between these
        assert shown == [round(float(time.split()[0]) + 1e-9, 1) for time in printed]
