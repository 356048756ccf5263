// Counted references. Objects are born with one reference, which `adopt` takes over.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace tarsia::registry {

/// Base of counted objects. Giving the last reference back calls Derived::destroy().
template <class Derived>
class Counted {
 public:
  void retain() const { m_count.fetch_add(1, std::memory_order_relaxed); }
  /// Whether more than one reference is held, as far as can be told now.
  bool is_shared() const { return m_count.load(std::memory_order_acquire) > 1; }
  void release() const {
    if (m_count.fetch_sub(1, std::memory_order_acq_rel) == 1)
      const_cast<Derived*>(static_cast<const Derived*>(this))->destroy();
  }

 protected:
  Counted() = default;
  ~Counted() = default;

 private:
  mutable std::atomic<std::int64_t> m_count{1};
};

template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  /// Adds a reference.
  explicit Ref(T* object) : m_object(object) {
    if (m_object) m_object->retain();
  }
  /// Takes over one reference.
  static Ref adopt(T* object) {
    Ref ref;
    ref.m_object = object;
    return ref;
  }
  Ref(const Ref& other) : Ref(other.m_object) {}
  Ref(Ref&& other) noexcept : m_object(std::exchange(other.m_object, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(m_object, other.m_object);
    return *this;
  }
  ~Ref() {
    if (m_object) m_object->release();
  }

  T* get() const { return m_object; }
  T* operator->() const { return m_object; }
  T& operator*() const { return *m_object; }
  explicit operator bool() const { return m_object != nullptr; }
  /// Hands the reference over to the caller.
  T* detach() { return std::exchange(m_object, nullptr); }

 private:
  T* m_object = nullptr;
};

}  // namespace tarsia::registry
