// Compares records of buffers with the structs of C++.
#include "python/call/record_format.h"

#include <tarsia/detail/argument_words.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

#include "python/core/dtype.h"

namespace tarsia::python {
namespace {

constexpr std::size_t k_most_numbers = 1 << 16;
constexpr std::uint8_t k_nothing = 254;             // a code: bytes between fields
constexpr std::uint8_t k_other = TARSIA_ANY_DTYPE;  // a code: what no struct's number is

struct Number {
  std::size_t offset;
  std::uint8_t code;
  std::size_t bytes;
};

/// Reads the grammar of Python's struct module, with PEP 3118's additions.
class FormatReader {
 public:
  explicit FormatReader(std::string_view format) : m_rest(format) {}

  /// None if the format is beyond what is known.
  std::optional<std::vector<Number>> run(std::size_t item_bytes) {
    std::vector<Number> numbers;
    std::size_t size = 0;
    if (!read_items(numbers, size) || !m_rest.empty() || size != item_bytes) return std::nullopt;
    return numbers;
  }

 private:
  bool take(char one) {
    if (!m_rest.starts_with(one)) return false;
    m_rest.remove_prefix(1);
    return true;
  }
  std::size_t number() {
    std::size_t value = 0;
    while (!m_rest.empty() && std::isdigit(static_cast<unsigned char>(m_rest[0])) && value < k_most_numbers) {
      value = 10 * value + static_cast<std::size_t>(m_rest[0] - '0');
      m_rest.remove_prefix(1);
    }
    return value;
  }

  /// Up to a bracket that ends them, or the format's end.
  bool read_items(std::vector<Number>& numbers, std::size_t& size) {
    while (!m_rest.empty() && m_rest[0] != '}') {
      if (m_rest[0] == ' ') {
        m_rest.remove_prefix(1);
      } else if (m_rest[0] == ':') {  // a name
        const std::size_t end = m_rest.find(':', 1);
        if (end == m_rest.npos) return false;
        m_rest.remove_prefix(end + 1);
      } else if (std::string_view("@=<>!^").find(m_rest[0]) != std::string_view::npos) {
        m_order = m_rest[0];
        m_rest.remove_prefix(1);
      } else if (!read_item(numbers, size)) {
        return false;
      }
      if (numbers.size() > k_most_numbers) return false;
    }
    return true;
  }

  bool read_item(std::vector<Number>& numbers, std::size_t& size) {
    std::size_t count = 1;
    if (take('(')) {
      do count *= number();
      while (take(','));
      if (!take(')')) return false;
    } else if (std::isdigit(static_cast<unsigned char>(m_rest[0]))) {
      count = number();
    }
    if (count > k_most_numbers || m_rest.empty()) return false;
    if (m_rest.starts_with("T{")) {
      m_rest.remove_prefix(2);
      std::vector<Number> inner;
      std::size_t inner_size = 0;
      if (!read_items(inner, inner_size) || !take('}') || inner.size() * count > k_most_numbers) return false;
      for (std::size_t i = 0; i < count; ++i, size += inner_size)
        for (const Number& one : inner) numbers.push_back({size + one.offset, one.code, one.bytes});
      return true;
    }
    std::uint8_t code = k_other;
    std::size_t bytes = 0;
    if (!read_type(code, bytes, count)) return false;
    if (m_order == '>' || m_order == '!') code = bytes == 1 ? code : k_other;
    if (m_order == '@' && bytes > 1 && code != k_nothing) size = (size + bytes - 1) / bytes * bytes;
    for (std::size_t i = 0; i < count; ++i, size += bytes) numbers.push_back({size, code, bytes});
    return true;
  }

  bool read_type(std::uint8_t& code, std::size_t& bytes, std::size_t& count) {
    if (take('Z')) count *= 2;  // complex
    if (m_rest.empty()) return false;
    const char letter = m_rest[0];
    m_rest.remove_prefix(1);
    if (const FormatType* type = format_type(letter)) {
      code = type->code;
      bytes = m_order == '@' || m_order == '^' ? type->native_bytes : type->bytes;
      return true;
    }
    struct Other {
      char letter;
      std::uint8_t code;
      std::size_t bytes;
    };
    static constexpr Other k_others[] = {{'x', k_nothing, 1},   {'s', TARSIA_UINT, 1},  // texts
                                         {'p', TARSIA_UINT, 1}, {'u', k_other, 2},
                                         {'w', k_other, 4},     {'P', TARSIA_UINT, 8},
                                         {'O', k_other, 8},     {'g', k_other, sizeof(long double)}};
    const auto* const other = std::ranges::find(k_others, letter, &Other::letter);
    if (other == std::end(k_others)) return false;
    code = other->code;
    bytes = other->bytes;
    return true;
  }

  std::string_view m_rest;
  char m_order = '@';
};

}  // namespace

bool fits_fields(const char* format, std::uint32_t item_bytes, const tarsia_type* fields) {
  const auto numbers = FormatReader(format ? format : "B").run(item_bytes);
  if (!numbers) return true;
  if (std::ranges::all_of(*numbers, [](const Number& one) { return one.bytes == 1; })) return true;
  auto at = numbers->begin();
  for (; fields->kind != TARSIA_KIND_NONE; ++fields) {
    const std::size_t bytes = fields->dtype.bits / 8;
    for (std::size_t i = 0; i < fields->dtype.lanes; ++i) {
      const std::size_t offset = fields->n_elements + i * bytes;
      while (at != numbers->end() && at->offset < offset) ++at;
      if (at == numbers->end() || at->offset != offset || at->bytes != bytes) return false;
      const bool is_half =
          fields->dtype.code == TARSIA_BFLOAT && at->bytes == 2;  // formats have no name for it
      if (bytes > 1 && !is_half && at->code != fields->dtype.code) return false;
    }
  }
  return true;
}

std::string fields_text(const char* format, std::uint32_t item_bytes) {
  const auto numbers = FormatReader(format ? format : "B").run(item_bytes);
  if (!numbers) return {};
  std::vector<tarsia_type> fields;
  for (const Number& one : *numbers) {
    if (one.code == k_nothing) continue;
    const auto bits = static_cast<std::uint8_t>(one.bytes * 8);
    const bool follows = !fields.empty() && fields.back().dtype.code == one.code &&
                         fields.back().dtype.bits == bits &&
                         fields.back().n_elements + fields.back().dtype.lanes * one.bytes == one.offset;
    if (follows)
      ++fields.back().dtype.lanes;
    else
      fields.push_back(
          {TARSIA_KIND_INT, 0, static_cast<std::uint16_t>(one.offset), {one.code, bits, 1}, nullptr});
  }
  fields.push_back({});
  return arguments::fields_text(fields.data());
}

}  // namespace tarsia::python
