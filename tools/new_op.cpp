// `tarsia new op NAME [--class]`: writes a folder with a working op, its test, and a README.
#include <tarsia/detail/spelling.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

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

constexpr const char k_class_readme[] = R"(# NAME

An op of Tarsia with a state. `NAME.cc` is all of it: each bound op has an object of the class `NAME_op`.

    python -m pytest test_NAME.py       # the tests
    tarsia check NAME.cc                # the same checks without Python
    tarsia compile NAME.cc -o NAME.so   # a library that needs no compiler: tarsia.load("NAME.so")

In a program:

    import tarsia
    tarsia.load("NAME.cc")
    average = tarsia.ops.NAME.bind(x, momentum=0.5)   # makes the state for tensors like x
    y = average(x)
    y = average(x)                                    # goes on from there

For a GPU, rename the file to `NAME.cu`, keep GPU memory in the class, and add `.forward("gpu", …)` and `.backward("gpu", …)`.
)";

constexpr const char k_class_source[] =
    R"(// The op NAME: a moving average of the tensors that it was called with, and its gradient.
#include <tarsia/op.h>

#include <vector>

struct NAME_params {
  float momentum = 0.9f;
};

// One object for each bound op. Its calls do not overlap.
class NAME_op {
 public:
  explicit NAME_op(const tarsia::BindInfo& info)
      : m_momentum(info.params<NAME_params>().momentum), m_average(info.input(0).shape().numel()) {}

  // y = average = momentum * average + (1 - momentum) * x
  void forward(tarsia::Context& c) {
    const tarsia::Tensor x = c.input(0), y = c.output(0);
    TARSIA_DISPATCH(x.dtype(), T, (float, double), {
      const T* from = x.data<const T>();
      T* to = y.data<T>();
      for (long long i = 0; i < x.numel(); ++i) {
        m_average[i] = m_momentum * m_average[i] + (1 - m_momentum) * from[i];
        to[i] = static_cast<T>(m_average[i]);
      }
    });
  }

  // The gradients of the outputs come in, those of the inputs go out. What was averaged before is constant.
  void backward(tarsia::Context& c) const {
    const tarsia::Tensor dy = c.out_grad(0), dx = c.in_grad(0);
    TARSIA_DISPATCH(dy.dtype(), T, (float, double), {
      const T* from = dy.data<const T>();
      T* to = dx.data<T>();
      for (long long i = 0; i < dy.numel(); ++i) to[i] = static_cast<T>((1 - m_momentum) * from[i]);
    });
  }

 private:
  double m_momentum;
  std::vector<double> m_average;
};

TARSIA_OP(NAME)
    .describe("A moving average of the tensors that it was called with.")
    .input("x")
    .output("y")
    .attribute("momentum", &NAME_params::momentum)
    .range(0, 1)
    .state([](const tarsia::BindInfo& info) { return new NAME_op(info); })
    .forward("cpu", [](tarsia::Context& c) { c.state<NAME_op>().forward(c); })
    .backward("cpu", [](tarsia::Context& c) { c.state<NAME_op>().backward(c); });
)";

constexpr const char k_class_test[] = R"("""Tests of the op NAME: python -m pytest test_NAME.py"""

import pathlib

import numpy as np
import pytest

import tarsia
import tarsia.testing

tarsia.load(pathlib.Path(__file__).with_name("NAME.cc"))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_it_averages(dtype):
    x = np.arange(6, dtype=dtype).reshape(2, 3)
    bound = tarsia.ops.NAME.bind(x, momentum=0.5)
    assert np.array_equal(bound(x), 0.5 * x)
    assert np.array_equal(bound(x), 0.75 * x)


def test_each_bound_op_has_a_state_of_its_own():
    x = np.ones(3, "float32")
    first, second = (tarsia.ops.NAME.bind(x, momentum=0.5) for _ in range(2))
    first(x)
    assert first(x)[0] == 0.75 and second(x)[0] == 0.5


def test_it_holds():
    """Inference, memory, write requests, and the gradient against finite differences."""
    tarsia.testing.assert_op("NAME")
)";

std::string filled(std::string text, const std::string& name) {
  for (std::size_t at = 0; (at = text.find("NAME", at)) != std::string::npos; at += name.size())
    text.replace(at, 4, name);
  return text;
}

/// Words of C++ and of Python that name nothing else.
bool is_keyword(std::string_view name) {
  static constexpr std::string_view k_words =
      " alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t "
      "char8_t class "
      "co_await co_return co_yield compl concept const const_cast consteval constexpr constinit continue "
      "decltype "
      "default delete do double dynamic_cast else enum explicit export extern false float for friend goto if "
      "inline "
      "int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public "
      "register "
      "reinterpret_cast requires return short signed sizeof static static_assert static_cast struct switch "
      "template "
      "this thread_local throw true try typedef typeid typename union unsigned using virtual void volatile "
      "wchar_t "
      "while xor xor_eq False None True as assert async await def del elif except finally from global import "
      "in is "
      "lambda nonlocal pass raise with yield ";
  return k_words.find(" " + std::string(name) + " ") != std::string_view::npos;
}

void write(const fs::path& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out) throw std::runtime_error("cannot write '" + path.string() + "'");
}

}  // namespace

int new_op(const NewCommand& command) {
  const std::string& name = command.name;
  if (!detail::is_identifier(name))
    throw std::runtime_error("'" + name + "' cannot be an op's name: letters, digits and underscores");
  if (is_keyword(name))
    throw std::runtime_error("'" + name + "' cannot be an op's name: it is a word of C++ or Python; " + name +
                             "_op can be one");
  const fs::path place = command.folder.empty() ? fs::path(name) : fs::path(command.folder);
  std::error_code error;
  if (fs::exists(place, error) && !fs::is_empty(place, error))
    throw std::runtime_error("'" + place.string() + "' is there already: choose another --folder");
  fs::create_directories(place, error);
  if (error) throw std::runtime_error("cannot make '" + place.string() + "': " + error.message());
  const bool with_class = command.with_class;
  write(place / (name + ".cc"), filled(with_class ? k_class_source : k_source, name));
  write(place / ("test_" + name + ".py"), filled(with_class ? k_class_test : k_test, name));
  write(place / "README.md", filled(with_class ? k_class_readme : k_readme, name));
  std::printf("%s: the op, its test and a README; try it: tarsia check %s\n", place.c_str(),
              (place / (name + ".cc")).c_str());
  return 0;
}

}  // namespace tarsia::tools
