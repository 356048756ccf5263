// What happens behind the includes with which a unit's text begins.
#pragma once

#include "clang/Basic/SourceLocation.h"
#include "jit/worker/host/host_parse.h"

namespace llvm {
class Module;
}

namespace tarsia::jit {

/// At `#pragma tarsia leading`: shows Clang the rest of the text.
void end_leading(HostParse& parse, clang::Preprocessor& preprocessor, clang::SourceLocation place);

/// At `#pragma tarsia begun`, behind HostUnit::begun.
void end_begun(const HostParse& parse, clang::Preprocessor& preprocessor, clang::SourceLocation place);

/// At `#pragma tarsia hold`, between declarations: lets HostHooks::on_leading hold the parse.
void hold(HostParse& parse, clang::Preprocessor& preprocessor);

/// Where the unit stands on a precompiled form of its leading includes: the form was written for a file that
/// began alike, and what it has of that file is this unit's. Called when the form has been opened.
void name_leading_text(HostParse& parse);

/// The kernels of the unit's precompiled leading includes, and templates of them.
std::vector<clang::Decl*> kernels_of_headers(const HostParse& parse);

/// Line tables were begun in the name of the text with which the parse began. They get that of the unit's
/// file.
void name_line_tables(const HostParse& parse, llvm::Module& module);

}  // namespace tarsia::jit
