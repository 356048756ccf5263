// What a cell means to the texts of earlier ones: what it defines again, names, and takes out of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "session/session.h"

namespace tarsia::session {

void add_once(std::vector<std::string>& all, std::string one);

/// Whether a text has the name's last part as a word.
bool mentions(std::string_view text, const std::string& whole);

/// The text that was typed for an item.
std::string_view typed_of(const CellText& cell, const Item& item);

/// What goes on using the earlier `name`: the functions and variables that mention it, or else all functions.
std::vector<std::string> keepers(const CellText& cell, const std::string& name);

/// The macros of earlier cells that a cell may mean to replace by something else of their name.
std::vector<std::string> mentioned_macros(const CellTexts& earlier, const CellText& cell);

/// Whether one of the names is the macro's.
bool declares(const std::vector<std::string>& names, const std::string& macro);

/// Warnings without those about earlier cells, which were told when these ran.
std::vector<Diagnostic> of_cell(const std::vector<Diagnostic>& warnings, const CellTexts& earlier);

/// The earlier cells without the ready values that neither they nor the cell name: to declare one costs Clang
/// a look at a header's functions. All of them stay where another text may name them: a header of the user's,
/// a macro among the options, a macro that joins words.
CellTexts without_unused_values(const CellTexts& earlier, const CellText& cell,
                                const jit::CompileOptions& options);

/// Takes what the cell defines again out of the earlier cells. False if the diagnostics name nothing of them.
bool drop_replaced(const std::vector<Diagnostic>& diagnostics, const CellText& cell, CellTexts& earlier);

/// Takes what does not compile any more out of the earlier cells. False if the diagnostics name nothing of
/// them.
bool drop_broken(const std::vector<Diagnostic>& diagnostics, CellTexts& earlier);

/// The names that earlier cells had declared `before` and that are gone; those that the cell declares are
/// not. What has no name is called by its kind.
std::vector<std::string> names_gone(const CellTexts& before, const CellTexts& now, const CellText& cell);

}  // namespace tarsia::session
