// Writes and reads graphs as JSON.
#include "graph/graph_json.h"

#include <sodium.h>
#include <tarsia/detail/names.h>
#include <tarsia/detail/spelling.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/hash.h"
#include "registry/resources/call_context.h"

namespace tarsia::graph {

namespace {

using nlohmann::json;

constexpr int k_most_depth = 64;
constexpr const char* k_kinds[] = {"input", "constant", "parameter", "state",
                                   "op",    "gradient", "sum",       "fill"};

[[noreturn]] void fail(const std::string& what) {
  throw ArgumentError::value_error("graph, JSON: " + what);
}

json shape_of(const tarsia_meta& meta) {
  if (meta.ndim < 0) return nullptr;
  json shape = json::array();
  for (int i = 0; i < meta.ndim; ++i) {
    if (meta.shape[i] < 0)
      shape.push_back(nullptr);
    else
      shape.push_back(meta.shape[i]);
  }
  return shape;
}

std::string base64_of(const tarsia_tensor& tensor) {
  const StorageRef copy = copy_on(tensor, {TARSIA_CPU, 0});
  const std::uint64_t bytes = registry::bytes_of(tensor.shape, tensor.ndim, tensor.dtype);
  return base64({static_cast<const char*>(copy.tensor().data), bytes});
}

json node_json(const Graph& graph, const Node& node) {
  const auto names = [&](const std::vector<ValueId>& values) {
    json list = json::array();
    for (ValueId value : values) {
      if (value == k_none)
        list.push_back(nullptr);
      else
        list.push_back(graph.value_name(value));
    }
    return list;
  };
  json out;
  out["name"] = node.name;
  out["kind"] = k_kinds[static_cast<int>(node.kind)];
  switch (node.kind) {
    case NodeKind::input:
    case NodeKind::constant:
    case NodeKind::parameter:
    case NodeKind::state:
      out["shape"] = shape_of(node.known);
      out["dtype"] =
          node.known.dtype.code == TARSIA_ANY_DTYPE ? json() : json(detail::dtype_name(node.known.dtype));
      if (node.kind == NodeKind::input) {
        out["storage"] = detail::k_storage_names[node.known.storage];
        break;
      }
      if (registry::is_gpu(node.tensor.tensor().device))
        out["device"] = detail::device_name(node.tensor.tensor().device);
      out["data"] = base64_of(node.tensor.tensor());
      break;
    case NodeKind::op: {
      out["op"] = node.op;
      out["inputs"] = names(node.inputs);
      json attributes = json::object();
      for (const NamedAttribute& attribute : node.attributes)
        attributes[attribute.name] = attribute.value.to_json();
      out["attributes"] = attributes;
      if (node.device) out["device"] = detail::device_name(*node.device);
      break;
    }
    case NodeKind::gradient: {
      out["of"] = graph.node(node.forward).name;
      out["inputs"] = names(node.inputs);
      json wanted = json::array();
      for (ValueId output : node.outputs) wanted.push_back(output != k_none);
      out["wanted"] = wanted;
      out["add_to"] = names(node.add_to);
      break;
    }
    case NodeKind::sum:
      out["inputs"] = names(node.inputs);
      break;
    case NodeKind::fill:
      out["inputs"] = names(node.inputs);
      out["number"] = node.number;
      break;
  }
  return out;
}

/// One object of the text. Complains of fields that nobody has read.
class Object {
 public:
  Object(const json& object, std::string where) : m_object(object), m_where(std::move(where)) {
    if (!object.is_object()) fail(m_where + " is no object");
  }
  const json& get(const char* name) {
    const json* found = find(name);
    if (!found) fail(m_where + " lacks '" + name + "'");
    return *found;
  }
  const json* find(const char* name) {
    m_read.insert(name);
    const auto it = m_object.find(name);
    return it == m_object.end() ? nullptr : &*it;
  }
  std::string text(const char* name) {
    const json& value = get(name);
    if (!value.is_string()) fail(m_where + ": '" + name + "' is no string");
    return value.get<std::string>();
  }
  const json& list(const char* name) {
    const json& value = get(name);
    if (!value.is_array()) fail(m_where + ": '" + name + "' is no array");
    return value;
  }
  double number(const char* name) {
    const json& value = get(name);
    if (!value.is_number()) fail(m_where + ": '" + name + "' is no number");
    return value.get<double>();
  }
  void end() const {
    for (const auto& [name, value] : m_object.items())
      if (!m_read.contains(name)) fail(m_where + " has an unknown field '" + name + "'");
  }
  const std::string& where() const { return m_where; }

