// What Clang's module of device code needs before it becomes PTX.
#pragma once

#include <set>
#include <string>

#include "llvm/ADT/StringRef.h"

namespace llvm {
class Module;
}

namespace tarsia::jit {

/// Turns the marks of __managed__ variables into LLVM's own.
void mark_managed(llvm::Module& module);

/// Links what the module uses of libdevice, and makes it the module's own. Returns what went wrong, or "".
std::string link_libdevice(llvm::Module& module, llvm::StringRef bitcode);

/// Leaves these kernels alone, and what they use: all others go.
void keep_kernels(llvm::Module& module, const std::set<std::string>& symbols);

/// Leaves these kernels out, and what they alone use, variables included.
void leave_out(llvm::Module& module, const std::set<std::string>& symbols);

/// Whether the code uses variables in the GPU's memory, as far as the optimiser has left them.
bool has_variables(const llvm::Module& module);

/// Makes all functions but kernels the module's own, as in a program of one file: those that are inlined
/// leave nothing behind, and ptxas may give the others the registers that their kernels allow.
void hide_functions(llvm::Module& module);

/// The names of kernels and of variables that the host may refer to.
std::set<std::string> symbols_of(const llvm::Module& module);

/// What the module's code calls and nobody defines, by their mangled names.
std::set<std::string> undefined_functions(const llvm::Module& module);

}  // namespace tarsia::jit
