// Ops of every sort, for the tests of binding and calling. Also defines global names that ops_again.cc
// defines.
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include <tarsia/op.h>

int version = 1;
int current_version() {
  return version;
}
TARSIA_EXPORT(current_version)

// Its destructor tells the test that the code is being unmapped.
struct Farewell {
  ~Farewell() { setenv("TARSIA_TEST_OPS_UNLOADED", "1", 1); }
} farewell;

void forward(tarsia::Context& c) {
  const tarsia::Tensor x = c.input(0), y = c.output(0);
  TARSIA_DISPATCH(x.dtype(), T, (float, double), {
    const T* a = x.data<const T>();
    T* b = y.data<T>();
    for (int64_t i = 0; i < x.numel(); ++i) b[i] = a[i] > 0 ? a[i] : 0;
  });
}
void backward(tarsia::Context& c) {
  const tarsia::Tensor g = c.out_grad(0), x = c.forward_input(0), d = c.in_grad(0);
  for (int64_t i = 0; i < x.numel(); ++i)
    d.data<float>()[i] = c.forward_output(0).data<float>()[i] > 0 ? g.data<float>()[i] : 0;
}
TARSIA_OP(test_relu)
    .describe("max(x, 0)")
    .input("x")
    .describe("any shape")
    .output("y")
    .forward("cpu", forward)
    .backward("cpu", backward)
    .inplace(0, 0);

TARSIA_OP(test_version).input("x").output("y").forward("cpu", [](tarsia::Context& c) {
  c.output(0).data<float>()[0] = static_cast<float>(version);
});

struct ScaleParams {
  double scale = 2;
  int64_t shift = 0;
  std::vector<int64_t> axes = {0, 1};
  std::string mode = "fast";
  bool flag = false;
};
TARSIA_OP(test_scale)
    .input("x")
    .output("y")
    .attribute("scale", &ScaleParams::scale)
    .range(-10, 10)
    .describe("the factor")
    .attribute("shift", &ScaleParams::shift)
    .at_least(0)
    .attribute("axes", &ScaleParams::axes)
    .attribute("mode", &ScaleParams::mode)
    .choices({"fast", "exact"})
    .attribute("flag", &ScaleParams::flag)
    .forward("cpu", [](tarsia::Context& c) {
      const ScaleParams& p = c.params<ScaleParams>();
      const double extra = p.mode == "exact" ? 1000 : 0;
      for (int64_t i = 0; i < c.input(0).numel(); ++i)
        c.output(0).data<float>()[i] =
            static_cast<float>(p.scale * c.input(0).data<float>()[i] + static_cast<double>(p.shift) + extra +
                               static_cast<double>(p.axes.size()) * 100000 + p.flag * 10000000);
    });

TARSIA_OP(test_needs).attribute<int>("k").describe("how many").forward("cpu", [](tarsia::Context& c) {
  c.output(0).data<float>()[0] = static_cast<float>(c.attribute<int>("k") + c.attribute<double>("k"));
});

struct Counter {
  int calls = 0;
  int64_t elements;
  ~Counter() { setenv("TARSIA_TEST_STATE_GONE", "1", 1); }
};
TARSIA_OP(test_counter)
    .state([](const tarsia::BindInfo& b) {
      auto* c = new Counter();
      c->elements = b.input(0).shape().numel();
      return c;
    })
    .forward("cpu", [](tarsia::Context& c) {
      c.output(0).data<float>()[0] =
          static_cast<float>(++c.state<Counter>().calls + 100 * c.state<Counter>().elements);
    });

// Takes (depth, its own bound op) and calls itself depth times; gives (depth, calls so far).
TARSIA_OP(test_recursive)
    .state([](const tarsia::BindInfo&) { return new Counter(); })
    .forward("cpu", [](tarsia::Context& c) {
      const int64_t* x = c.input(0).data<const int64_t>();
      int64_t* y = c.output(0).data<int64_t>();
      const int before = ++c.state<Counter>().calls;
      y[0] = 0;
      if (x[0] > 0) {
        const tarsia::Tensor in = c.scratch_tensor({2}, tarsia::int64),
                             out = c.scratch_tensor({2}, tarsia::int64);
        in.data<int64_t>()[0] = x[0] - 1;
        in.data<int64_t>()[1] = x[1];
        const tarsia_tensor *inputs = in.get(), *outputs = out.get();
        tarsia_op_call call{};
        call.size = sizeof(call);
        call.n_inputs = call.n_outputs = 1;
        call.inputs = &inputs;
        call.outputs = &outputs;
        if (tarsia::detail::host()->op_call(reinterpret_cast<tarsia_bound_op*>(x[1]), &call))
          tarsia::detail::throw_last(tarsia::detail::host());
        y[0] = out.data<int64_t>()[0] + 1;
        if (c.state<Counter>().calls < before + x[0]) throw std::runtime_error("calls were lost");
      }
      y[1] = c.state<Counter>().calls;
    });

