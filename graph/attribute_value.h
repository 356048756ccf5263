// An attribute's value as a graph keeps it: what a caller gave, typed or as text, with memory of its own.
#pragma once

#include <tarsia/abi.h>

#include <deque>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace tarsia::graph {

/// A copy of a tarsia_value of kind none, bool, int, float, string or list.
class AttributeValue {
 public:
  /// Throws ArgumentError for values of other kinds.
  explicit AttributeValue(const tarsia_value& value);
  /// From null, a bool, a number, a string or an array of these. Throws ArgumentError for an object.
  explicit AttributeValue(const nlohmann::json& json);

  nlohmann::json to_json() const;

  /// What list values of view() point to.
  using Lists = std::deque<std::vector<tarsia_value>>;
  /// The value in the form of the C ABI. It lives as long as this object and `lists`.
  tarsia_value view(Lists& lists) const;

 private:
  tarsia_value m_value{};
  std::string m_text;
  std::vector<AttributeValue> m_items;
};

struct NamedAttribute {
  std::string name;
  AttributeValue value;
};

}  // namespace tarsia::graph
