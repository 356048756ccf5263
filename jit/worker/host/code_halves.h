// A module of LLVM's in two, so that two cores generate its code at once.
#pragma once

#include <memory>
#include <string>

namespace llvm {
class Module;
}

namespace tarsia::jit {

/// What is left of a module, and the bitcode of the other part.
struct CodeHalves {
  std::unique_ptr<llvm::Module> first;
  std::string second;
};

/// Cuts `module` where nothing is lost by it: functions that call each other and may be inlined stay
/// together, and so do they with the variables that they share. Functions of headers, which every object may
/// have for itself, are copied to where they are called. What the parts refer to in each other gets hidden
/// symbols, of which `unit` keeps those of several modules apart. Nothing (`first` is null, and the module as
/// it was) if no cut is worth a thread, or if the module has what cannot be moved. The cut follows from the
/// module alone, so the same source gives the same objects on every machine.
CodeHalves halve(llvm::Module& module, int unit);

}  // namespace tarsia::jit
