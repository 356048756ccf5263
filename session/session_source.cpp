// Orders what cells declare and do, so that a name is declared before it is used.
#include "session/session_source.h"

#include <tarsia/detail/spelling.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "jit/rough_text.h"

namespace tarsia::session {
namespace {

/// A declaration of a cell, or what stands between two: macros and comments.
struct Piece {
  const CellText* cell = nullptr;
  std::string text;
  std::vector<std::string> names;  ///< without their scopes
  std::vector<SessionSource::Place> places;
  bool runs = false;  ///< it does something when the library is loaded
};

bool has_conditions(const CellText& cell) {
  const std::vector<std::string> lines = lines_of(cell.code());
  return std::ranges::any_of(lines,
                             [](const std::string& line) { return directive_of(line).starts_with("if"); });
}

/// An item's text with the semicolon that a session does not ask for.
std::string ended(std::string text, const std::string& kind) {
  while (!text.empty() && (text.back() == ';' || detail::is_space(text.back()))) text.pop_back();
  const bool may_end_in_brace = kind == "function" || kind == "statement" || kind == "declaration";
  return may_end_in_brace && text.ends_with('}') ? text : text + ";";
}

/// Lines of comments.
std::string in_comment(const std::string& text) {
  std::string made;
  for (const std::string& line : lines_of(text)) made += "// " + line + "\n";
  return made;
}

std::string without_empty_lines(const std::string& text) {
  std::string kept;
  for (const std::string& line : lines_of(text))
    if (line.find_first_not_of(" \t;") != line.npos) kept += line + "\n";
  return kept;
}

/// Whether a text that belongs to no item has code: what Clang notes no declaration for, such as the explicit
/// instantiation of a function.
bool has_code(const std::string& text) {
  bool is_continued = false, is_comment = false;
  for (const std::string& line : lines_of(text)) {
    const bool is_directive = is_continued || !directive_of(line).empty();
    is_continued = is_directive && line.ends_with('\\');
    for (std::size_t i = 0; i < line.size() && !is_directive; ++i) {
      const std::string_view rest = std::string_view(line).substr(i);
      if (is_comment ? rest.starts_with("*/") : rest.starts_with("/*")) {
        is_comment = !is_comment;
        ++i;
      } else if (!is_comment && rest.starts_with("//")) {
        break;
      } else if (!is_comment && rest.front() != ';' && !detail::is_space(rest.front())) {
        return true;
      }
    }
  }
  return false;
}

bool is_statement(const Item& item) {
  return item.kind == "statement" || item.kind == "expression";
}

/// Whether a variable that later cells declare in this way can be assigned to.
bool is_assignable(const Item& item) {
  return item.later.starts_with("extern ") && !item.later.starts_with("extern thread_local") &&
         !item.later.starts_with("extern __thread") && item.later.find_first_of("[&") == std::string::npos;
}

/// Brings pieces into an order in which each comes behind those that it names.
class Order {
 public:
  Order(const std::vector<Piece>& pieces, const std::map<std::string, std::size_t>& replaced)
      : m_pieces(pieces), m_replaced(replaced), m_is_placed(pieces.size(), false) {
    for (std::size_t i = 0; i < pieces.size(); ++i)
      for (const std::string& name : pieces[i].names) m_by_name[name].push_back(i);
  }
  std::vector<std::size_t> all() && {
    for (std::size_t i = 0; i < m_pieces.size(); ++i) place(i, i);
    return std::move(m_order);
  }

 private:
  /// `limit`: the piece at whose place this one is set.
  void place(std::size_t piece, std::size_t limit) {
    if (m_is_placed[piece]) return;
    m_is_placed[piece] = true;  // from here on, for a piece that names itself through others
    jit::for_each_word(m_pieces[piece].text, [&](std::string_view name) {
      const std::string word(name);
      const auto found = m_by_name.find(word);
      if (found == m_by_name.end()) return;
      // Its code was compiled with what is now replaced.
      const auto replaced = m_replaced.find(word);
      if (replaced != m_replaced.end() && replaced->second <= limit && found->second.front() > limit)
        place(found->second.front(), limit);
      // A piece that comes before its time takes with it what it uses.
      for (const std::size_t other : found->second)
        if (other < piece && other > limit) place(other, limit);
    });
    std::set<std::size_t> seen;
    if (m_pieces[piece].runs) place_used(piece, limit, seen);
    m_order.push_back(piece);
  }

  /// Sets the variables that functions use which a piece calls, and which were defined behind it: the
  /// functions are those of now.
  void place_used(std::size_t piece, std::size_t limit, std::set<std::size_t>& seen) {
    if (!seen.insert(piece).second) return;
    jit::for_each_word(m_pieces[piece].text, [&](std::string_view name) {
      const std::string word(name);
      const auto found = m_by_name.find(word);
      if (found == m_by_name.end()) return;
      for (const std::size_t other : found->second) {
        if (!m_pieces[other].runs)
          place_used(other, limit, seen);
        else if (other > limit && other == found->second.front())
          place(other, limit);
      }
    });
  }

