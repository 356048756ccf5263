// Owned references to the counted objects of libtarsia: ops, bound ops, libraries.
#pragma once

#include <tarsia/c_api.h>

#include <utility>

namespace tarsia::python {

/// One reference to a T; may be empty. While it is held, T and its code stay, even if another library takes
/// over its name. Needs no GIL. Its end may run code of T's library.
template <class T, void (*k_retain)(T*), void (*k_release)(T*)>
class Owned {
 public:
  Owned() = default;
  /// Takes over a reference.
  explicit Owned(T* owned) : m_object(owned) {}
  static Owned borrow(T* object) {
    if (object) k_retain(object);
    return Owned(object);
  }
  Owned(Owned&& other) noexcept : m_object(other.release()) {}
  Owned& operator=(Owned&& other) noexcept {
    const Owned old(std::exchange(m_object, other.release()));
    return *this;
  }
  ~Owned() {
    if (m_object) k_release(m_object);
  }

  T* get() const { return m_object; }
  T* release() { return std::exchange(m_object, nullptr); }
  explicit operator bool() const { return m_object != nullptr; }

 private:
  T* m_object = nullptr;
};

using OpRef = Owned<tarsia_op_handle, tarsia_op_retain, tarsia_op_release>;
using BoundRef = Owned<tarsia_bound_op, tarsia_bound_retain, tarsia_bound_release>;
using LibraryRef = Owned<tarsia_library, tarsia_library_retain, tarsia_library_release>;

}  // namespace tarsia::python
