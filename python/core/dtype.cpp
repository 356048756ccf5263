// Names of dtypes, in the vocabularies of DLPack, NumPy, the array interface and the struct module.
#include "python/core/dtype.h"

namespace tarsia::python {
namespace {

bool swapped(char byte_order) {
  return byte_order == '>' || byte_order == '!';
}

}  // namespace

tarsia_dtype dtype_named(std::string_view name) {
  return tarsia::detail::dtype_named(name.data(), name.size());
}

tarsia_dtype dtype_of_typestr(std::string_view typestr) {
  if (typestr.size() < 3 || swapped(typestr[0])) return {};
  int bytes = 0;
  for (const char digit : typestr.substr(2)) {
    if (digit < '0' || digit > '9' || bytes > 100) return {};
    bytes = bytes * 10 + (digit - '0');
  }
  const auto bits = static_cast<uint8_t>(bytes * 8);
  switch (typestr[1]) {
    case 'b':
      return {TARSIA_BOOL, 8, 1};
    case 'i':
      return {TARSIA_INT, bits, 1};
    case 'u':
      return {TARSIA_UINT, bits, 1};
    case 'f':
      return {TARSIA_FLOAT, bits, uint16_t(bytes <= 8)};
    case 'c':
      return {TARSIA_COMPLEX, bits, uint16_t(bytes <= 16)};
  }
  return {};
}

std::string typestr_of(tarsia_dtype dtype) {
  constexpr char by_code[] = {'i', 'u', 'f', 0, 0, 'c', 'b'};
  if (dtype.code >= sizeof by_code || !by_code[dtype.code] || dtype.lanes != 1) return {};
  const char order = dtype.bits == 8 ? '|' : '<';
  return std::string{order, by_code[dtype.code]} + std::to_string(dtype.bits / 8);
}

const FormatType* format_type(char letter) {
  static constexpr FormatType k_types[] = {
      {'?', TARSIA_BOOL, 1, 1},  {'b', TARSIA_INT, 1, 1},  {'c', TARSIA_UINT, 1, 1},
      {'B', TARSIA_UINT, 1, 1},  {'h', TARSIA_INT, 2, 2},  {'H', TARSIA_UINT, 2, 2},
      {'i', TARSIA_INT, 4, 4},   {'I', TARSIA_UINT, 4, 4}, {'l', TARSIA_INT, 4, 8},
      {'L', TARSIA_UINT, 4, 8},  {'q', TARSIA_INT, 8, 8},  {'Q', TARSIA_UINT, 8, 8},
      {'n', TARSIA_INT, 8, 8},   {'N', TARSIA_UINT, 8, 8}, {'e', TARSIA_FLOAT, 2, 2},
      {'f', TARSIA_FLOAT, 4, 4}, {'d', TARSIA_FLOAT, 8, 8}};
  for (const FormatType& type : k_types)
    if (type.letter == letter) return &type;
  return nullptr;
}

tarsia_dtype dtype_of_format(std::string_view format, int64_t item_bytes) {
  if (format.empty()) return {TARSIA_UINT, 8, uint16_t(item_bytes == 1)};
  if (swapped(format[0])) return {};
  if (format[0] == '@' || format[0] == '=' || format[0] == '<' || format[0] == '|') format.remove_prefix(1);
  const bool is_complex = format.size() == 2 && format[0] == 'Z';
  if (is_complex) format.remove_prefix(1);
  if (format.size() != 1) return {};
  const auto bits = static_cast<uint8_t>(item_bytes * 8);
  if (is_complex) return {TARSIA_COMPLEX, bits, uint16_t(item_bytes <= 16)};
  const FormatType* const type = format_type(format[0]);
  return type ? tarsia_dtype{type->code, bits, 1} : tarsia_dtype{};
}

}  // namespace tarsia::python
