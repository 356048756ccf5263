// What a measurement of an op's implementations found, as bound ops and explanations tell it.
#pragma once

#include <tarsia/op_abi.h>

#include <array>
#include <string>
#include <vector>

namespace tarsia::registry {

/// What a call of an implementation took.
struct MeasuredTime {
  const tarsia_implementation* implementation;
  std::string name;
  double seconds = -1;  ///< below 0: it failed
  std::string failure;
};

/// What is known of a pass whose implementation is to be the fastest.
struct Measured {
  std::vector<MeasuredTime> times;                        ///< of each that applies; empty: none was taken
  std::string reason;                                     ///< why none was, although there is a choice; or ""
  const tarsia_implementation* implementation = nullptr;  ///< the one to take; null: the usual one

  const MeasuredTime* find(const tarsia_implementation& one) const {
    for (const MeasuredTime& time : times)
      if (time.implementation == &one) return &time;
    return nullptr;
  }
};

/// By tarsia_pass.
using MeasuredPasses = std::array<Measured, 2>;

/// "3.40 us": a time for people.
std::string time_text(double seconds);

}  // namespace tarsia::registry
