// Errors and warnings on standard error, as compilers print them.
#pragma once

#include <tarsia/c_api.h>

#include <span>
#include <string>

#include "tools/sources.h"

namespace tarsia::tools {

/// The exit codes of the command.
enum Exit { k_done = 0, k_failed = 1, k_usage = 2 };

/// Prints "tarsia: error: message".
void print_error(const std::string& message);

/// Prints a line of a text, and a caret below the column. Columns count bytes; 0: no caret.
void print_excerpt(const std::string& line, int number, int column);

/// Prints "file:line:column: severity: message", the line of the text, and a caret below the column.
void print_diagnostics(std::span<const tarsia_diagnostic> diagnostics, const Sources& sources);

/// Prints the thread's last error of Tarsia and returns the exit code for it.
Exit report_last_error(const Sources* sources);

}  // namespace tarsia::tools
