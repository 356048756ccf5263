// What stands in device code where a constexpr function throws: the thread traps. It can be any value, since
// it never becomes one.
#pragma once

struct tarsia_no_value {
  template <class T>
  __device__ operator T() const {
    for (;;) __trap();
  }
};

__device__ inline tarsia_no_value tarsia_thrown() {
  __trap();
  return {};
}
