// Which build of the compiler this is.
#pragma once

#include <string_view>

namespace tarsia::jit {

/// 64 hexadecimal digits that change with whatever may change the bytes of a module: the compiler's
/// sources, the headers it brings along, LLVM. Equal in libtarsia and tarsia-compiler of one build.
std::string_view build_id();

}  // namespace tarsia::jit
