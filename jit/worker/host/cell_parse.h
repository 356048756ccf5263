// What the parse of a session's cell does besides that of other units.
#pragma once

#include <string>
#include <string_view>

#include "clang/AST/DeclGroup.h"
#include "jit/worker/host/host_parse.h"

namespace clang {
class CodeGenerator;
class Token;
}  // namespace clang

namespace tarsia::jit {

/// The cell of a request; null if its unit is none.
std::unique_ptr<CellItems> cell_of(const CompileRequest& request);

/// Closes a brace that a cell leaves open, and lets `ending` be read again. False if there is none.
bool close_brace(HostParse& shared, clang::Preprocessor& preprocessor, clang::SourceLocation place,
                 std::string_view ending);

/// Lets the cell's items know which text conditional directives leave out. Before the preprocessor begins.
void watch_conditions(HostParse& shared, clang::Preprocessor& preprocessor);

/// The preprocessor has handed out a token.
void note_token(HostParse& shared, const clang::Token& token);

/// The parse of a declaration at the top level is complete: notes it, and lets the last expression show its
/// value.
void note_in_cell(HostParse& shared, clang::DeclGroupRef group);

/// Generates a cell's code: what earlier cells define is declared, and what this one defines is there for
/// others.
void generate_in_cell(HostParse& shared, clang::CodeGenerator& generator, clang::DeclGroupRef group);

/// Ties the cell's module to others once all code is generated.
void tie_cell(HostParse& shared, clang::CodeGenerator& generator);

}  // namespace tarsia::jit
