// dmlc::optional: a value, or none, which is written "None".
#pragma once

#include <dmlc/common.h>

#include <cctype>
#include <iostream>
#include <string>
#include <type_traits>
#include <utility>

#include <dmlc/logging.h>

#if defined(TARSIA_INLINE_SOURCE) && defined(__clang__)
#pragma clang optimize off
#endif
namespace dmlc {

struct nullopt_t {
  constexpr explicit nullopt_t(int) {}
};
constexpr const nullopt_t nullopt = nullopt_t(0);

template <class T>
class optional {
 public:
  optional() {}
  optional(nullopt_t) {}
  explicit optional(const T& value) : m_has(true), m_value(value) {}
  optional<T>& operator=(T&& value) {
    m_has = true;
    m_value = std::move(value);
    return *this;
  }
  optional<T>& operator=(const T& value) {
    m_has = true;
    m_value = value;
    return *this;
  }
  optional<T>& operator=(nullopt_t) {
    m_has = false;
    m_value = T();
    return *this;
  }
  T& operator*() { return m_value; }
  const T& operator*() const { return m_value; }
  /// Throws if there is none.
  const T& value() const {
    if (!m_has) throw Error("an optional that is None was asked for its value");
    return m_value;
  }
  explicit operator bool() const { return m_has; }
  bool has_value() const { return m_has; }
  bool operator==(const optional<T>& other) const {
    return m_has == other.m_has && (!m_has || m_value == other.m_value);
  }
  void swap(optional<T>& other) { std::swap(*this, other); }

 private:
  bool m_has = false;
  T m_value = T();
};

template <class T>
std::ostream& operator<<(std::ostream& out, const optional<T>& value) {
  if (value) return out << *value;
  return out << "None";
}
template <class T>
std::istream& operator>>(std::istream& in, optional<T>& value) {
  while (isspace(in.peek())) in.get();
  if (in.peek() != 'N') {
    T given = T();
    if (std::is_unsigned<T>::value && in.peek() == '-')
      in.setstate(std::ios::failbit);  // it would wrap around
    if (in >> given) value = given;
    return in;
  }
  std::string word;
  in >> word;
  if (word != "None") in.setstate(std::ios::failbit);
  value = nullopt;
  return in;
}

}  // namespace dmlc
#if defined(TARSIA_INLINE_SOURCE) && defined(__clang__)
#pragma clang optimize on
#endif

namespace std {
template <class T>
struct hash<dmlc::optional<T>> {
  size_t operator()(const dmlc::optional<T>& value) const {
    return value.has_value() ? dmlc::HashCombine(1, *value) : 0;
  }
};
}  // namespace std
