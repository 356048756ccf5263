// A leaky ReLU and its gradient, for tests of ops in several frameworks:
//   TARSIA_ELEMENTWISE(name, Leaky, LeakyGradient).attribute("slope", &Leaky::slope);
#pragma once

#include <tarsia/elementwise.h>

struct Leaky {
  double slope = 0.25;
  template <class T>
  TARSIA_HOST_DEVICE T operator()(T x) const {
    return x > T(0) ? x : T(slope) * x;
  }
};
struct LeakyGradient : Leaky {
  template <class T>
  TARSIA_HOST_DEVICE T operator()(T dy, T x, T) const {
    return x > T(0) ? dy : T(slope) * dy;
  }
};
