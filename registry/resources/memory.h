// Memory: the driver's stream-ordered pool on GPUs, the heap on the CPU, and tensors made of it.
#pragma once

#include <tarsia/abi.h>
#include <tarsia/detail/argument_rules.h>

#include <algorithm>
#include <cstdint>

namespace tarsia::registry {

/// Whether only kernels work on its memory directly: TARSIA_GPU and managed memory.
inline bool is_gpu(tarsia_device device) {
  return device.type == TARSIA_GPU || device.type == TARSIA_GPU_MANAGED;
}

/// Throws ArgumentError "`what` of … bytes is asked for" for a size that no memory holds, such as a
/// negative or wrapped one.
void refuse_impossible_size(const char* what, std::uint64_t bytes);

/// Throws ArgumentError "`what` of the CPU or of NVIDIA GPUs, …" for a device that Tarsia does not know.
void refuse_unknown_device(const char* what, tarsia_device device);

/// Memory of the GPU's pool, ordered on the stream. Throws CudaError, OutOfMemory.
void* allocate_device(std::uint64_t bytes, int device, void* stream);

/// Frees it once the stream's work so far is done.
void free_device(void* memory, int device, void* stream) noexcept;

/// Frees it once all work of the GPU so far is done, on every stream. Does not wait.
void free_device_anywhere(void* memory, int device) noexcept;

/// A contiguous tensor with unset elements, one reference handed over; on a GPU ordered on the current
/// stream. Throws.
tarsia_storage* make_tensor(const std::int64_t* shape, std::int32_t ndim, tarsia_dtype dtype,
                            tarsia_device device);

/// The same, made by the framework of the innermost call that has one. Null if the framework failed; the
/// thread's last error says why. Throws ArgumentError for a size that does not fit.
tarsia_storage* make_tensor_of_caller(const std::int64_t* shape, std::int32_t ndim, tarsia_dtype dtype,
                                      tarsia_device device);

void retain(tarsia_storage* storage) noexcept;
void release(tarsia_storage* storage) noexcept;

/// Releases the tensors of a result that nobody takes.
void drop(tarsia_value& result) noexcept;

/// The size of one element with all its lanes, in bytes: one at least.
constexpr std::int64_t bytes_of_element(tarsia_dtype dtype) {
  return (std::int64_t{dtype.bits} * std::max<int>(dtype.lanes, 1) + 7) / 8;
}

/// The size of a contiguous tensor's elements, in bytes. Throws ArgumentError if it does not fit.
std::uint64_t bytes_of(const std::int64_t* shape, std::int32_t ndim, tarsia_dtype dtype);

using arguments::data_of;

/// Whether the elements lie row-major without gaps.
bool is_contiguous(const tarsia_tensor& tensor) noexcept;

/// Copies contiguous elements, ordered on `stream` if a GPU takes part; between two GPUs it is a stream of
/// `to`'s. Waits if a side is on the CPU.
void copy(const tarsia_tensor& to, const tarsia_tensor& from, void* stream);

}  // namespace tarsia::registry
