// Ops with several implementations each, which tell what they see.
#include <cstring>
#include <string>
#include <vector>

#include <tarsia/op.h>

namespace {

bool is_same(const tarsia::Tensor& a, const tarsia::Tensor& b) {
  return a && b && a.data<const float>() == b.data<const float>();
}

// A convolution of one dimension with three weights: y[i] = Σ w[k] x[i + k - 1]. Each implementation adds its
// mark to y[0] and dx[0]: 1000 for the plain one, 2000 for the one that is like cuDNN's. To that it adds 100
// for each tensor that shares memory with x or dy, and 10 times the request that it sees.
void convolve(const float* x, const float* w, float* y, int64_t n, bool backward) {
  for (int64_t i = 0; i < n; ++i) {
    y[i] = 0;
    for (int64_t k = 0; k < 3; ++k) {
      const int64_t at = backward ? i - k + 1 : i + k - 1;
      if (at >= 0 && at < n) y[i] += w[k] * x[at];
    }
  }
}
void plain_forward(tarsia::Context& c) {
  const tarsia::Tensor x = c.input(0), y = c.output(0);
  convolve(x.data<const float>(), c.input(1).data<const float>(), y.data<float>(), x.numel(), false);
  y.data<float>()[0] += 1000 + 100 * is_same(x, y) + 10 * int(c.request(0));
}
void plain_backward(tarsia::Context& c) {
  const tarsia::Tensor dy = c.out_grad(0), dx = c.in_grad(0);
  convolve(dy.data<const float>(), c.forward_input(1).data<const float>(), dx.data<float>(), dy.numel(),
           true);
  dx.data<float>()[0] +=
      1000 + 100 * (is_same(dx, dy) || is_same(dx, c.forward_input(0))) + 10 * int(c.request(0));
}
// Has a buffer of its own for what it takes, as cuDNN its workspace, so it may write where x was.
const float* copy_of(tarsia::Context& c, const tarsia::Tensor& x) {
  float* copy = c.scratch<float>(x.numel());
  std::memcpy(copy, x.data<const float>(), sizeof(float) * x.numel());
  return copy;
}
void buffered_forward(tarsia::Context& c) {
  const tarsia::Tensor x = c.input(0), y = c.output(0);
  const bool same = is_same(x, y);
  convolve(copy_of(c, x), c.input(1).data<const float>(), y.data<float>(), x.numel(), false);
  y.data<float>()[0] += 2000 + 100 * same + 10 * int(c.request(0));
}
void buffered_backward(tarsia::Context& c) {
  const tarsia::Tensor dy = c.out_grad(0), dx = c.in_grad(0);
  const bool same = is_same(dx, dy) || is_same(dx, c.forward_input(0));
  convolve(copy_of(c, dy), c.forward_input(1).data<const float>(), dx.data<float>(), dy.numel(), true);
  dx.data<float>()[0] += 2000 + 100 * same + 10 * int(c.request(0));
}
int64_t workspace(const tarsia::BindInfo& i) {
  return i.input(0).shape().numel() * 4;
}

}  // namespace

TARSIA_OP(test_conv)
    .input("x")
    .input("w")
    .no_gradient()
    .output("y")
    .infer([](tarsia::BindInfo& i) { i.output(0) = i.input(0); })
    .forward("cpu", plain_forward)
    .honours_requests()
    .backward("cpu", plain_backward)
    .honours_requests()
    .forward("cpu", buffered_forward)
    .named("buffered")
    .when([](const tarsia::BindInfo& i) { return i.input(0).size(0) >= 4; })
    .priority(1)
    .honours_requests()
    .forward_inplace(0, 0)
    .workspace(workspace)
    .backward("cpu", buffered_backward)
    .named("buffered")
    .when([](const tarsia::BindInfo& i) { return i.input(0).size(0) >= 4; })
    .priority(1)
    .backward_inplace(1, 0)
    .backward_inplace(0, 0)
    .workspace(workspace);

// The op's pair holds for all of its forwards, in addition to their own.
void first_of_two(tarsia::Context& c) {
  const float a = c.input(0).data<const float>()[0], b = c.input(1).data<const float>()[0];
  c.output(0).data<float>()[0] = a + b;
  c.output(0).data<float>()[0] +=
      100 * is_same(c.input(0), c.output(0)) + 200 * is_same(c.input(1), c.output(0));
}
TARSIA_OP(test_pairs)
    .input("a")
    .input("b")
    .inplace(0, 0)
    .forward("cpu", first_of_two)
    .forward("cpu", first_of_two)
    .named("both")
    .when([](const tarsia::BindInfo& i) { return i.input(0).size(0) == 2; })
    .priority(1)
    .forward_inplace(1, 0)
    .forward_inplace(0, 0);

