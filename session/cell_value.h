// The value that the running cell shows, and the functions of <tarsia/repl.h> that libtarsia defines.
#pragma once

#include <tarsia/c_session.h>

#include <string>

#include "base/diagnostic.h"

namespace tarsia::session {

/// Takes what cells of this thread have written as their value since the last time, and forgets it.
std::string take_cell_value();

/// Takes the image that is the value of the cell, as a .npy file, and forgets it; empty: it is none.
std::string take_cell_image();

/// The place in a cell that cells of this thread went through last before they threw, or called something
/// that did, without a severity and message; and forgets it. Line 0: none is known.
Diagnostic take_cell_place();
/// Forgets it without a look: the module that has its text may be gone.
void forget_cell_place();
/// From now on, cells of this thread keep their place there, too; null: nowhere else.
void note_cell_places_in(tarsia_cell_place* place);

}  // namespace tarsia::session
