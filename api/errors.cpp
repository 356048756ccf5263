// The last error as a C struct.
#include <tarsia/c_api.h>

#include <vector>

#include "base/error.h"
#include "registry/library/library.h"
#include "registry/resources/last_error.h"

using tarsia::registry::LastError;

const tarsia_error* tarsia_last_error(void) {
  thread_local tarsia_error view{};
  thread_local std::vector<tarsia_diagnostic> diagnostics;
  const LastError& error = tarsia::registry::last_error();
  diagnostics.clear();
  for (const tarsia::Diagnostic& d : error.diagnostics) diagnostics.push_back(tarsia::registry::to_c(d));
  view.size = sizeof(view);
  view.code = error.code;
  view.stage = error.stage.c_str();
  view.message = error.message.c_str();
  view.log = error.log.c_str();
  view.diagnostics = diagnostics.data();
  view.n_diagnostics = diagnostics.size();
  return &view;
}

const char* tarsia_error_name(int32_t code) {
  return tarsia::error_name(static_cast<tarsia::ErrorCode>(code)).data();
}
