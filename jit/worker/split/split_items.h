// The declarations of the user's files, as ranges of tokens, for the split to choose from.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "jit/worker/split/split_regions.h"
#include "jit/worker/split/token_ranges.h"
#include "jit/worker/split/token_recorder.h"

namespace tarsia::jit {

/// A declaration, of this parse or of a precompiled form; that one need not be read for it. 0: none.
using DeclKey = std::uint64_t;
DeclKey key_of(const clang::Decl* decl);
/// The declaration, which is read if need be.
const clang::Decl* decl_of(DeclKey key, clang::ASTContext& context);

/// A range of tokens, [begin, end), that a slice leaves out of a declaration, and its replacement.
struct SplitCut {
  size_t begin = 0, end = 0;
  enum Instead { nothing, semicolon, words } instead = nothing;
  std::string text = {};  ///< the words
  DeclKey method = 0;     ///< the host's, canonical, of which this is the body, or behind which it is
};

/// The body of a host function that device code must be able to name. It has no value to return.
inline constexpr char k_trap_body[] = "{for(;;)__trap();}";

/// Visits the places of the tokens between the brackets behind each decltype in [begin, end).
template <class Visit>
void for_each_in_decltype(const Tokens& tokens, size_t begin, size_t end, const Visit& visit) {
  end = std::min(end, tokens.size());
  for (size_t i = begin; i + 1 < end; ++i) {
    if (tokens[i].kind != clang::tok::kw_decltype || tokens[i + 1].kind != clang::tok::l_paren) continue;
    int depth = 0;
    do {
      ++i;
      depth += (tokens[i].kind == clang::tok::l_paren) - (tokens[i].kind == clang::tok::r_paren);
      visit(i);
    } while (depth > 0 && i + 1 < end);
  }
}

/// A declaration at namespace scope, or several that share tokens.
struct SplitItem {
  size_t begin = 0, end = 0;                      ///< tokens [begin, end)
  std::vector<std::pair<size_t, size_t>> bodies;  ///< of device functions: tokens that the host steps over
  enum Use { host, soft, device } use = host;     ///< soft: the device's if something there names it
  bool root = false;                              ///< in the slice, whether something names it or not
  bool kept = false;
  bool only_declared = false;  ///< kept, but for its name alone: a class as `declaration` says
  enum AtGlance { keeps, declares, ignores } at_glance = keeps;  ///< if its name is only glanced at
  bool function = false;
  bool variable = false;  ///< of the device
  bool callable = false;  ///< the host's, which stays as a stub if a function of both sides calls it, or asks
                          ///< for its type
  bool inner = false;     ///< all of a file that is included amid a declaration, whose names it has
  bool nameless = false;  ///< no declaration was made of these tokens
  uint32_t text_begin = 0,
           text_end = 0;  ///< of a region that the host's parse left out: no tokens, this text
  bool unnamed = false;   ///< an operator over no type in particular: kept wherever it can be found
  const clang::NamespaceDecl* space = nullptr;  ///< that it stands in; of the first of several
  std::vector<const clang::IdentifierInfo*> names;
  /// Of a specialisation: the user's types among its arguments. Nobody can use it without each of them.
  std::vector<const clang::IdentifierInfo*> argument_types;
  std::vector<DeclKey> declared;                             ///< functions, canonical
  std::vector<const clang::IdentifierInfo*> own_names = {};  ///< of these functions
  std::vector<DeclKey> calls;                                ///< by functions of both sides, canonical
  /// Members that functions of both sides call, and constexpr ones, which may be; canonical.
  std::vector<DeclKey> called_methods;
  // The same, of what depends on a template's parameters: members by their names.
  std::vector<clang::DeclarationName> called_names;
  std::set<clang::OverloadedOperatorKind> called_operators;
  bool calls_conversions = false;
  std::vector<SplitCut> cuts;
  std::optional<SplitCut> declaration;  ///< of a class: leaves its declaration of its definition
  std::vector<size_t> glances;          ///< tokens, sorted: classes of which the declaration is enough
  std::vector<const clang::IdentifierInfo*> unseen;  ///< names in regions that the host's parse left out

  /// Visits the names in what is kept of it, and whether each is only glanced at.
  template <class Visit>
  void for_each_name(const Tokens& tokens, const Visit& visit) const {
    for (size_t i = begin; i < end && i < tokens.size(); ++i) {
      const clang::IdentifierInfo* name = tokens[i].identifier;
      if (!name || !stays(i)) continue;
      const bool own = only_declared && std::ranges::find(names, name) != names.end();
      visit(name, own || std::ranges::binary_search(glances, i));
    }
    for (const clang::IdentifierInfo* name : unseen) visit(name, false);
  }
  /// Visits those of them that stand in the brackets behind decltype, and name no member.
  template <class Visit>
  void for_each_asked_name(const Tokens& tokens, const Visit& visit) const {
    for_each_in_decltype(tokens, begin, end, [&](size_t i) {
      const clang::tok::TokenKind before = i > begin ? tokens[i - 1].kind : clang::tok::unknown;
      const bool is_member = before == clang::tok::period || before == clang::tok::arrow;
      if (tokens[i].identifier && !is_member && stays(i)) visit(tokens[i].identifier);
    });
  }

 private:
  bool stays(size_t at) const {
    const auto holds = [at](const SplitCut& cut) { return at >= cut.begin && at < cut.end; };
    return !(only_declared && declaration && holds(*declaration)) && std::ranges::none_of(cuts, holds);
  }
};

/// A namespace as a file opens it. Unnamed and inline ones are taken for what they stand in.
struct SplitSpace {
  uint32_t begin = 0, end = 0;                  ///< offsets in the file
  const clang::NamespaceDecl* space = nullptr;  ///< null: the global one
};

/// The nearest namespace that has to be named to reach what stands in a scope; null if none has.
const clang::NamespaceDecl* named_space(const clang::DeclContext* scope);

struct SplitFile {
  const Tokens* tokens = nullptr;
  bool own = false;              ///< a text of the request, and no file that it includes
  std::vector<SplitItem> items;  ///< by their places, nameless ones at the end
  std::vector<SplitSpace> spaces;
  FileRegions regions;
  /// Of no item: names, and where they stand.
  std::vector<std::pair<const clang::IdentifierInfo*, const clang::NamespaceDecl*>> unseen;
};

/// The parse's view of the user's files. The recorder must outlive it.
class ItemReader {
 public:
  ItemReader(clang::ASTContext& context, const TokenRecorder& recorder);
  ~ItemReader();
  /// Reads what was parsed since the last call, and returns the files that are new. All files but `open` are
  /// complete; that one waits for a later call. To be called between declarations at namespace scope.
  std::vector<clang::FileID> read(clang::FileID open);
  /// Takes a file that an earlier parse read, of which a precompiled form is read here.
  SplitFile& adopt(clang::FileID id, SplitFile file);
  /// What the headers on disk define for the device; of headers that an earlier parse read, it is told.
  const DeviceMacros::Names& macros_of_headers() const;
  void adopt_macros(const DeviceMacros::Names& names);
  /// The files that are complete. They stay where they are.
  std::map<clang::FileID, SplitFile>& files();
  const std::map<clang::FileID, SplitFile>& files() const;

 private:
  class Impl;
  std::unique_ptr<Impl> m_impl;
};

}  // namespace tarsia::jit
