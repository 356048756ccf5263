"""What an edit below third-party headers costs: the first compile, an edit, an edit in a new process; beside g++ -c.

    bench/python/bench_preludes.py [regex] [eigen=FOLDER] [torch]

`eigen` needs the folder of Eigen's headers (/usr/include/eigen3), `torch` an installed PyTorch. The cache is a new one.
g++ compiles to an object alone, with -O2 and a header of its own precompiled; Tarsia links and loads, too.
"""

import os
import subprocess
import sys
import tempfile
import time

SOURCES = {
    "regex": (
        ["regex", "string"],
        """
int words(const char* text) {
  const std::string s(text);
  const std::regex word("[a-z]+");
  int n = 0;
  for (std::sregex_iterator i(s.begin(), s.end(), word), e; i != e; ++i) ++n;
  return n;
}
""",
    ),
    "eigen": (
        ["Eigen/Dense"],
        """
double residual(int n) {
  const Eigen::MatrixXd a = Eigen::MatrixXd::Random(n, n);
  const Eigen::VectorXd b = Eigen::VectorXd::Random(n);
  const Eigen::VectorXd x = a.colPivHouseholderQr().solve(b);
  return (a * x - b).norm();
}
""",
    ),
    "torch": (
        ["torch/extension.h"],
        """
torch::Tensor relu(torch::Tensor x) { return torch::where(x > 0, x, torch::zeros_like(x)); }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("relu", &relu); }
""",
    ),
}


def options_of(name, folder):
    if name == "torch":
        import tarsia.torch

        return tarsia.torch.options()
    return {"include_dirs": [folder]} if folder else {}


def text_of(name, edit):
    headers, body = SOURCES[name]
    return (
        "".join(f"#include <{header}>\n" for header in headers)
        + body
        + f"int edited() {{ return {edit}; }}\n"
    )


def tarsia_times(name, folder, edits):
    """Seconds of a load for each edit, in this process."""
    import tarsia

    options = options_of(name, folder)
    times = []
    for edit in edits:
        start = time.perf_counter()
        tarsia.load_inline(text_of(name, edit), **options)
        times.append(time.perf_counter() - start)
    return times


def gxx_times(name, folder):
    """Seconds of g++ -c without and with a precompiled header."""
    options = options_of(name, folder)
    flags = [
        "-std=c++20",
        "-O2",
        "-fPIC",
        "-w",
        *(f"-I{dir}" for dir in options.get("include_dirs", [])),
    ]
    flags += [
        f"-D{macro}" if value is None else f"-D{macro}={value}"
        for macro, value in options.get("defines", {}).items()
    ]
    headers, body = SOURCES[name]
    with tempfile.TemporaryDirectory() as work:

        def run(*arguments):
            start = time.perf_counter()
            subprocess.run(["g++", *flags, *arguments], cwd=work, check=True)
            return time.perf_counter() - start

        def write(file, text):
            with open(f"{work}/{file}", "w") as out:
                out.write(text)

        write("whole.cc", text_of(name, 1))
        plain = run("-c", "whole.cc")
        write("pre.h", "".join(f"#include <{header}>\n" for header in headers))
        run("-x", "c++-header", "pre.h", "-o", "pre.h.gch")
        write("body.cc", '#include "pre.h"\n' + body)
        return plain, run("-c", "body.cc")


def child(name, folder, edits):
    script = f"import bench_preludes as b; print(*b.tarsia_times({name!r}, {folder!r}, {edits!r}))"
    path = os.pathsep.join(
        [os.path.dirname(os.path.abspath(__file__)), os.environ.get("PYTHONPATH", "")]
    )
    output = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": path},
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return [float(word) for word in output.split()]


def main():
    asked = dict(argument.partition("=")[::2] for argument in sys.argv[1:]) or {
        "regex": ""
    }
    with tempfile.TemporaryDirectory() as cache:
        os.environ["TARSIA_CACHE_DIR"] = cache
        print(
            "| headers | first | edit | edit, new process | g++ -c | g++ -c with a PCH |\n| --- | --- | --- | --- | --- | --- |"
        )
        for name, folder in asked.items():
            first, *edits = child(name, folder, [1, 2, 3, 4])
            (anew,) = child(name, folder, [5])
            plain, precompiled = gxx_times(name, folder)
            figures = [first, min(edits), anew, plain, precompiled]
            print(
                f"| {name} | "
                + " | ".join(f"{figure:.2f} s" for figure in figures)
                + " |",
                flush=True,
            )


if __name__ == "__main__":
    main()
