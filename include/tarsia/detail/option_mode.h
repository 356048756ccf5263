// The value of an option that is off, on, or on in one of a few ways.
#pragma once

#include <string>
#include <utility>

namespace tarsia {

/// Off, on, or a word that says how: `options.debug = true`, `options.debug = "undefined"`.
class Mode {
 public:
  Mode(bool on = false) : m_word(on ? "on" : "") {}
  Mode(const char* word) : m_word(word) {}
  Mode(std::string word) : m_word(std::move(word)) {}

  /// Whether it is anything but off.
  explicit operator bool() const { return !m_word.empty(); }
  /// "" if it is off, "on", or the word.
  const std::string& word() const { return m_word; }
  friend bool operator==(const Mode&, const Mode&) = default;

 private:
  std::string m_word;
};

}  // namespace tarsia
