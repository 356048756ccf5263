// Finds outputs that an op written in Python has not written to, which would be given as unset memory.
#pragma once

#include <tarsia/op_abi.h>

#include <cstdint>
#include <vector>

namespace tarsia::python {

/// Marks, before a run, the memory on the CPU that was made for the call's outputs. Elements at the start, in
/// the middle and at the end get values that no op computes: signalling NaNs, or eight random bytes. An
/// output all of whose marks are there after the run was not written to. One that is too small for marks
/// begins as zeros. Not watched are a caller's out=, whose elements are set, sparse outputs, and memory on a
/// GPU.
class UnwrittenOutputs {
 public:
  /// The context has to live as long.
  explicit UnwrittenOutputs(const tarsia_op_context& context);

  /// The first output that was not written to; -1: none.
  int64_t first() const;

 private:
  struct Mark {
    uint32_t output;
    uint32_t bytes;
    char* at;
    uint64_t value;
  };
  void mark(uint32_t output, const tarsia_tensor& tensor);

  std::vector<Mark> m_marks;
};

}  // namespace tarsia::python
