// Parses attributes of ops, and checks them against what the op declared.
#include "registry/op/attributes.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "registry/library/library.h"
#include "registry/op/op_step.h"

namespace tarsia::registry {

namespace {

/// Says why a value does not fit. The caller puts the attribute's name before it.
struct Misfit {
  std::string text;
};

std::string_view trim(std::string_view text) {
  constexpr const char* k_blank = " \t\r\n";
  const size_t first = text.find_first_not_of(k_blank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(k_blank) - first + 1);
}

[[noreturn]] void misfit(const std::string& wanted, std::string_view got) {
  throw Misfit{"has to be " + wanted + ", not '" + std::string(got) + "'"};
}

tarsia_value make(tarsia_kind kind) {
  tarsia_value value{};
  value.kind = kind;
  return value;
}

/// Whether the 64 bits of an integer have no sign, as its maker says or, if it does not, the attribute's
/// type.
bool has_no_sign(const tarsia_type& type, const tarsia_value& value) {
  const bool is_uint64 = type.dtype.code == TARSIA_UINT && (!type.dtype.bits || type.dtype.bits >= 64);
  return value.size == TARSIA_UNSIGNED || (value.size == TARSIA_SIGN_OF_PARAMETER && is_uint64);
}

[[noreturn]] void does_not_fit(const tarsia_type& type, std::string_view text) {
  throw Misfit{"has to fit into " + describe(type) + ", and '" + std::string(text) + "' does not"};
}

std::string integer_text(const tarsia_value& value) {
  return value.size == TARSIA_UNSIGNED ? std::to_string(value.u) : std::to_string(value.i);
}

tarsia_value make_int(const tarsia_type& type, __int128 number, std::string_view text) {
  const bool is_unsigned = type.dtype.code == TARSIA_UINT;
  const __int128 one = 1, bits = type.dtype.bits ? type.dtype.bits : 64;
  const __int128 low = is_unsigned ? 0 : -(one << (bits - 1)),
                 high = (one << (is_unsigned ? bits : bits - 1)) - 1;
  if (number < low || number > high) does_not_fit(type, text);
  tarsia_value value = make(TARSIA_KIND_INT);
  value.size = is_unsigned ? TARSIA_UNSIGNED : TARSIA_SIGNED;
  if (is_unsigned)
    value.u = static_cast<std::uint64_t>(number);
  else
    value.i = static_cast<std::int64_t>(number);
  return value;
}

/// The position of the bracket that closes the one at the start; npos if none does.
size_t closing_bracket(std::string_view text) {
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(' || text[i] == '[') ++depth;
    if ((text[i] == ')' || text[i] == ']') && --depth == 0) return i;
  }
  return std::string_view::npos;
}

/// The elements of "(1, 2)", "[1, 2]" or "1, 2"; elements may be lists themselves.
std::vector<std::string_view> split_list(std::string_view text) {
  text = trim(text);
  if (text.starts_with('(') || text.starts_with('['))
    if (closing_bracket(text) == text.size() - 1) text = trim(text.substr(1, text.size() - 2));
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    size_t comma = 0;
    for (int depth = 0; comma < text.size() && (depth || text[comma] != ','); ++comma) {
      if (text[comma] == '(' || text[comma] == '[') ++depth;
      if (text[comma] == ')' || text[comma] == ']') --depth;
    }
    parts.push_back(trim(text.substr(0, comma)));
    text = comma == text.size() ? std::string_view() : trim(text.substr(comma + 1));
  }
  return parts;
}

std::string number_text(double number) {
  char text[32];
  auto [end, error] = std::to_chars(text, text + sizeof(text), number);
  return std::string(text, error == std::errc() ? end : text);
}

/// A list as text, for attributes whose text the op reads.
std::string list_text(const tarsia_value& value);
std::string value_text(const tarsia_value& value) {
  switch (value.kind) {
    case TARSIA_KIND_BOOL:
      return value.i ? "true" : "false";
    case TARSIA_KIND_INT:
      return integer_text(value);
    case TARSIA_KIND_FLOAT:
      return number_text(value.f);
    case TARSIA_KIND_STRING:
      return std::string(value.s, value.size);
    case TARSIA_KIND_LIST:
    case TARSIA_KIND_TUPLE:
      return list_text(value);
    default:
      return "None";
  }
}
std::string list_text(const tarsia_value& value) {
  std::string text = "(";
  for (unsigned i = 0; i < value.size; ++i) text += (i ? ", " : "") + value_text(value.v[i]);
  return text + ")";
}

std::string quoted_choices(const tarsia_attribute& attribute) {
  std::string text;
  for (unsigned i = 0; i < attribute.n_choices; ++i)
    text += (i ? ", '" : "'") + std::string(attribute.choices[i]) + "'";
  return text;
}

void check_range(const tarsia_attribute& attribute, const tarsia_value& value) {
  if (!(attribute.flags & (TARSIA_ATTRIBUTE_MIN | TARSIA_ATTRIBUTE_MAX))) return;
  if (value.kind == TARSIA_KIND_LIST || value.kind == TARSIA_KIND_TUPLE) {
    for (unsigned i = 0; i < value.size; ++i) check_range(attribute, value.v[i]);
    return;
  }
  if (value.kind != TARSIA_KIND_INT && value.kind != TARSIA_KIND_FLOAT) return;
  const double number = value.kind == TARSIA_KIND_FLOAT            ? value.f
                        : attribute.type.dtype.code == TARSIA_UINT ? static_cast<double>(value.u)
                                                                   : static_cast<double>(value.i);
  const bool low = (attribute.flags & TARSIA_ATTRIBUTE_MIN) && !(number >= attribute.min);
  const bool high = (attribute.flags & TARSIA_ATTRIBUTE_MAX) && !(number <= attribute.max);
  if (!low && !high) return;
  const bool both = (attribute.flags & TARSIA_ATTRIBUTE_MIN) && (attribute.flags & TARSIA_ATTRIBUTE_MAX);
  throw Misfit{(both  ? "has to be from " + number_text(attribute.min) + " to " + number_text(attribute.max)
                : low ? "has to be at least " + number_text(attribute.min)
                      : "has to be at most " + number_text(attribute.max)) +
               ", not " + value_text(value)};
}

}  // namespace

tarsia_value Attributes::keep(std::string_view text) {
  m_texts.emplace_back(text);
  tarsia_value value = make(TARSIA_KIND_STRING);
  value.s = m_texts.back().c_str();
  value.size = static_cast<std::uint32_t>(m_texts.back().size());
  return value;
}

template <class F>
tarsia_value Attributes::keep_list(const tarsia_type& type, size_t n, F&& element_of) {
  const bool is_tuple = type.kind == TARSIA_KIND_TUPLE;
  if (is_tuple && n != type.n_elements)
    throw Misfit{"has to be " + std::to_string(type.n_elements) + " values, not " + std::to_string(n)};
  std::vector<tarsia_value> elements;
  for (size_t i = 0; i < n; ++i) elements.push_back(element_of(i, type.elements[is_tuple ? i : 0]));
  m_lists.push_back(std::move(elements));
  tarsia_value value = make(static_cast<tarsia_kind>(type.kind));
  value.v = m_lists.back().data();
  value.size = static_cast<std::uint32_t>(n);
  return value;
}

tarsia_value Attributes::parse_text(const tarsia_type& type, std::string_view text) {
  const std::string_view bare = trim(text);
  switch (type.kind) {
    case TARSIA_KIND_STRING:
      return keep(text);
    case TARSIA_KIND_BOOL: {
      tarsia_value value = make(TARSIA_KIND_BOOL);
      if (bare == "true" || bare == "True" || bare == "1")
        value.i = 1;
      else if (bare != "false" && bare != "False" && bare != "0")
        misfit("true or false", text);
      return value;
    }
    case TARSIA_KIND_INT: {
      const char *begin = bare.data(), *end = begin + bare.size();
      if (bare.starts_with('+')) ++begin;
      std::int64_t number = 0;
      const auto [stop, error] = std::from_chars(begin, end, number);
      if (stop == end && begin != end) {
        if (error == std::errc()) return make_int(type, number, text);
        std::uint64_t large = 0;
        if (std::from_chars(begin, end, large).ec == std::errc()) return make_int(type, large, text);
        does_not_fit(type, text);
      }
      misfit(type.dtype.code == TARSIA_UINT ? "a whole number, not negative" : "a whole number", text);
    }
    case TARSIA_KIND_FLOAT: {
      const char *begin = bare.data(), *end = begin + bare.size();
      if (bare.starts_with('+')) ++begin;
      tarsia_value value = make(TARSIA_KIND_FLOAT);
      auto [stop, error] = std::from_chars(begin, end, value.f);
      if (stop != end || begin == end || error != std::errc()) misfit("a number", text);
      return value;
    }
    case TARSIA_KIND_LIST:
    case TARSIA_KIND_TUPLE: {
      const std::vector<std::string_view> parts = split_list(text);
      return keep_list(type, parts.size(),
                       [&](size_t i, const tarsia_type& element) { return parse_text(element, parts[i]); });
    }
    default:
      misfit(describe(type), text);
  }
}

tarsia_value Attributes::parse(const tarsia_type& type, const tarsia_value& given) {
  switch (given.kind) {
    case TARSIA_KIND_STRING: {
      const std::string_view text(given.s, given.size);
      if ((type.flags & TARSIA_TYPE_OPTIONAL) && trim(text) == "None") return make(TARSIA_KIND_NONE);
      return parse_text(type, text);
    }
    case TARSIA_KIND_NONE:
      if (type.flags & TARSIA_TYPE_OPTIONAL) return given;
      misfit(describe(type), "None");
    case TARSIA_KIND_BOOL:
      if (type.kind == TARSIA_KIND_BOOL) return given;
      if (type.kind == TARSIA_KIND_INT) return make_int(type, given.i, given.i ? "1" : "0");
      if (type.kind == TARSIA_KIND_STRING) return keep(given.i ? "true" : "false");
      misfit(describe(type), given.i ? "true" : "false");
    case TARSIA_KIND_INT: {
      const bool is_unsigned = has_no_sign(type, given);
      const std::string text = is_unsigned ? std::to_string(given.u) : std::to_string(given.i);
      if (type.kind == TARSIA_KIND_INT)
        return make_int(type, is_unsigned ? __int128{given.u} : given.i, text);
      if (type.kind == TARSIA_KIND_STRING) return keep(text);
      if (type.kind == TARSIA_KIND_BOOL) {
        if (given.i != 0 && given.i != 1) misfit("true or false", text);
        tarsia_value value = make(TARSIA_KIND_BOOL);
        value.i = given.i;
        return value;
      }
      if (type.kind == TARSIA_KIND_FLOAT) {
        tarsia_value value = make(TARSIA_KIND_FLOAT);
        value.f = is_unsigned ? static_cast<double>(given.u) : static_cast<double>(given.i);
        return value;
      }
      if (type.kind == TARSIA_KIND_LIST) return parse_text(type, text);
      misfit(describe(type), text);
    }
    case TARSIA_KIND_FLOAT:
      if (type.kind == TARSIA_KIND_FLOAT) return given;
      if (type.kind == TARSIA_KIND_STRING) return keep(number_text(given.f));
      if (type.kind == TARSIA_KIND_INT && std::trunc(given.f) == given.f && std::fabs(given.f) < 9e15)
        return make_int(type, static_cast<std::int64_t>(given.f), number_text(given.f));
      misfit(describe(type), number_text(given.f));
    case TARSIA_KIND_LIST:
    case TARSIA_KIND_TUPLE: {
      if (type.kind != TARSIA_KIND_LIST && type.kind != TARSIA_KIND_TUPLE) misfit(describe(type), "a list");
      return keep_list(type, given.size,
                       [&](size_t i, const tarsia_type& element) { return parse(element, given.v[i]); });
    }
    default:
      misfit(describe(type), "a tensor");
  }
}

tarsia_value Attributes::parse(const tarsia_op& op, const tarsia_attribute& attribute,
                               const tarsia_value& given) {
  try {
    if (attribute.n_choices && given.kind == TARSIA_KIND_STRING) {
      const std::string_view text = trim(std::string_view(given.s, given.size));
      const auto* end = attribute.choices + attribute.n_choices;
      const auto* found = std::find(attribute.choices, end, text);
      const bool is_index =
          attribute.type.kind == TARSIA_KIND_INT;  // of an enumeration, which may be given as well
      const bool is_number =
          !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
      if (found == end && !(is_index && is_number)) misfit("one of " + quoted_choices(attribute), text);
      if (!is_index) return keep(text);
      if (found != end) {
        tarsia_value value = make(TARSIA_KIND_INT);
        value.i = found - attribute.choices;
        return value;
      }
    }
    const bool reads_text = attribute.flags & TARSIA_ATTRIBUTE_CUSTOM;
    const bool is_list = given.kind == TARSIA_KIND_LIST || given.kind == TARSIA_KIND_TUPLE;
    const tarsia_value value = reads_text && is_list ? keep(list_text(given)) : parse(attribute.type, given);
    if (attribute.n_choices && value.kind == TARSIA_KIND_INT &&
        (value.i < 0 || value.i >= attribute.n_choices))
      misfit("one of " + quoted_choices(attribute), std::to_string(value.i));
    check_range(attribute, value);
    if (reads_text && attribute.check && value.kind == TARSIA_KIND_STRING &&
        run_step(op, attribute.name, nullptr, [&] { return attribute.check(attribute.user, value.s); }))
      misfit("a value that the op can read", value.s);
    return value;
  } catch (const Misfit& misfit) {
    throw ArgumentError::value_error(std::string("op '") + op.name + "': attribute '" + attribute.name +
                                     "' " + misfit.text);
  }
}

Attributes::Attributes(const tarsia_op& op, std::span<const char* const> names,
                       std::span<const tarsia_value> values) {
  m_values.resize(op.n_attributes);
  std::vector<bool> given(op.n_attributes);
  for (unsigned i = 0; i < op.n_attributes; ++i) m_names.push_back(op.attributes[i].name);
  for (size_t k = 0; k < names.size(); ++k)
    if (const size_t i = set(op, names[k], values[k]); i < op.n_attributes) given[i] = true;
  for (unsigned i = 0; i < op.n_attributes; ++i) {
    if (given[i]) continue;
    const tarsia_attribute& attribute = op.attributes[i];
    if (attribute.default_value) {
      m_values[i] = parse(op, attribute, *attribute.default_value);
    } else if (attribute.default_text) {
      m_values[i] = parse(op, attribute, keep(attribute.default_text));
    } else if (attribute.flags & TARSIA_ATTRIBUTE_REQUIRED) {
      throw ArgumentError::type_error(
          std::string("op '") + op.name + "' needs the attribute '" + attribute.name + "'" +
          (attribute.description && *attribute.description ? std::string(" (") + attribute.description + ")"
                                                           : ""));
    } else {
      m_values[i] = make(TARSIA_KIND_NONE);
    }
  }
}

size_t Attributes::set(const tarsia_op& op, const char* name, const tarsia_value& value) {
  size_t i = 0;
  while (i < m_names.size() && std::strcmp(m_names[i], name) != 0) ++i;
  if (i < op.n_attributes) {
    m_values[i] = parse(op, op.attributes[i], value);
    return i;
  }
  if (!(op.flags & TARSIA_OP_ANY_ATTRIBUTES)) {
    std::string known;
    for (unsigned n = 0; n < op.n_attributes; ++n)
      known += (n ? ", '" : "'") + std::string(op.attributes[n].name) + "'";
    // It may have been meant for an input.
    std::string inputs;
    for (unsigned n = 0; n < op.n_inputs; ++n)
      if (op.inputs[n].name && *op.inputs[n].name)
        inputs += (inputs.empty() ? "'" : ", '") + std::string(op.inputs[n].name) + "'";
    throw ArgumentError::type_error(std::string("op '") + op.name + "' has no attribute '" + name +
                                    "'; it has " + (known.empty() ? "none" : known) +
                                    (inputs.empty() ? "" : "; its inputs are " + inputs));
  }
  tarsia_type text{};
  text.kind = TARSIA_KIND_STRING;
  const tarsia_value parsed = parse(text, value);
  if (i < m_names.size()) {
    m_values[i] = parsed;
    return i;
  }
  m_values.push_back(parsed);
  m_texts.emplace_back(name);
  m_names.push_back(m_texts.back().c_str());
  return i;
}

void check_default(const tarsia_op& op, const tarsia_attribute& attribute) {
  Attributes scratch;
  if (attribute.default_value)
    scratch.parse(op, attribute, *attribute.default_value);
  else if (attribute.default_text)
    scratch.parse(op, attribute, scratch.keep(attribute.default_text));
}

}  // namespace tarsia::registry
