// The CPU that the host's code is made for.
//
// Two ways lead to it. By default the source is parsed for plain x86-64, and what LLVM makes of it may use
// all that the level of this machine has. So the shipped preludes fit every machine, and no macro differs
// between machines (__AVX2__ stays undefined). An explicit options.march is as Clang's -march: it defines
// macros, and has preludes of its own.
#pragma once

#include <string>
#include <vector>

#include "jit/compile.h"

namespace clang {
class TargetOptions;
}
namespace llvm {
class Module;
}

namespace tarsia::jit {

/// Says what is wrong with options.march, and what may stand there. Empty if nothing is.
std::string fault_of_march(const std::string& march);

/// Clang's arguments for options.march; for plain x86-64 if it is empty.
std::vector<std::string> cpu_arguments(const std::string& march);

/// Lets LLVM use the level request.host_cpu where options.march is empty. Notes in the module what its code
/// needs of a CPU, for the loader (registry/library/elf.h).
void set_target_cpu(llvm::Module& module, const CompileRequest& request, const clang::TargetOptions& target);

}  // namespace tarsia::jit