TARSIA_OP(test_workspace_fails)
    .forward("cpu", first_of_two)
    .workspace([](const tarsia::BindInfo&) -> int64_t { throw tarsia::ValueError("no plan"); });

// Inference chooses, and amends the attributes.
struct PowerParams {
  int power = 2;
  std::vector<float> scales = {1};
};
template <int mark>
void power(tarsia::Context& c) {
  const PowerParams& p = c.params<PowerParams>();
  const float x = c.input(0).data<const float>()[0];
  float y = 1;
  for (int i = 0; i < p.power; ++i) y *= x;
  c.output(0).data<float>()[0] = mark + y * p.scales[0] + 100 * (c.attribute<int>("power") == p.power);
}
template <int mark>
void power_gradient(tarsia::Context& c) {
  c.in_grad(0).data<float>()[0] = mark;
}
TARSIA_OP(test_choose)
    .attribute("power", &PowerParams::power)
    .at_least(0)
    .attribute("scales", &PowerParams::scales)
    .attribute("how", "")
    .choices({"", "loop", "square", "gpu_only", "wrong", "bad", "unknown"})
    .attribute("twice", false)
    .infer([](tarsia::BindInfo& i) {
      i.output(0) = i.input(0);
      const std::string how = i.attribute<std::string>("how");
      if (how == "loop") {
        i.choose("square");
        i.choose("loop");
        i.set_attribute("power", 3);
        i.set_attribute("scales", std::vector<float>{2, 3});
      } else if (how == "bad") {
        i.set_attribute("power", -1);
      } else if (how == "unknown") {
        i.set_attribute("powers", 1);
      } else if (how != "") {
        i.choose(how.c_str());
      }
      if (i.attribute<bool>("twice")) i.set_attribute("power", "4");
    })
    .forward("cpu", power<1000>)
    .priority(2)
    .forward("cpu", power<2000>)
    .named("loop")
    .when([](const tarsia::BindInfo&) { return false; })
    .forward("cpu", power<3000>)
    .named("square")
    .forward("gpu", power<4000>)
    .named("gpu_only")
    .backward("cpu", power_gradient<1>)
    .priority(1)
    .backward("cpu", power_gradient<2>)
    .named("square");

TARSIA_OP(test_choose_late).forward("cpu", [](tarsia::Context& c) { c.info().choose("x"); });

// Takes dense tensors alone, and infers that y is as x is stored.
void double_forward(tarsia::Context& c) {
  for (int64_t i = 0; i < c.input(0).numel(); ++i)
    c.output(0).data<float>()[i] = 2 * c.input(0).data<const float>()[i];
}
void double_backward(tarsia::Context& c) {
  for (int64_t i = 0; i < c.out_grad(0).numel(); ++i)
    c.in_grad(0).data<float>()[i] = 2 * c.out_grad(0).data<const float>()[i];
}
TARSIA_OP(test_dense_double).forward("cpu", double_forward).backward("cpu", double_backward).inplace(0, 0);

// Its sparse implementation takes square matrices alone, and there is no sparse backward.
TARSIA_OP(test_double)
    .infer([](tarsia::BindInfo& i) {
      i.output(0) = i.input(0);
      i.output(0).set_storage(i.input(0).storage());
    })
    .forward("cpu", double_forward)
    .named("dense")
    .backward("cpu", double_backward)
    .forward("cpu",
             [](tarsia::Context& c) {
               const tarsia::Sparse x = c.sparse_input(0), y = c.allocate_sparse(0, x.count());
               for (int64_t k = 0; k < x.count(); ++k) {
                 y.values<float>()[k] = 200 * x.values<float>()[k];
                 y.indices()[k] = x.indices()[k];
               }
               if (x.storage() == TARSIA_CSR)
                 std::memcpy(y.indptr(), x.indptr(), sizeof(int64_t) * (x.shape()[0] + 1));
             })
    .sparse()
    .named("sparse")
    .when([](const tarsia::BindInfo& i) { return i.input(0).size(0) == i.input(0).size(1); });

TARSIA_OP(test_when_fails)
    .forward("cpu", first_of_two)
    .when([](const tarsia::BindInfo&) -> bool { throw tarsia::ValueError("cannot say"); });
