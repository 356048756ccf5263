// The exceptions that programs get from Tarsia, one class for each kind.
#pragma once

#include <tarsia/c_api.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace tarsia {

/// A message of a compiler, at a place of the source.
struct Diagnostic {
  std::string file;
  int line = 0;    ///< from 1; 0: no place
  int column = 0;  ///< from 1, in bytes; 0: unknown
  std::string severity;
  std::string message;
};

/// The base of all. what() names the place and the remedy.
class Error : public std::runtime_error {
 public:
  explicit Error(const tarsia_error& error)
      : std::runtime_error(error.message), m_code(error.code), m_stage(error.stage), m_log(error.log) {
    for (uint64_t i = 0; i < error.n_diagnostics; ++i) {
      const tarsia_diagnostic& d = error.diagnostics[i];
      m_diagnostics.push_back({d.file, d.line, d.column, d.severity, d.message});
    }
  }
  /// A tarsia_code.
  int code() const noexcept { return m_code; }
  /// The step that failed: "host", "device", "link", "load", "call", …
  const std::string& stage() const noexcept { return m_stage; }
  /// Further text for people; may be empty.
  const std::string& log() const noexcept { return m_log; }
  const std::vector<Diagnostic>& diagnostics() const noexcept { return m_diagnostics; }

 private:
  int m_code;
  std::string m_stage, m_log;
  std::vector<Diagnostic> m_diagnostics;
};

/// The source does not compile or link, or is not text.
class CompileError : public Error {
  using Error::Error;
};
class InvalidSource : public CompileError {
  using CompileError::CompileError;
};
class CompilerCrashed : public Error {
  using Error::Error;
};
class CompileTimeout : public Error {
  using Error::Error;
};
/// The compile wanted more memory than it may have.
class ResourceLimit : public Error {
  using Error::Error;
};
class LoadError : public Error {
  using Error::Error;
};
/// A wrong number, type or value of arguments.
class ArgumentError : public Error {
  using Error::Error;
};
/// No GPU, no driver, or CUDA reported an error.
class CudaError : public Error {
  using Error::Error;
};
class NotFound : public Error {
  using Error::Error;
};
class Unsupported : public Error {
  using Error::Error;
};
/// The author's code threw.
class OpError : public Error {
  using Error::Error;
};
class OutOfMemory : public Error {
  using Error::Error;
};
/// tarsia_options.interrupted ended the wait for a compile.
class Interrupted : public Error {
  using Error::Error;
};

namespace detail {

/// Throws the calling thread's last error as the class of its code.
[[noreturn]] inline void throw_error() {
  const tarsia_error& error = *tarsia_last_error();
  switch (error.code) {
    case TARSIA_COMPILE_ERROR:
      throw CompileError(error);
    case TARSIA_COMPILER_CRASHED:
      throw CompilerCrashed(error);
    case TARSIA_COMPILE_TIMEOUT:
      throw CompileTimeout(error);
    case TARSIA_RESOURCE_LIMIT:
      throw ResourceLimit(error);
    case TARSIA_INVALID_SOURCE:
      throw InvalidSource(error);
    case TARSIA_LOAD_ERROR:
      throw LoadError(error);
    case TARSIA_ARGUMENT_TYPE:
    case TARSIA_ARGUMENT_VALUE:
      throw ArgumentError(error);
    case TARSIA_CUDA_ERROR:
      throw CudaError(error);
    case TARSIA_NOT_FOUND:
      throw NotFound(error);
    case TARSIA_UNSUPPORTED:
      throw Unsupported(error);
    case TARSIA_OP_ERROR:
    case TARSIA_OP_VALUE_ERROR:
    case TARSIA_OP_INDEX_ERROR:
    case TARSIA_OP_TYPE_ERROR:
      throw OpError(error);
    case TARSIA_OUT_OF_MEMORY:
      throw OutOfMemory(error);
    case TARSIA_INTERRUPTED:
      throw Interrupted(error);
    default:
      throw Error(error);
  }
}

inline void check(int32_t code) {
  if (code) throw_error();
}

}  // namespace detail

}  // namespace tarsia
