// The folders of headers and libraries that every machine has: their files keep their paths in keys and
// modules.
#pragma once

namespace tarsia {

/// Of headers, searched last.
inline constexpr const char* k_machine_dirs[] = {"/usr/local/include", "/usr/include/x86_64-linux-gnu",
                                                 "/usr/include"};
/// Of libraries, searched last.
inline constexpr const char* k_machine_library_dirs[] = {"/usr/local/lib", "/usr/lib/x86_64-linux-gnu",
                                                         "/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"};

}  // namespace tarsia
