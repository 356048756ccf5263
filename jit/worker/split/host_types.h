// Types that only the host can have.
#pragma once

#include <map>

#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"

namespace tarsia::jit {

/// Finds types that are or hold something of the C or C++ library that device code cannot have: containers,
/// streams, threads, files, times. In doubt, a type is none of these.
class HostTypes {
 public:
  explicit HostTypes(const clang::ASTContext& context) : m_context(context) {}
  bool is_host(clang::QualType type);
  /// By its bases and data members.
  bool is_host(const clang::CXXRecordDecl& record);
  /// Whether a record is the host's only for data members whose sizes are known.
  bool only_holds_host(const clang::CXXRecordDecl& record);
  /// By its result and parameters.
  bool is_host(const clang::FunctionDecl& function);
  /// Whether one of these is such a type, and not a class that only holds one, which stays for the device.
  bool names_host(const clang::FunctionDecl& function);

 private:
  bool is_host_declaration(const clang::NamedDecl& decl);
  bool any_host(llvm::ArrayRef<clang::TemplateArgument> arguments);

  const clang::ASTContext& m_context;
  std::map<const clang::CXXRecordDecl*, bool> m_known;
};

}  // namespace tarsia::jit
