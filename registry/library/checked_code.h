// Code that was compiled with debug="undefined": it notes undefined behaviour while it runs, and each call
// that does so ends in an error. So does one of an op that leaves elements of its outputs unset.
#pragma once

#include <tarsia/abi.h>
#include <tarsia/op_abi.h>

#include <deque>
#include <string>
#include <vector>

namespace tarsia::registry {

struct LibraryFunction;

/// The name of the function by which a module tells what it found;
/// jit/worker/link/support/undefined_support.c.
inline constexpr const char* k_take_findings = "tarsia_take_findings";

/// Writes what was found since the last time, a line each, and forgets it. Returns how often something was
/// found. With `wait` 0 it waits for nobody, as a handler of signals needs it.
using TakeFindings = std::int32_t (*)(char* text, std::uint64_t bytes, std::int32_t wait);

/// What was found, for an error; empty if it was nothing. `who`: ran.
std::string findings(TakeFindings take, const std::string& who);

/// Puts itself between the callers of a library's functions and ops and their code. Immutable once all are
/// added.
class CheckedCode {
 public:
  /// `library`: its name, for messages; must live as long, as must the module.
  CheckedCode(const std::string& library, TakeFindings take) : m_library(library), m_take(take) {}
  CheckedCode(const CheckedCode&) = delete;
  CheckedCode& operator=(const CheckedCode&) = delete;

  /// From now on, a call of the function asks what was found.
  void add(LibraryFunction& function);
  /// Returns an op that is like this one, and whose passes ask. It lives as long as this object.
  const tarsia_op* add(const tarsia_op& op);
  /// Throws UndefinedBehaviour if something was found while the library was loaded.
  void check_loading() const;

 private:
  struct Pass {
    const CheckedCode* code;
    const tarsia_op* op;  ///< the module's
    std::int32_t (*run)(void* user, const tarsia_op_context* context);
    void* user;
  };
  struct Op {
    tarsia_op op;
    std::vector<tarsia_implementation> implementations;
  };

  static std::int32_t call(const tarsia_value* args, std::uint32_t n, tarsia_value* result);
  static std::int32_t run(void* pass, const tarsia_op_context* context);
  /// Makes an error of what was found while `who` ran. Returns `code` if that was nothing.
  std::int32_t tell(const std::string& who, std::int32_t code) const noexcept;

  const std::string& m_library;
  TakeFindings m_take;
  std::deque<Pass> m_passes;
  std::deque<Op> m_ops;
};

}  // namespace tarsia::registry
