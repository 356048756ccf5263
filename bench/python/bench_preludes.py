"""What an edit below third-party headers costs: the first compile, an edit, an edit in a new process, there also with another macro;
beside g++ -c.

    bench/python/bench_preludes.py [regex] [eigen=FOLDER] [torch] [torch_cuda]

`eigen` needs the folder of Eigen's headers (/usr/include/eigen3), `torch` and `torch_cuda`, which has a kernel, an installed
PyTorch. The cache is a new one. The macro is TORCH_EXTENSION_NAME where there is one. g++ compiles to an object alone, with -O2 and a header of its own precompiled, and nvcc
(where it is found) likewise; Tarsia links and loads, too.
"""

import os
import shutil
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
    "torch_cuda": (
        ["torch/extension.h", "cuda_runtime.h"],
        """
__global__ void relu_kernel(const float* x, float* y, long n) {
  const long i = long(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] > 0 ? x[i] : 0;
}
torch::Tensor relu(torch::Tensor x) {
  TORCH_CHECK(x.is_contiguous(), "relu takes contiguous tensors");
  auto y = torch::empty_like(x);
  const long n = x.numel();
  relu_kernel<<<unsigned((n + 255) / 256), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
""",
    ),
}


def is_cuda(name):
    return name.endswith("_cuda")


def options_of(name, folder, macro="extension"):
    if name.startswith("torch"):
        import tarsia.torch

        cuda = {"arch": "sm_90", "undefined": "load"} if is_cuda(name) else {}
        return {**tarsia.torch.options(macro), **cuda}
    return {
        "defines": {"BENCH": macro},
        **({"include_dirs": [folder]} if folder else {}),
    }


def text_of(name, edit):
    headers, body = SOURCES[name]
    return (
        "".join(f"#include <{header}>\n" for header in headers)
        + body
        + f"int edited() {{ return {edit}; }}\n"
    )


def tarsia_times(name, folder, edits, macro):
    """Seconds of a load for each edit, in this process."""
    import tarsia

    options = options_of(name, folder, macro)
    times = []
    for edit in edits:
        start = time.perf_counter()
        source = text_of(name, edit)
        tarsia.load_inline({"bench.cu": source} if is_cuda(name) else source, **options)
        times.append(time.perf_counter() - start)
    return times


def gxx_times(name, folder):
    """Seconds of g++ -c without and with a precompiled header; of nvcc -c for a source in CUDA."""
    options = options_of(name, folder)
    compiler = "nvcc" if is_cuda(name) else "g++"
    if not shutil.which(compiler):
        return None, None
    flags = [
        "-std=c++20",
        "-O2",
        "-w",
        *(["-arch=sm_90", "-Xcompiler", "-fPIC"] if is_cuda(name) else ["-fPIC"]),
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
            subprocess.run([compiler, *flags, *arguments], cwd=work, check=True)
            return time.perf_counter() - start

        def write(file, text):
            with open(f"{work}/{file}", "w") as out:
                out.write(text)

        whole = "whole.cu" if is_cuda(name) else "whole.cc"
        write(whole, text_of(name, 1))
        plain = run("-c", whole)
        if is_cuda(name):
            return plain, None
        write("pre.h", "".join(f"#include <{header}>\n" for header in headers))
        run("-x", "c++-header", "pre.h", "-o", "pre.h.gch")
        write("body.cc", '#include "pre.h"\n' + body)
        return plain, run("-c", "body.cc")


def child(name, folder, edits, macro="extension"):
    script = f"import bench_preludes as b; print(*b.tarsia_times({name!r}, {folder!r}, {edits!r}, {macro!r}))"
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
            "| headers | first | edit | edit, new process | and another macro | g++ -c, nvcc -c | g++ -c with a PCH |\n"
            "| --- | --- | --- | --- | --- | --- | --- |"
        )
        for name, folder in asked.items():
            first, *edits = child(name, folder, [1, 2, 3, 4])
            (anew,) = child(name, folder, [5])
            (other,) = child(name, folder, [6], "another")
            plain, precompiled = gxx_times(name, folder)
            figures = [first, min(edits), anew, other, plain, precompiled]
            print(
                f"| {name} | "
                + " | ".join(
                    "" if figure is None else f"{figure:.2f} s" for figure in figures
                )
                + " |",
                flush=True,
            )


if __name__ == "__main__":
    main()
