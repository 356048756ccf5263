// The cells of a session as one source.
//
//   #include <tarsia/op.h>
//   #include <vector>                 includes of all cells
//   // cell 1
//   int twice(int a) { return 2 * a; }
//   void session() {                  the statements of all cells
//     (void)(twice(3));
//   }
//
// What a later cell has defined again stands in it once, as it is now. A type, template or variable that code
// of an earlier cell uses stands before that code, though it was typed behind it.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "session/cell_text.h"

namespace tarsia::session {

/// A source, and where its statements lie.
struct SessionSource {
  struct Statement {
    int first_line = 0, last_line = 0;  ///< counted from 1
  };
  std::string text;
  std::vector<Statement> statements;
  /// Whether something that a cell has declared was replaced by something else of its name.
  bool has_replaced = false;
};

/// What stands for an item in a source. `typed`: its text.
using ItemText = std::string (*)(const Item& item, const std::string& typed);

/// Puts the cells together. `ready`: the text that declares the ready values. `left_out`: the numbers of
/// statements that no longer compile; they become comments.
SessionSource make_source(const CellTexts& cells, const std::string& ready, ItemText text_of,
                          const std::set<std::size_t>& left_out = {});

}  // namespace tarsia::session
