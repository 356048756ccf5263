// Cuts an LLVM module in two, so that two cores generate its code at once.
#pragma once

#include <memory>
#include <optional>
#include <string>

namespace llvm {
class Module;
}

namespace tarsia::jit {

/// The remainder of a module, and the bitcode of the other part.
struct CodeHalves {
  std::unique_ptr<llvm::Module> first;
  std::string second;
};

/// Cuts `module` where the cut loses nothing. Functions that call each other and may be inlined stay
/// together, with the variables that they share. Functions of headers, which every object may define for
/// itself, are copied to their callers. Symbols that one part uses of the other become hidden; `unit` keeps
/// those of several modules apart. Without it, functions without a symbol stay with those that use them.
/// `first` is null and the module unchanged if no cut is worth a thread, or
/// if the module holds something that cannot be moved. The cut depends on the module alone, so the same
/// source gives the same objects on every machine.
CodeHalves halve(llvm::Module& module, std::optional<int> unit);

}  // namespace tarsia::jit
