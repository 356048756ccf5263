// Reads cells roughly, as far as no compiler is needed for it.
#include "session/cell_text.h"

#include <tarsia/detail/spelling.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "pipeline/source_kind.h"

namespace tarsia::session {
namespace {

// Device code gets the headers that the source itself includes.
constexpr std::string_view k_prologue = "#include <tarsia/op.h>\n#include <tarsia/repl.h>\n";

/// Goes through a text and skips comments, strings and characters: calls see(offset) for each other byte that
/// is no space. Returns where a comment begins that does not end, if one does not.
template <class See>
std::optional<std::size_t> for_each_code_byte(std::string_view text, const See& see) {
  std::size_t at = 0;
  const auto starts = [&](std::string_view what) { return text.substr(at).starts_with(what); };
  while (at < text.size()) {
    if (starts("//")) {
      at = std::min(text.find('\n', at), text.size());
    } else if (starts("/*")) {
      const std::size_t end = text.find("*/", at + 2);
      if (end == text.npos) return at;
      at = end + 2;
    } else if (starts("R\"") && (at == 0 || !detail::is_identifier_part(text[at - 1]))) {
      see(at);
      const std::size_t open = text.find('(', at);
      if (open == text.npos) break;
      const std::string close = ")" + std::string(text.substr(at + 2, open - at - 2)) + "\"";
      const std::size_t end = text.find(close, open);
      at = end == text.npos ? text.size() : end + close.size();
    } else if (text[at] == '"' || (text[at] == '\'' && !(at > 0 && (detail::is_letter(text[at - 1]) ||
                                                                    detail::is_digit(text[at - 1]))))) {
      const char quote = text[at];
      see(at++);
      while (at < text.size() && text[at] != quote && text[at] != '\n') at += text[at] == '\\' ? 2 : 1;
      ++at;
    } else {
      if (!detail::is_space(text[at])) see(at);
      ++at;
    }
  }
  return std::nullopt;
}

/// The word that ends before a byte of the text; empty if another byte stands there.
std::string_view word_before(std::string_view text, std::size_t end) {
  while (end > 0 && detail::is_space(text[end - 1])) --end;
  std::size_t begin = end;
  while (begin > 0 && detail::is_identifier_part(text[begin - 1])) --begin;
  return text.substr(begin, end - begin);
}

/// Whether a brace that opens at `at` in the statement that begins at `begin` opens a block, behind which
/// another statement begins. In doubt it opens an initialiser, as in `V{5} - 2`.
bool opens_block(std::string_view text, std::size_t begin, std::size_t at) {
  if (begin == at) return true;
  const std::string_view statement = text.substr(begin, at - begin);
  std::size_t end = 0;
  while (end < statement.size() && detail::is_identifier_part(statement[end])) ++end;
  const std::string_view first = statement.substr(0, end);
  for (const std::string_view word :
       {"if", "for", "while", "switch", "do", "else", "try", "catch", "namespace", "extern"})
    if (first == word) return true;
  const std::size_t last = statement.find_last_not_of(" \t\n\r");
  const std::string_view word = word_before(text, at);
  const bool ends_head = statement[last] == ')' || word == "const" || word == "noexcept" || word == "try";
  // A function: `T name(…) {`, and neither the compound literal `(T){…}` nor `decltype(a){…}` nor a lambda.
  return ends_head && !first.empty() && first != "decltype" && statement.find('=') == statement.npos &&
         statement.find('[') == statement.npos && first != "return";
}

/// Sets statements that begin with a sign in brackets: at the top of a file, Clang takes no expression for
/// one that begins so.
std::string with_signs_in_brackets(const std::string& text) {
  std::vector<std::pair<std::size_t, char>> added;
  std::vector<bool> blocks;  // of the open braces
  int depth = 0;
  bool is_begin = true, is_open = false;
  std::size_t directive_end = 0, last = 0, begin = 0;
  for_each_code_byte(text, [&](std::size_t at) {
    if (at < directive_end) return;
    const char byte = text[at];
    if (byte == '#' && text.find_first_not_of(" \t", text.rfind('\n', at) + 1) == at) {
      directive_end = at;
      do directive_end = std::min(text.find('\n', directive_end), text.size() - 1) + 1;
      while (directive_end < text.size() && directive_end >= 2 && text[directive_end - 2] == '\\');
      return;
    }
    const char next = at + 1 < text.size() ? text[at + 1] : '\0';
    if (is_begin && (byte == '-' || byte == '+') && next != byte) {
      added.emplace_back(at, '(');
      is_open = true;
    }
    if (is_begin) begin = at;
    if (byte == '{') blocks.push_back(depth == 0 && opens_block(text, begin, at));
    const bool ends_block = byte == '}' && !blocks.empty() && blocks.back();
    if (byte == '}' && !blocks.empty()) blocks.pop_back();
    depth += byte == '(' || byte == '{' || byte == '['   ? 1
             : byte == ')' || byte == '}' || byte == ']' ? -1
                                                         : 0;
    if (byte == ';' && depth == 0 && is_open) {
      added.emplace_back(at, ')');
      is_open = false;
    }
    is_begin = depth == 0 && (byte == ';' || ends_block);
    last = at;
  });
  if (added.empty()) return text;
  if (is_open) added.emplace_back(last + 1, ')');
  std::string made;
  std::size_t done = 0;
  for (const auto& [at, byte] : added) {
    made += text.substr(done, at - done) + byte;
    done = at;
  }
  return made + text.substr(done);
}

/// The conditional directives of a text that it does not match itself: `#else` or `#endif` of a condition
/// that began before it, `#if` of one that goes on behind it.
std::vector<std::string> unmatched_conditions(const std::string& text) {
  std::vector<std::string> found;
  std::vector<std::size_t> open;  // where in `found` a condition begins
  for (const std::string& line : lines_of(text)) {
    const std::string_view directive = directive_of(line);
    if (directive.starts_with("if")) {
      open.push_back(found.size());
      found.push_back(line);
    } else if (directive == "endif" && !open.empty()) {
      found.resize(open.back());
      open.pop_back();
    } else if (directive == "endif" || directive.starts_with("el")) {
      found.push_back(line);
    }
  }
  return found;
}

std::size_t lines_in(std::string_view text) {
  return std::size_t(std::ranges::count(text, '\n'));
}

}  // namespace

std::string_view directive_of(std::string_view line) {
  const auto skip = [&] {
    while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
  };
  skip();
  if (line.empty() || line.front() != '#') return {};
  line.remove_prefix(1);
  skip();
  std::size_t end = 0;
  while (end < line.size() && detail::is_letter(line[end])) ++end;
  return line.substr(0, end);
}

std::string last_part(const std::string& name) {
  const std::size_t colons = name.rfind("::");
  return colons == name.npos ? name : name.substr(colons + 2);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

std::vector<std::string> macros_of(const std::string& text) {
  std::vector<std::string> names;
  for (const std::string& line : lines_of(text)) {
    if (directive_of(line) != "define") continue;
    const std::size_t begin = line.find_first_not_of(" \t", line.find("define") + 6);
    if (begin == line.npos) continue;
    std::size_t end = begin;
    while (end < line.size() && detail::is_identifier_part(line[end])) ++end;
    names.push_back(line.substr(begin, end - begin));
  }
  return names;
}

CellText::CellText(std::string name, const std::string& typed) : m_name(std::move(name)) {
  const std::string text = with_signs_in_brackets(typed);
  std::size_t last = text.npos;
  m_open_comment = for_each_code_byte(text, [&](std::size_t at) { last = at; });
  m_is_empty = last == text.npos;
  const bool is_ended = !m_is_empty && text[last] == ';';
  m_shows_value = !m_is_empty && !is_ended;
  m_code = text + (is_ended ? "\n" : "\n;\n");
  for (const std::string& line : lines_of(text)) {
    const std::string_view directive = directive_of(line);
    m_has_macros |= directive == "define" || directive == "undef" || directive == "pragma";
  }
  if (m_has_macros) m_macros = macros_of(text);
}

CellText CellText::ready() {
  std::string text;
  std::vector<Item> items;
  for (const char* name : {"allclose", "arange", "full", "image", "load_npy", "ones", "rand_uniform", "randn",
                           "save_npy", "zeros"}) {
    Item& item = items.emplace_back();
    item.begin = text.size();
    text += "using tarsia::repl::" + std::string(name) + ";";
    item.end = text.size();
    item.kind = "declaration";
    item.names.emplace_back(name);
    text += "\n";
  }
  CellText made("ready values", text);
  made.m_items = std::move(items);
  return made;
}

void CellText::move_includes() {
  int depth = 0, line = 0;
  std::vector<bool> is_code(m_code.size(), false);
  for_each_code_byte(m_code, [&](std::size_t at) { is_code[at] = true; });
  for (std::size_t begin = 0; begin < m_code.size();) {
    const std::size_t end = std::min(m_code.find('\n', begin), m_code.size());
    ++line;
    const std::string_view text = std::string_view(m_code).substr(begin, end - begin);
    const std::string_view directive = directive_of(text);
    const std::size_t hash = text.find('#');
    const bool is_real = hash != text.npos && is_code[begin + hash];
    if (is_real && directive.starts_with("if")) ++depth;
    if (is_real && directive == "endif") --depth;
    if (is_real && (directive == "define" || directive == "undef" || directive == "pragma")) return;
    const std::size_t open = text.find('<'), close = text.find('>');
    if (is_real && directive == "include" && depth == 0 && open != text.npos && close != text.npos &&
        open < close && text.find('"') == text.npos) {
      m_includes.emplace_back("#include " + std::string(text.substr(open, close - open + 1)), line);
      std::fill(m_code.begin() + std::ptrdiff_t(begin), m_code.begin() + std::ptrdiff_t(end), ' ');
    }
    begin = end + 1;
  }
}

void CellText::take_items(const char* info) {
  m_items.clear();
  const nlohmann::json all = nlohmann::json::parse(info, nullptr, /*allow_exceptions=*/false);
  if (!all.is_object()) return;
  for (const nlohmann::json& one : all.value("items", nlohmann::json::array())) {
    if (!one.is_object()) continue;
    Item& item = m_items.emplace_back();
    item.begin = std::min(one.value("begin", std::size_t{0}), m_code.size());
    item.end = std::clamp(one.value("end", std::size_t{0}), item.begin, m_code.size());
    item.kind = one.value("kind", "");
    if (const std::size_t outer = one.value("outer", m_items.size()); outer + 1 < m_items.size())
      item.outer = outer;
    item.alone = one.value("alone", "");
    item.names = one.value("names", std::vector<std::string>());
    item.values = one.value("values", std::vector<std::string>());
    item.symbols = one.value("symbols", std::vector<std::string>());
    const auto later = one.find("later");
    item.same_later = later == one.end() || !later->is_string();
    if (!item.same_later) item.later = later->get<std::string>();
  }
}

void CellText::add_later(std::size_t number, std::string& text, Places* places) const {
  const Item& item = m_items[number];
  const std::size_t begin = text.size();
  if (!item.dropped) {
    if (has_members(number)) {
      std::size_t done = item.begin;
      for (std::size_t i = number + 1; i < m_items.size() && m_items[i].begin < item.end; ++i) {
        if (m_items[i].outer != number) continue;
        text += m_code.substr(done, m_items[i].begin - done);
        add_later(i, text, places);
        done = m_items[i].end;
      }
      text += m_code.substr(done, item.end - done);
    } else {
      text += !item.same_later
                  ? item.later
                  : with_hidden(item, item.alone.empty() ? m_code.substr(item.begin, item.end - item.begin)
                                                         : item.alone);
    }
    if (places) (*places)[number] = {begin, text.size()};
  }
  if (item.dropped || (!item.same_later && !has_members(number))) {
    // What a condition leaves out begins or ends within the item.
    const std::vector<std::string> conditions =
        unmatched_conditions(m_code.substr(item.begin, item.end - item.begin));
    for (std::size_t i = unmatched_conditions(text.substr(begin)).size(); i < conditions.size(); ++i)
      text += "\n" + conditions[i] + (i + 1 == conditions.size() ? "\n" : "");
  }
  const std::size_t lines = lines_in(std::string_view(m_code).substr(item.begin, item.end - item.begin));
  const std::size_t kept = lines_in(std::string_view(text).substr(begin));
  if (lines > kept) text.append(lines - kept, '\n');
}

std::string CellText::later_text(Places* places) const {
  std::string text;
  std::size_t done = 0;
  for (std::size_t i = 0; i < m_items.size(); ++i) {
    if (m_items[i].outer) continue;
    text += m_code.substr(done, m_items[i].begin - done);
    add_later(i, text, places);
    done = m_items[i].end;
  }
  return text + m_code.substr(done);
}

std::string CellText::later_text() const {
  return later_text(nullptr);
}

std::optional<std::size_t> CellText::item_at(int line, int column) const {
  Places places(m_items.size());
  const std::string text = later_text(&places);
  std::size_t at = 0;
  for (int i = 1; i < line && at < text.size(); ++i) at = std::min(text.find('\n', at), text.size() - 1) + 1;
  at += std::size_t(std::max(column - 1, 0));
  std::optional<std::size_t> found;  // the innermost
  for (std::size_t i = 0; i < places.size(); ++i)
    if (at >= places[i].first && at < places[i].second) found = i;
  return found;
}

std::string CellText::with_hidden(const Item& item, std::string text) const {
  std::string cell = m_name;
  std::ranges::replace_if(cell, [](char c) { return !detail::is_identifier_part(c); }, '_');
  for (const std::string& name : item.hidden) {
    const std::string other = name + "_of_" + cell;
    for (std::size_t at = text.find(name); at != text.npos; at = text.find(name, at)) {
      const std::size_t end = at + name.size();
      const bool is_whole = (at == 0 || !detail::is_identifier_part(text[at - 1])) &&
                            (end == text.size() || !detail::is_identifier_part(text[end]));
      if (is_whole) text.replace(at, name.size(), other);
      at += is_whole ? other.size() : name.size();
    }
  }
  return text;
}

void CellText::drop(std::size_t item) {
  m_items[item].dropped = true;
  for (std::size_t i = item + 1; i < m_items.size(); ++i)
    if (m_items[i].outer && m_items[*m_items[i].outer].dropped) m_items[i].dropped = true;
}

std::optional<std::size_t> CellText::item_named(std::string_view name) const {
  for (std::size_t i = 0; i < m_items.size(); ++i)
    if (!m_items[i].dropped && std::ranges::find(m_items[i].names, name) != m_items[i].names.end()) return i;
  return std::nullopt;
}

namespace {

/// Whether a later item defines a function or variable of this one.
bool defines_again(const Item& later, const Item& item) {
  return !later.same_later && std::ranges::any_of(later.symbols, [&](const std::string& symbol) {
    return std::ranges::find(item.symbols, symbol) != item.symbols.end();
  });
}

bool defines_again(const CellText& later, const Item& item) {
  return std::ranges::any_of(later.items(), [&](const Item& one) { return defines_again(one, item); });
}

}  // namespace

bool CellText::is_replaced_by(const CellText& other) const {
  return std::ranges::any_of(m_items,
                             [&](const Item& item) { return !item.replaced && defines_again(other, item); });
}

void CellText::mark_replaced_by(const CellText& other) {
  for (Item& item : m_items) item.replaced |= defines_again(other, item);
}

pipeline::Source compose(const CellTexts& earlier, const CellText& cell, const jit::CompileOptions& options) {
  pipeline::Source source;
  source.name = cell.name();
  source.options = options;
  source.options.functions.emplace();  // none: later cells call them, not Python
  source.options.cell = cell.name();
  source.options.cell_shows = cell.shows_value();
  std::string main(k_prologue);
  for (const auto& one : earlier)
    for (const auto& [include, line] : one->includes()) main += include + "\n";
  for (const auto& [include, line] : cell.includes()) main += include + "\n";
  std::string merged;
  const auto without_macros = [](const CellText& one) {
    std::string text;
    for (const std::string& macro : one.undefined()) text += "#undef " + macro + "\n";
    return text;
  };
  std::map<std::string, std::string> before;  // what stands before a header's include
  for (const auto& one : earlier) {
    std::string text = one->later_text();
    if (std::ranges::all_of(text, [](char c) { return detail::is_space(c) || c == ';'; })) continue;
    merged += without_macros(*one) + "#line 1 \"" + one->name() + "\"\n" + text;
    before[one->name()] = without_macros(*one);
    source.headers.push_back({one->name(), std::move(text)});
  }
  before[cell.name()] = without_macros(cell);
  // The compiler opens one file for all of them sooner than many. What NVRTC says of device code has to name
  // the files that it was given.
  source.headers.push_back({cell.name(), cell.code()});
  source.files.push_back({k_main_name, main});
  if (pipeline::kind_of(source.files, source.headers) == pipeline::SourceKind::host && !merged.empty())
    source.headers = {{k_earlier_name, std::move(merged)}, {cell.name(), cell.code()}};
  for (const jit::SourceFile& header : source.headers)
    main += before[header.name] + "#include \"" + header.name + "\"\n";
  source.files.front().text = std::move(main);
  return source;
}

void place_includes(Diagnostic& diagnostic, const CellTexts& earlier, const CellText& cell) {
  if (diagnostic.file != k_main_name) return;
  int line = int(lines_in(k_prologue));
  const auto look = [&](const CellText& one) {
    for (const auto& [include, at] : one.includes())
      if (++line == diagnostic.line) {
        diagnostic.file = one.name();
        diagnostic.line = at;
        return true;
      }
    return false;
  };
  for (const auto& one : earlier)
    if (look(*one)) return;
  look(cell);
}

}  // namespace tarsia::session
