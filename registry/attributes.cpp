#include "registry/attributes.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "registry/library.h"

namespace tarsia::registry {

namespace {

/// Why a value does not fit; the attribute's name is put before it.
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

tarsia_value make_int(const tarsia_type& type, __int128 number, std::string_view text) {
  const bool is_unsigned = type.dtype.code == TARSIA_UINT;
  const __int128 one = 1, bits = type.dtype.bits ? type.dtype.bits : 64;
  const __int128 low = is_unsigned ? 0 : -(one << (bits - 1)),
                 high = (one << (is_unsigned ? bits : bits - 1)) - 1;
  if (number < low || number > high)
    throw Misfit{"has to fit into " + describe(type) + ", and '" + std::string(text) + "' does not"};
  tarsia_value value = make(TARSIA_KIND_INT);
  if (is_unsigned)
    value.u = static_cast<std::uint64_t>(number);
  else
    value.i = static_cast<std::int64_t>(number);
  return value;
}

/// The elements of "(1, 2)", "[1, 2]" or "1, 2".
std::vector<std::string_view> split_list(std::string_view text) {
  text = trim(text);
  if (text.size() >= 2 &&
      ((text.front() == '(' && text.back() == ')') || (text.front() == '[' && text.back() == ']')))
    text = trim(text.substr(1, text.size() - 2));
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    parts.push_back(trim(text.substr(0, comma)));
    text = comma == std::string_view::npos ? std::string_view() : trim(text.substr(comma + 1));
  }
  return parts;
}

std::string quoted_choices(const tarsia_attribute& attribute) {
  std::string text;
  for (unsigned i = 0; i < attribute.n_choices; ++i)
    text += (i ? ", '" : "'") + std::string(attribute.choices[i]) + "'";
  return text;
}

std::string number_text(double number) {
  char text[32];
  auto [end, error] = std::to_chars(text, text + sizeof(text), number);
  return std::string(text, error == std::errc() ? end : text);
}

void check_range(const tarsia_attribute& attribute, const tarsia_value& value) {
  if (!(attribute.flags & (TARSIA_ATTRIBUTE_MIN | TARSIA_ATTRIBUTE_MAX))) return;
  if (value.kind == TARSIA_KIND_LIST) {
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
               ", not " + number_text(number)};
}

}  // namespace

tarsia_value Attributes::keep(std::string_view text) {
  m_texts.emplace_back(text);
  tarsia_value value = make(TARSIA_KIND_STRING);
  value.s = m_texts.back().c_str();
  value.size = static_cast<std::uint32_t>(m_texts.back().size());
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
      if (std::int64_t number; std::from_chars(begin, end, number).ptr == end && begin != end) {
        if (std::from_chars(begin, end, number).ec == std::errc()) return make_int(type, number, text);
      }
      if (std::uint64_t number; begin != end && std::from_chars(begin, end, number).ptr == end &&
                                std::from_chars(begin, end, number).ec == std::errc())
        return make_int(type, number, text);
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
    case TARSIA_KIND_LIST: {
      std::vector<tarsia_value> elements;
      for (std::string_view part : split_list(text)) elements.push_back(parse_text(*type.elements, part));
      m_lists.push_back(std::move(elements));
      tarsia_value value = make(TARSIA_KIND_LIST);
      value.v = m_lists.back().data();
      value.size = static_cast<std::uint32_t>(m_lists.back().size());
      return value;
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
      const std::string text = std::to_string(given.i);
      if (type.kind == TARSIA_KIND_INT) return make_int(type, given.i, text);
      if (type.kind == TARSIA_KIND_STRING) return keep(text);
      if (type.kind == TARSIA_KIND_BOOL) {
        if (given.i != 0 && given.i != 1) misfit("true or false", text);
        tarsia_value value = make(TARSIA_KIND_BOOL);
        value.i = given.i;
        return value;
      }
      if (type.kind == TARSIA_KIND_FLOAT) {
        tarsia_value value = make(TARSIA_KIND_FLOAT);
        value.f = static_cast<double>(given.i);
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
      if (type.kind != TARSIA_KIND_LIST) misfit(describe(type), "a list");
      std::vector<tarsia_value> elements;
      for (unsigned i = 0; i < given.size; ++i) elements.push_back(parse(*type.elements, given.v[i]));
      m_lists.push_back(std::move(elements));
      tarsia_value value = make(TARSIA_KIND_LIST);
      value.v = m_lists.back().data();
      value.size = given.size;
      return value;
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
      if (found == end && !is_index) misfit("one of " + quoted_choices(attribute), text);
      if (!is_index) return keep(text);
      if (found != end) {
        tarsia_value value = make(TARSIA_KIND_INT);
        value.i = found - attribute.choices;
        return value;
      }
    }
    const tarsia_value value = parse(attribute.type, given);
    if (attribute.n_choices && value.kind == TARSIA_KIND_INT &&
        (value.i < 0 || value.i >= attribute.n_choices))
      misfit("one of " + quoted_choices(attribute), std::to_string(value.i));
    check_range(attribute, value);
    if ((attribute.flags & TARSIA_ATTRIBUTE_CUSTOM) && attribute.check &&
        attribute.check(attribute.user, value.s))
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
  for (size_t k = 0; k < names.size(); ++k) {
    unsigned i = 0;
    while (i < op.n_attributes && std::strcmp(op.attributes[i].name, names[k]) != 0) ++i;
    if (i < op.n_attributes) {
      m_values[i] = parse(op, op.attributes[i], values[k]);
      given[i] = true;
    } else if (op.flags & TARSIA_OP_ANY_ATTRIBUTES) {
      tarsia_type text{};
      text.kind = TARSIA_KIND_STRING;
      m_values.push_back(parse(text, values[k]));
      m_texts.emplace_back(names[k]);
      m_names.push_back(m_texts.back().c_str());
    } else {
      std::string known;
      for (unsigned n = 0; n < op.n_attributes; ++n)
        known += (n ? ", '" : "'") + std::string(op.attributes[n].name) + "'";
      throw ArgumentError::type_error(std::string("op '") + op.name + "' has no attribute '" + names[k] +
                                      "'; it has " + (known.empty() ? "none" : known));
    }
  }
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

void check_default(const tarsia_op& op, const tarsia_attribute& attribute) {
  Attributes scratch;
  if (attribute.default_value)
    scratch.parse(op, attribute, *attribute.default_value);
  else if (attribute.default_text)
    scratch.parse(op, attribute, scratch.keep(attribute.default_text));
}

}  // namespace tarsia::registry
