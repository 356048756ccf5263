// The last error of each thread, as the C ABI and modules see it.
#pragma once

#include <tarsia/abi.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"

namespace tarsia::registry {

/// An error that left C++.
struct LastError {
  std::int32_t code = TARSIA_OK;
  std::string stage;
  std::string message;
  std::string log;
  std::vector<Diagnostic> diagnostics;
};

/// The calling thread's.
LastError& last_error();

/// Sets the calling thread's last error and returns its code.
std::int32_t set_last_error(std::int32_t code, std::string_view stage, std::string_view message);

/// For use inside `catch (...)`: makes Tarsia's exception in flight the last error. Returns its code.
std::int32_t capture_error() noexcept;

/// For use inside `catch (...)` of a module's adapter: makes the author's exception the last error. Its std
/// class decides the code; its what() is the message. Returns the code.
std::int32_t capture_author_exception() noexcept;

/// The text of an exception without the backtrace that PyTorch's have at their end.
std::string without_backtrace(std::string text);

/// Throws the last error as the exception of its class: for C++ code that called through a C boundary.
[[noreturn]] void throw_last_error();

/// Runs f and returns 0, or the code of the error it threw.
template <class F>
std::int32_t guarded(F&& f) noexcept {
  try {
    f();
    return TARSIA_OK;
  } catch (...) {
    return capture_error();
  }
}

}  // namespace tarsia::registry
