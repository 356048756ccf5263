// Walks msgpack without recursion: https://github.com/msgpack/msgpack/blob/master/spec.md
#include "jit/msgpack.h"

#include <cstdint>
#include <vector>

namespace tarsia::jit {
namespace {

constexpr std::size_t k_most = 32;

/// A big-endian number of `size` bytes; `bytes` begins behind it then. Less where the bytes end.
std::uint64_t number(std::string_view& bytes, std::size_t size) {
  std::uint64_t value = 0;
  for (; size > 0 && !bytes.empty(); --size, bytes.remove_prefix(1))
    value = value << 8 | static_cast<unsigned char>(bytes.front());
  return value;
}

/// What follows a type's byte: bytes to step over, or values within.
struct Content {
  std::uint64_t bytes = 0, values = 0;
  bool nests = false;
};

Content content_of(unsigned char type, std::string_view& rest) {
  const auto values = [](std::uint64_t n) { return Content{0, n, true}; };
  if (type < 0x80 || type >= 0xe0) return {};
  if (type < 0x90) return values(2u * (type & 15u));
  if (type < 0xa0) return values(type & 15u);
  if (type < 0xc0) return {type & 31u};
  if (type >= 0xc4 && type <= 0xc6) return {number(rest, std::size_t{1} << (type - 0xc4))};
  if (type >= 0xc7 && type <= 0xc9) return {number(rest, std::size_t{1} << (type - 0xc7)) + 1};
  if (type == 0xca || type == 0xcb) return {type == 0xca ? 4u : 8u};
  if (type >= 0xcc && type <= 0xd3) return {std::uint64_t{1} << (type & 3)};
  if (type >= 0xd4 && type <= 0xd8) return {(std::uint64_t{1} << (type - 0xd4)) + 1};
  if (type >= 0xd9 && type <= 0xdb) return {number(rest, std::size_t{1} << (type - 0xd9))};
  if (type == 0xdc || type == 0xdd) return values(number(rest, type == 0xdc ? 2 : 4));
  if (type == 0xde || type == 0xdf) return values(2 * number(rest, type == 0xde ? 2 : 4));
  return {};
}

}  // namespace

bool nests_too_deep(std::string_view rest) {
  std::vector<std::uint64_t> left;  // values that are still to come, of each that is open
  while (!rest.empty()) {
    const auto type = static_cast<unsigned char>(rest.front());
    rest.remove_prefix(1);
    const Content content = content_of(type, rest);
    if (content.bytes > rest.size()) return false;  // cut short: the parser says so
    rest.remove_prefix(content.bytes);
    if (!left.empty()) --left.back();
    if (content.nests) left.push_back(content.values);
    if (left.size() > k_most) return true;
    while (!left.empty() && left.back() == 0) left.pop_back();
    if (left.empty()) return false;
  }
  return false;
}

}  // namespace tarsia::jit
