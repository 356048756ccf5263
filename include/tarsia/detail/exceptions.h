// Exceptions that an op's code may throw, beside those of std; the caller gets them as its own language's.
#pragma once

#include <tarsia/detail/macros_push.h>

#include <tarsia/abi.h>
#include <tarsia/detail/std_declared.h>
#include <tarsia/detail/support.h>
#include <tarsia/host.h>

namespace tarsia {

/// A text put together without std::string; what is longer than the room is cut off.
class Message {
 public:
  Message() noexcept : m_size(0) { m_text[0] = 0; }
  TARSIA_DETAIL_SUPPORT Message(const char* text_) noexcept : Message() { *this << text_; }
  TARSIA_DETAIL_SUPPORT Message& operator<<(const char* text_) noexcept {
    while (text_ && *text_ && m_size + 1 < sizeof(m_text)) m_text[m_size++] = *text_++;
    m_text[m_size] = 0;
    return *this;
  }
  TARSIA_DETAIL_SUPPORT Message& operator<<(long long n_) noexcept {
    char digits_[24];
    char* w_ = digits_ + sizeof(digits_) - 1;
    *w_ = 0;
    unsigned long long u_ =
        n_ < 0 ? 0 - static_cast<unsigned long long>(n_) : static_cast<unsigned long long>(n_);
    do *--w_ = static_cast<char>('0' + u_ % 10);
    while (u_ /= 10);
    if (n_ < 0) *--w_ = '-';
    return *this << w_;
  }
  const char* text() const noexcept { return m_text; }

 private:
  unsigned m_size;
  char m_text[500];
};

/// An error with its class (a tarsia_code) and text. What Tarsia's own functions throw in an op's code.
class CallError : public std::exception {
 public:
  TARSIA_DETAIL_SUPPORT CallError(int code_, const Message& text_) noexcept : m_code(code_), m_text(text_) {}
  const char* what() const noexcept override { return m_text.text(); }
  int code() const noexcept { return m_code; }

 private:
  int m_code;
  Message m_text;
};

/// A wrong dtype, device or kind of argument: Python's TypeError.
class TypeError : public CallError {
 public:
  TARSIA_DETAIL_SUPPORT explicit TypeError(const Message& text_) noexcept
      : CallError(TARSIA_OP_TYPE_ERROR, text_) {}
};

/// A wrong value: Python's ValueError.
class ValueError : public CallError {
 public:
  TARSIA_DETAIL_SUPPORT explicit ValueError(const Message& text_) noexcept
      : CallError(TARSIA_OP_VALUE_ERROR, text_) {}
};

namespace detail {
/// Throws the thread's last error, whose code is given or read.
[[noreturn]] TARSIA_DETAIL_SUPPORT void throw_last(const tarsia_host* host_, int code_ = 0) {
  const char* text_ = "";
  const int last_ = host_->last_error(&text_);
  throw CallError(code_ ? code_ : last_ ? last_ : static_cast<int>(TARSIA_ERROR), text_);
}
}  // namespace detail

}  // namespace tarsia

#include <tarsia/detail/macros_pop.h>
