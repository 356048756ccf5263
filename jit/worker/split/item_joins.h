// The declarations of one file, joined where they share tokens, and what lies between them.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "jit/worker/split/split_items.h"
#include "jit/worker/split/token_ranges.h"

namespace tarsia::jit {

/// Sorts the items of a file, and joins those that share tokens: declarations of one group ("int a, b;") or
/// of one macro's expansion. They go or stay together.
void merge_items(std::vector<SplitItem>& items, const Tokens& tokens);
/// Adds the tokens between items, split at semicolons. A part stays if it names a function that stays.
/// `opened`: the tokens that open and close namespaces, which belong to no item.
void add_gaps(std::vector<SplitItem>& items, const Tokens& tokens,
              const std::vector<std::pair<size_t, size_t>>& opened);

}  // namespace tarsia::jit
