// What this machine's CPU can do.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tarsia {

/// The level of the x86-64 psABI that this CPU and its operating system reach: "x86-64", "x86-64-v2",
/// "x86-64-v3" or "x86-64-v4". Thread-safe.
std::string_view cpu_level();

/// The name for "this machine's CPU, and no other", as in -march=native.
inline constexpr std::string_view k_native_cpu = "native";

/// A text that differs between CPUs that differ in what they can do, as far as CPUID tells. Thread-safe.
std::string cpu_identity();

/// The note in a module that lists the features which its code needs, with blanks between. A note is as the
/// ELF format has it: https://refspecs.linuxfoundation.org/elf/gabi4+/ch5.pheader.html#note_section
inline constexpr const char* k_cpu_note_section = ".note.tarsia.cpu";
inline constexpr const char* k_cpu_note_owner = "Tarsia";
inline constexpr unsigned k_cpu_note_type = 1;

/// Those of the features that this CPU is known to lack. Features have LLVM's names ("avx2", "avx512f"). A
/// feature that nobody here can ask the CPU for is not among them. Thread-safe.
std::vector<std::string> missing_cpu_features(const std::vector<std::string>& features);

}  // namespace tarsia
