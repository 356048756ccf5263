// Checks that refuse a source before any compiler sees it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pipeline/source.h"

namespace tarsia::pipeline {

/// Adds a text's size to `total`, the bytes of the source so far. Throws InvalidSource if that is too
/// large. The text is not read, and need not exist yet.
void count_bytes(const std::string& name, std::uint64_t bytes, std::uint64_t& total);

/// Throws InvalidSource, which names file, line and column, for texts that are not UTF-8, hold a NUL byte
/// or are too large. Throws ArgumentError for names and options that mean nothing, or that would mean
/// something else to the compiler.
void check(const Source& source);

/// The same for an architecture, "sm_90".
void check_arch(const std::string& arch);

/// A warning for each folder of `include_dirs` and `library_dirs` that is none. It is of this moment: nothing
/// keeps it. "-w" and "-Wno-missing-include-dirs" turn it off.
std::vector<Diagnostic> warn_of_missing_folders(const jit::CompileOptions& options);

}  // namespace tarsia::pipeline
