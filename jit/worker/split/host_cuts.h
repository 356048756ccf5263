// What a slice leaves out of declarations that stay: what only the host can compile.
#pragma once

#include <vector>

#include "clang/AST/ASTContext.h"
#include "jit/worker/split/host_types.h"
#include "jit/worker/split/split_items.h"

namespace tarsia::jit {

/// Finds the cuts in the declarations of one file.
class HostCuts {
 public:
  /// All must outlive it.
  HostCuts(clang::ASTContext& context, HostTypes& host_types, clang::FileID file, const Tokens& tokens)
      : m_context(context),
        m_sources(context.getSourceManager()),
        m_host_types(host_types),
        m_file(file),
        m_tokens(tokens) {}

  /// A host function stays as a stub if a function of both sides calls it. nvcc takes that with a warning,
  /// since the device may never make the call.
  void cut_function(const clang::FunctionDecl& function, SplitItem& item);

  /// Members that only the host needs, of a class that stays. Their bodies go. If their types are the host's
  /// as well, the whole members go.
  void cut_members(const clang::CXXRecordDecl& record, SplitItem& item);

  /// What makes a declaration of the definition of a class, if its text is plain.
  std::optional<SplitCut> declaration_of(const clang::CXXRecordDecl& record) const;

  /// What a function throws that has to be constant to be of use: the device traps there.
  void cut_throws(const clang::FunctionDecl& function, std::vector<SplitCut>& cuts);

 private:
  void cut_field(const clang::FieldDecl& field, size_t begin, size_t end, std::vector<SplitCut>& cuts);
  void cut_host_word(const clang::FunctionDecl& function, std::vector<SplitCut>& cuts);
  void cut_method(const clang::FunctionDecl& function, size_t begin, size_t end, bool whole, SplitItem& item);
  void note_glances(const clang::FunctionDecl& function, bool has_body, SplitItem& item) const;
  void note_glance(clang::TypeLoc type, bool by_value, SplitItem& item) const;
  bool is_here(clang::SourceLocation location) const;
  size_t begin_of(clang::SourceLocation location) const;
  size_t end_of(clang::SourceLocation location) const;

  clang::ASTContext& m_context;
  const clang::SourceManager& m_sources;
  HostTypes& m_host_types;
  clang::FileID m_file;
  const Tokens& m_tokens;
};

}  // namespace tarsia::jit
