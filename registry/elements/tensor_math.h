// The one piece of arithmetic that libtarsia does itself: adding outputs for ops that only overwrite.
#pragma once

#include <tarsia/abi.h>

#include <cstdint>
#include <string>

#include "base/cuda/cuda_driver.h"

namespace tarsia::registry {

/// How the GPU adds one unit of a dtype: PTX that adds what lies at %b to what lies at %a, with registers of
/// k_sum_registers. An element is one unit, or two of a complex dtype.
struct UnitSum {
  int bytes;
  const char* ptx;
};
extern const char* const k_sum_registers;
/// Throws Unsupported.
UnitSum unit_sum(tarsia_dtype dtype);

/// The function `entry` of a text in PTX, compiled by the driver at first and kept. Thread-safe.
CuFunction ptx_function(int device, const std::string& ptx, const char* entry);

/// to += from, for contiguous tensors of one shape and dtype on one device. On a GPU, ordered on the
/// stream. Throws Unsupported for dtypes without a sum (bool), and CudaError.
void add_to(const tarsia_tensor& to, const tarsia_tensor& from, void* stream);

/// to[i] += from[i] for n elements on the CPU. Throws Unsupported.
void add_elements(tarsia_dtype dtype, void* to, const void* from, std::int64_t n);

/// The number of a float dtype of 16, 32 or 64 bits at `from`, and the other way round.
double load_float(tarsia_dtype dtype, const void* from);
void store_float(tarsia_dtype dtype, double number, void* to);

}  // namespace tarsia::registry
