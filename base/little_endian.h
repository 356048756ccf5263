// Numbers and texts as bytes, the least byte first, for Tarsia's files and frames.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tarsia {

template <std::unsigned_integral Number>
std::array<char, sizeof(Number)> little_endian(Number number) {
  std::array<char, sizeof(Number)> bytes;
  for (std::size_t i = 0; i < sizeof number; ++i) bytes[i] = static_cast<char>(number >> (8 * i));
  return bytes;
}

/// Appends to a string.
class LittleWriter {
 public:
  /// The string must outlive the writer.
  explicit LittleWriter(std::string& bytes) : m_bytes(bytes) {}

  template <std::unsigned_integral Number>
  LittleWriter& number(Number number) {
    const auto bytes = little_endian(number);
    m_bytes.append(bytes.data(), bytes.size());
    return *this;
  }
  /// Bytes whose count the reader knows.
  template <std::size_t k_size>
  LittleWriter& raw(const std::array<unsigned char, k_size>& bytes) {
    m_bytes.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return *this;
  }
  /// 32 bits of size, then the text.
  LittleWriter& text(std::string_view text) {
    number(static_cast<std::uint32_t>(text.size()));
    m_bytes += text;
    return *this;
  }

 private:
  std::string& m_bytes;
};

/// Reads what LittleWriter wrote. Once something is missing, it returns zeros and empty texts, and is not
/// good.
class LittleReader {
 public:
  explicit LittleReader(std::string_view bytes) : m_bytes(bytes) {}

  template <std::unsigned_integral Number>
  Number number() {
    const std::string_view bytes = take(sizeof(Number));
    Number number = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i)
      number |= static_cast<Number>(static_cast<Number>(static_cast<unsigned char>(bytes[i])) << (8 * i));
    return number;
  }
  template <std::size_t k_size>
  std::array<unsigned char, k_size> raw() {
    std::array<unsigned char, k_size> bytes{};
    const std::string_view taken = take(k_size);
    std::copy(taken.begin(), taken.end(), bytes.begin());
    return bytes;
  }
  std::string text() { return std::string(take(number<std::uint32_t>())); }
  /// All that is left.
  std::string_view rest() { return take(m_bytes.size()); }

  bool good() const { return m_good; }
  bool at_end() const { return m_bytes.empty(); }

 private:
  std::string_view take(std::size_t size) {
    if (size > m_bytes.size()) {
      m_good = false;
      m_bytes = {};
      return {};
    }
    const std::string_view taken = m_bytes.substr(0, size);
    m_bytes.remove_prefix(size);
    return taken;
  }

  std::string_view m_bytes;
  bool m_good = true;
};

}  // namespace tarsia
