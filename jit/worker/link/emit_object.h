// From a module of LLVM's that Tarsia itself made to an object.
#pragma once

#include <string>

namespace llvm {
class Module;
}

namespace tarsia::jit {

/// Sets the module's target: plain x86-64, position-independent. Must come before the module is filled.
void set_target(llvm::Module& module);

/// Makes an ELF object of it. Throws Error.
std::string emit_object(llvm::Module& module);

}  // namespace tarsia::jit
