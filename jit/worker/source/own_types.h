// Types of an extension module of Python that are its own.
//
// pybind11 keeps one table of bound types for all modules of a process, and tells types of C++ apart as the
// language does: by their names. The module of an edited source defines the types of the one before anew, and
// the table would take them for the same. A name that begins with '*' is compared by its address, which GCC
// makes use of for types in namespaces without a name. In a unit that initialises a module, the types that
// the user's texts define get such names. Types of headers on disk keep theirs: libraries may share them.
#pragma once

#include <string>
#include <vector>

namespace clang {
class ASTContext;
class TagDecl;
}  // namespace clang
namespace llvm {
class Module;
}

namespace tarsia::jit {

class OwnTypes {
 public:
  /// A type that the user's texts define.
  void note(const clang::TagDecl* type) { m_types.push_back(type); }
  /// Changes the names in a unit that initialises an extension module; leaves others as they are.
  void make_own(llvm::Module& module, clang::ASTContext& context) const;

 private:
  std::vector<const clang::TagDecl*> m_types;
};

}  // namespace tarsia::jit
