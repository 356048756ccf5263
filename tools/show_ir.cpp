// Takes LLVM's IR out of a library's file, and of its text what was asked for.
//
// The text is that of one LLVM module, or of two if the code was compiled in halves: each begins with
// "; ModuleID". At the start of a line stand the definitions of types (`%name = type …`) and of variables
// (`@name = …`), and functions (`define … @name(…) … {` to `}`).
#include "tools/show_ir.h"

#include <elf.h>
#include <tarsia/c_api.h>
#include <tarsia/detail/spelling.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "tools/file.h"

namespace tarsia::tools {
namespace {

constexpr std::string_view k_module = "; ModuleID";

/// The section that holds the IR; "" without one. The file is a shared library that Tarsia linked.
std::string ir_in(const std::string& file) {
  const auto read = [&](uint64_t at, auto& value) {
    if (at > file.size() || file.size() - at < sizeof(value)) throw std::runtime_error("not an ELF file");
    std::memcpy(&value, file.data() + at, sizeof(value));
  };
  Elf64_Ehdr header;
  read(0, header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) throw std::runtime_error("not an ELF file");
  const auto section = [&](unsigned i) {
    Elf64_Shdr one;
    read(header.e_shoff + uint64_t{i} * sizeof(one), one);
    return one;
  };
  if (header.e_shoff == 0) return {};
  const Elf64_Shdr names = section(header.e_shstrndx);
  for (unsigned i = 1; i < header.e_shnum; ++i) {
    const Elf64_Shdr one = section(i);
    char name[sizeof(".tarsia.ir")];
    if (names.sh_offset + one.sh_name + sizeof(name) > file.size()) continue;
    read(names.sh_offset + one.sh_name, name);
    if (std::memcmp(name, ".tarsia.ir", sizeof(name)) == 0) return file.substr(one.sh_offset, one.sh_size);
  }
  return {};
}

bool is_of_name(char c) {
  return detail::is_identifier_part(c) || c == '.' || c == '$' || c == '-';
}

/// The name that begins with the sigil at `at`, "@x" or "%struct.x"; quotes stay.
std::string_view name_at(std::string_view text, std::size_t at) {
  std::size_t end = at + 1;
  if (end < text.size() && text[end] == '"') {
    end = text.find('"', end + 1);
    return end == text.npos ? std::string_view() : text.substr(at, end + 1 - at);
  }
  while (end < text.size() && is_of_name(text[end])) ++end;
  return text.substr(at, end - at);
}

/// The symbol of a name of LLVM's: @_Z1fi, or @"_Z1fi".
std::string symbol_of(std::string_view name) {
  name.remove_prefix(1);
  if (name.size() > 1 && name[0] == '"') name = name.substr(1, name.size() - 2);
  return std::string(name);
}

struct Function {
  std::string symbol;
  std::string_view text;  ///< with the comments before it
};

/// One LLVM module, as text that outlives it.
class Ir {
 public:
  explicit Ir(std::string_view text) {
    std::size_t comments = text.npos;
    for (std::size_t at = 0; at < text.size();) {
      std::size_t end = std::min(text.find('\n', at), text.size());
      const std::string_view line = text.substr(at, end - at);
      if (line.starts_with(';')) {
        if (comments == text.npos) comments = at;
        at = end + 1;
        continue;
      }
      if (line.starts_with("define ")) {
        const std::size_t body = std::min(text.find("\n}", at), text.size() - 2);
        end = body + 2;
        // Of a function that is defined elsewhere, LLVM has a copy to inline.
        if (!line.starts_with("define available_externally "))
          m_functions.push_back({symbol_of(name_at(line, line.find('@'))),
                                 text.substr(std::min(comments, at), end - std::min(comments, at))});
      } else if (line.starts_with('@') || line.starts_with('%')) {
        m_definitions[name_at(line, 0)] = line;
        m_order.push_back(name_at(line, 0));
      }
      comments = text.npos;
      at = end + 1;
    }
  }

  const std::vector<Function>& functions() const { return m_functions; }

  /// The lines that define the types and variables that a text names, and those that these name, in the
  /// module's order.
  std::vector<std::string_view> named_by(const std::vector<std::string_view>& texts) const {
    std::set<std::string_view> seen;
    std::vector<std::string_view> to_do = texts;
    while (!to_do.empty()) {
      const std::string_view text = to_do.back();
      to_do.pop_back();
      for (std::size_t at = text.find_first_of("@%"); at != text.npos;
           at = text.find_first_of("@%", at + 1)) {
        const auto found = m_definitions.find(name_at(text, at));
        if (found != m_definitions.end() && seen.insert(found->first).second) to_do.push_back(found->second);
      }
    }
    std::vector<std::string_view> lines;
    for (const std::string_view name : m_order)
      if (seen.contains(name)) lines.push_back(m_definitions.at(name));
    return lines;
  }

 private:
  std::vector<Function> m_functions;
  std::map<std::string_view, std::string_view> m_definitions;
  std::vector<std::string_view> m_order;
};

}  // namespace

std::string readable_symbol(const std::string& symbol) {
  char* name = nullptr;
  if (tarsia_readable_symbol(symbol.c_str(), &name) != TARSIA_OK) return symbol;
  const std::unique_ptr<char, decltype(&tarsia_free)> text(name, &tarsia_free);
  return text.get();
}

bool print_ir(const std::string& path, const std::function<bool(const std::string& name)>& is_shown) {
  std::string library;
  if (const int error = read_file(path, library))
    throw std::runtime_error("cannot read '" + path + "': " + std::strerror(error));
  const std::string text = ir_in(library);
  if (text.empty())
    throw std::runtime_error(
        "the library keeps no IR of LLVM's: show its source, or compile it with -emit-llvm");
  std::set<std::string> done;  // both halves may have a copy of a function
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(k_module, at + 1), text.size());
    const Ir ir(std::string_view(text).substr(at, end - at));
    std::vector<const Function*> shown;
    std::vector<std::string_view> texts;
    for (const Function& function : ir.functions())
      if (is_shown(readable_symbol(function.symbol)) && done.insert(function.symbol).second) {
        shown.push_back(&function);
        texts.push_back(function.text);
      }
    for (const std::string_view line : ir.named_by(texts))
      std::printf("%.*s\n", static_cast<int>(line.size()), line.data());
    for (const Function* function : shown)
      std::printf("\n; %s\n%.*s\n", readable_symbol(function->symbol).c_str(),
                  static_cast<int>(function->text.size()), function->text.data());
    at = end;
  }
  return !done.empty();
}

}  // namespace tarsia::tools
