// Python's main thread, the one that handles signals.
#pragma once

namespace tarsia::python {

/// Asks Python for it, once, when the module is imported. Needs the GIL.
void find_main_thread();

/// Whether the caller runs on it. Needs no GIL. In a forked child it is the thread that forked.
bool is_main_thread() noexcept;

}  // namespace tarsia::python
