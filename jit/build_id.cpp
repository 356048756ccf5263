// The build id, compiled apart so that a new one rebuilds this file alone.
#include "jit/build_id.h"

#include "tarsia_build_id.h"

namespace tarsia::jit {

std::string_view build_id() {
  return TARSIA_BUILD_ID;
}

}  // namespace tarsia::jit
