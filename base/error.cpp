// The texts of errors.
#include "base/error.h"

#include <cerrno>
#include <system_error>

namespace tarsia {

std::string_view error_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::ok:
      return "ok";
#define TARSIA_DETAIL_ROW(code_, number_, enumerator_, cpp_, python_) \
  case ErrorCode::enumerator_:                                        \
    return #cpp_;
      TARSIA_DETAIL_ERROR_ROWS(TARSIA_DETAIL_ROW)
#undef TARSIA_DETAIL_ROW
  }
  return "Error";
}

namespace {
std::string compose(const std::string& headline, const std::vector<Diagnostic>& diagnostics) {
  if (diagnostics.empty()) return headline;
  std::string text = headline + '\n' + format(of_failure(errors_first(diagnostics)));
  text.pop_back();
  return text;
}
}  // namespace

CompileError::CompileError(ErrorCode code, const std::string& headline, Stage stage,
                           std::vector<Diagnostic> diagnostics, std::string log)
    : Error(code, compose(headline, diagnostics), {stage, std::move(log)}),
      m_diagnostics(errors_first(std::move(diagnostics))) {}

void rethrow(CaughtError caught) {
  switch (caught.code) {
    case ErrorCode::ok:
      break;
#define TARSIA_DETAIL_ROW(code_, number_, enumerator_, cpp_, python_) \
  case ErrorCode::enumerator_:                                        \
    throw cpp_(std::move(caught));
      TARSIA_DETAIL_ERROR_ROWS(TARSIA_DETAIL_ROW)
#undef TARSIA_DETAIL_ROW
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
