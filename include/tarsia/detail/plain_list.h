// Lists without std headers, in which op_define.h collects declarations.
#pragma once

#include <tarsia/detail/macros_push.h>

#include <stdint.h>

#include <tarsia/detail/support.h>

#if defined(TARSIA_INLINE_SOURCE) && defined(__clang__)
#pragma clang optimize off
#endif
#pragma GCC visibility push(hidden)
namespace tarsia {
namespace detail {

/// A list that grows by doubling; items are plain structs.
template <class T_>
struct PlainList {
  T_* items = nullptr;
  uint32_t n = 0;

  T_& add() {
    if ((n & (n + 1)) == 0) {  // full at 0, 1, 3, 7, …
      T_* more_ = new T_[2 * n + 1];
      for (uint32_t i_ = 0; i_ < n; ++i_) more_[i_] = items[i_];
      delete[] items;
      items = more_;
    }
    items[n] = T_();
    return items[n++];
  }
  T_& last() { return items[n - 1]; }
};

/// Frees an object of the declarations when the library is unloaded.
struct Keeper {
  void* object;
  void (*destroy)(void*);
};
TARSIA_DETAIL_SUPPORT void keep(PlainList<Keeper>& list_, void* object_, void (*destroy_)(void*)) {
  Keeper& k_ = list_.add();
  k_.object = object_;
  k_.destroy = destroy_;
}
template <class T_>
T_* keep(PlainList<Keeper>& list_, T_* object_) {
  keep(list_, object_, [](void* p_) { delete static_cast<T_*>(p_); });
  return object_;
}

}  // namespace detail
}  // namespace tarsia
#pragma GCC visibility pop
#if defined(TARSIA_INLINE_SOURCE) && defined(__clang__)
#pragma clang optimize on
#endif

#include <tarsia/detail/macros_pop.h>
