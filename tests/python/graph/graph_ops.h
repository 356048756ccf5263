// What the ops of the tests of graphs are made of. Elementwise ones read an element before they write it, so
// that their in-place pairs hold.
#pragma once

#include <tarsia/dispatch.h>
#include <tarsia/op.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using tarsia::BindInfo;
using tarsia::Context;
using tarsia::Tensor;

/// y[i] = f(x[i]) for an op of one input and one output.
template <class F>
auto unary(F f) {
  return [f](Context& c) {
    TARSIA_DISPATCH(c.input(0).dtype(), T, (float, double), {
      const T* x = c.input(0).data<const T>();
      T* y = c.output(0).data<T>();
      for (int64_t i = 0, n = c.output(0).numel(); i < n; ++i) y[i] = static_cast<T>(f(c, x[i]));
    });
  };
}

/// dx[i] = f(dy[i], x[i], y[i]).
template <class F>
auto unary_backward(F f) {
  return [f](Context& c) {
    TARSIA_DISPATCH(c.out_grad(0).dtype(), T, (float, double), {
      const T *dy = c.out_grad(0).data<const T>(), *x = c.forward_input(0).data<const T>(),
              *y = c.forward_output(0) ? c.forward_output(0).data<const T>() : nullptr;
      if (!c.in_grad(0)) return;
      T* dx = c.in_grad(0).data<T>();
      for (int64_t i = 0, n = c.out_grad(0).numel(); i < n; ++i)
        dx[i] = static_cast<T>(f(c, dy[i], x[i], y ? y[i] : static_cast<T>(0)));
    });
  };
}

/// y[i] = f(a[i], b[i]).
template <class F>
auto binary(F f) {
  return [f](Context& c) {
    TARSIA_DISPATCH(c.input(0).dtype(), T, (float, double), {
      const T *a = c.input(0).data<const T>(), *b = c.input(1).data<const T>();
      T* y = c.output(0).data<T>();
      for (int64_t i = 0, n = c.output(0).numel(); i < n; ++i) y[i] = f(a[i], b[i]);
    });
  };
}

/// (da[i], db[i]) = f(dy[i], a[i], b[i]).
template <class F>
auto binary_backward(F f) {
  return [f](Context& c) {
    TARSIA_DISPATCH(c.out_grad(0).dtype(), T, (float, double), {
      const T *dy = c.out_grad(0).data<const T>(), *a = c.forward_input(0).data<const T>(),
              *b = c.forward_input(1).data<const T>();
      T *da = c.in_grad(0) ? c.in_grad(0).data<T>() : nullptr,
        *db = c.in_grad(1) ? c.in_grad(1).data<T>() : nullptr;
      for (int64_t i = 0, n = c.out_grad(0).numel(); i < n; ++i) {
        const auto [p, q] = f(dy[i], a[i], b[i]);
        if (da) da[i] = p;
        if (db) db[i] = q;
      }
    });
  };
}

auto plus_one() {
  return unary([](Context&, auto x) { return x + 1; });
}
auto as_dy() {
  return unary_backward([](Context&, auto dy, auto, auto) { return dy; });
}

}  // namespace
