// Headers of Tarsia's own that only Clang reads.
#include "jit/worker/source/host_headers.h"

namespace tarsia::jit {

const std::vector<HostHeader>& host_headers() {
  static const std::vector<HostHeader> all = {
#include "host_headers.inc"
  };
  return all;
}

}  // namespace tarsia::jit
