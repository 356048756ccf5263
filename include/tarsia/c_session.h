// Sessions of cells as a C interface. The rules are those of <tarsia/c_api.h>; docs/repl.md describes
// sessions.
#pragma once

#include <tarsia/detail/macros_push.h>

#include <tarsia/c_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Cells of C++ and CUDA that are compiled and run one after the other and share what they define. One thread
/// at a time. docs/repl.md describes them.
typedef struct tarsia_session tarsia_session;

/// Starts a session whose cells are compiled with `options` (null: the defaults; `interrupted` is ignored).
/// With `keep_output`, what cells write to standard output goes into their results. The caller closes
/// `*session`. Errors: TARSIA_ARGUMENT_VALUE, also for a standard older than C++17.
TARSIA_API int32_t tarsia_session_open(const tarsia_options* options, int32_t keep_output,
                                       tarsia_session** session);

/// Compiles a cell's text and runs it. `*json` gets what became of it, whether it failed or not: an object
/// with `ok`, `number`, `value` (text or null), `stdout`, `diagnostics`, `error`, `error_class`, `undone`,
/// `notes`, `compile_ms`, `run_ms`, `origin` and `image` (null, or a .npy file of it in base64). A cell that
/// fails defines nothing. `number` names the cell, "cell 3" in diagnostics; 0: one more than the last.
/// `interrupted(context)` may be null; another answer than 0 ends the compile, and code that calls
/// tarsia::check_interrupt(). Free `*json` with tarsia_free.
TARSIA_API int32_t tarsia_session_run(tarsia_session* session, const char* text, uint64_t bytes,
                                      int32_t number, int32_t (*interrupted)(void* context), void* context,
                                      char** json);

/// What may stand at byte `offset` of a text that is to be a cell: names, members, keywords, headers. `*json`
/// gets an object: `start`, the byte where the name begins that is completed; `matches`, an array of names;
/// `details`, the declaration of each, which may be empty. Nothing is compiled. Free `*json` with
/// tarsia_free.
TARSIA_API int32_t tarsia_session_complete(const tarsia_session* session, const char* text, uint64_t bytes,
                                           uint64_t offset, char** json);

/// Takes the last cell back. `*json` gets the names that it had defined, as an array of strings; null, as
/// JSON, if there is no cell. Free it with tarsia_free.
TARSIA_API int32_t tarsia_session_undo(tarsia_session* session, char** json);

/// Gives later cells other options.
TARSIA_API int32_t tarsia_session_set_options(tarsia_session* session, const tarsia_options* options);

/// Writes the live cells as one source that can be compiled. Free `*text` with tarsia_free.
TARSIA_API int32_t tarsia_session_source(const tarsia_session* session, char** text);

/// Writes a source whose machine code is that of the live cells' functions and kernels. It is for looking at:
/// its variables have no values, and it is compiled with the macro TARSIA_DETAIL_CODE_IS_SHOWN. Free `*text`
/// with tarsia_free.
TARSIA_API int32_t tarsia_session_shown_source(const tarsia_session* session, char** text);

/// The names of the ops that live cells have registered, as a JSON array. Free `*json` with tarsia_free.
TARSIA_API int32_t tarsia_session_ops(const tarsia_session* session, char** json);

/// For a process that runs cells for another one: from now on, reports of crashes go to this descriptor
/// instead of standard error. -1 is standard error.
TARSIA_API void tarsia_session_report_to(int32_t descriptor);

/// Where a cell is: the line of the call or `throw` that it came to last, and the name of the cell that has
/// this line. Line 0: it came to none.
typedef struct tarsia_cell_place {
  int32_t line;
  char cell[60];
} tarsia_cell_place;

/// For a process that runs cells for another one: from now on, cells that this thread runs keep their place
/// in
/// `*place`, which may be memory that both processes share. It outlives the thread; null ends it. The caller
/// sets the line to 0 before each cell.
TARSIA_API void tarsia_session_note_places_in(tarsia_cell_place* place);

/// Returns a function that cells use, by its name in <tarsia/repl.h>, and saved sessions find by this call;
/// null if there is none of this name.
TARSIA_API void* tarsia_session_function(const char* name);

/// Ends a session and unloads its cells. Null is allowed.
TARSIA_API void tarsia_session_close(tarsia_session* session);

#ifdef __cplusplus
}
#endif

#include <tarsia/detail/macros_pop.h>
