// Finds blocks of a cell that are meant as lists, and errors that lie behind it.
#include "jit/worker/cell/cell_errors.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "clang/Basic/TokenKinds.h"
#include "jit/worker/source/raw_tokens.h"

namespace tarsia::jit {
namespace {

/// The bytes from a block's first brace to its last, for those blocks that begin a statement at the top level
/// and have no semicolon.
std::vector<std::pair<std::size_t, std::size_t>> blocks_without_semicolon(const std::string& text) {
  std::vector<std::pair<std::size_t, std::size_t>> blocks;
  std::size_t begin = 0;
  int depth = 0;
  bool is_first = true, counts = false;
  for_each_raw_token(text, [&](const clang::Token& token, std::size_t offset) {
    if (token.is(clang::tok::l_brace) && depth++ == 0) {
      begin = offset;
      counts = is_first;
    }
    if (token.is(clang::tok::semi) && depth > 0) counts = false;
    is_first = depth == 0 && token.is(clang::tok::semi);
    if (!token.is(clang::tok::r_brace) || depth == 0 || --depth > 0) return;
    is_first = true;
    if (counts) blocks.emplace_back(begin, offset);
  });
  return blocks;
}

/// The byte at which a message points.
std::size_t offset_of(std::string_view text, const Diagnostic& diagnostic) {
  std::size_t start = 0;
  for (int line = 1; line < diagnostic.line && start < text.size(); ++line)
    start = std::min(text.find('\n', start), text.size() - 1) + 1;
  return start + std::size_t(std::max(diagnostic.column, 1) - 1);
}

void explain_bare_lists(const SourceFile& cell, std::vector<Diagnostic>& diagnostics) {
  for (const auto& [begin, end] : blocks_without_semicolon(cell.text)) {
    const auto is_within = [&](const Diagnostic& one) {
      if (one.severity < Severity::error || one.file != cell.name) return false;
      const std::size_t at = offset_of(cell.text, one);
      return at > begin && at <= end;
    };
    const auto first = std::ranges::find_if(diagnostics, is_within);
    if (first == diagnostics.end() ||
        (first->message != "expected ';' after expression" && first->message != "expected expression"))
      continue;
    first->message +=
        "; a list in braces has no type of its own: write one before it, as in std::vector<double>{1, 2}";
    diagnostics.erase(std::remove_if(std::next(first), diagnostics.end(), is_within), diagnostics.end());
  }
}

void place_at_end(const SourceFile& cell, const SourceFile& main, std::vector<Diagnostic>& diagnostics) {
  // What the cell includes stands in the main text before it.
  const std::size_t begin = main.text.find("#include \"" + cell.name + "\"");
  if (begin == main.text.npos) return;
  const auto line_of_cell = std::ranges::count(std::string_view(main.text).substr(0, begin), '\n') + 1;
  std::size_t end = 0, semicolon = 0;
  for_each_raw_token(cell.text, [&](const clang::Token& token, std::size_t offset) {
    semicolon = end;
    end = offset + token.getLength();
  });
  if (semicolon > 0) end = semicolon;  // the last token is the semicolon that ends each cell
  const auto is_behind = [&](const Diagnostic& one) {
    return one.severity >= Severity::error && one.line > 0 &&
           ((one.file == main.name && one.line >= line_of_cell) ||
            (one.file == cell.name && offset_of(cell.text, one) > end));
  };
  const std::string_view before = std::string_view(cell.text).substr(0, end);
  const std::size_t start = before.rfind('\n') + 1;  // npos + 1 is 0
  for (Diagnostic& one : diagnostics) {
    if (!is_behind(one)) continue;
    one.file = cell.name;
    one.line = int(std::ranges::count(before, '\n')) + 1;
    one.column = int(end - start) + 1;
  }
}

}  // namespace

void explain_errors_of_cell(const CompileRequest& request, std::vector<Diagnostic>& diagnostics) {
  const auto cell = std::ranges::find(request.headers, request.options.cell, &SourceFile::name);
  if (request.options.cell.empty() || cell == request.headers.end()) return;
  explain_bare_lists(*cell, diagnostics);
  place_at_end(*cell, request.files.front(), diagnostics);
}

}  // namespace tarsia::jit
