// The marks, and the check that they are there.
#include "python/op/unwritten.h"

#include <algorithm>
#include <cstring>

#include "python/core/driver.h"
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

/// Tells bindings apart. A later one may lie at the address of one that ended: it then mostly has other
/// shapes.
uint64_t key_of(const tarsia_bind_info& info) {
  uint64_t key = reinterpret_cast<uintptr_t>(&info);
  const auto add = [&](uint64_t number) { key = (key ^ number) * 0x100000001B3; };
  for (uint32_t i = 0; i < info.n_inputs; ++i) {
    add(arguments::bits_of(info.inputs[i].dtype));
    for (int k = 0; k < info.inputs[i].ndim; ++k) add(static_cast<uint64_t>(info.inputs[i].shape[k]));
  }
  return key;
}

}  // namespace

bool WatchedRuns::is_watched(const tarsia_bind_info& info) {
  constexpr size_t k_most_bindings = 64;
  const std::scoped_lock lock(m_mutex);
  return m_written.size() < k_most_bindings && !m_written.contains(key_of(info));
}

void WatchedRuns::has_written(const tarsia_bind_info& info) {
  const std::scoped_lock lock(m_mutex);
  m_written.insert(key_of(info));
}

UnwrittenOutputs::UnwrittenOutputs(const tarsia_op_context& context, WatchedRuns& on_gpu)
    : m_context(context), m_runs(on_gpu), m_on_gpu(context.device.type == TARSIA_GPU) {
  const CallUnderWay* call = CallUnderWay::innermost();
  if (!call || (m_on_gpu && (!on_gpu.is_watched(*context.info) || is_capturing(context.stream)))) return;
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
    if (!m_on_gpu) std::memset(first, 0, static_cast<size_t>(bytes));
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
    if (!put(mark)) continue;
    m_marks.push_back(mark);
    before = at;
  }
}

/// False if the GPU has an error, which others tell.
bool UnwrittenOutputs::put(const Mark& mark) const {
  if (m_on_gpu) {
    const Unlocked unlocked;
    return copy_to_gpu(m_context.device.id, m_context.stream, mark.at, &mark.value, mark.bytes) == 0;
  }
  std::memcpy(mark.at, &mark.value, mark.bytes);
  return true;
}

bool UnwrittenOutputs::is_there(const Mark& mark) const {
  if (!m_on_gpu) return std::memcmp(mark.at, &mark.value, mark.bytes) == 0;
  uint64_t now = 0;
  const Unlocked unlocked;
  return copy_from_gpu(m_context.device.id, m_context.stream, &now, mark.at, mark.bytes) == 0 &&
         std::memcmp(&now, &mark.value, mark.bytes) == 0;
}

int64_t UnwrittenOutputs::first() const {
  for (size_t i = 0; i < m_marks.size();) {
    const uint32_t output = m_marks[i].output;
    bool untouched = true;
    for (; i < m_marks.size() && m_marks[i].output == output; ++i)
      untouched = untouched && is_there(m_marks[i]);
    if (untouched) return output;
  }
  if (m_on_gpu && !m_marks.empty()) m_runs.has_written(*m_context.info);
  return -1;
}

}  // namespace tarsia::python
