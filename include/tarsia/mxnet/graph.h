// The graphs of MXNet's extension API from library version 10 on, for ops that read their subgraph, and for
// passes and partitioners, which compile but do not run here.
#pragma once

#include <tarsia/detail/macros_push.h>

#include <tarsia/mxnet/json.h>
#include <tarsia/mxnet/resource.h>

namespace mxnet {
namespace ext {

class Node;
class Graph;

/// An output or input of a node.
struct NodeEntry {
  Node* node;
  int entry;  ///< the number of the node's output or input
};

/// A node of a subgraph: an op, or an argument, whose op is "null".
class Node {
 public:
  /// Makes an empty one.
  Node() : tensor(nullptr), m_resource(nullptr) {}
  TARSIA_MXNET_SUPPORT void _setPassResource(PassResource* resource_) { m_resource = resource_; }
  TARSIA_MXNET_SUPPORT void alloc_arg(const std::vector<int64_t>& shape_, const MXContext& context_,
                                      MXDType dtype_) {
    tensor = require_resource().alloc_arg(name, shape_, context_, dtype_);
  }
  TARSIA_MXNET_SUPPORT void alloc_aux(const std::vector<int64_t>& shape_, const MXContext& context_,
                                      MXDType dtype_) {
    tensor = require_resource().alloc_aux(name, shape_, context_, dtype_);
  }

  std::string op;                                      ///< the op's name
  std::string name;                                    ///< its own
  MXTensor* tensor;                                    ///< an argument's value; null: not known
  std::vector<NodeEntry> inputs;                       ///< where its inputs come from
  std::vector<NodeEntry> outputs;                      ///< where its outputs go
  std::vector<Graph*> subgraphs;                       ///< those that it runs
  std::unordered_map<std::string, std::string> attrs;  ///< as texts

