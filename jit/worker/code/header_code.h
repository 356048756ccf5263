// The part of a unit's code that is made of headers alone, so that an edit of the source can use it again.
#pragma once

#include <string>

namespace llvm {
class Module;
}

namespace tarsia::jit {

/// Takes the larger functions of headers, with what they need, out of `module`, which calls them from then
/// on. Returns their bitcode: the same bytes whatever else the module holds, as long as the same functions
/// of headers are in use. Empty, and the module unchanged, if they are too few to matter or the module holds
/// something that cannot be parted.
std::string cut_header_code(llvm::Module& module);

}  // namespace tarsia::jit