 private:
  const json& m_object;
  std::string m_where;
  std::set<std::string, std::less<>> m_read;
};

class Reader {
 public:
  Reader(const json& text, std::optional<tarsia_device> device) : m_text(text), m_device(device) {}

  Graph read() {
    Object top(m_text, "the text");
    if (top.text("format") != "tarsia-graph")
      fail("the text is no graph: its 'format' is not \"tarsia-graph\"");
    const json& version = top.get("version");
    if (!version.is_number_integer() || version != k_json_version)
      fail("version " + version.dump() + " is not known; this Tarsia reads version " +
           std::to_string(k_json_version));
    const json& nodes = top.list("nodes");
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      Object object(nodes[i], "node " + std::to_string(i));
      const std::string name = object.text("name");
      if (!detail::is_identifier(name))
        fail("node '" + name + "': its name is not letters, digits and underscores");
      if (!m_nodes.emplace(name, &nodes[i]).second) fail("there are two nodes '" + name + "'");
    }
    // In the order of the text, each behind those that it needs.
    for (const json& node : nodes) add(node.at("name").get<std::string>());
    const json& outputs = top.list("outputs");
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      Object object(outputs[i], "output " + std::to_string(i));
      const std::string name = object.text("name");
      m_graph.add_output(value(object.text("value"), object.where()), name);
      object.end();
    }
    top.end();
    return std::move(m_graph);
  }

 private:
  /// Adds a node and, before it, the nodes that it needs. Without recursion: graphs are deep.
  void add(const std::string& wanted) {
    std::vector<std::string> open{wanted};
    while (!open.empty()) {
      const std::string name = open.back();
      if (m_graph.find(name) != k_none) {
        open.pop_back();
        continue;
      }
      const json& node = *m_nodes.at(name);
      std::vector<std::string> missing;
      for (const std::string& needed : needs(node)) {
        if (!m_nodes.contains(needed))
          fail("node '" + name + "' refers to '" + needed + "', which is no node");
        if (m_graph.find(needed) == k_none) missing.push_back(needed);
      }
      if (missing.empty()) {
        make(name, node);
        m_waiting.erase(name);
        open.pop_back();
        continue;
      }
      if (!m_waiting.insert(name).second)
        fail("node '" + name + "' depends on itself: a graph has no cycles");
      open.insert(open.end(), missing.begin(), missing.end());
    }
  }

  static std::vector<std::string> needs(const json& node) {
    std::vector<std::string> names;
    for (const char* field : {"inputs", "add_to"})
      if (const auto it = node.find(field); it != node.end() && it->is_array())
        for (const json& name : *it)
          if (name.is_string()) names.push_back(node_name(name.get<std::string>()));
    if (const auto it = node.find("of"); it != node.end() && it->is_string())
      names.push_back(it->get<std::string>());
    return names;
  }

  static std::string node_name(const std::string& value) { return value.substr(0, value.find(':')); }

