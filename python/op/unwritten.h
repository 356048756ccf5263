// Finds outputs that an op written in Python has not written to, which would be given as unset memory.
#pragma once

#include <tarsia/op_abi.h>

#include <cstdint>
#include <mutex>
#include <set>
#include <vector>

namespace tarsia::python {

/// Which runs of an implementation on a GPU are watched: those of a binding until one of them has written its
/// outputs. A watched run waits for the GPU, so that after some number of bindings none is. Thread-safe.
class WatchedRuns {
 public:
  bool is_watched(const tarsia_bind_info& info);
  /// A watched run of the binding has written its outputs.
  void has_written(const tarsia_bind_info& info);

 private:
  std::mutex m_mutex;
  std::set<uint64_t> m_written;
};

/// Marks, before a run, the memory that was made for the call's outputs. Elements at the start, in the middle
/// and at the end get values that no op computes: signalling NaNs, or eight random bytes. An output all of
/// whose marks are there after the run was not written to. One on the CPU that is too small for marks begins
/// as zeros. Not watched are a caller's out=, whose elements are set, and sparse outputs. On a GPU, neither
/// are runs that WatchedRuns leaves out, nor those that are captured into a CUDA graph.
class UnwrittenOutputs {
 public:
  /// The context has to live as long.
  UnwrittenOutputs(const tarsia_op_context& context, WatchedRuns& on_gpu);

  /// The first output that was not written to; -1: none. Waits for the GPU, without the GIL.
  int64_t first() const;

 private:
  struct Mark {
    uint32_t output;
    uint32_t bytes;
    char* at;
    uint64_t value;
  };
  void mark(uint32_t output, const tarsia_tensor& tensor);
  bool put(const Mark& mark) const;
  bool is_there(const Mark& mark) const;

  const tarsia_op_context& m_context;
  WatchedRuns& m_runs;
  const bool m_on_gpu;
  std::vector<Mark> m_marks;
};

}  // namespace tarsia::python
