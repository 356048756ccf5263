// Attributes of ops: turns texts and typed values into the attributes that the op declared.
#pragma once

#include <tarsia/op_abi.h>

#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tarsia::registry {

/// Parsed attributes of one op: values and names in the form of tarsia_bind_info, declared ones first.
class Attributes {
 public:
  Attributes() = default;
  Attributes(const Attributes&) = delete;
  Attributes(Attributes&&) = default;
  Attributes& operator=(Attributes&&) = default;

  /// Parses the given attributes. Throws ArgumentError, naming op and attribute, for unknown, missing,
  /// malformed or out-of-range values.
  Attributes(const tarsia_op& op, std::span<const char* const> names, std::span<const tarsia_value> values);

  /// Replaces the value of an attribute, or adds an undeclared one where the op allows these. Throws as the
  /// constructor. Returns its number.
  size_t set(const tarsia_op& op, const char* name, const tarsia_value& value);

  const std::vector<tarsia_value>& values() const { return m_values; }
  const std::vector<const char*>& names() const { return m_names; }

 private:
  friend void check_default(const tarsia_op& op, const tarsia_attribute& attribute);

  tarsia_value parse(const tarsia_op& op, const tarsia_attribute& attribute, const tarsia_value& given);
  tarsia_value parse(const tarsia_type& type, const tarsia_value& given);
  tarsia_value parse_text(const tarsia_type& type, std::string_view text);
  tarsia_value keep(std::string_view text);
  template <class F>
  tarsia_value keep_list(const tarsia_type& type, size_t n, F&& element_of);

  std::vector<tarsia_value> m_values;
  std::vector<const char*> m_names;
  std::deque<std::string> m_texts;                ///< string values point into these
  std::deque<std::vector<tarsia_value>> m_lists;  ///< what list values point to
};

/// Throws if there is a default that cannot be parsed or is out of range.
void check_default(const tarsia_op& op, const tarsia_attribute& attribute);

}  // namespace tarsia::registry
