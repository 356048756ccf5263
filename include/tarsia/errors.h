// The exceptions that Tarsia throws in programs, a class for each kind.
#pragma once

#include <tarsia/c_api.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace tarsia {

/// A message of the compiler about a place in the source.
struct Diagnostic {
  std::string file;
  int line = 0;          ///< from 1; 0: no place
  int column = 0;        ///< from 1, in bytes; 0: unknown
  std::string severity;  ///< "note", "warning", "error", "fatal error"
  std::string message;
};

/// The base class of all errors. what() names the place and the remedy.
class Error : public std::runtime_error {
 public:
  /// Copies an error of the C interface.
  explicit Error(const tarsia_error& error)
      : std::runtime_error(error.message), m_code(error.code), m_stage(error.stage), m_log(error.log) {
    for (uint64_t i = 0; i < error.n_diagnostics; ++i) {
      const tarsia_diagnostic& d = error.diagnostics[i];
      m_diagnostics.push_back({d.file, d.line, d.column, d.severity, d.message});
    }
  }
  /// The class of the error as a tarsia_code.
  int code() const noexcept { return m_code; }
  /// The step that failed: "host", "device", "link", "load", "call", …
  const std::string& stage() const noexcept { return m_stage; }
  /// Further text for people; may be empty.
  const std::string& log() const noexcept { return m_log; }
  /// The compiler's messages; empty if the error is not the compiler's.
  const std::vector<Diagnostic>& diagnostics() const noexcept { return m_diagnostics; }

 private:
  int m_code;
  std::string m_stage, m_log;
  std::vector<Diagnostic> m_diagnostics;
};

/// The source does not compile or link. diagnostics() has the compiler's messages.
class CompileError : public Error {
  using Error::Error;
};
/// The source is not text: it holds a NUL byte, is not UTF-8, is too large, or has no file.
class InvalidSource : public CompileError {
  using CompileError::CompileError;
};
/// The compiler's process crashed while it compiled the source. The calling process is not affected.
class CompilerCrashed : public Error {
  using Error::Error;
};
/// The compile took longer than Options::timeout allows.
class CompileTimeout : public Error {
  using Error::Error;
};
/// The compile needed more memory than it may have.
class ResourceLimit : public Error {
  using Error::Error;
};
/// The file cannot be loaded as a library.
class LoadError : public Error {
  using Error::Error;
};
/// The number, type or value of an argument is wrong, or a result was requested as another type.
class ArgumentError : public Error {
  using Error::Error;
};
/// There is no GPU or no driver, or CUDA reported an error.
class CudaError : public Error {
  using Error::Error;
};
/// There is no function, kernel or op of that name.
class NotFound : public Error {
  using Error::Error;
};
/// This build, machine or op does not support the request.
class Unsupported : public Error {
  using Error::Error;
};
/// The code of a function or op threw an exception; what() has its text.
class OpError : public Error {
  using Error::Error;
};
/// The memory of the CPU or of a GPU is exhausted.
class OutOfMemory : public Error {
  using Error::Error;
};
/// tarsia_options.interrupted ended the wait for a compile.
class Interrupted : public Error {
  using Error::Error;
};
/// Code that was compiled with debug="undefined" did what C++ leaves undefined; what() says what and where.
class UndefinedBehaviour : public Error {
  using Error::Error;
};
/// A source or kernel is not in the cache, and no compile may start: within NoCompile, or while the thread's
/// current stream captures a CUDA graph. what() says why it is not in the cache.
class CompileForbidden : public Error {
  using Error::Error;
};

namespace detail {

/// Throws the calling thread's last error as the class of its code.
[[noreturn]] inline void throw_error() {
  const tarsia_error& error = *tarsia_last_error();
  switch (error.code) {
#define TARSIA_DETAIL_ROW(code_, number_, enumerator_, cpp_, python_) \
  case code_:                                                         \
    throw cpp_(error);
    TARSIA_DETAIL_ERROR_ROWS(TARSIA_DETAIL_ROW)
#undef TARSIA_DETAIL_ROW
    default:
      throw Error(error);
  }
}

/// Throws the calling thread's last error unless `code` is 0.
inline void check(int32_t code) {
  if (code) throw_error();
}

}  // namespace detail

}  // namespace tarsia
