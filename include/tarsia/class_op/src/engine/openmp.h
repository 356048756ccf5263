// How many threads MXNet would give to a loop.
#pragma once

#include <dmlc/omp.h>

namespace mxnet {
namespace engine {
class OpenMP {
 public:
  static OpenMP* Get() {
    static OpenMP one;
    return &one;
  }
  int GetRecommendedOMPThreadCount(bool = true) const { return omp_get_max_threads(); }
  bool enabled() const { return true; }
};
}  // namespace engine
}  // namespace mxnet
