// A value other than the one given, of any type that an option has: for tests that change each option alone.
#pragma once

#include <tarsia/detail/option_row.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tarsia {

inline bool changed(bool value) {
  return !value;
}
inline Mode changed(const Mode& value) {
  return !value;
}
inline int changed(int value) {
  return value + 1;
}
inline std::string changed(std::string value) {
  return value + "x";
}
inline std::chrono::milliseconds changed(std::chrono::milliseconds value) {
  return value + std::chrono::milliseconds(1);
}
template <class A, class B>
std::pair<A, B> changed(std::pair<A, B> value) {
  return {changed(value.first), value.second};
}
template <class T>
std::vector<T> changed(std::vector<T> value) {
  value.push_back(changed(T()));
  return value;
}
template <class K, class V>
std::map<K, V> changed(std::map<K, V> value) {
  value[changed(K())] = V();
  return value;
}
template <class T>
std::optional<T> changed(std::optional<T> value) {
  return value ? std::nullopt : std::optional<T>(changed(T()));
}

}  // namespace tarsia
