// The declarations of one file, joined where they share tokens, and what lies between them.
#include "jit/worker/split/item_joins.h"

#include <algorithm>

namespace tarsia::jit {

void merge_items(std::vector<SplitItem>& items, const Tokens& tokens) {
  std::stable_sort(items.begin(), items.end(),
                   [](const SplitItem& a, const SplitItem& b) { return a.begin < b.begin; });
  // Attributes and specifiers may lie before a declaration's range. They reach back to the previous end.
  std::vector<SplitItem> merged;
  for (SplitItem& item : items) {
    if (!merged.empty() && item.begin < merged.back().end) {
      SplitItem& into = merged.back();
      into.callable = false;
      into.declaration.reset();
      into.at_glance = SplitItem::keeps;
      into.argument_types.clear();
      into.glances.insert(into.glances.end(), item.glances.begin(), item.glances.end());
      into.end = std::max(into.end, item.end);
      into.use = std::max(into.use, item.use);
      into.function |= item.function;
      into.root |= item.root;
      into.unnamed |= item.unnamed;
      into.names.insert(into.names.end(), item.names.begin(), item.names.end());
      into.variable |= item.variable;
      into.declared.insert(into.declared.end(), item.declared.begin(), item.declared.end());
      into.own_names.insert(into.own_names.end(), item.own_names.begin(), item.own_names.end());
      into.calls.insert(into.calls.end(), item.calls.begin(), item.calls.end());
      into.called_methods.insert(into.called_methods.end(), item.called_methods.begin(),
                                 item.called_methods.end());
      into.called_names.insert(into.called_names.end(), item.called_names.begin(), item.called_names.end());
      into.calls_conversions |= item.calls_conversions;
      into.called_operators.insert(item.called_operators.begin(), item.called_operators.end());
      into.bodies.insert(into.bodies.end(), item.bodies.begin(), item.bodies.end());
      into.cuts.insert(into.cuts.end(), item.cuts.begin(), item.cuts.end());
      continue;
    }
    size_t floor = merged.empty() ? 0 : merged.back().end;
    while (item.begin > floor) {
      auto kind = tokens[item.begin - 1].kind;
      if (kind == clang::tok::semi || kind == clang::tok::r_brace || kind == clang::tok::l_brace) break;
      --item.begin;
    }
    merged.push_back(std::move(item));
  }
  for (SplitItem& item : merged) std::ranges::sort(item.glances);
  items = std::move(merged);
}

// Work-around: Clang leaves no declaration for the explicit instantiation of a function.
// Trigger: `template __global__ void scale<float>(…);` in the user's text. Symptom: its tokens belong to
// nothing, and the device's compiler would not see them. Removal: Clang's tree holds these directives.
void add_gaps(std::vector<SplitItem>& items, const Tokens& tokens,
              const std::vector<std::pair<size_t, size_t>>& opened) {
  std::vector<char> owned(tokens.size(), 0);
  for (const SplitItem& item : items)
    std::fill(owned.begin() + item.begin, owned.begin() + std::min(item.end, tokens.size()), 1);
  for (auto [begin, end] : opened)
    for (size_t i = begin; i < end && i < tokens.size(); ++i) owned[i] = 1;
  std::vector<SplitItem> gaps;
  for (size_t i = 0; i < tokens.size();) {
    if (owned[i]) {
      ++i;
      continue;
    }
    SplitItem gap;
    gap.nameless = true;
    gap.begin = i;
    while (i < tokens.size() && !owned[i] && tokens[i].kind != clang::tok::semi) ++i;
    if (i < tokens.size() && !owned[i]) ++i;
    gap.end = i;
    gaps.push_back(std::move(gap));
  }
  for (SplitItem& gap : gaps) items.push_back(std::move(gap));
}

}  // namespace tarsia::jit
