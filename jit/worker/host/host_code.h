// LLVM's part of a host compile: from Clang's IR to objects in memory.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace clang {
class CompilerInstance;
}
namespace llvm {
class Module;
}

namespace tarsia::jit {

class AssemblerFiles;

/// Optimises and generates code as `clang`'s options say: one ELF object, or two that belong together where
/// the work was shared out between two threads. `unit` is the module's number within the source. None if
/// there were errors (of inline assembly, mostly), which `clang`'s diagnostics then have. `files` are those
/// that inline assembly may read.
std::vector<std::string> generate_host_code(clang::CompilerInstance& clang,
                                            std::unique_ptr<llvm::Module> module, int unit,
                                            AssemblerFiles& files);

}  // namespace tarsia::jit
