// Kernels and device variables of a translation unit, listed for the device's half.
#pragma once

#include <string>
#include <vector>

#include "jit/worker/split/split.h"

namespace clang {
class ASTContext;
class Decl;
class NamedDecl;
class VarDecl;
}  // namespace clang

namespace tarsia::jit {

/// Kernels and device variables of the translation unit, in a fixed order. The caller calls it when all
/// instantiations are known. `cell_path`: of a session's cell, if the unit is one. What stands in the texts
/// of earlier cells is theirs, but for instantiations of their templates. `precompiled`: kernels and
/// templates of them from headers that were not read here; they come first.
void list_device_entities(clang::ASTContext& context, DeviceSlice& slice, const std::string& cell_path = {},
                          const std::vector<clang::Decl*>& precompiled = {});

/// Makes definitions of the user's device variables that are declared `extern` and defined nowhere, as nvcc
/// and NVRTC do where no other device code will be linked (nvcc's warning 20044). Gives them. The caller
/// calls it before list_device_entities().
std::vector<clang::VarDecl*> define_declared_variables(clang::ASTContext& context);

/// The kernels that were parsed so far, and templates of them, in order.
std::vector<clang::Decl*> kernels_so_far(const clang::ASTContext& context);

/// Has Clang refuse launches that name no block, k<<<1>>>(x), from now on. CUDA's headers give one by
/// default, of one thread, which nvcc does not take. Before the headers are read it does nothing, and it may
/// be called again.
void demand_blocks(clang::ASTContext& context);

/// Whether a variable is __managed__, by the mark that the host's prelude gives it.
bool is_managed(const clang::VarDecl& variable);

/// The symbol of a kernel or device variable in device code.
std::string mangled_name(clang::ASTContext& context, const clang::NamedDecl& decl);

}  // namespace tarsia::jit
