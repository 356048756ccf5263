// Finds out from PTX which functions use which variables. A function's body stands between braces, after
// its .entry or .func and its parameters. A variable's initializer follows its name and "=".
#include "jit/worker/device/ptx.h"

#include <tarsia/detail/spelling.h>

#include <algorithm>
#include <map>

namespace tarsia::jit {
namespace {

bool is_name_character(char c) {
  return detail::is_identifier_part(c) || c == '$';
}

/// Calls visit(token) for the tokens of PTX outside of comments and strings; each sign is one.
template <class Visit>
void for_each_token(std::string_view text, Visit visit) {
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (text.substr(i, 2) == "//") {
      i = std::min(text.find('\n', i), text.size());
    } else if (c == '"') {
      i = std::min(text.find('"', i + 1), text.size() - 1) + 1;
    } else if (is_name_character(c) || c == '.' || c == '%') {
      size_t end = i + 1;
      while (end < text.size() && is_name_character(text[end])) ++end;
      visit(text.substr(i, end - i));
      i = end;
    } else {
      if (!detail::is_space(c)) visit(text.substr(i, 1));
      ++i;
    }
  }
}

}  // namespace

std::set<std::string> names_reached(std::string_view ptx, const std::vector<std::string>& functions) {
  // The words in the bodies of functions and, for tables of functions, in the initializers of variables.
  std::map<std::string, std::set<std::string>> bodies;
  enum class Heading { none, function, variable } heading = Heading::none;
  std::string name;
  int depth = 0, parentheses = 0;
  bool assigned = false;
  for_each_token(ptx, [&](std::string_view word) {
    const bool is_name = is_name_character(word[0]) && !detail::is_digit(word[0]);
    const bool starts_function = word == ".entry" || word == ".func";
    if (depth == 0 && (starts_function || word == ".global" || word == ".const")) {
      heading = starts_function ? Heading::function : Heading::variable;
      name.clear();
      assigned = false;
    } else if (word == "(" || word == ")") {
      parentheses += word == "(" ? 1 : -1;
    } else if (word == ";" && depth == 0) {
      heading = Heading::none;  // a declaration, or a variable's end
    } else if (word == "{") {
      ++depth;
    } else if (word == "}") {
      if (--depth == 0) heading = Heading::none;
    } else if (heading == Heading::none || !is_name) {
      assigned |= word == "=" && depth == 0;
    } else if (depth > 0 || assigned) {
      bodies[name].insert(std::string(word));
    } else if (name.empty() && parentheses == 0) {
      name = word;
    }
  });
  std::set<std::string> reached;
  std::vector<std::string> work = functions;
  std::set<std::string> seen(functions.begin(), functions.end());
  while (!work.empty()) {
    const std::string name = std::move(work.back());
    work.pop_back();
    for (const std::string& word : bodies[name]) {
      reached.insert(word);
      if (bodies.contains(word) && seen.insert(word).second) work.push_back(word);
    }
  }
  return reached;
}

}  // namespace tarsia::jit
