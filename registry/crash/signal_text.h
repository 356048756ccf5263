// Text that a handler of signals puts together: no memory, no locks, no locale.
#pragma once

#include <tarsia/abi.h>
#include <tarsia/c_api.h>
#include <tarsia/op_abi.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/text_origin.h"

namespace tarsia::registry {

/// Where reports of crashes go: standard error, unless it is set.
int report_descriptor() noexcept;
void set_report_descriptor(int descriptor) noexcept;

/// Collects text and writes it to a descriptor, whole lines at a time as far as they fit.
class SignalText {
 public:
  explicit SignalText(int fd) : m_fd(fd) {}
  ~SignalText() { flush(); }
  SignalText(const SignalText&) = delete;
  SignalText& operator=(const SignalText&) = delete;

  SignalText& add(std::string_view text);
  SignalText& add(const char* text) { return add(std::string_view(text ? text : "")); }
  SignalText& number(std::int64_t number);
  SignalText& number_without_sign(std::uint64_t number);
  SignalText& hex(std::uint64_t number);
  SignalText& real(double number);
  /// In quotes, cut where it is long; what is no plain character becomes a dot.
  SignalText& quoted(std::string_view text);
  void flush();

 private:
  int m_fd;
  std::size_t m_used = 0;
  char m_text[2048];
};

/// " (model.py:17)", the place in another file of a location such as "source:4"; nothing if none is known.
void add_origin(SignalText& text, std::string_view location, std::span<const TextOrigin> origins);

/// "float32[1024, 3] on GPU 0"; "absent".
void add_tensor(SignalText& text, const tarsia_tensor* tensor);

/// "x = float32[1024], n = 5": the arguments of the function that runs in the context.
void add_arguments(SignalText& text, const tarsia_call_context& context);

/// "input 'x' float32[1024], output 'y' float32[1024]": the tensors of the op that runs in the context.
void add_tensors(SignalText& text, const tarsia_call_context& context);

/// "input 'x' float32[?, 3], k = 5": the inputs and attributes of an op that is bound or being bound.
void add_bind_info(SignalText& text, const tarsia_op& op, const tarsia_bind_info& info);

}  // namespace tarsia::registry
