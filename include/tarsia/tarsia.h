// For programs that compile or load libraries and call their functions, kernels and ops. C++20, header-only,
// over the C interface of libtarsia; link with -ltarsia.
//
//   tarsia::Library lib = tarsia::load_inline("float twice(float x) { return 2 * x; }");
//   float y = lib["twice"].call<float>(21);
#pragma once

#if !defined(TARSIA_ADAPTER_H)
/// Leaves out the entry of a module: a program is not a module unless it includes `<tarsia/op.h>` first.
#define TARSIA_NO_MODULE
#endif

#include <tarsia/bound_op.h>
#include <tarsia/cache/cache.h>
#include <tarsia/errors.h>
#include <tarsia/graph.h>
#include <tarsia/library.h>
#include <tarsia/values.h>

namespace tarsia {

/// The version of libtarsia, as in "0.1.0".
inline std::string version() {
  return tarsia_version();
}

/// Seeds the random states of all devices.
inline void seed(uint64_t number) {
  tarsia_seed(number);
}

/// Makes a stream the current one of this thread on a GPU. Calls and launches without a stream use it.
inline void set_stream(int device, Stream stream) {
  tarsia_set_stream(device, stream);
}

/// Waits until the work on a stream is done. Throws CudaError, also for errors of the kernels on it.
inline void synchronize(int device = 0, Stream stream = {}) {
  detail::check(tarsia_synchronize(device, stream));
}

}  // namespace tarsia
