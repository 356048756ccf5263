// Checks that refuse a source before any compiler sees it.
#pragma once

#include "pipeline/source.h"

namespace tarsia::pipeline {

/// Throws InvalidSource, which names file, line and column, for texts that are no UTF-8, hold a NUL byte or
/// are too large; ArgumentError for names and options that mean nothing or would mean something else to the
/// compiler.
void check(const Source& source);

}  // namespace tarsia::pipeline
