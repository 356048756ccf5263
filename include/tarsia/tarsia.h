// For programs: compile or load op libraries, call their functions, kernels and ops. C++20, header-only, over
// the C interface of libtarsia; link with -ltarsia.
//
//   tarsia::Library lib = tarsia::load_inline("float twice(float x) { return 2 * x; }");
//   float y = lib["twice"].call<float>(21);
#pragma once

#if !defined(TARSIA_ADAPTER_H)
#define TARSIA_NO_MODULE  // a program is no module, unless it includes <tarsia/op.h> first
#endif

#include <tarsia/bound_op.h>
#include <tarsia/errors.h>
#include <tarsia/library.h>
#include <tarsia/values.h>

namespace tarsia {

inline std::string version() {
  return tarsia_version();
}

/// Seeds the random states of all devices.
inline void seed(uint64_t number) {
  tarsia_seed(number);
}

/// Makes a stream the current one of this thread for a GPU.
inline void set_stream(int device, Stream stream) {
  tarsia_set_stream(device, stream);
}

/// Waits for a stream's work. Throws CudaError for errors of the kernels on it.
inline void synchronize(int device = 0, Stream stream = {}) {
  detail::check(tarsia_synchronize(device, stream));
}

}  // namespace tarsia
