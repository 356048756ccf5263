// Files of the cache: entries, and packs of entries.
#include <unistd.h>

#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "cache/entry.h"
#include "cache/pack.h"

using namespace tarsia;
using namespace tarsia::cache;

namespace {

void read_any(std::string_view pack) {
  try {
    static_cast<void>(read_pack(pack));
  } catch (const LoadError&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  // The key and the kind that the bytes claim, or what is behind a difference in them would never be read.
  Key key{};
  Kind kind = Kind::module;
  if (size >= k_footer_size) {
    const std::string_view footer = bytes.substr(size - k_footer_size);
    std::memcpy(key.data(), footer.data() + 32, key.size());
    kind = static_cast<Kind>(static_cast<unsigned char>(footer[12]));
  }
  const UniqueFd file = make_memfd("entry", bytes);
  Entry entry;
  if (read_entry(file.get(), size, kind, key, true, entry) == ReadStatus::ok &&
      entry.payload + entry.meta + make_footer(kind, key, entry.payload, entry.meta) != bytes)
    __builtin_trap();
  read_any(bytes);
  if (size < sizeof(Digest)) return 0;
  // With the hash that these bytes should have: else none that is not whole would be looked into.
  std::string pack(bytes.substr(0, size - sizeof(Digest)));
  const Digest hash = hash_bytes(pack);
  read_any(pack.append(reinterpret_cast<const char*>(hash.data()), hash.size()));
  return 0;
}
