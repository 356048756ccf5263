// The options of the C ABI as those of a compile.
#pragma once

#include <tarsia/c_api.h>

#include "jit/compile_options.h"

namespace tarsia::api {

/// The options of a caller who may know fewer of them; the others have their defaults. Null: all defaults.
tarsia_options whole(const tarsia_options* given);

/// The same, as the pipeline knows them. Nothing is checked.
jit::CompileOptions to_options(const tarsia_options& from);

}  // namespace tarsia::api
