// Checks that refuse a source before any compiler sees it.
#pragma once

#include <cstdint>
#include <string>

#include "pipeline/source.h"

namespace tarsia::pipeline {

/// Counts a text into `total`, the bytes of the source so far. Throws InvalidSource once that is too large:
/// the text need not be read, nor be there, for it.
void count_bytes(const std::string& name, std::uint64_t bytes, std::uint64_t& total);

/// Throws InvalidSource, which names file, line and column, for texts that are no UTF-8, hold a NUL byte or
/// are too large; ArgumentError for names and options that mean nothing or would mean something else to the
/// compiler.
void check(const Source& source);

}  // namespace tarsia::pipeline