 private:
  TARSIA_MXNET_SUPPORT PassResource& require_resource() const {
    if (!m_resource) throw std::runtime_error("a node may allocate in a graph pass only");
    return *m_resource;
  }
  PassResource* m_resource;
};

/// Owns its nodes.
class Graph {
 public:
  /// Makes an empty one.
  Graph() : m_resource(nullptr) {}
  TARSIA_MXNET_SUPPORT ~Graph() {
    for (Node* node_ : m_nodes) {
      for (Graph* graph_ : node_->subgraphs) delete graph_;
      delete node_;
    }
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  /// Returns null if the text is not a graph.
  TARSIA_MXNET_SUPPORT static Graph* fromString(const std::string& json_) {
    return fromJson(JsonVal::parse(json_));
  }
  /// Reads a graph of a JSON value. Returns null if it is none.
  TARSIA_MXNET_SUPPORT static Graph* fromJson(JsonVal json_) {
    if (json_.type != MAP) return nullptr;
    Graph* graph_ = new Graph();
    const JsonVal& nodes_ = json_.map[JsonVal("nodes")];
    for (const JsonVal& item_ : nodes_.list) {
      std::map<JsonVal, JsonVal> fields_ = item_.map;
      Node* node_ = graph_->addNode(fields_[JsonVal("name")].str, fields_[JsonVal("op")].str);
      for (const std::pair<const JsonVal, JsonVal>& a_ : fields_[JsonVal("attrs")].map)
        node_->attrs[a_.first.str] = a_.second.str;
      for (const JsonVal& input_ : fields_[JsonVal("inputs")].list) {
        const NodeEntry from_ = graph_->entry_of(input_);
        node_->inputs.push_back(from_);
        if (from_.node) from_.node->outputs.push_back(to(node_, static_cast<int>(node_->inputs.size()) - 1));
      }
      for (const JsonVal& part_ : fields_[JsonVal("subgraphs")].list)
        if (Graph* inner_ = fromJson(part_)) node_->subgraphs.push_back(inner_);
    }
    for (const JsonVal& i_ : json_.map[JsonVal("arg_nodes")].list)
      if (Node* node_ = graph_->node_at(i_.num)) graph_->inputs.push_back(node_);
    for (const JsonVal& head_ : json_.map[JsonVal("heads")].list)
      graph_->outputs.push_back(graph_->entry_of(head_));
    for (const std::pair<const JsonVal, JsonVal>& item_ : json_.map)
      if (item_.first.str != "nodes" && item_.first.str != "heads" && item_.first.str != "arg_nodes")
        graph_->attrs[item_.first.str] = item_.second;
    return graph_;
  }

  /// The graph as a JSON value.
  TARSIA_MXNET_SUPPORT JsonVal toJson() const {
    JsonVal json_(MAP);
    for (const std::pair<const std::string, JsonVal>& a_ : attrs) json_.map[JsonVal(a_.first)] = a_.second;
    std::map<const Node*, int> numbers_;
    const std::vector<Node*> sorted_ = topological_sort();
    JsonVal nodes_(LIST), arguments_(LIST), heads_(LIST);
    for (const Node* node_ : sorted_) {
      const int number_ = static_cast<int>(numbers_.size());
      numbers_[node_] = number_;
      JsonVal item_(MAP), attrs_(MAP), inputs_(LIST), subgraphs_(LIST);
      for (const std::pair<const std::string, std::string>& a_ : node_->attrs)
        attrs_.map[JsonVal(a_.first)] = JsonVal(a_.second);
      for (const NodeEntry& e_ : node_->inputs)
        inputs_.list.push_back(reference(numbers_[e_.node], e_.entry));
      for (const Graph* inner_ : node_->subgraphs) subgraphs_.list.push_back(inner_->toJson());
      item_.map[JsonVal("op")] = JsonVal(node_->op);
      item_.map[JsonVal("name")] = JsonVal(node_->name);
      item_.map[JsonVal("attrs")] = attrs_;
      item_.map[JsonVal("inputs")] = inputs_;
      if (!subgraphs_.list.empty()) item_.map[JsonVal("subgraphs")] = subgraphs_;
      nodes_.list.push_back(item_);
      if (node_->op == "null") arguments_.list.push_back(JsonVal(number_));
    }
    for (const NodeEntry& e_ : outputs) heads_.list.push_back(reference(numbers_[e_.node], e_.entry));
    json_.map[JsonVal("nodes")] = nodes_;
    json_.map[JsonVal("arg_nodes")] = arguments_;
    json_.map[JsonVal("heads")] = heads_;
    return json_;
  }
  /// The graph as a JSON text.
  std::string toString() const { return toJson().dump(); }

  /// Visits every node after the nodes of its inputs.
  TARSIA_MXNET_SUPPORT void DFS(std::function<void(Node*)> visit_) const {
    std::unordered_set<Node*> left_(m_nodes.begin(), m_nodes.end());
    for (const NodeEntry& e_ : outputs) _dfs_util(e_.node, &left_, visit_);
    for (Node* node_ : m_nodes) _dfs_util(node_, &left_, visit_);
  }
  TARSIA_MXNET_SUPPORT void _dfs_util(Node* node_, std::unordered_set<Node*>* left_,
                                      std::function<void(Node*)> visit_) const {
    if (!left_->erase(node_)) return;
    for (const NodeEntry& e_ : node_->inputs) _dfs_util(e_.node, left_, visit_);
    visit_(node_);
  }
  /// The nodes, each after those of its inputs.
  TARSIA_MXNET_SUPPORT std::vector<Node*> topological_sort() const {
    std::vector<Node*> sorted_;
    DFS([&sorted_](Node* node_) { sorted_.push_back(node_); });
    return sorted_;
  }
  /// Prints the nodes to standard output.
  TARSIA_MXNET_SUPPORT void print(int indent_ = 0) const {
    const std::string space_(static_cast<size_t>(indent_), ' ');
    for (const Node* node_ : topological_sort()) {
      std::cout << space_ << node_->name << ": " << node_->op << "\n";
      for (const Graph* inner_ : node_->subgraphs) inner_->print(indent_ + 2);
    }
  }

  /// Adds a node; the graph owns it.
  TARSIA_MXNET_SUPPORT Node* addNode(const std::string& name_, const std::string& op_) {
    Node* node_ = new Node();
    node_->name = name_;
    node_->op = op_;
    node_->_setPassResource(m_resource);
    m_nodes.push_back(node_);
    return node_;
  }
  /// Node i; throws std::out_of_range.
  Node* getNode(size_t i_) { return m_nodes.at(i_); }
  const Node* getNode(size_t i_) const { return m_nodes.at(i_); }
  /// An attribute; throws std::out_of_range.
  const JsonVal& getAttr(const std::string& key_) const { return attrs.at(key_); }
  /// The number of nodes.
  size_t size() const { return m_nodes.size(); }
  TARSIA_MXNET_SUPPORT void _setPassResource(PassResource* resource_) {
    m_resource = resource_;
    for (Node* node_ : m_nodes) node_->_setPassResource(resource_);
  }
  TARSIA_MXNET_SUPPORT void _setParams(std::unordered_map<std::string, MXTensor>* args_,
                                       std::unordered_map<std::string, MXTensor>* aux_) {
    for (Node* node_ : m_nodes) {
      if (args_->count(node_->name)) node_->tensor = &(*args_)[node_->name];
      if (aux_->count(node_->name)) node_->tensor = &(*aux_)[node_->name];
    }
  }

  std::vector<Node*> inputs;             ///< the arguments
  std::vector<NodeEntry> outputs;        ///< what the graph gives
  std::map<std::string, JsonVal> attrs;  ///< what else its text holds

 private:
  static NodeEntry to(Node* node_, int entry_) {
    NodeEntry e_;
    e_.node = node_;
    e_.entry = entry_;
    return e_;
  }
  TARSIA_MXNET_SUPPORT static JsonVal reference(int node_, int entry_) {
    JsonVal list_(LIST);
    list_.list = {JsonVal(node_), JsonVal(entry_), JsonVal(0)};
    return list_;
  }
  Node* node_at(int i_) const {
    return i_ >= 0 && static_cast<size_t>(i_) < m_nodes.size() ? m_nodes[static_cast<size_t>(i_)] : nullptr;
  }
  TARSIA_MXNET_SUPPORT NodeEntry entry_of(const JsonVal& pair_) const {
    return pair_.list.size() < 2 ? to(nullptr, 0) : to(node_at(pair_.list[0].num), pair_.list[1].num);
  }
  std::vector<Node*> m_nodes;
  PassResource* m_resource;
};

}  // namespace ext
}  // namespace mxnet

#include <tarsia/detail/macros_pop.h>