TARSIA_OP(test_matmul)
    .input("a")
    .input("b")
    .optional_input("bias")
    .output("c")
    .output("rows")
    .infer([](tarsia::BindInfo& i) {
      const tarsia::Meta a = i.input(0), b = i.input(1);
      if (a.has_shape() && b.has_shape()) {
        if (a.size(1) < 0) a.set_shape({a.size(0), b.size(0)});
        if (a.size(1) != b.size(0)) throw std::invalid_argument("inner extents differ");
        i.output(0).set_shape({a.size(0), b.size(1)});
        i.output(1).set_shape({a.size(0)});
      }
      tarsia::unify_dtype(a, b);
      tarsia::unify_dtype(a, i.output(0));
      i.output(1).set_dtype(tarsia::int64);
    })
    .forward("cpu", [](tarsia::Context& c) {
      const int64_t m = c.input(0).size(0), k = c.input(0).size(1), n = c.input(1).size(1);
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          float s = c.input(2) ? c.input(2).data<float>()[0] : 0;
          for (int64_t l = 0; l < k; ++l)
            s += c.input(0).data<float>()[i * k + l] * c.input(1).data<float>()[l * n + j];
          c.output(0).data<float>()[i * n + j] = s;
        }
        c.output(1).data<int64_t>()[i] = i;
      }
    });

TARSIA_OP(test_choice)
    .forward("cpu", [](tarsia::Context& c) { c.output(0).data<float>()[0] = 1; })
    .named("general")
    .forward("cpu", [](tarsia::Context& c) { c.output(0).data<float>()[0] = 2; })
    .named("large")
    .priority(5)
    .when([](const tarsia::BindInfo& i) { return i.input(0).shape().numel() > 10; })
    .forward("cpu", [](tarsia::Context& c) { c.output(0).data<float>()[0] = 3; })
    .priority(9)
    .when([](const tarsia::BindInfo& i) { return i.input(0).shape().numel() > 100; });

TARSIA_OP(test_gpu_only).forward("gpu", [](tarsia::Context&) {});

TARSIA_OP(test_requests)
    .forward("cpu",
             [](tarsia::Context& c) {
               for (int64_t i = 0; c.output(0) && i < c.output(0).numel(); ++i)
                 tarsia::assign(c.output(0).data<float>()[i], static_cast<int>(c.request(0)),
                                c.input(0).data<float>()[i] + 1);
             })
    .honours_requests();

TARSIA_OP(test_throws).forward("cpu", [](tarsia::Context&) { throw std::out_of_range("too far"); });
TARSIA_OP(test_infer_fails)
    .infer([](tarsia::BindInfo&) { throw std::invalid_argument("no such shape"); })
    .forward("cpu", [](tarsia::Context&) {});
TARSIA_OP(test_infer_nothing).infer([](tarsia::BindInfo&) {}).forward("cpu", [](tarsia::Context&) {});
TARSIA_OP(test_concat)
    .variadic_input("parts")
    .output("y")
    .infer([](tarsia::BindInfo& i) {
      int64_t n = 0;
      for (int k = 0; k < i.n_inputs(); ++k) n += i.input(k).size(0);
      i.output(0).set_shape({n});
      i.output(0).set_dtype(i.input(0).dtype());
    })
    .forward("cpu", [](tarsia::Context& c) {
      float* to = c.output(0).data<float>();
      for (int k = 0; k < c.n_inputs(); ++k)
        for (int64_t i = 0; i < c.input(k).numel(); ++i) *to++ = c.input(k).data<float>()[i];
    });
TARSIA_OP(test_split)
    .attribute("parts", 2)
    .arity([](const tarsia::BindInfo& i, int* n_in, int* n_out) {
      *n_in = 1;
      *n_out = i.attribute<int>("parts");
    })
    .infer([](tarsia::BindInfo& i) {
      for (int k = 0; k < i.n_outputs(); ++k) {
        i.output(k).set_shape({i.input(0).size(0) / i.n_outputs()});
        i.output(k).set_dtype(i.input(0).dtype());
      }
    })
    .forward("cpu", [](tarsia::Context& c) {
      const float* from = c.input(0).data<const float>();
      for (int k = 0; k < c.n_outputs(); ++k)
        for (int64_t i = 0; i < c.output(k).numel(); ++i) c.output(k).data<float>()[i] = *from++;
    });
TARSIA_OP(test_scratch).forward("cpu", [](tarsia::Context& c) {
  float* a = c.scratch<float>(c.input(0).numel());
  float* b = c.scratch<float>(c.input(0).numel());
  for (int64_t i = 0; i < c.input(0).numel(); ++i) a[i] = c.input(0).data<float>()[i], b[i] = -a[i];
  for (int64_t i = 0; i < c.input(0).numel(); ++i) c.output(0).data<float>()[i] = a[i] - b[i];
});
TARSIA_OP(test_scratch_of)
    .attribute("n", int64_t{0})
    .attribute("rows", int64_t{0})
    .forward("cpu", [](tarsia::Context& c) {
      const int64_t n = c.attribute<int64_t>("n"), rows = c.attribute<int64_t>("rows");
      if (rows)
        c.scratch_tensor({rows, n}, tarsia::float64);
      else
        c.scratch<double>(n)[0] = 1;
    });
TARSIA_OP(test_any).any_attributes().forward("cpu", [](tarsia::Context& c) {
  c.output(0).data<float>()[0] = static_cast<float>(c.attribute<std::string>("whatever").size());
});
