// Shared libraries of the system, cut down to the symbols that one link asks for.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

namespace tarsia::jit {

/// The undefined symbols of an object, whose bytes the names point into. None if the object does not tell:
/// it is not ELF, or a name has a version.
std::optional<std::set<std::string_view>> undefined_symbols(std::string_view object);

/// The symbols of a shared library. Immutable, so threads may share it.
class LibrarySymbols {
 public:
  /// Throws Error if the file is no 64-bit ELF library with symbol versions and a name of its own.
  explicit LibrarySymbols(const std::string& path);

  /// A shared library of the same name that defines those of the symbols that this one defines, with their
  /// versions, types and sizes, and nothing else: linking against it gives what linking against the whole one
  /// gives. Empty if there are none.
  std::string excerpt(const std::set<std::string_view>& names) const;

 private:
  struct Symbol {
    unsigned char info = 0, other = 0;
    unsigned short version = 0;
    unsigned long long size = 0;
  };
  std::string m_bytes;  ///< of the library; the keys point into it
  std::string_view m_soname;
  std::unordered_map<std::string_view, Symbol> m_symbols;           ///< by name, default versions only
  std::unordered_map<unsigned short, std::string_view> m_versions;  ///< by index
};

}  // namespace tarsia::jit
