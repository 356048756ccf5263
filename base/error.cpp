// The texts of errors.
#include "base/error.h"

#include <cerrno>
#include <system_error>

namespace tarsia {

std::string_view error_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::ok:
      return "ok";
    case ErrorCode::unknown:
      return "Error";
    case ErrorCode::compile:
      return "CompileError";
    case ErrorCode::compiler_crashed:
      return "CompilerCrashed";
    case ErrorCode::compile_timeout:
      return "CompileTimeout";
    case ErrorCode::resource_limit:
      return "ResourceLimit";
    case ErrorCode::invalid_source:
      return "InvalidSource";
    case ErrorCode::load:
      return "LoadError";
    case ErrorCode::argument_type:
    case ErrorCode::argument_value:
      return "ArgumentError";
    case ErrorCode::cuda:
      return "CudaError";
    case ErrorCode::not_found:
      return "NotFound";
    case ErrorCode::unsupported:
      return "Unsupported";
    case ErrorCode::op:
    case ErrorCode::op_value:
    case ErrorCode::op_index:
    case ErrorCode::op_type:
      return "OpError";
    case ErrorCode::out_of_memory:
      return "OutOfMemory";
    case ErrorCode::interrupted:
      return "Interrupted";
  }
  return "Error";
}

namespace {
std::string compose(const std::string& headline, const std::vector<Diagnostic>& diagnostics) {
  if (diagnostics.empty()) return headline;
  std::string text = headline + '\n' + format(diagnostics);
  text.pop_back();
  return text;
}
}  // namespace

CompileError::CompileError(ErrorCode code, const std::string& headline, Stage stage,
                           std::vector<Diagnostic> diagnostics, std::string log)
    : Error(code, compose(headline, diagnostics), {stage, std::move(log)}),
      m_diagnostics(std::move(diagnostics)) {}

void rethrow(CaughtError caught) {
  switch (caught.code) {
    case ErrorCode::ok:
    case ErrorCode::unknown:
      break;
    case ErrorCode::compile:
      throw CompileError(std::move(caught));
    case ErrorCode::compiler_crashed:
      throw CompilerCrashed(std::move(caught));
    case ErrorCode::compile_timeout:
      throw CompileTimeout(std::move(caught));
    case ErrorCode::resource_limit:
      throw ResourceLimit(std::move(caught));
    case ErrorCode::invalid_source:
      throw InvalidSource(std::move(caught));
    case ErrorCode::load:
      throw LoadError(std::move(caught));
    case ErrorCode::argument_type:
    case ErrorCode::argument_value:
      throw ArgumentError(std::move(caught));
    case ErrorCode::cuda:
      throw CudaError(std::move(caught));
    case ErrorCode::not_found:
      throw NotFound(std::move(caught));
    case ErrorCode::unsupported:
      throw Unsupported(std::move(caught));
    case ErrorCode::op:
    case ErrorCode::op_value:
    case ErrorCode::op_index:
    case ErrorCode::op_type:
      throw OpError(std::move(caught));
    case ErrorCode::out_of_memory:
      throw OutOfMemory(std::move(caught));
    case ErrorCode::interrupted:
      throw Interrupted(std::move(caught));
  }
  throw Error(std::move(caught));
}

std::string errno_message(std::string_view context, int error) {
  std::string text = std::string(context) + ": " + std::generic_category().message(error);
  if (error == EMFILE)
    text +=
        "; this process has no file descriptor left: raise the limit of open files (ulimit -n), or close "
        "files "
        "and drop libraries that are not used";
  if (error == ENFILE)
    text += "; this machine has no file descriptor left: raise fs.file-max, or end programs";
  return text;
}

void raise_errno(std::string_view context, int error) {
  if (error == EMFILE || error == ENFILE) throw ResourceLimit(errno_message(context, error));
  throw Error(errno_message(context, error));
}

}  // namespace tarsia
