// The sources of the C ABI as those of the pipeline.
#pragma once

#include <tarsia/c_api.h>

#include <string>

#include "pipeline/source.h"

namespace tarsia::api {

/// The name of a lone string in diagnostics. It has no suffix, since the string may hold CUDA or not.
inline constexpr char k_lone_name[] = "source";

/// A file's name, or what a lone string is called in diagnostics.
std::string name_of(const tarsia_file& file);

/// The source with its options. Null options: the defaults. Throws InvalidSource for texts that are too large
/// together, before any is copied.
pipeline::Source to_source(const tarsia_file* files, std::uint64_t n_files, const tarsia_options* given);

}  // namespace tarsia::api
