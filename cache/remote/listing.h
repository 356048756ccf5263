// What a shared store keeps under a request's key: the list for all places, and with it the module that was
// sent last.
//
//   listing    := list_size list attached?
//   list       := a manifest (cache/manifest.h)
//   attached   := module_key meta_size meta payload         payload: up to the end
//
// list_size, meta_size := u32, little-endian. A listing is the entry of an envelope of Kind::shared, so one
// signature covers both, and most hits are one request. The module also lies under its own key: another set
// of the list may lead to it, and a larger one is not attached.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cache/key.h"
#include "cache/manifest.h"

namespace tarsia::cache {

/// A module whose envelope is larger is not attached, so that lists stay small.
inline constexpr std::size_t k_most_attached = std::size_t{96} << 10;

struct Attached {
  Key key;
  std::string meta, payload;
};

struct Listing {
  Manifest list;
  std::optional<Attached> newest;

  /// Nothing if the bytes do not follow the grammar.
  static std::optional<Listing> parse(std::string_view bytes);
};

std::string listing_of(const Manifest& list);
/// The list with a module.
std::string listing_of(const Manifest& list, const Key& key, std::string_view meta, std::string_view payload);

}  // namespace tarsia::cache