  ValueId value(const std::string& name, const std::string& where) const {
    const NodeId id = m_graph.find(node_name(name));
    if (id == k_none) fail(where + " refers to '" + name + "', which is no value");
    const std::size_t colon = name.find(':');
    std::size_t index = 0;
    if (colon != std::string::npos) {
      const std::string digits = name.substr(colon + 1);
      if (digits.empty() || digits.size() > 9 ||
          !std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; }))
        fail(where + " refers to '" + name + "': write NODE:NUMBER");
      index = std::stoul(digits);
    }
    const Node& node = m_graph.node(id);
    if (index >= node.outputs.size() || node.outputs[index] == k_none)
      fail(where + " refers to '" + name + "', and node '" + node.name + "' has no such output");
    return node.outputs[index];
  }

  std::vector<ValueId> values(Object& object, const char* field) const {
    std::vector<ValueId> list;
    for (const json& name : object.list(field)) {
      if (!name.is_null() && !name.is_string())
        fail(object.where() + ": '" + field + "' holds names and nulls");
      list.push_back(name.is_null() ? k_none : value(name.get<std::string>(), object.where()));
    }
    return list;
  }

  tarsia_meta meta(Object& object) const {
    tarsia_meta meta = registry::unknown_meta();
    if (const json& shape = object.get("shape"); !shape.is_null()) {
      if (!shape.is_array() || shape.size() > TARSIA_MAX_NDIM)
        fail(object.where() + ": 'shape' is no array of up to 32 extents");
      meta.ndim = static_cast<std::int32_t>(shape.size());
      for (std::size_t i = 0; i < shape.size(); ++i) {
        if (!shape[i].is_null() && !(shape[i].is_number_integer() && shape[i].get<std::int64_t>() >= 0))
          fail(object.where() + ": an extent is a number from 0, or null, not " + shape[i].dump());
        meta.shape[i] = shape[i].is_null() ? -1 : shape[i].get<std::int64_t>();
      }
    }
    if (const json& dtype = object.get("dtype"); !dtype.is_null()) {
      const auto* name = dtype.get_ptr<const std::string*>();
      meta.dtype = name ? detail::dtype_named(name->data(), name->size()) : tarsia_dtype{};
      if (!meta.dtype.lanes) fail(object.where() + ": there is no dtype " + dtype.dump());
    }
    return meta;
  }

  StorageRef tensor(Object& object, const tarsia_meta& meta) const {
    if (!is_whole(meta)) fail(object.where() + ": a tensor has a shape and a dtype");
    const std::uint64_t bytes = registry::bytes_of(meta.shape, meta.ndim, meta.dtype);
    const std::string data = object.text("data");
    const auto refuse = [&] {
      fail(object.where() + ": 'data' is not the base64 of " + std::to_string(bytes) + " bytes");
    };
    if (data.size() / 4 * 3 < bytes) refuse();
    StorageRef tensor =
        StorageRef::adopt(registry::make_tensor(meta.shape, meta.ndim, meta.dtype, {TARSIA_CPU, 0}));
    std::size_t written = 0;
    if (sodium_base642bin(static_cast<unsigned char*>(tensor.tensor().data), bytes, data.data(), data.size(),
                          nullptr, &written, nullptr, sodium_base64_VARIANT_ORIGINAL) != 0 ||
        written != bytes)
      refuse();
    std::optional<tarsia_device> device;
    if (const json* given = object.find("device")) device = device_of(*given, object);
    if (m_device) device = m_device;
    return device && registry::is_gpu(*device) ? copy_on(tensor.tensor(), *device) : tensor;
  }

  static bool is_whole(const tarsia_meta& meta) {
    return meta.ndim >= 0 && meta.dtype.code != TARSIA_ANY_DTYPE &&
           std::all_of(meta.shape, meta.shape + meta.ndim, [](std::int64_t n) { return n >= 0; });
  }

  void make(const std::string& name, const json& node) {
    try {
      make_node(name, node);
    } catch (const Error& e) {
      const std::string what = e.what();
      if (what.find("'" + name + "'") != std::string::npos) throw;
      rethrow({e.code(), "graph, JSON: node '" + name + "': " + what, {e.stage(), e.log()}, {}});
    }
  }

  void make_node(const std::string& name, const json& node) {
    Object object(node, "node '" + name + "'");
    object.text("name");
    const std::string kind_text = object.text("kind");
    const auto known = std::ranges::find_if(k_kinds, [&](const char* kind) { return kind_text == kind; });
    if (known == std::end(k_kinds)) fail(object.where() + " is of an unknown kind '" + kind_text + "'");
    switch (const auto kind = static_cast<NodeKind>(known - std::begin(k_kinds))) {
      case NodeKind::input: {
        tarsia_meta known_meta = meta(object);
        const std::string storage = object.text("storage");
        known_meta.storage = detail::storage_named(storage);
        if (known_meta.storage == TARSIA_ANY_STORAGE)
          fail(object.where() + ": there is no storage '" + storage + "'");
        m_graph.add_input(name, known_meta);
        break;
      }
      case NodeKind::constant:
      case NodeKind::parameter:
      case NodeKind::state:
        m_graph.add_tensor(kind, name, tensor(object, meta(object)));
        break;
      case NodeKind::op: {
        OpNode op;
        op.name = name;
        op.op = object.text("op");
        op.inputs = values(object, "inputs");
        const json& attributes = object.get("attributes");
        if (!attributes.is_object()) fail(object.where() + ": 'attributes' is no object");
        for (const auto& [key, value] : attributes.items())
          op.attributes.push_back({key, AttributeValue(value)});
        if (const json* device = object.find("device")) op.device = device_of(*device, object);
        m_graph.add_op(std::move(op));
        break;
      }
      case NodeKind::gradient: {
        const NodeId of = m_graph.find(object.text("of"));
        std::vector<bool> wanted;
        for (const json& one : object.list("wanted")) {
          if (!one.is_boolean()) fail(object.where() + ": 'wanted' holds true and false");
          wanted.push_back(one.get<bool>());
        }
        m_graph.add_gradient(of, values(object, "inputs"), wanted, values(object, "add_to"), name);
        break;
      }
      case NodeKind::sum:
      case NodeKind::fill: {
        const std::vector<ValueId> inputs = values(object, "inputs");
        const std::size_t n = kind == NodeKind::sum ? 2 : 1;
        if (inputs.size() != n || std::ranges::find(inputs, k_none) != inputs.end())
          fail(object.where() + " takes " + std::to_string(n) + " inputs");
        if (kind == NodeKind::sum)
          m_graph.add_sum(inputs[0], inputs[1], name);
        else
          m_graph.add_fill(inputs[0], object.number("number"), name);
        break;
      }
    }
    object.end();
  }

  static tarsia_device device_of(const json& text, const Object& object) {
    if (const auto* name = text.get_ptr<const std::string*>())
      if (const std::optional<tarsia_device> device = detail::device_named(*name)) return *device;
    fail(object.where() + ": a device is \"cpu\" or \"gpu:N\", not " + text.dump());
  }

  const json& m_text;
  std::optional<tarsia_device> m_device;  ///< of tensors; none: what the text says
  std::map<std::string, const json*, std::less<>> m_nodes;
  std::set<std::string> m_waiting;
  Graph m_graph;
};

}  // namespace

