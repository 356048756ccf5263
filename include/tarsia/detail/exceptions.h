// Exceptions for the code of functions and ops. The caller gets them as errors of its own language.
#pragma once

#include <tarsia/detail/macros_push.h>

#include <tarsia/abi.h>
#include <tarsia/detail/std_declared.h>
#include <tarsia/detail/support.h>
#include <tarsia/host.h>

namespace tarsia {

/// The text of an exception, built without std::string. It holds 499 bytes; a longer text is cut off.
class Message {
 public:
  /// An empty text.
  Message() noexcept : m_size(0) { m_text[0] = 0; }
  /// A copy of a text.
  TARSIA_DETAIL_SUPPORT Message(const char* text_) noexcept : Message() { *this << text_; }
  /// Appends a text. Null is empty.
  TARSIA_DETAIL_SUPPORT Message& operator<<(const char* text_) noexcept {
    while (text_ && *text_ && m_size + 1 < sizeof(m_text)) m_text[m_size++] = *text_++;
    m_text[m_size] = 0;
    return *this;
  }
  /// Appends a number in decimal.
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
  /// The text, which lives as long as this object.
  const char* text() const noexcept { return m_text; }

 private:
  unsigned m_size;
  char m_text[500];
};

/// An error with its class, a tarsia_code, and its text. Tarsia's functions throw it in the code of functions
/// and ops. Exceptions of std may be thrown as well.
class CallError : public std::exception {
 public:
  /// Makes an error of a class.
  TARSIA_DETAIL_SUPPORT CallError(int code_, const Message& text_) noexcept : m_code(code_), m_text(text_) {}
  /// The text.
  const char* what() const noexcept override { return m_text.text(); }
  /// The class as a tarsia_code.
  int code() const noexcept { return m_code; }

 private:
  int m_code;
  Message m_text;
};

/// A wrong dtype, device or kind of argument. A TypeError in Python, an OpError in C++.
class TypeError : public CallError {
 public:
  /// Makes an error with a text.
  TARSIA_DETAIL_SUPPORT explicit TypeError(const Message& text_) noexcept
      : CallError(TARSIA_OP_TYPE_ERROR, text_) {}
};

/// A wrong value. A ValueError in Python, an OpError in C++.
class ValueError : public CallError {
 public:
  /// Makes an error with a text.
  TARSIA_DETAIL_SUPPORT explicit ValueError(const Message& text_) noexcept
      : CallError(TARSIA_OP_VALUE_ERROR, text_) {}
};

/// An input, output, dimension or element that does not exist. An IndexError in Python, an OpError in C++.
class IndexError : public CallError {
 public:
  /// Makes an error with a text.
  TARSIA_DETAIL_SUPPORT explicit IndexError(const Message& text_) noexcept
      : CallError(TARSIA_OP_INDEX_ERROR, text_) {}
};

namespace detail {
/// Throws the thread's last error. Its code is `code_`, or read if that is 0.
[[noreturn]] TARSIA_DETAIL_SUPPORT void throw_last(const tarsia_host* host_, int code_ = 0) {
  const char* text_ = "";
  const int last_ = host_->last_error(&text_);
  throw CallError(code_ ? code_ : last_ ? last_ : static_cast<int>(TARSIA_ERROR), text_);
}
}  // namespace detail

}  // namespace tarsia

#include <tarsia/detail/macros_pop.h>
