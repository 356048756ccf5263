// Puts a list and a module into one entry, and takes them apart.
#include "cache/remote/listing.h"

#include <utility>

#include "base/little_endian.h"

namespace tarsia::cache {

std::optional<Listing> Listing::parse(std::string_view bytes) {
  LittleReader in(bytes);
  std::optional<Manifest> list = Manifest::parse(in.text());
  if (!in.good() || !list) return std::nullopt;
  Listing listing{.list = std::move(*list), .newest = {}};
  if (in.at_end()) return listing;
  Attached& module = listing.newest.emplace();
  module.key = in.raw<sizeof(Key)>();
  module.meta = in.text();
  module.payload = in.rest();
  if (!in.good()) return std::nullopt;
  return listing;
}

std::string listing_of(const Manifest& list) {
  std::string bytes;
  LittleWriter(bytes).text(list.serialise());
  return bytes;
}

std::string listing_of(const Manifest& list, const Key& key, std::string_view meta,
                       std::string_view payload) {
  std::string bytes = listing_of(list);
  bytes.reserve(bytes.size() + sizeof(Key) + 4 + meta.size() + payload.size());
  LittleWriter(bytes).raw(key).text(meta);
  bytes += payload;
  return bytes;
}

}  // namespace tarsia::cache
