// Ops for the tests of the Python face.
#include <tarsia/op.h>

#include <atomic>
#include <optional>
#include <stdexcept>
#include <vector>

TARSIA_OP(py_scale)
    .describe("Multiplies by a factor.")
    .input("x")
    .output("y")
    .attribute<double>("factor", 2.0)
    .describe("What to multiply by.")
    .forward("cpu",
             [](tarsia::Context& c) {
               const float* x = c.input(0).data<const float>();
               float* y = c.output(0).data<float>();
               const double factor = c.attribute<double>("factor");
               for (int64_t i = 0; i < c.input(0).numel(); ++i) y[i] = float(x[i] * factor);
             })
    .backward("cpu", [](tarsia::Context& c) {
      const float* dy = c.out_grad(0).data<const float>();
      float* dx = c.in_grad(0).data<float>();
      const double factor = c.attribute<double>("factor");
      for (int64_t i = 0; i < c.out_grad(0).numel(); ++i) dx[i] = float(dy[i] * factor);
    });

// Minimum and maximum of each row; an optional second input counts as one more row value.
TARSIA_OP(py_extremes)
    .input("x")
    .optional_input("floor")
    .output("least")
    .output("most")
    .infer([](tarsia::BindInfo& info) {
      for (int i = 0; i < 2; ++i) {
        info.output(i).set_shape({info.input(0).size(0)});
        info.output(i).set_dtype(info.input(0).dtype());
      }
    })
    .forward("cpu", [](tarsia::Context& c) {
      const float* x = c.input(0).data<const float>();
      const int64_t rows = c.input(0).size(0), columns = c.input(0).size(1);
      for (int64_t r = 0; r < rows; ++r) {
        float least = x[r * columns], most = least;
        for (int64_t k = 1; k < columns; ++k) {
          least = std::min(least, x[r * columns + k]);
          most = std::max(most, x[r * columns + k]);
        }
        if (c.input(1)) least = std::min(least, c.input(1).data<const float>()[0]);
        c.output(0).data<float>()[r] = least;
        c.output(1).data<float>()[r] = most;
      }
    });

// Keeps what it is told: attributes of every kind come out as numbers.
TARSIA_OP(py_attributes)
    .input("x")
    .output("y")
    .attribute<bool>("flag", false)
    .attribute<int>("count", 1)
    .range(0, 10)
    .attribute<std::string>("word", std::string("abc"))
    .attribute<std::vector<int64_t>>("shape", std::vector<int64_t>{1, 2})
    .attribute<std::optional<double>>("maybe")
    .infer([](tarsia::BindInfo& info) {
      info.output(0).set_shape({5});
      info.output(0).set_dtype(tarsia::float64);
    })
    .forward("cpu", [](tarsia::Context& c) {
      double* y = c.output(0).data<double>();
      y[0] = c.attribute<bool>("flag");
      y[1] = c.attribute<int>("count");
      y[2] = double(c.attribute<std::string>("word").size());
      y[3] = 0;
      for (int64_t n : c.attribute<std::vector<int64_t>>("shape")) y[3] = y[3] * 10 + double(n);
      y[4] = c.attribute<std::optional<double>>("maybe").value_or(-1);
    });

struct Counter {
  int n = 0;
};
TARSIA_OP(py_counts)
    .input("x")
    .output("n")
    .state([](const tarsia::BindInfo&) { return new Counter; })
    .infer([](tarsia::BindInfo& info) {
      info.output(0).set_shape({});
      info.output(0).set_dtype(tarsia::int64);
    })
    .forward("cpu", [](tarsia::Context& c) { *c.output(0).data<int64_t>() = ++c.state<Counter>().n; });

TARSIA_OP(py_running)
    .input("x")
    .mutable_input("sum")
    .output("y")
    .infer([](tarsia::BindInfo& info) { info.output(0) = info.input(0); })
    .forward("cpu", [](tarsia::Context& c) {
      for (int64_t i = 0; i < c.input(0).numel(); ++i) {
        c.input(1).data<float>()[i] += c.input(0).data<const float>()[i];
        c.output(0).data<float>()[i] = c.input(1).data<float>()[i];
      }
    });

TARSIA_OP(py_fails).forward("cpu", [](tarsia::Context&) { throw std::out_of_range("no such row"); });
