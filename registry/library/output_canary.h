// Finds elements of an op's outputs that it has not written, which would be given as unset memory.
#pragma once

#include <tarsia/op_abi.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tarsia::registry {

/// Fills, before a run, the outputs on the CPU that are to be written: with values that no op computes, which
/// are signalling NaNs or random bytes. What holds them after the run was not written. Not watched are sparse
/// outputs, those that share memory with an input, those of a few bytes alone, and memory on a GPU.
class OutputCanary {
 public:
  /// The context has to live as long.
  explicit OutputCanary(const tarsia_op_context& context);

  /// Which elements of which output are not written, "output 'y' is not written at 3 of its 8
  /// elements, first at number 5, counted from 0"; empty: all are.
  std::string unwritten(const tarsia_op& op) const;

 private:
  struct Filled {
    std::uint32_t output;
    std::uint64_t seed;
  };

  const tarsia_op_context& m_context;
  std::vector<Filled> m_filled;
};

}  // namespace tarsia::registry
