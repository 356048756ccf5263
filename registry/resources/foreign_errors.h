// Exceptions of other people's frameworks, of which libtarsia includes nothing.
#pragma once

#include <cstdint>
#include <exception>

namespace tarsia::registry {

/// The code of an exception by the class that its framework has for it: TARSIA_OP_ERROR unless it is known.
std::int32_t code_of_foreign(const std::exception& e);

}  // namespace tarsia::registry
