// The declarations of the user's files, as ranges of tokens, for the split to choose from.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "clang/AST/ASTContext.h"
#include "jit/worker/split/split_regions.h"
#include "jit/worker/split/token_recorder.h"

namespace tarsia::jit {

using Tokens = std::vector<TokenRecorder::Token>;

/// A range of tokens, [begin, end), that a slice leaves out of a declaration, and its replacement.
struct SplitCut {
  size_t begin = 0, end = 0;
  enum Instead { nothing, semicolon, body } instead = nothing;
};

/// A declaration at namespace scope, or several that share tokens.
struct SplitItem {
  size_t begin = 0, end = 0;                      ///< tokens [begin, end)
  std::vector<std::pair<size_t, size_t>> bodies;  ///< of device functions: tokens that the host steps over
  enum Use { host, soft, device } use = host;     ///< soft: the device's if something there names it
  bool kept = false;
  bool function = false;
  bool both = false;      ///< holds functions of both sides, which may call the host's …
  bool callable = false;  ///< … as this one, which stays as a stub then
  bool nameless = false;  ///< no declaration was made of these tokens
  std::vector<const clang::IdentifierInfo*> names;
  std::vector<SplitCut> cuts;
  std::vector<const clang::IdentifierInfo*> unseen;  ///< names in regions that the host's parse left out

  template <class Visit>
  void for_each_name(const Tokens& tokens, const Visit& visit) const {
    auto in_cut = [&](size_t at) {
      return std::any_of(cuts.begin(), cuts.end(),
                         [&](const SplitCut& cut) { return at >= cut.begin && at < cut.end; });
    };
    for (size_t i = begin; i < end && i < tokens.size(); ++i)
      if (const clang::IdentifierInfo* name = tokens[i].identifier; name && !in_cut(i)) visit(name);
    for (const clang::IdentifierInfo* name : unseen) visit(name);
  }
};

struct SplitFile {
  const Tokens* tokens = nullptr;
  std::vector<SplitItem> items;  ///< by their places, nameless ones at the end
  FileRegions regions;
  std::vector<const clang::IdentifierInfo*> unseen;  ///< of no item
};

/// The parse's view of the user's files. The recorder must outlive the result.
std::map<clang::FileID, SplitFile> read_items(clang::ASTContext& context, const TokenRecorder& recorder);

}  // namespace tarsia::jit
