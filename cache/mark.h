// What tells that a module came from a shared store or a signed pack, and who signed it: the last bytes of
// what is kept of it beside its own bytes.
//
//   meta := meta_of_the_pipeline mark?
//   mark := "TarsiaFr" signer                 signer: 8 bytes, a KeyId (keys.h); zeros: it was not signed
//
// It lies in the module's own entry, so that neither a sweep nor a copy parts the two.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "cache/keys.h"

namespace tarsia::cache {

inline constexpr std::string_view k_mark = "TarsiaFr";
inline constexpr std::size_t k_mark_size = k_mark.size() + 8;

inline bool has_mark(std::string_view meta) {
  return meta.size() >= k_mark_size && meta.substr(meta.size() - k_mark_size).starts_with(k_mark);
}

inline std::string_view without_mark(std::string_view meta) {
  return has_mark(meta) ? meta.substr(0, meta.size() - k_mark_size) : meta;
}

/// Nothing if it was compiled here. Zeros: it was not signed.
inline std::optional<KeyId> marked_signer(std::string_view meta) {
  if (!has_mark(meta)) return std::nullopt;
  KeyId id;
  std::ranges::copy(meta.substr(meta.size() - id.size()), id.begin());
  return id;
}

}  // namespace tarsia::cache
