// What a slice could take from headers, by name: for texts that are parsed on top of their precompiled form,
// which has no tokens.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jit/worker/split/token_recorder.h"

namespace tarsia::jit {

/// Names of headers that a text begins with, and what was recorded of that beginning. Lists are sorted.
struct HeaderNames {
  std::vector<std::string>
      items;  ///< "ns::scale"; "ns::" is an operator that is kept wherever it can be found
  std::vector<std::string> instances;  ///< names in explicit instantiations and the like
  std::vector<std::string> macros;
  std::vector<std::string> includes;  ///< of headers that are not the user's, in quotes or brackets
  std::vector<std::string> words;     ///< every identifier in them
  std::vector<std::string> paths;     ///< of the user's ones
  unsigned counter = 0;               ///< what __COUNTER__ gives next
  TokenRecorder::File leading;        ///< of the main file, without tokens

  std::string serialize() const;
  /// None if the bytes are not of this form.
  static std::optional<HeaderNames> parse(std::string_view bytes);
};

/// Stands for the path of all of these headers.
inline constexpr char k_precompiled_headers[] = "/tarsia/precompiled headers";

}  // namespace tarsia::jit