  const std::vector<Piece>& m_pieces;
  const std::map<std::string, std::size_t>& m_replaced;
  std::map<std::string, std::vector<std::size_t>> m_by_name;
  std::vector<bool> m_is_placed;
  std::vector<std::size_t> m_order;
};

/// Makes pieces of cells.
class Maker {
 public:
  Maker(const CellTexts& cells, bool shown, const std::map<ItemNumber, std::string>& left_out)
      : m_cells(cells), m_is_shown(shown), m_left_out(left_out) {
    // Where a variable is defined for the first time and, if it cannot be assigned to, for the last time.
    for (std::size_t cell = 0; cell < cells.size(); ++cell)
      for (std::size_t i = 0; i < cells[cell]->items().size(); ++i) {
        const Item& item = cells[cell]->items()[i];
        if (item.kind == "variable" && !item.dropped && !item.later.empty() && !item.symbols.empty() &&
            !left_out.contains({cell, i}))
          m_definitions[item.symbols.front()].push_back({cell, i});
      }
  }

  void add_cell(std::size_t number) {
    m_cell = number;
    const CellText& cell = *m_cells[number];
    for (const std::string& macro : cell.undefined())
      pieces.push_back({&cell, "#undef " + macro + "\n", {macro}, {}, false});
    if (has_conditions(cell)) {
      Piece piece{&cell, {}, {}, {}, true};
      add_range(piece, 0, cell.code().size(), std::nullopt);
      if (!piece.text.empty()) pieces.push_back(std::move(piece));
      return;
    }
    std::size_t done = 0;
    for (std::size_t i = 0; i < cell.items().size(); ++i) {
      const Item& item = cell.items()[i];
      if (item.outer) continue;
      add_between(done, item.begin);
      done = item.end;
      // Statements that follow each other run together.
      if (is_statement(item) && !pieces.empty() && pieces.back().cell == &cell && m_is_open) {
        add_item(pieces.back(), i);
        continue;
      }
      close();
      Piece piece{&cell, {}, {}, {}, is_statement(item) || item.kind == "variable"};
      add_item(piece, i);
      for (const std::string& name : item.hidden) replaced.emplace(name, pieces.size());
      if (item.dropped)
        for (const std::string& name : names_of(i)) replaced.emplace(name, pieces.size());
      if (!piece.text.empty()) pieces.push_back(std::move(piece));
    }
    close();
    add_between(done, cell.code().size());
  }

  std::vector<Piece> pieces;
  std::map<std::string, std::size_t> replaced;  ///< by name: the piece that came behind it
  Piece session;                                ///< the statements of a source to look at

 private:
  const CellText& cell() const { return *m_cells[m_cell]; }

  /// The names of an item and of those within, without their scopes.
  std::vector<std::string> names_of(std::size_t number) const {
    std::vector<std::string> names;
    const std::vector<Item>& items = cell().items();
    for (std::size_t i = number; i < items.size() && (i == number || items[i].begin < items[number].end); ++i)
      for (const std::string& name : items[i].names)
        if (std::ranges::find(items[i].hidden, last_part(name)) == items[i].hidden.end())
          names.push_back(last_part(name));
    return names;
  }

  void add_between(std::size_t begin, std::size_t end) {
    std::string text = without_empty_lines(cell().code().substr(begin, end - begin));
    if (text.empty()) return;
    close();
    Piece piece{&cell(), {}, macros_of(text), {}, false};
    // Behind the numbers of the items.
    const ItemNumber number{m_cell, cell().items().size() + begin};
    if (has_code(text)) {
      if (const auto left_out = m_left_out.find(number); left_out != m_left_out.end())
        text = in_comment(cell().name() + ", no longer compiles: " + left_out->second) + in_comment(text);
      else
        piece.places.push_back({0, (text += ";\n").size(), number});
    }
    piece.text = std::move(text);
    pieces.push_back(std::move(piece));
  }

  /// What stands between two places of the cell's text, items and all.
  void add_range(Piece& piece, std::size_t begin, std::size_t end, std::optional<std::size_t> outer) {
    const std::string& code = cell().code();
    const std::vector<Item>& items = cell().items();
    const auto add_text = [&](std::size_t from, std::size_t to) {
      const std::string text = without_empty_lines(code.substr(from, to - from));
      const std::vector<std::string> macros = macros_of(text);
      piece.names.insert(piece.names.end(), macros.begin(), macros.end());
      piece.text += text;
    };
    for (std::size_t i = outer ? *outer + 1 : 0; i < items.size() && items[i].begin < end; ++i) {
      if (items[i].outer != outer) continue;
      add_text(begin, items[i].begin);
      add_item(piece, i);
      if (m_is_open) close(piece);
      begin = items[i].end;
    }
    add_text(begin, end);
  }

