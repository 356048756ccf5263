// `tarsia new op NAME`: writes a folder with a working op, its test, and a README.
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "tools/commands.h"

namespace tarsia::tools {
namespace {

namespace fs = std::filesystem;

// NAME stands for the op's name.
constexpr const char k_source[] = R"(// The op NAME: y = factor * x, and its gradient.
#include <tarsia/op.h>

struct NAME_params {
  float factor = 2;
};

static void NAME_cpu(tarsia::Context& c) {
  const tarsia::Tensor x = c.input(0), y = c.output(0);
  TARSIA_DISPATCH(x.dtype(), T, (float, double), {
    const T factor = static_cast<T>(c.params<NAME_params>().factor);
    const T* from = x.data<const T>();
    T* to = y.data<T>();
    for (long long i = 0; i < x.numel(); ++i) to[i] = factor * from[i];
  });
}

// The gradients of the outputs come in, those of the inputs go out.
static void NAME_cpu_backward(tarsia::Context& c) {
  const tarsia::Tensor dy = c.out_grad(0), dx = c.in_grad(0);
  TARSIA_DISPATCH(dy.dtype(), T, (float, double), {
    const T factor = static_cast<T>(c.params<NAME_params>().factor);
    const T* from = dy.data<const T>();
    T* to = dx.data<T>();
    for (long long i = 0; i < dy.numel(); ++i) to[i] = factor * from[i];
  });
}

TARSIA_OP(NAME)
    .describe("Multiplies by a factor.")
    .input("x")
    .output("y")
    .attribute("factor", &NAME_params::factor)
    .forward("cpu", NAME_cpu)
    .backward("cpu", NAME_cpu_backward);
)";

constexpr const char k_test[] = R"("""Tests of the op NAME: python -m pytest test_NAME.py"""

import pathlib

import numpy as np
import pytest

import tarsia
import tarsia.testing

tarsia.load(pathlib.Path(__file__).with_name("NAME.cc"))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_it_multiplies(dtype):
    x = np.arange(6, dtype=dtype).reshape(2, 3)
    assert np.array_equal(tarsia.ops.NAME(x), 2 * x)
    assert np.array_equal(tarsia.ops.NAME(x, factor=-0.5), -0.5 * x)


def test_it_holds():
    """Inference, memory, write requests, and the gradient against finite differences."""
    tarsia.testing.assert_op("NAME")
)";

constexpr const char k_readme[] = R"(# NAME

An op of Tarsia. `NAME.cc` is all of it.

    python -m pytest test_NAME.py       # the tests
    tarsia check NAME.cc                # the same checks without Python
    tarsia compile NAME.cc -o NAME.so   # a library that needs no compiler: tarsia.load("NAME.so")

In a program:

    import tarsia
    tarsia.load("NAME.cc")
    y = tarsia.ops.NAME(x, factor=3.0)

For a GPU, rename the file to `NAME.cu`, and add a kernel with `.forward("gpu", …)` and `.backward("gpu", …)`.
)";

std::string filled(std::string text, const std::string& name) {
  for (std::size_t at = 0; (at = text.find("NAME", at)) != std::string::npos; at += name.size())
    text.replace(at, 4, name);
  return text;
}

bool is_identifier(const std::string& name) {
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) return false;
  for (const char c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_') return false;
  return true;
}

void write(const fs::path& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out) throw std::runtime_error("cannot write '" + path.string() + "'");
}

}  // namespace

int new_op(const std::string& name, const std::string& folder) {
  if (!is_identifier(name))
    throw std::runtime_error("'" + name + "' cannot be an op's name: letters, digits and underscores");
  const fs::path place = folder.empty() ? fs::path(name) : fs::path(folder);
  std::error_code error;
  if (fs::exists(place, error) && !fs::is_empty(place, error))
    throw std::runtime_error("'" + place.string() + "' is there already: choose another --folder");
  fs::create_directories(place, error);
  if (error) throw std::runtime_error("cannot make '" + place.string() + "': " + error.message());
  write(place / (name + ".cc"), filled(k_source, name));
  write(place / ("test_" + name + ".py"), filled(k_test, name));
  write(place / "README.md", filled(k_readme, name));
  std::printf("%s: the op, its test and a README; try it: tarsia check %s\n", place.c_str(),
              (place / (name + ".cc")).c_str());
  return 0;
}

}  // namespace tarsia::tools
