// Exceptions that an op's code may throw, beside those of std; the caller gets them as its own language's.
#pragma once

#include <tarsia/macros_push.h>

#include <exception>

#include <tarsia/abi.h>
#include <tarsia/host.h>

namespace tarsia {

/// An error with its class (a tarsia_code) and text. What Tarsia's own functions throw in an op's code.
class CallError : public std::exception {
 public:
  /// The text is copied; what is longer than the room is cut off.
  CallError(int code_, const char* text_) noexcept : m_code(code_) {
    unsigned i_ = 0;
    for (; text_ && text_[i_] && i_ + 1 < sizeof(m_text); ++i_) m_text[i_] = text_[i_];
    m_text[i_] = 0;
  }
  const char* what() const noexcept override { return m_text; }
  int code() const noexcept { return m_code; }

 private:
  int m_code;
  char m_text[500];
};

/// A wrong dtype, device or kind of argument: Python's TypeError.
class TypeError : public CallError {
 public:
  explicit TypeError(const char* text_) noexcept : CallError(TARSIA_OP_TYPE_ERROR, text_) {}
};

/// A wrong value: Python's ValueError.
class ValueError : public CallError {
 public:
  explicit ValueError(const char* text_) noexcept : CallError(TARSIA_OP_VALUE_ERROR, text_) {}
};

namespace detail {
/// Throws the thread's last error, whose code is given.
[[noreturn]] inline void throw_last(const tarsia_host* host_, int code_) {
  const char* text_ = "";
  host_->last_error(&text_);
  throw CallError(code_, text_);
}
/// The code of the thread's last error, after a function that gave null.
[[noreturn]] inline void throw_last(const tarsia_host* host_) {
  const char* text_ = "";
  const int code_ = host_->last_error(&text_);
  throw CallError(code_ ? code_ : int(TARSIA_ERROR), text_);
}
}  // namespace detail

}  // namespace tarsia

#include <tarsia/macros_pop.h>
