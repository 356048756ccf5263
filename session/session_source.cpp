// Orders what cells declare, so that a name is declared before it is used.
#include "session/session_source.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>

namespace tarsia::session {
namespace {

/// A declaration of a cell, or what stands between two: macros and comments.
struct Piece {
  const CellText* cell = nullptr;
  std::string text;
  std::vector<std::string> names;
};

bool is_word(char byte) {
  return std::isalnum(static_cast<unsigned char>(byte)) || byte == '_';
}

/// Calls see(word) for each identifier of a text; those of comments and strings are among them.
template <class See>
void for_each_word(std::string_view text, const See& see) {
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = begin;
    while (end < text.size() && is_word(text[end])) ++end;
    if (end > begin && !std::isdigit(static_cast<unsigned char>(text[begin])))
      see(std::string(text.substr(begin, end - begin)));
    begin = end + 1;
  }
}

/// The names that an item declares; those of an enumeration's values as well.
std::vector<std::string> names_of(const Item& item, const std::string& typed) {
  std::vector<std::string> names = item.names;
  const std::size_t open = typed.find('{');
  if (item.kind == "type" && open != typed.npos && typed.substr(0, open).find("enum") != typed.npos)
    for_each_word(std::string_view(typed).substr(open),
                  [&](std::string word) { names.push_back(std::move(word)); });
  return names;
}

bool has_conditions(const CellText& cell) {
  const std::vector<std::string> lines = lines_of(cell.code());
  return std::ranges::any_of(lines,
                             [](const std::string& line) { return directive_of(line).starts_with("if"); });
}

/// A statement with the semicolon that a session does not ask for.
std::string ended(std::string statement, bool shows_value) {
  if (statement.ends_with(";")) statement.pop_back();
  while (!statement.empty() && (statement.back() == '\n' || statement.back() == ' ')) statement.pop_back();
  return shows_value ? "(void)(" + statement + ");" : statement.ends_with('}') ? statement : statement + ";";
}

std::string in_comment(const std::string& text) {
  std::string made;
  for (const std::string& line : lines_of(text)) made += "  // " + line + "\n";
  return made;
}

std::string without_empty_lines(const std::string& text) {
  std::string kept;
  for (const std::string& line : lines_of(text))
    if (line.find_first_not_of(" \t;") != line.npos) kept += line + "\n";
  return kept;
}

/// Brings pieces into an order in which each comes behind those that it names.
class Order {
 public:
  explicit Order(const std::vector<Piece>& pieces, const std::map<std::string, std::size_t>& replaced)
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
    for_each_word(m_pieces[piece].text, [&](const std::string& word) {
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
    m_order.push_back(piece);
  }

  const std::vector<Piece>& m_pieces;
  const std::map<std::string, std::size_t>& m_replaced;
  std::map<std::string, std::vector<std::size_t>> m_by_name;
  std::vector<bool> m_is_placed;
  std::vector<std::size_t> m_order;
};

}  // namespace

SessionSource make_source(const CellTexts& cells, const std::string& ready, ItemText text_of,
                          const std::set<std::size_t>& left_out) {
  SessionSource made;
  std::string includes, statements;
  std::set<std::string> seen;
  std::vector<Piece> pieces;
  std::map<std::string, std::size_t> replaced;  // by name: the piece that came behind it
  std::vector<std::pair<std::size_t, std::size_t>> places;
  for (const auto& cell : cells) {
    for (const auto& [include, line] : cell->includes())
      if (seen.insert(include).second) includes += include + "\n";
    const std::string& code = cell->code();
    const bool is_whole = has_conditions(*cell);
    if (is_whole) pieces.push_back({cell.get(), {}, {}});
    const auto add = [&](std::string text, std::vector<std::string> names) {
      if (!is_whole) return pieces.push_back({cell.get(), std::move(text), std::move(names)});
      pieces.back().text += text;
      pieces.back().names.insert(pieces.back().names.end(), names.begin(), names.end());
    };
    const auto add_between = [&](std::string text) {
      std::vector<std::string> macros = macros_of(text);
      add(std::move(text), std::move(macros));
    };
    std::size_t done = 0;
    for (std::size_t i = 0; i < cell->items().size(); ++i) {
      const Item& item = cell->items()[i];
      add_between(code.substr(done, item.begin - done));
      std::string typed = code.substr(item.begin, item.end - item.begin);
      done = item.end;
      if (item.kind == "statement" || item.kind == "expression") {
        const bool is_last = i + 1 == cell->items().size();
        const std::size_t number = places.size(), begin = statements.size();
        std::string text =
            ended(std::move(typed), item.kind == "expression" && is_last && cell->shows_value());
        statements += left_out.contains(number) ? in_comment(cell->name() + ", no longer compiles: " + text)
                                                : "  " + text + "\n";
        places.emplace_back(begin, statements.size());
      } else if (item.dropped) {
        for (const std::string& name : names_of(item, typed)) replaced.emplace(name, pieces.size());
      } else {
        add(text_of(item, typed), names_of(item, typed));
      }
      made.has_replaced |= item.dropped;
    }
    add_between(code.substr(done));
  }
  std::string declarations, kept;
  const std::vector<std::size_t> order = Order(pieces, replaced).all();
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Piece& piece = pieces[order[i]];
    // What stood elsewhere gets a line of its own.
    if (i > 0 && order[i] != order[i - 1] + 1) kept += "\n";
    kept += piece.text;
    if (i + 1 < order.size() && pieces[order[i + 1]].cell == piece.cell) continue;
    kept = without_empty_lines(kept);
    if (!kept.empty()) declarations += "// " + piece.cell->name() + "\n" + kept + "\n";
    kept.clear();
  }
  made.text =
      "#include <tarsia/op.h>\n#include <tarsia/repl.h>\n" + includes + "\n" + ready + "\n" + declarations;
  if (statements.empty()) return made;
  made.text += "void session() {\n";
  const auto line_at = [first = 1 + int(std::ranges::count(made.text, '\n')), &statements](std::size_t at) {
    return first + int(std::count(statements.begin(), statements.begin() + std::ptrdiff_t(at), '\n'));
  };
  for (const auto& [begin, end] : places) made.statements.push_back({line_at(begin), line_at(end) - 1});
  made.text += statements + "}\n";
  return made;
}

}  // namespace tarsia::session
