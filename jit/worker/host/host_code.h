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

/// Optimises and generates code as `clang`'s options say. The result is one ELF object, or two that belong
/// together if two threads shared the work. With `keep_ir`, each holds its IR, as text in the section
/// `.tarsia.ir`. `unit` is the module's number within the source. `files` are
/// those that inline assembly may read. On errors (mostly of inline assembly) the result is empty, and
/// `clang`'s diagnostics hold them.
std::vector<std::string> generate_host_code(clang::CompilerInstance& clang,
                                            std::unique_ptr<llvm::Module> module, int unit,
                                            AssemblerFiles& files, bool keep_ir);

}  // namespace tarsia::jit
