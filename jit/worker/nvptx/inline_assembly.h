// Inline assembly that nvcc takes and Clang does not.
#pragma once

#include <string>

namespace tarsia::jit {

/// Doubles the percent sign of names in inline assembly with operands, `asm("mov.u32 %0, %laneid;" :
/// "=r"(x))`: to every compiler, two of them mean one of the assembly's own. Writes the comma between two
/// operands where it is left out, `: "r"(x) "r"(y)`. What follows on the line moves.
void adapt_assembly(std::string& text);

/// The same; and doubles the percent sign of an operand which the statement does not have, so that it is
/// refused where code of it is made, and nowhere else. For headers: in the user's own text the front end's
/// error says more.
void adapt_assembly_of_header(std::string& text);

}  // namespace tarsia::jit
