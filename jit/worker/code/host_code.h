// LLVM's part of a host compile: from Clang's IR to objects in memory.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jit/worker/code/header_code.h"

namespace clang {
class CodeGenerator;
class CompilerInstance;
}  // namespace clang
namespace llvm {
class Module;
}

namespace tarsia::jit {

class AssemblerFiles;

/// Where the code of headers (header_code.h) is kept. Called from generate_host_code's own thread.
struct HeaderObjects {
  OriginOf origin_of;
  /// The objects that were made of this bitcode, if they are kept.
  std::function<std::optional<std::vector<std::string>>(const std::string& bitcode)> find;
  std::function<void(const std::string& bitcode, const std::vector<std::string>& objects)> keep;
};

/// Optimises and generates code as `clang`'s options say. The result is one ELF object, or several that
/// belong together if two threads shared the work, or if the code of headers was cut off for `headers`. With
/// `keep_ir`, each holds its IR, as text in the section
/// `.tarsia.ir`. `unit` is the module's number within the source. `files` are
/// those that inline assembly may read. On errors (mostly of inline assembly) the result is empty, and
/// `clang`'s diagnostics hold them. Warnings have the places of `generator`'s declarations, which made the
/// module.
std::vector<std::string> generate_host_code(clang::CompilerInstance& clang, clang::CodeGenerator& generator,
                                            std::unique_ptr<llvm::Module> module, int unit,
                                            AssemblerFiles& files, bool keep_ir,
                                            const HeaderObjects* headers = nullptr);

}  // namespace tarsia::jit
