// Steps through the directives with which a text begins.
#include "jit/worker/prelude/leading_directives.h"

#include <algorithm>
#include <cctype>

#include "llvm/ADT/StringExtras.h"

namespace tarsia::jit {
namespace {

/// Whether the line is a directive by this name, which is then removed from it.
bool consume_word(llvm::StringRef& line, llvm::StringRef word) {
  llvm::StringRef rest = line.ltrim(" \t");
  if (!rest.consume_front("#")) return false;
  rest = rest.ltrim(" \t");
  if (!rest.consume_front(word) || rest.empty() || llvm::isAlnum(rest[0]) || rest[0] == '_') return false;
  line = rest.ltrim(" \t");
  return true;
}

llvm::StringRef consume_name(llvm::StringRef& line) {
  line = line.ltrim(" \t");
  const llvm::StringRef name = line.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
  line = line.drop_front(name.size());
  return name;
}

/// Whether nothing more is on the line, save a comment that ends there.
bool is_blank(llvm::StringRef line) {
  line = line.trim(" \t\r");
  return line.empty() || line.starts_with("//") ||
         (line.starts_with("/*") && line.find("*/") == line.size() - 2);
}

}  // namespace

bool is_pragma_once(llvm::StringRef line) {
  return consume_word(line, "pragma") && consume_name(line) == "once" && is_blank(line);
}

bool LeadingDirectives::next() {
  while (true) {
    m_rest = m_rest.ltrim(" \t\r\n\f\v");
    if (m_rest.consume_front("//")) {
      m_rest = m_rest.drop_front(std::min(m_rest.find('\n'), m_rest.size()));
    } else if (m_rest.starts_with("/*")) {
      const size_t end = m_rest.find("*/", 2);
      if (end == llvm::StringRef::npos) return false;
      m_rest = m_rest.drop_front(end + 2);
    } else {
      return m_rest.starts_with("#");
    }
  }
}

bool LeadingDirectives::consume_guard(const CompileOptions& options, llvm::StringRef* macro) {
  auto [line, rest] = m_rest.split('\n');
  if (is_pragma_once(line)) {
    m_rest = rest;
    return true;
  }
  // #ifndef NAME, or #if !defined(NAME)
  llvm::StringRef name;
  if (consume_word(line, "ifndef")) {
    name = consume_name(line);
  } else if (consume_word(line, "if") && line.consume_front("!") && line.consume_front("defined")) {
    line = line.ltrim(" \t");
    const bool is_bracketed = line.consume_front("(");
    name = consume_name(line);
    if (is_bracketed && !line.consume_front(")")) return false;
  }
  if (name.empty() || !is_blank(line)) return false;
  auto [next, more] = rest.split('\n');
  if (!consume_word(next, "define") || consume_name(next) != name) return false;
  for (const auto& [defined, value] : options.defines)
    if (name == defined) return false;
  if (macro) *macro = name;
  m_rest = more;
  return true;
}

bool LeadingDirectives::consume_harmless_define(bool has_mobula) {
  llvm::StringRef rest = m_rest.drop_front().ltrim(" \t");
  if (!rest.consume_front("define") || rest.empty() || (rest[0] != ' ' && rest[0] != '\t')) return false;
  rest = rest.ltrim(" \t");
  const llvm::StringRef name = rest.take_while([](char c) { return isalnum(c) || c == '_'; });
  if (name.empty() || name[0] == '_' || std::none_of(name.begin(), name.end(), isupper)) return false;
  for (const char* prefix : {"CU", "THRUST", "CCCL", "NV", "NULL", "EOF", "NDEBUG", "M_", "NAN", "INFINITY"})
    if (name.starts_with(prefix)) return false;
  // It asks for the first two, and defines the others unless they are there.
  if (has_mobula &&
      (name.starts_with("USING_") || name == "HOST_NUM_THREADS" || name == "LOG" || name == "CHECK"))
    return false;
  if (name.ends_with("_MAX") || name.ends_with("_MIN")) return false;
  do {
    auto [line, more] = rest.split('\n');
    rest = more;
    if (!line.rtrim('\r').ends_with("\\")) break;
  } while (!rest.empty());
  m_rest = rest;
  return true;
}

std::string LeadingDirectives::consume_macro() {
  llvm::StringRef rest = m_rest.drop_front().ltrim(" \t");
  if (!rest.starts_with("define") && !rest.starts_with("undef")) return {};
  llvm::StringRef line, more = m_rest;
  do {
    line = more.split('\n').first;
    more = more.split('\n').second;
  } while (line.rtrim('\r').ends_with("\\") && !more.empty());
  const llvm::StringRef whole = m_rest.drop_back(more.size());
  // A comment may end on another line.
  if (whole.count("/*") != whole.count("*/")) return {};
  m_rest = more;
  return whole.rtrim().str();
}

llvm::StringRef LeadingDirectives::consume_line() {
  auto [line, rest] = m_rest.split('\n');
  m_rest = rest;
  return line;
}

std::string LeadingDirectives::consume_include() {
  llvm::StringRef rest = m_rest.drop_front().ltrim(" \t");
  if (!rest.consume_front("include")) return {};
  rest = rest.ltrim(" \t");
  const bool angled = rest.consume_front("<");
  if (!angled && !rest.consume_front("\"")) return {};
  const size_t end = rest.find_first_of(angled ? ">\n" : "\"\n");
  if (end == llvm::StringRef::npos || rest[end] == '\n') return {};
  const std::string name = rest.substr(0, end).str();
  rest = rest.drop_front(end + 1);
  // What is left of the line must be empty, or begin a comment.
  const llvm::StringRef line = rest.substr(0, rest.find('\n')).ltrim(" \t\r");
  if (!line.empty() && !line.starts_with("//") && !line.starts_with("/*")) return {};
  m_rest = rest;
  return angled ? "<" + name + ">" : "\"" + name + "\"";
}

}  // namespace tarsia::jit
