// What happens behind the includes with which a unit's text begins.
#pragma once

#include "clang/Basic/SourceLocation.h"
#include "jit/worker/host/host_parse.h"

namespace tarsia::jit {

/// At `#pragma tarsia leading`: shows Clang the rest of the text.
void end_leading(HostParse& parse, clang::Preprocessor& preprocessor, clang::SourceLocation place);

/// At `#pragma tarsia hold`, between declarations: lets HostHooks::on_leading hold the parse.
void hold(HostParse& parse, clang::Preprocessor& preprocessor);

}  // namespace tarsia::jit
