// Says on standard error which code of a library crashed, before the process dies as it would have.
#pragma once

namespace tarsia::registry {

/// Whether reports are on: unless TARSIA_CRASH_REPORT is 0, off, no or false when this is first asked.
bool crashes_are_reported() noexcept;

/// Takes over SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP and SIGSYS, once, if reports are on. A signal
/// that comes while code of a library runs, or that was mapped by this library's loader, is reported once in
/// the life of the process. Then, as for all other signals, what was there before decides.
void report_crashes() noexcept;

/// What reports of crashes on this thread say below their first line, such as the compiler's warnings about
/// the code that runs; null: nothing. It must live until another is set. Returns the text before.
const char* set_crash_note(const char* text) noexcept;

/// Takes over SIGINT if the program handles it, as Python does; again if it changed its handler since. The
/// first SIGINT goes to the program. A second one within a second, while the same call of a library's code
/// goes on, is reported if reports are on, and then ends the process.
void report_double_interrupts() noexcept;

}  // namespace tarsia::registry
