// Looks for the compiler in the places where it may lie ready.
#include "api/symbolizer.h"

#include <exception>

#include "base/paths.h"
#include "registry/crash/crash_handler.h"
#include "registry/crash/symbolizer.h"

namespace tarsia::api {

void name_symbolizer() noexcept {
  if (!registry::crashes_are_reported() || registry::has_symbolizer()) return;
  try {
    registry::set_symbolizer(ready_compiler_path(cache_dir_name()));
  } catch (const std::exception&) {  // frames are addresses, then
  }
}

}  // namespace tarsia::api
