// What class operators ask of libtarsia: the log, scratch memory, random numbers, and which op runs.
#pragma once

#include <tarsia/detail/adapter.h>
#include <tarsia/detail/exceptions.h>
#include <tarsia/op_abi.h>

#pragma GCC visibility push(hidden)
namespace mxnet {
namespace tarsia_detail {

using ::tarsia::detail::host;

/// The op whose functions this thread calls; "" outside of them.
inline const char*& current_op() {
  static thread_local const char* name = "";
  return name;
}

/// What the call was bound with that makes or runs an operator on this thread; null outside of one.
inline const tarsia_bind_info*& current_call() {
  static thread_local const tarsia_bind_info* info = nullptr;
  return info;
}

inline void warn(const char* text) {
  if (host()) host()->warn(current_op(), text);
}

inline tarsia_device device_of(bool is_gpu, int id) {
  tarsia_device device = tarsia_device();
  device.type = is_gpu ? TARSIA_GPU : TARSIA_CPU;
  device.id = is_gpu ? id : 0;
  return device;
}
/// Memory for the call under way.
inline void* scratch(size_t bytes, bool is_gpu, int id) {
  void* memory = host()->scratch(bytes, device_of(is_gpu, id));
  if (!memory) ::tarsia::detail::throw_last(host());
  return memory;
}
inline void random_reserve(bool is_gpu, int id, uint64_t n, uint64_t* seed, uint64_t* offset) {
  if (host()->random_reserve(device_of(is_gpu, id), n, seed, offset)) ::tarsia::detail::throw_last(host());
}

}  // namespace tarsia_detail
}  // namespace mxnet
#pragma GCC visibility pop
