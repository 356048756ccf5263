// The texts of a session's cells, and the source that a cell is compiled as.
//
//   #include <tarsia/repl.h>
//   #include <vector>             includes of all cells, in order: so they are precompiled once
//   #include "earlier cells"      what these declare; with CUDA, each cell is a header of its own
//   #include "cell 2"             the cell
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/diagnostic.h"
#include "pipeline/source.h"

namespace tarsia::session {

/// A declaration or statement of a cell that was compiled; see jit/worker/cell/cell_items.h.
struct Item {
  std::size_t begin = 0, end = 0;
  std::string kind;
  std::optional<std::size_t> outer;  ///< the number of the item in whose braces it stands
  std::vector<std::string> names, symbols;
  std::vector<std::string> values;  ///< those of the names that are values of an enumeration, without scopes
  std::vector<std::string> hidden;  ///< those of the values that something else has taken the name of
  std::string alone;                ///< what declares it without its neighbours, unless its text does
  bool same_later = true;
  std::string later;      ///< what later cells read, unless it is the same
  bool dropped = false;   ///< later cells do not see it any more
  bool replaced = false;  ///< a later cell has defined the same function or variable again
};

/// A cell as later cells read it.
class CellText {
 public:
  CellText() = default;
  /// `text`: as it was typed.
  CellText(std::string name, const std::string& typed);
  /// What all sessions begin with: the names of the values to try ops with, one item each.
  static CellText ready();

  const std::string& name() const { return m_name; }
  const std::vector<Item>& items() const { return m_items; }
  /// Of all items.
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const Item& item : m_items) all.insert(all.end(), item.names.begin(), item.names.end());
    return all;
  }
  /// The text that is compiled: without the includes that stand in front of the source, and ended.
  const std::string& code() const { return m_code; }
  /// Whether its last statement shows its value: no semicolon follows.
  bool shows_value() const { return m_shows_value; }
  /// The byte at which a comment begins that the cell does not end; none if there is none.
  std::optional<std::size_t> open_comment() const { return m_open_comment; }
  /// Whether there is nothing but space and comments.
  bool is_empty() const { return m_is_empty; }
  bool has_macros() const { return m_has_macros; }
  /// The names of the macros that it defines, in their order.
  const std::vector<std::string>& macros() const { return m_macros; }

  /// Takes away a macro of an earlier cell before the cell is read.
  void undefine(std::string macro) { m_undefined.push_back(std::move(macro)); }
  const std::vector<std::string>& undefined() const { return m_undefined; }

  /// Moves the includes, `#include <…>` outside of conditions and before any macro, to the source's front.
  void move_includes();
  /// They, each with its line in the cell.
  const std::vector<std::pair<std::string, int>>& includes() const { return m_includes; }

  /// Takes what the compiler said of the items (JSON).
  void take_items(const char* info);
  /// What later cells read: the same number of lines. Each item lies on the lines where it was typed.
  std::string later_text() const;
  /// The number of the item at a place of later_text(); none if there is none.
  std::optional<std::size_t> item_at(int line, int column) const;
  /// The number of the item that declares the name and is not dropped; none if there is none.
  std::optional<std::size_t> item_named(std::string_view name) const;
  /// Drops it and all that stands in it.
  void drop(std::size_t item);
  /// Gives a value of an enumeration another name, since something else takes its own.
  void hide(std::size_t item, std::string value) { m_items[item].hidden.push_back(std::move(value)); }
  /// An item's text, in which hidden values have other names.
  std::string with_hidden(const Item& item, std::string text) const;
  /// Whether other items stand in it.
  bool has_members(std::size_t item) const {
    return item + 1 < m_items.size() && m_items[item + 1].outer == item;
  }
  /// Whether another cell's items define again what this one has defined, and that is not yet marked.
  bool is_replaced_by(const CellText& other) const;
  void mark_replaced_by(const CellText& other);

 private:
  /// Where items lie in a text; an item's own is empty if it is dropped.
  using Places = std::vector<std::pair<std::size_t, std::size_t>>;
  /// Appends what later cells read of an item, on as many lines as it was typed on. `places`: may be null.
  void add_later(std::size_t item, std::string& text, Places* places) const;
  std::string later_text(Places* places) const;

  std::string m_name, m_code;
  std::vector<std::pair<std::string, int>> m_includes;
  std::vector<Item> m_items;
  std::vector<std::string> m_macros, m_undefined;
  std::optional<std::size_t> m_open_comment;
  bool m_shows_value = false, m_is_empty = true, m_has_macros = false;
};

/// The cells of a session, in their order. Sessions keep each state that undo() leads back to; what does not
/// change from one to the next, they share.
using CellTexts = std::vector<std::shared_ptr<const CellText>>;

/// A line's directive, "include", "define" and so on; empty if it has none.
std::string_view directive_of(std::string_view line);
/// The names of the macros that a text defines, in their order.
std::vector<std::string> macros_of(const std::string& text);
/// A name without its scopes.
std::string last_part(const std::string& name);
/// The lines of a text, without their ends.
std::vector<std::string> lines_of(const std::string& text);

/// The name of the text that includes all others.
inline constexpr char k_main_name[] = "session";
/// The name of the header that has the texts of earlier cells, where no CUDA is among them.
inline constexpr char k_earlier_name[] = "earlier cells";

/// The source of `cell`, which stands behind the earlier ones.
pipeline::Source compose(const CellTexts& earlier, const CellText& cell, const jit::CompileOptions& options);

/// Puts a diagnostic about an include that was moved to its line in the cell.
void place_includes(Diagnostic& diagnostic, const CellTexts& earlier, const CellText& cell);

}  // namespace tarsia::session
