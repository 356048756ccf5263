// What tells that a module came from a shared store or a signed pack, and who signed it: the last bytes of
// what is kept of it beside its own bytes.
//
//   meta := meta_of_the_pipeline mark*
//   mark := "TarsiaFr" signer                 signer: 8 bytes, a KeyId (keys.h); zeros: it was not signed
//
// It lies in the module's own entry, so that neither a sweep nor a copy parts the two. A module that went
// through the hands of several signers has a mark of each, the first signer's first: to revoke one is enough.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/little_endian.h"
#include "cache/keys.h"

namespace tarsia::cache {

inline constexpr std::string_view k_mark = "TarsiaFr";
inline constexpr std::size_t k_mark_size = k_mark.size() + sizeof(KeyId);

inline bool has_mark(std::string_view meta) {
  return meta.size() >= k_mark_size && meta.substr(meta.size() - k_mark_size).starts_with(k_mark);
}

inline std::string_view without_marks(std::string_view meta) {
  while (has_mark(meta)) meta.remove_suffix(k_mark_size);
  return meta;
}

/// None if it was compiled here. Zeros: it was not signed. The last one comes first.
inline std::vector<KeyId> marked_signers(std::string_view meta) {
  std::vector<KeyId> signers;
  for (; has_mark(meta); meta.remove_suffix(k_mark_size))
    std::ranges::copy(meta.substr(meta.size() - sizeof(KeyId)), signers.emplace_back().begin());
  return signers;
}

inline bool is_signed_by_any(std::string_view meta, const std::set<KeyId>& keys) {
  return !keys.empty() &&
         std::ranges::any_of(marked_signers(meta), [&](const KeyId& id) { return keys.contains(id); });
}

/// Adds a signer's mark, unless it is there.
inline void add_mark(std::string& meta, const KeyId& signer) {
  const std::vector<KeyId> there = marked_signers(meta);
  if (std::ranges::find(there, signer) != there.end()) return;
  meta += k_mark;
  LittleWriter(meta).raw(signer);
}

}  // namespace tarsia::cache
