// What a cell means to the texts of earlier ones, by Clang's diagnostics and by the words in them.
#include "session/earlier_cells.h"

#include <tarsia/detail/spelling.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

namespace tarsia::session {
namespace {

/// "redefinition of 'x'" and the like: the name in the first quotes.
std::string quoted_name(const std::string& message) {
  const std::size_t open = message.find('\'');
  const std::size_t close = open == message.npos ? open : message.find('\'', open + 1);
  return close == message.npos ? std::string() : message.substr(open + 1, close - open - 1);
}

bool contains(const std::vector<std::string>& all, std::string_view one) {
  return std::ranges::find(all, one) != all.end();
}

bool is_previous(const std::string& message, const std::string& error) {
  return message.starts_with("previous ") ||
         message.find("hidden by a non-type declaration") != message.npos ||
         (message.ends_with("declared here") && error.find(" conflicts with ") != error.npos) ||
         message.starts_with("target of using declaration") || message == "using declaration" ||
         message.starts_with("conflicting declaration");
}

/// Drops an item of a cell, for those who read `earlier`.
void drop(std::shared_ptr<const CellText>& cell, std::size_t item) {
  CellText changed = *cell;
  changed.drop(item);
  cell = std::make_shared<const CellText>(std::move(changed));
}

/// Drops the item at a place of an earlier cell, or the one of that name in it; of an enumeration, the value
/// of that name alone. `read`: the earlier cells as they were compiled. False if there is none.
bool drop_at(const CellTexts& read, CellTexts& earlier, const Diagnostic& place, const std::string& name) {
  const auto cell = std::ranges::find_if(read, [&](const auto& one) { return one->name() == place.file; });
  if (cell == read.end()) return false;
  std::optional<std::size_t> item = (*cell)->item_at(place.line, place.column);
  if (!item && !name.empty()) item = (*cell)->item_named(name);
  if (!item) return false;
  std::shared_ptr<const CellText>& changed = earlier[std::size_t(cell - read.begin())];
  const Item& found = changed->items()[*item];
  if (const std::string value = last_part(name);
      contains(found.values, value) && !contains(found.hidden, value)) {
    CellText without = *changed;
    without.hide(*item, value);
    changed = std::make_shared<const CellText>(std::move(without));
  } else {
    drop(changed, *item);
  }
  return true;
}

}  // namespace

void add_once(std::vector<std::string>& all, std::string one) {
  if (!contains(all, one)) all.push_back(std::move(one));
}

bool mentions(std::string_view text, const std::string& whole) {
  const std::string name = last_part(whole);
  for (std::size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1))
    if ((at == 0 || !detail::is_identifier_part(text[at - 1])) &&
        (at + name.size() == text.size() || !detail::is_identifier_part(text[at + name.size()])))
      return true;
  return false;
}

std::string_view typed_of(const CellText& cell, const Item& item) {
  return std::string_view(cell.code()).substr(item.begin, item.end - item.begin);
}

std::vector<std::string> keepers(const CellText& cell, const std::string& name) {
  std::vector<std::string> found, functions;
  for (const Item& item : cell.items()) {
    if (item.replaced || (item.kind != "function" && item.kind != "variable")) continue;
    if (item.kind == "function") functions.insert(functions.end(), item.names.begin(), item.names.end());
    if (mentions(typed_of(cell, item), name)) found.insert(found.end(), item.names.begin(), item.names.end());
  }
  return found.empty() ? functions : found;
}

std::vector<std::string> mentioned_macros(const CellTexts& earlier, const CellText& cell) {
  std::vector<std::string> found;
  for (const auto& one : earlier)
    for (const std::string& name : one->macros())
      if (mentions(cell.code(), name) && !contains(cell.macros(), name) && !contains(found, name))
        found.push_back(name);
  return found;
}

bool declares(const std::vector<std::string>& names, const std::string& macro) {
  return std::ranges::any_of(
      names, [&](const std::string& name) { return name == macro || name.ends_with("::" + macro); });
}

CellTexts without_unused_values(const CellTexts& earlier, const CellText& cell,
                                const jit::CompileOptions& options) {
  if (!options.include_dirs.empty() || !options.defines.empty()) return earlier;
  std::vector<std::string_view> texts{cell.code()};
  for (std::size_t i = 1; i < earlier.size(); ++i) texts.push_back(earlier[i]->code());
  if (std::ranges::any_of(texts, [](std::string_view text) {
        return text.find("##") != text.npos || text.find("include") != text.npos;
      }))
    return earlier;
  CellText ready = *earlier.front();
  for (std::size_t i = 0; i < ready.items().size(); ++i)
    if (std::ranges::none_of(
            texts, [&](std::string_view text) { return mentions(text, ready.items()[i].names.front()); }))
      ready.drop(i);
  CellTexts kept = earlier;
  kept.front() = std::make_shared<const CellText>(std::move(ready));
  return kept;
}

std::vector<Diagnostic> of_cell(const std::vector<Diagnostic>& warnings, const CellTexts& earlier) {
  std::vector<Diagnostic> kept;
  bool is_kept = true;
  for (const Diagnostic& one : warnings) {
    if (one.severity != Severity::note)
      is_kept = std::ranges::none_of(earlier, [&](const auto& cell) { return cell->name() == one.file; });
    if (is_kept) kept.push_back(one);
  }
  return kept;
}

bool drop_replaced(const std::vector<Diagnostic>& diagnostics, const CellText& cell, CellTexts& earlier) {
  const CellTexts read = earlier;
  bool changed = false;
  for (std::size_t i = 0; i < diagnostics.size(); ++i) {
    if (diagnostics[i].severity < Severity::error || diagnostics[i].file != cell.name()) continue;
    const std::string name = quoted_name(diagnostics[i].message);
    for (std::size_t k = i + 1; k < diagnostics.size() && diagnostics[k].severity == Severity::note; ++k)
      if (is_previous(diagnostics[k].message, diagnostics[i].message))
        changed |= drop_at(read, earlier, diagnostics[k], name);
    // What a ready value's name stands for lies in a header.
    if (diagnostics[i].message.find("redefinition") == std::string::npos) continue;
    if (const auto item = earlier.front()->item_named(name)) {
      drop(earlier.front(), *item);
      changed = true;
    }
  }
  return changed;
}

bool drop_broken(const std::vector<Diagnostic>& diagnostics, CellTexts& earlier) {
  const CellTexts read = earlier;
  bool changed = false;
  for (const Diagnostic& one : diagnostics)
    if (one.severity >= Severity::error) changed |= drop_at(read, earlier, one, {});
  return changed;
}

std::vector<std::string> names_gone(const CellTexts& before, const CellTexts& now, const CellText& cell) {
  std::vector<std::string> gone;
  const std::vector<std::string> again = cell.names();
  for (std::size_t i = 0; i < before.size() && i < now.size(); ++i)
    for (std::size_t k = 0; k < before[i]->items().size(); ++k) {
      const Item& item = now[i]->items()[k];
      if (!item.dropped || before[i]->items()[k].dropped || now[i]->has_members(k)) continue;
      if (item.names.empty()) gone.push_back(item.kind);
      for (const std::string& name : item.names)
        if (!contains(again, name)) add_once(gone, name);
    }
  return gone;
}

}  // namespace tarsia::session
