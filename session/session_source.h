// The cells of a session as one source.
//
//   #include <tarsia/op.h>
//   #include <vector>                 includes of all cells
//   // cell 1
//   std::vector<int> v;
//   // cell 2
//   static const bool tarsia_ran_1 = [] {     statements of a cell, which run in their turn when the library
//     v.push_back(3);                         is loaded
//     return true;
//   }();
//
// What a later cell has defined again stands in it once, as it is now. A type, template or variable that code
// of an earlier cell uses stands before that code, though it was typed behind it. A variable that was defined
// again as one of the same type is defined where it was first, and gets its new value where it got that.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "session/cell_text.h"

namespace tarsia::session {

/// An item: the number of its cell among the cells, and its own number there.
using ItemNumber = std::pair<std::size_t, std::size_t>;

/// A source, and where its items lie.
struct SessionSource {
  struct Place {
    std::size_t begin = 0, end = 0;
    ItemNumber item;
  };
  std::string text;
  std::vector<Place> places;  ///< of an item that has others within, only these

  /// The item at a line and column, counted from 1; null if there is none.
  const Place* place_at(int line, int column) const;
};

/// Puts the cells together. `ready`: the text that declares the ready values. `left_out`: why items do not
/// compile; they become comments. `shown`: the source is to be looked at: variables are declared alone, and
/// the statements stand in a function `void session()`.
SessionSource make_source(const CellTexts& cells, const std::string& ready, bool shown,
                          const std::map<ItemNumber, std::string>& left_out = {});

}  // namespace tarsia::session