  void add_item(Piece& piece, std::size_t number) {
    const Item& item = cell().items()[number];
    if (item.dropped) return;
    const std::vector<std::string> names = names_of(number);
    piece.names.insert(piece.names.end(), names.begin(), names.end());
    const auto left_out = m_left_out.find({m_cell, number});
    if (left_out == m_left_out.end() && cell().has_members(number))
      return add_range(piece, item.begin, item.end, number);
    std::string typed =
        item.alone.empty() ? cell().code().substr(item.begin, item.end - item.begin) : item.alone;
    typed = ended(cell().with_hidden(item, std::move(typed)), item.kind);
    const bool is_in_session = m_is_shown && is_statement(item);
    Piece& target = is_in_session ? session : piece;
    if (left_out != m_left_out.end()) {
      target.text +=
          in_comment(cell().name() + ", no longer compiles: " + left_out->second) + in_comment(typed);
      return;
    }
    if (is_statement(item)) {
      const bool is_last = number + 1 == cell().items().size();
      if (item.kind == "expression" && is_last && cell().shows_value()) {
        typed.pop_back();
        typed = "(void)(" + typed + ");";
      }
      if (!is_in_session) open(target);
      typed = "  " + typed;
    } else if (item.replaced || item.kind == "variable") {
      typed = text_now(target, item, {m_cell, number}, typed);
    }
    if (typed.empty()) return;
    target.places.push_back({target.text.size(), target.text.size() + typed.size(), {m_cell, number}});
    target.text += typed + "\n";
  }

  /// What stands for a function or variable that may be defined more than once.
  std::string text_now(Piece& piece, const Item& item, ItemNumber number, const std::string& typed) {
    if (item.same_later) return typed;  // a declaration
    if (item.kind != "variable") return item.replaced ? item.later : typed;
    if (m_is_shown && item.later.starts_with("extern "))
      return "#pragma clang attribute push(__attribute__((weak)), apply_to = variable)\n" + item.later +
             "\n#pragma clang attribute pop";
    const auto found = item.symbols.empty() ? m_definitions.end() : m_definitions.find(item.symbols.front());
    if (found == m_definitions.end() || item.later.empty()) return item.replaced ? item.later : typed;
    const std::vector<ItemNumber>& all = found->second;
    if (!is_assignable(item)) return number == all.back() ? typed : item.later;
    if (number == all.front()) return typed;
    const std::string name = "::" + item.names.front();
    piece.runs = true;
    return "static const bool " + next_name() + " = [] {\n  " + typed + "\n  " + name +
           " = static_cast<decltype(" + name + ")&&>(" + last_part(item.names.front()) +
           ");\n  return true;\n}();";
  }

  std::string next_name() { return "tarsia_ran_" + std::to_string(++m_n_runs); }

  /// Begins what runs statements.
  void open(Piece& piece) {
    if (!m_is_open) piece.text += "static const bool " + next_name() + " = [] {\n";
    m_is_open = true;
  }
  void close(Piece& piece) {
    piece.text += "  return true;\n}();\n";
    m_is_open = false;
  }
  void close() {
    if (m_is_open) close(pieces.back());
  }

  const CellTexts& m_cells;
  bool m_is_shown;
  const std::map<ItemNumber, std::string>& m_left_out;
  std::map<std::string, std::vector<ItemNumber>> m_definitions;  ///< by symbol
  std::size_t m_cell = 0;
  int m_n_runs = 0;
  bool m_is_open = false;  ///< the last piece runs statements, and more may follow
};

}  // namespace

const SessionSource::Place* SessionSource::place_at(int line, int column) const {
  std::size_t at = 0;
  for (int i = 1; i < line && at < text.size(); ++i) at = std::min(text.find('\n', at), text.size() - 1) + 1;
  at += std::size_t(std::max(column - 1, 0));
  const auto found =
      std::ranges::find_if(places, [&](const Place& place) { return at >= place.begin && at <= place.end; });
  return found == places.end() ? nullptr : &*found;
}

SessionSource make_source(const CellTexts& cells, const std::string& ready, bool shown,
                          const std::map<ItemNumber, std::string>& left_out) {
  SessionSource made;
  made.text = "#include <tarsia/op.h>\n#include <tarsia/repl.h>\n";
  std::set<std::string> seen;
  Maker maker(cells, shown, left_out);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    for (const auto& [include, line] : cells[i]->includes())
      if (seen.insert(include).second) made.text += include + "\n";
    maker.add_cell(i);
  }
  made.text += "\n" + ready + "\n";
  const auto add = [&](const Piece& piece) {
    for (SessionSource::Place place : piece.places) {
      place.begin += made.text.size();
      place.end += made.text.size();
      made.places.push_back(place);
    }
    made.text += piece.text;
  };
  const CellText* last = nullptr;
  for (const std::size_t number : Order(maker.pieces, maker.replaced).all()) {
    const Piece& piece = maker.pieces[number];
    if (piece.cell != last) made.text += (last ? "\n// " : "// ") + piece.cell->name() + "\n";
    last = piece.cell;
    add(piece);
  }
  if (maker.session.text.empty()) return made;
  made.text += "\nvoid session() {\n";
  add(maker.session);
  made.text += "}\n";
  return made;
}

}  // namespace tarsia::session
