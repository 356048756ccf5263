// Writes and reads the little of protobuf that an ActionResult needs.
#include "cache/remote/action_result.h"

#include <sodium.h>

#include <algorithm>
#include <array>

#include "base/hash.h"

namespace tarsia::cache {
namespace {

void add_number(std::string& bytes, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) bytes += static_cast<char>(number | 0x80);
  bytes += static_cast<char>(number);
}

void add_text(std::string& bytes, unsigned field, std::string_view text) {
  add_number(bytes, field << 3 | 2);
  add_number(bytes, text.size());
  bytes += text;
}

struct Field {
  unsigned number = 0;
  std::uint64_t value = 0;  ///< of a number
  std::string_view text;    ///< of a text, or of a message
};

class Fields {
 public:
  explicit Fields(std::string_view bytes) : m_bytes(bytes) {}

  /// False at the end, and at what is no field; then good() is false.
  bool next(Field& field) {
    field = {};
    std::uint64_t tag = 0;
    if (m_bytes.empty() || !number(tag)) return false;
    field.number = static_cast<unsigned>(tag >> 3);
    switch (tag & 7) {
      case 0:
        return number(field.value);
      case 1:
        return take(8, field.text);
      case 2: {
        std::uint64_t size = 0;
        return number(size) && take(size, field.text);
      }
      case 5:
        return take(4, field.text);
    }
    return m_good = false;
  }
  bool good() const { return m_good; }

 private:
  bool number(std::uint64_t& value) {
    value = 0;
    for (unsigned shift = 0; shift < 64 && !m_bytes.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(m_bytes.front());
      m_bytes.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return true;
    }
    return m_good = false;
  }
  bool take(std::uint64_t size, std::string_view& text) {
    if (size > m_bytes.size()) return m_good = false;
    text = m_bytes.substr(0, size);
    m_bytes.remove_prefix(size);
    return true;
  }

  std::string_view m_bytes;
  bool m_good = true;
};

bool is_hash(std::string_view text) {
  return text.size() == 64 &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace

BlobName name_of_blob(std::string_view bytes) {
  std::array<unsigned char, crypto_hash_sha256_BYTES> sum;
  crypto_hash_sha256(sum.data(), reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  return {hex({reinterpret_cast<const char*>(sum.data()), sum.size()}), bytes.size()};
}

std::string action_result(const BlobName& blob, std::string_view contents) {
  std::string digest, file, result;
  add_text(digest, 1, blob.hash);
  add_number(digest, 2 << 3);
  add_number(digest, blob.size);
  add_text(file, 1, "tarsia-entry");
  add_text(file, 2, digest);
  if (!contents.empty()) add_text(file, 5, contents);
  add_text(result, 2, file);
  return result;
}

std::optional<ResultFile> parse_action_result(std::string_view bytes) {
  std::optional<ResultFile> found;
  Field of_result, of_file, of_digest;
  Fields result(bytes);
  while (result.next(of_result)) {
    if (of_result.number != 2 || found) continue;
    Fields file(of_result.text);
    std::string_view contents;
    while (file.next(of_file)) {
      if (of_file.number == 5) contents = of_file.text;
      if (of_file.number != 2) continue;
      BlobName name;
      Fields digest(of_file.text);
      while (digest.next(of_digest)) {
        if (of_digest.number == 1) name.hash = of_digest.text;
        if (of_digest.number == 2) name.size = of_digest.value;
      }
      if (!digest.good() || !is_hash(name.hash)) return std::nullopt;
      found = ResultFile{std::move(name), {}};
    }
    if (!file.good()) return std::nullopt;
    if (found && contents.size() == found->name.size) found->contents = contents;
  }
  return result.good() ? found : std::nullopt;
}

std::string result_of_text(std::string_view text) {
  std::string result;
  add_text(result, 5, text);
  return result;
}

std::optional<std::string> text_of_result(std::string_view bytes) {
  std::optional<std::string> text;
  Field field;
  Fields result(bytes);
  while (result.next(field))
    if (field.number == 5) text = field.text;
  return result.good() ? text : std::nullopt;
}

}  // namespace tarsia::cache