std::string to_json(const Graph& graph) {
  json out;
  out["format"] = "tarsia-graph";
  out["version"] = k_json_version;
  out["nodes"] = json::array();
  for (const Node& node : graph.nodes()) out["nodes"].push_back(node_json(graph, node));
  out["outputs"] = json::array();
  for (const Output& output : graph.outputs())
    out["outputs"].push_back({{"name", output.name}, {"value", graph.value_name(output.value)}});
  return out.dump(2, ' ', false, json::error_handler_t::replace);
}

Graph from_json(std::string_view text, std::optional<tarsia_device> device) {
  // What the parser would take in silence: a field that stands twice, and depths that would end in a stack
  // overflow.
  std::vector<std::set<std::string>> fields;
  const auto look = [&](int depth, json::parse_event_t event, json& parsed) {
    if (depth > k_most_depth) fail("it is nested deeper than " + std::to_string(k_most_depth) + " levels");
    if (event == json::parse_event_t::object_start) fields.emplace_back();
    if (event == json::parse_event_t::object_end) fields.pop_back();
    if (event == json::parse_event_t::key && !fields.back().insert(parsed.get<std::string>()).second)
      fail("the field '" + parsed.get<std::string>() + "' stands twice in one object");
    return true;
  };
  json parsed;
  try {
    parsed = json::parse(text, look);
  } catch (const json::exception& e) {
    fail(std::string("the text is no JSON: ") + e.what());
  }
  return Reader(parsed, device).read();
}

}  // namespace tarsia::graph
