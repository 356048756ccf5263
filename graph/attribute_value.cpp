// Copies attribute values, and turns them into JSON and back.
#include "graph/attribute_value.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace tarsia::graph {

AttributeValue::AttributeValue(const tarsia_value& value) : m_value(value) {
  switch (value.kind) {
    case TARSIA_KIND_NONE:
    case TARSIA_KIND_BOOL:
    case TARSIA_KIND_INT:
    case TARSIA_KIND_FLOAT:
      break;
    case TARSIA_KIND_STRING:
      m_text.assign(value.s, value.size);
      break;
    case TARSIA_KIND_LIST:
      for (std::uint32_t i = 0; i < value.size; ++i) m_items.emplace_back(value.v[i]);
      break;
    default:
      throw ArgumentError::type_error("an attribute is None, a bool, a number, a text or a list of these");
  }
}

AttributeValue::AttributeValue(const nlohmann::json& json) {
  switch (json.type()) {
    case nlohmann::json::value_t::null:
      m_value.kind = TARSIA_KIND_NONE;
      break;
    case nlohmann::json::value_t::boolean:
      m_value.kind = TARSIA_KIND_BOOL;
      m_value.i = json.get<bool>();
      break;
    case nlohmann::json::value_t::number_integer:
      m_value.kind = TARSIA_KIND_INT;
      m_value.i = json.get<std::int64_t>();
      m_value.size = TARSIA_SIGNED;
      break;
    case nlohmann::json::value_t::number_unsigned:
      m_value.kind = TARSIA_KIND_INT;
      m_value.u = json.get<std::uint64_t>();
      m_value.size = TARSIA_UNSIGNED;
      break;
    case nlohmann::json::value_t::number_float:
      m_value.kind = TARSIA_KIND_FLOAT;
      m_value.f = json.get<double>();
      break;
    case nlohmann::json::value_t::string:
      m_value.kind = TARSIA_KIND_STRING;
      m_text = json.get<std::string>();
      break;
    case nlohmann::json::value_t::array:
      m_value.kind = TARSIA_KIND_LIST;
      for (const nlohmann::json& item : json) m_items.emplace_back(item);
      break;
    default:
      throw ArgumentError::value_error(
          "an attribute is null, a bool, a number, a string or an array of these, not " + json.dump());
  }
}

nlohmann::json AttributeValue::to_json() const {
  switch (m_value.kind) {
    case TARSIA_KIND_BOOL:
      return m_value.i != 0;
    case TARSIA_KIND_INT:
      return m_value.size == TARSIA_UNSIGNED ? nlohmann::json(m_value.u) : nlohmann::json(m_value.i);
    case TARSIA_KIND_FLOAT:
      // JSON has no infinity and no NaN; ops read them as texts.
      if (!std::isfinite(m_value.f)) return std::isnan(m_value.f) ? "nan" : m_value.f > 0 ? "inf" : "-inf";
      return m_value.f;
    case TARSIA_KIND_STRING:
      return m_text;
    case TARSIA_KIND_LIST: {
      nlohmann::json items = nlohmann::json::array();
      for (const AttributeValue& item : m_items) items.push_back(item.to_json());
      return items;
    }
    default:
      return nullptr;
  }
}

tarsia_value AttributeValue::view(Lists& lists) const {
  tarsia_value value = m_value;
  if (m_value.kind == TARSIA_KIND_STRING) {
    value.s = m_text.c_str();
    value.size = static_cast<std::uint32_t>(m_text.size());
  }
  if (m_value.kind == TARSIA_KIND_LIST) {
    std::vector<tarsia_value> items;
    for (const AttributeValue& item : m_items) items.push_back(item.view(lists));
    lists.push_back(std::move(items));
    value.v = lists.back().data();
    value.size = static_cast<std::uint32_t>(m_items.size());
  }
  return value;
}

}  // namespace tarsia::graph
