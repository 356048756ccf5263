// What a cell of a session declares and does, item by item, and what the cells behind it read in its place.
//
// A cell is one text of a request (CompileOptions::cell) in which declarations and statements mix. The texts
// of earlier cells stand before it as headers. They are no longer what was typed: a statement has become
// nothing, a function its declaration, a variable an `extern` one. So they are quick to read, run nothing and
// define nothing again. What cannot be said in such a way (classes, templates, inline and device functions,
// lambdas, constants) stays as it is, and forget_definitions() keeps its code out of the later cell.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "clang/AST/DeclGroup.h"
#include "jit/compile.h"

namespace clang {
class ASTContext;
class CXXMethodDecl;
class CXXRecordDecl;
class Decl;
class DeclContext;
class SourceManager;
}  // namespace clang

namespace tarsia::jit {

/// One declaration or statement of a cell. Variables that are declared together are an item each.
struct CellItem {
  std::size_t begin = 0, end = 0;  ///< bytes of the cell's text
  std::string kind;  ///< "statement", "expression", "function", "variable", "type" or "declaration"
  int outer = -1;    ///< the number of the namespace or block in which it stands; -1: none
  std::vector<std::string> names;    ///< qualified
  std::vector<std::string> values;   ///< those of them that are values of an enumeration, without scopes
  std::vector<std::string> symbols;  ///< mangled names of its functions and variables
  std::optional<std::string> later;  ///< what later cells read in its place; none: the same
  /// What declares it without those that are declared together with it; none: its text does.
  std::optional<std::string> alone;
};

/// The items of one cell, in their order.
class CellItems {
 public:
  /// `path`: the virtual path of the cell's text.
  CellItems(std::string path, std::string text);
  /// Notes a declaration at the top level of the cell's file. Others are passed over.
  void note(clang::DeclGroupRef group, const clang::ASTContext& context);
  /// The items as JSON, {"items": [{"begin", "end", "kind", "outer", "names", "values", "symbols", "later",
  /// "alone"}, …]}.
  /// Those in a namespace stand behind it.
  std::string json() const;
  const std::string& path() const { return m_path; }
  /// Leaves out bytes of the text that conditional directives have made the preprocessor step over.
  void skip(std::size_t begin, std::size_t end);
  /// Whether a semicolon at this offset is the one that was added to end the cell.
  bool is_added_end(std::size_t offset) const;
  /// The diagnostics of a brace that the cell leaves open, in `file`; none if there is none.
  std::vector<Diagnostic> open_braces(const std::string& file) const;
  /// Where the item begins that is noted next.
  std::size_t begin_of_item() const;
  /// Whether nothing but semicolons follows what ends with the token at this offset.
  bool ends_at(std::size_t offset) const;

 private:
  struct RawToken {
    std::size_t begin, end;
    char kind;             ///< '{', '}', ';', ',' or 0
    bool after_directive;  ///< a directive stands between it and the token before
  };
  /// Notes what is declared together, from the token on that follows the byte `done`. Returns its last byte's
  /// successor.
  std::size_t add(std::span<clang::Decl* const> group, std::size_t done, int outer,
                  const clang::ASTContext& context);
  /// Notes what stands within the braces of the last item.
  void add_members(const clang::DeclContext& scope, const clang::ASTContext& context);
  /// Sets items in the place of the last one, which declares several variables: one for each. Nothing happens
  /// where they cannot be told apart.
  void take_apart(std::span<clang::Decl* const> group, const clang::ASTContext& context);
  /// Behind the comma or semicolon that follows the token at `last`.
  std::size_t end_of_declarator(std::size_t last) const;
  /// The first token behind a byte that is no semicolon.
  std::size_t next_begin(std::size_t done) const;
  /// The brace behind a function's parameters; the text's end if there is none.
  std::size_t begin_of_body(std::size_t parameters_end) const;
  /// Of an item whose last token lies at `last`, or whose body begins at `body` (the text's end: it has
  /// none).
  std::size_t end_of_item(std::size_t last, std::size_t body, bool has_semicolon) const;

  std::string m_path, m_text;
  std::vector<RawToken> m_tokens;  ///< without directives
  std::vector<CellItem> m_items;
  std::size_t m_done = 0;  ///< where the last item ends that stands in no other
};

/// Whether a declaration, or what is at a place, stands in a text of the request other than this one.
bool is_in_earlier_cell(const clang::SourceManager& sources, const clang::Decl& decl,
                        const std::string& cell_path);
bool is_in_earlier_cell(const clang::SourceManager& sources, clang::SourceLocation place,
                        const std::string& cell_path);

/// Whether a declaration stands in the text of this path.
bool is_in_cell(const clang::SourceManager& sources, const clang::Decl& decl, const std::string& cell_path);

/// Turns the definitions that an earlier cell's declaration would emit again into declarations. The parse is
/// complete.
void forget_definitions(clang::Decl& decl);

/// Marks the definitions of the cell's own that Clang would leave out because nothing uses them here.
void keep_definitions(clang::Decl& decl);

/// While it lives, no class of the session has a key function: each cell that uses a virtual table or type
/// information has its own, as it has of classes whose functions are all inline. The cell that defines what
/// would be the key function need not have run. The parser must not read declarations meanwhile.
class NoKeyFunctions {
 public:
  NoKeyFunctions(clang::ASTContext& context, const std::vector<clang::CXXRecordDecl*>& classes);
  ~NoKeyFunctions();
  NoKeyFunctions(const NoKeyFunctions&) = delete;
  NoKeyFunctions& operator=(const NoKeyFunctions&) = delete;

 private:
  std::vector<clang::CXXMethodDecl*> m_marked;
};

}  // namespace tarsia::jit
