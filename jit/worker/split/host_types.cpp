// Finds the types that only the host can have.
#include "jit/worker/split/host_types.h"

#include <algorithm>
#include <set>

#include "clang/AST/DeclTemplate.h"
#include "clang/Basic/SourceManager.h"

namespace tarsia::jit {
namespace {

bool is_host_name(llvm::StringRef name) {
  static const std::set<llvm::StringRef> names = {"vector",
                                                  "basic_string",
                                                  "basic_string_view",
                                                  "map",
                                                  "multimap",
                                                  "set",
                                                  "multiset",
                                                  "unordered_map",
                                                  "unordered_set",
                                                  "list",
                                                  "forward_list",
                                                  "deque",
                                                  "queue",
                                                  "stack",
                                                  "priority_queue",
                                                  "function",
                                                  "shared_ptr",
                                                  "unique_ptr",
                                                  "weak_ptr",
                                                  "thread",
                                                  "jthread",
                                                  "mutex",
                                                  "shared_mutex",
                                                  "timed_mutex",
                                                  "lock_guard",
                                                  "unique_lock",
                                                  "scoped_lock",
                                                  "future",
                                                  "shared_future",
                                                  "promise",
                                                  "packaged_task",
                                                  "any",
                                                  "variant",
                                                  "basic_regex",
                                                  "locale",
                                                  "valarray",
                                                  "random_device",
                                                  "exception",
                                                  "allocator",
                                                  "type_info",
                                                  "basic_ios",
                                                  "ios_base",
                                                  "bitset",
                                                  "error_code",
                                                  "exception_ptr",
                                                  "unordered_multimap",
                                                  "recursive_mutex",
                                                  "hash",
                                                  "formatter"};
  return names.contains(name) || name.ends_with("stream") || name.ends_with("buf") ||
         name.ends_with("_engine") || name.ends_with("_distribution") || name.ends_with("_error") ||
         name.starts_with("condition_variable");
}

}  // namespace

bool HostTypes::is_host_declaration(const clang::NamedDecl& decl) {
  const clang::SourceManager& sources = m_context.getSourceManager();
  if (!sources.isInSystemHeader(sources.getExpansionLoc(decl.getLocation()))) return false;
  bool in_std = false, in_host_space = false;
  for (const clang::DeclContext* scope = decl.getDeclContext(); scope; scope = scope->getParent())
    if (const auto* space = llvm::dyn_cast<clang::NamespaceDecl>(scope)) {
      in_std = space->getName() == "std";
      in_host_space |= space->getName() == "chrono" || space->getName() == "filesystem";
    }
  if (in_std) return in_host_space || (decl.getIdentifier() && is_host_name(decl.getName()));
  // Structures of the C library stand in its inner headers: FILE, timeval, pthread_mutex_t.
  return sources.getFilename(sources.getExpansionLoc(decl.getLocation())).contains("/bits/");
}

bool HostTypes::any_host(llvm::ArrayRef<clang::TemplateArgument> arguments) {
  for (const clang::TemplateArgument& argument : arguments) {
    if (argument.getKind() == clang::TemplateArgument::Type && is_host(argument.getAsType())) return true;
    if (argument.getKind() == clang::TemplateArgument::Pack && any_host(argument.getPackAsArray()))
      return true;
  }
  return false;
}

bool HostTypes::is_host(clang::QualType type) {
  if (type.isNull()) return false;
  const clang::Type* canonical = type.getCanonicalType().getTypePtr();
  if (const auto* pack = llvm::dyn_cast<clang::PackExpansionType>(canonical))
    return is_host(pack->getPattern());
  if (canonical->isAnyPointerType() || canonical->isReferenceType())
    return is_host(canonical->getPointeeType());
  if (const auto* array = llvm::dyn_cast<clang::ArrayType>(canonical))
    return is_host(array->getElementType());
  if (const auto* function = llvm::dyn_cast<clang::FunctionProtoType>(canonical)) {
    for (clang::QualType parameter : function->param_types())
      if (is_host(parameter)) return true;
    return is_host(function->getReturnType());
  }
  if (const auto* dependent = llvm::dyn_cast<clang::TemplateSpecializationType>(canonical)) {
    const clang::TemplateDecl* pattern = dependent->getTemplateName().getAsTemplateDecl();
    return (pattern && is_host_declaration(*pattern)) || any_host(dependent->template_arguments());
  }
  const clang::CXXRecordDecl* record = canonical->getAsCXXRecordDecl();
  if (!record) return false;
  if (const auto* special = llvm::dyn_cast<clang::ClassTemplateSpecializationDecl>(record))
    if (any_host(special->getTemplateArgs().asArray())) return true;
  return is_host(*record);
}

bool HostTypes::is_host(const clang::CXXRecordDecl& record) {
  auto [known, is_new] = m_known.emplace(record.getCanonicalDecl(), false);
  if (!is_new) return known->second;
  if (is_host_declaration(record)) return known->second = true;
  if (const auto* special = llvm::dyn_cast<clang::ClassTemplateSpecializationDecl>(&record);
      special && is_host_declaration(*special->getSpecializedTemplate()))
    return known->second = true;
  const clang::CXXRecordDecl* definition = record.getDefinition();
  if (!definition || m_context.getSourceManager().isInSystemHeader(definition->getLocation())) return false;
  bool host = false;  // the iterator stays valid while others are added
  for (const clang::CXXBaseSpecifier& base : definition->bases()) host |= is_host(base.getType());
  for (const clang::FieldDecl* field : definition->fields()) host |= is_host(field->getType());
  return known->second = host;
}

bool HostTypes::only_holds_host(const clang::CXXRecordDecl& record) {
  const clang::CXXRecordDecl* definition = record.getDefinition();
  const auto* special = llvm::dyn_cast<clang::ClassTemplateSpecializationDecl>(&record);
  if (special && is_host_declaration(*special->getSpecializedTemplate())) return false;
  if (!definition || is_host_declaration(record) || definition->isDependentContext() ||
      definition->isDynamicClass())
    return false;
  for (const clang::CXXBaseSpecifier& base : definition->bases())
    if (is_host(base.getType())) return false;
  return true;
}

bool HostTypes::is_host(const clang::FunctionDecl& function) {
  for (const clang::ParmVarDecl* parameter : function.parameters())
    if (is_host(parameter->getType())) return true;
  return is_host(function.getReturnType());
}

bool HostTypes::names_host(const clang::FunctionDecl& function) {
  const auto is_one = [&](clang::QualType type) {
    type = type.getNonReferenceType();
    while (type->isPointerType()) type = type->getPointeeType();
    const clang::CXXRecordDecl* const record = type->getAsCXXRecordDecl();
    return is_host(type) && !(record && only_holds_host(*record));
  };
  return is_one(function.getReturnType()) ||
         std::ranges::any_of(function.parameters(), is_one, &clang::ParmVarDecl::getType);
}

}  // namespace tarsia::jit
