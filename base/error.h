// The one family of exceptions of Tarsia. The message names the place and the remedy.
#pragma once

#include <tarsia/abi.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/diagnostic.h"

namespace tarsia {

/// What went wrong: tarsia_code (abi.h), with enumerators named in detail/error_rows.h.
enum class ErrorCode : int {
  ok = TARSIA_OK,
#define TARSIA_DETAIL_ROW(code_, number_, enumerator_, cpp_, python_) enumerator_ = code_,
  TARSIA_DETAIL_ERROR_ROWS(TARSIA_DETAIL_ROW)
#undef TARSIA_DETAIL_ROW
};

/// "CompileError" for ErrorCode::compile, and so on: the class that carries the code.
std::string_view error_name(ErrorCode code);

/// What an error carries beside its message.
struct ErrorContext {
  Stage stage = Stage::worker;
  std::string log;  ///< further text for people: a compiler's raw output, a crash's last words
};

/// An error that passed a C boundary: see rethrow().
struct CaughtError {
  ErrorCode code = ErrorCode::unknown;
  std::string message;
  ErrorContext context;
  std::vector<Diagnostic> diagnostics;
};

/// The base of all, also used alone for what has no class of its own (an input or output error).
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message, ErrorContext context = {})
      : Error(ErrorCode::unknown, message, std::move(context)) {}
  Error(ErrorCode code, const std::string& message, ErrorContext context = {})
      : std::runtime_error(message), m_code(code), m_context(std::move(context)) {}
  explicit Error(CaughtError caught) : Error(caught.code, caught.message, std::move(caught.context)) {}

  ErrorCode code() const { return m_code; }
  Stage stage() const { return m_context.stage; }
  const std::string& log() const { return m_context.log; }

 private:
  ErrorCode m_code;
  ErrorContext m_context;
};

/// The source was refused by a compiler or the linker.
class CompileError : public Error {
 public:
  /// The message is `headline`, a newline and the diagnostics, one a line: errors first, and no warnings
  /// about headers on disk.
  CompileError(const std::string& headline, Stage stage, std::vector<Diagnostic> diagnostics,
               std::string log = {})
      : CompileError(ErrorCode::compile, headline, stage, std::move(diagnostics), std::move(log)) {}
  /// Its message has the diagnostics already.
  explicit CompileError(CaughtError caught)
      : Error(caught.code, caught.message, std::move(caught.context)),
        m_diagnostics(std::move(caught.diagnostics)) {}

  const std::vector<Diagnostic>& diagnostics() const { return m_diagnostics; }

 protected:
  CompileError(ErrorCode code, const std::string& headline, Stage stage, std::vector<Diagnostic> diagnostics,
               std::string log);

 private:
  std::vector<Diagnostic> m_diagnostics;
};

/// The source was refused before any compiler saw it: not UTF-8, a NUL byte, too large, a bad option.
class InvalidSource : public CompileError {
 public:
  explicit InvalidSource(Diagnostic diagnostic)
      : CompileError(ErrorCode::invalid_source, "invalid source", Stage::source, {std::move(diagnostic)},
                     {}) {}
  explicit InvalidSource(CaughtError caught) : CompileError(std::move(caught)) {}
};

/// An error class with nothing of its own but its code and the stage it usually belongs to.
template <ErrorCode k_code, Stage k_stage>
class ErrorOf : public Error {
 public:
  explicit ErrorOf(const std::string& message, std::string log = {})
      : Error(k_code, message, {k_stage, std::move(log)}) {}
  explicit ErrorOf(CaughtError caught) : Error(std::move(caught)) {}
};

class CompilerCrashed : public ErrorOf<ErrorCode::compiler_crashed, Stage::worker> {
  using ErrorOf::ErrorOf;
};
class CompileTimeout : public ErrorOf<ErrorCode::compile_timeout, Stage::worker> {
  using ErrorOf::ErrorOf;
};
/// A limit of memory, size or open files was reached.
class ResourceLimit : public ErrorOf<ErrorCode::resource_limit, Stage::worker> {
  using ErrorOf::ErrorOf;
};
/// The caller gave up waiting (base/interrupt.h).
class Interrupted : public ErrorOf<ErrorCode::interrupted, Stage::worker> {
  using ErrorOf::ErrorOf;
};
class LoadError : public ErrorOf<ErrorCode::load, Stage::load> {
  using ErrorOf::ErrorOf;
};
class CudaError : public ErrorOf<ErrorCode::cuda, Stage::load> {
  using ErrorOf::ErrorOf;
};
class NotFound : public ErrorOf<ErrorCode::not_found, Stage::load> {
  using ErrorOf::ErrorOf;
};
class Unsupported : public ErrorOf<ErrorCode::unsupported, Stage::load> {
  using ErrorOf::ErrorOf;
};
class OpError : public ErrorOf<ErrorCode::op, Stage::load> {
  using ErrorOf::ErrorOf;
};
/// A module's checks found it while its code ran (debug="undefined").
class UndefinedBehaviour : public ErrorOf<ErrorCode::undefined_behaviour, Stage::call> {
  using ErrorOf::ErrorOf;
};
/// A module is not in the cache, and no compile may start (pipeline/no_compile.h).
class CompileForbidden : public ErrorOf<ErrorCode::compile_forbidden, Stage::load> {
  using ErrorOf::ErrorOf;
};
/// Of the CPU or of a GPU.
class OutOfMemory : public ErrorOf<ErrorCode::out_of_memory, Stage::load> {
  using ErrorOf::ErrorOf;
};

/// A wrong argument of a call. `type_error` and `value_error` make the two sorts.
class ArgumentError : public Error {
 public:
  static ArgumentError type_error(const std::string& message) {
    return ArgumentError(ErrorCode::argument_type, message);
  }
  static ArgumentError value_error(const std::string& message) {
    return ArgumentError(ErrorCode::argument_value, message);
  }

  explicit ArgumentError(CaughtError caught) : Error(std::move(caught)) {}

 private:
  ArgumentError(ErrorCode code, const std::string& message) : Error(code, message, {Stage::load, {}}) {}
};

/// Throws the error as the class that its code names.
[[noreturn]] void rethrow(CaughtError caught);

/// "context: text of errno", and the remedy where there is one for all.
std::string errno_message(std::string_view context, int error);
/// Throws that message: ResourceLimit for want of file descriptors, else Error.
[[noreturn]] void raise_errno(std::string_view context, int error);

}  // namespace tarsia
