// What happens where the user's text ends: its exports are listed, and the text that describes them is
// entered.
#pragma once

#include <string_view>

#include "clang/Basic/SourceLocation.h"
#include "jit/worker/exports/exports.h"
#include "jit/worker/host/host_parse.h"

namespace tarsia::jit {

/// Stands behind the user's text. The line and the semicolon end what that left open.
inline constexpr std::string_view k_ending = "\n;\n#pragma tarsia exports\n";

/// Errors that were passed over in bodies which only the device needs no longer count.
void forget_passed_over(clang::DiagnosticsEngine& diagnostics, const DiagnosticCollector& collector);

/// Empties the kernels of the user's texts.
void empty_kernels(clang::ASTContext& context, clang::DeclContext* scope);

/// The unit's exports; their names go into the result.
Exports list_exports_of(HostParse& parse, clang::ASTContext& context);

/// At `#pragma tarsia exports`: the end of the user's text has been reached.
void describe_exports(HostParse& parse, clang::Preprocessor& preprocessor, clang::SourceLocation place);

}  // namespace tarsia::jit
