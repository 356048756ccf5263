// The suffixes of sources, and the languages that they say.
#pragma once

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>

namespace tarsia::jit {

enum class Language { c, cxx, cuda };

struct SourceSuffix {
  const char* suffix;
  Language language;
};

/// All faces and both processes take their suffixes from this table.
inline constexpr SourceSuffix k_source_suffixes[] = {
    {".cu", Language::cuda}, {".cc", Language::cxx},  {".cpp", Language::cxx}, {".cxx", Language::cxx},
    {".c++", Language::cxx}, {".CPP", Language::cxx}, {".C", Language::cxx},   {".c", Language::c}};

/// The language that the name of a file says. None if it says none: by its suffix it is no source.
inline std::optional<Language> language_of_name(std::string_view name) {
  const auto found = std::ranges::find_if(
      k_source_suffixes, [&](const SourceSuffix& one) { return name.ends_with(one.suffix); });
  if (found == std::end(k_source_suffixes)) return std::nullopt;
  return found->language;
}

}  // namespace tarsia::jit
