// Compiling sources: the C ABI over the pipeline.
#include <tarsia/c_api.h>

#include "base/error.h"
#include "registry/last_error.h"

using namespace tarsia;
using registry::guarded;

void tarsia_options_init(tarsia_options* options) {
  *options = tarsia_options{};
  options->size = sizeof(*options);
  options->std = "c++20";
  options->opt = 2;
}

int32_t tarsia_load_inline(const tarsia_file*, uint64_t, const tarsia_options*, tarsia_library**) {
  return guarded([] { throw Unsupported("this build of Tarsia has no compiler"); });
}

int32_t tarsia_compile(const tarsia_file*, uint64_t, const tarsia_options*, const char*) {
  return guarded([] { throw Unsupported("this build of Tarsia has no compiler"); });
}

int32_t tarsia_statistics(char**) {
  return guarded([] { throw Unsupported("this build of Tarsia has no compiler"); });
}
