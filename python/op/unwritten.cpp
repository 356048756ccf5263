// The marks, and the check that they are there.
#include "python/op/unwritten.h"

#include <algorithm>
#include <cstring>

#include "python/core/dtype.h"
#include "python/op/outputs.h"
#include "python/op/python_op.h"

namespace tarsia::python {
namespace {

// An op may well compute what would mark fewer.
constexpr int64_t k_fewest_bytes = 4;

uint64_t random_bits() {
  thread_local uint64_t t_state = 0x9E3779B97F4A7C15 ^ reinterpret_cast<uintptr_t>(&t_state);
  t_state ^= t_state << 13;
  t_state ^= t_state >> 7;
  t_state ^= t_state << 17;
  return t_state;
}

/// A signalling NaN with a random payload: arithmetic and conversions give quiet ones only. 0: the dtype has
/// none.
uint64_t signalling_nan(tarsia_dtype dtype) {
  if (dtype.lanes != 1 || (dtype.code != TARSIA_FLOAT && dtype.code != TARSIA_BFLOAT)) return 0;
  const int mantissa = dtype.code == TARSIA_BFLOAT ? 7
                       : dtype.bits == 16          ? 10
                       : dtype.bits == 32          ? 23
                       : dtype.bits == 64          ? 52
                                                   : 0;
  if (!mantissa) return 0;
  const uint64_t payload = random_bits() % ((uint64_t{1} << (mantissa - 1)) - 1) + 1;
  const uint64_t exponent = ((uint64_t{1} << (dtype.bits - 1 - mantissa)) - 1) << mantissa;
  return exponent | payload;
}

}  // namespace

UnwrittenOutputs::UnwrittenOutputs(const tarsia_op_context& context) {
  const CallUnderWay* call = CallUnderWay::innermost();
  if (!call || context.device.type != TARSIA_CPU) return;
  for (uint32_t i = 0; i < context.n_outputs; ++i)
    if (context.requests[i] == TARSIA_REQUEST_WRITE && call->outputs.storage_of_made(context.outputs[i]))
      mark(i, *context.outputs[i]);
}

void UnwrittenOutputs::mark(uint32_t output, const tarsia_tensor& tensor) {
  const int64_t n = arguments::element_count(tensor);
  const int64_t item = item_bytes(tensor.dtype);
  char* const first = static_cast<char*>(tensor.data) + tensor.byte_offset;
  const bool is_float = signalling_nan(tensor.dtype) != 0;
  const bool is_bool = tensor.dtype.code == TARSIA_BOOL;
  const int64_t bytes = n * item;
  if (bytes == 0) return;
  if (!is_float && !is_bool && bytes < k_fewest_bytes) {
    std::memset(first, 0, static_cast<size_t>(bytes));
    return;
  }
  const int64_t width = is_float ? item : std::min<int64_t>(8, bytes), last = bytes - width;
  int64_t before = -width;
  for (const int64_t at : {int64_t{0}, n / 2 * item, last}) {
    if (at > last || at < before + width) continue;
    const Mark mark{output, static_cast<uint32_t>(width), first + at,
                    is_float  ? signalling_nan(tensor.dtype)
                    : is_bool ? random_bits() | 0x0202020202020202  // neither false nor true
                              : random_bits()};
    std::memcpy(mark.at, &mark.value, mark.bytes);
    m_marks.push_back(mark);
    before = at;
  }
}

int64_t UnwrittenOutputs::first() const {
  for (size_t i = 0; i < m_marks.size();) {
    const uint32_t output = m_marks[i].output;
    bool untouched = true;
    for (; i < m_marks.size() && m_marks[i].output == output; ++i)
      untouched &= std::memcmp(m_marks[i].at, &m_marks[i].value, m_marks[i].bytes) == 0;
    if (untouched) return output;
  }
  return -1;
}

}  // namespace tarsia::python
