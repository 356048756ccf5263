// What sources of class operators say to nnvm: aliases are kept; attributes of graphs are for graphs of
// MXNet.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <nnvm/tuple.h>

#if defined(TARSIA_INLINE_SOURCE) && defined(__clang__)
#pragma clang optimize off
#endif
namespace nnvm {

class Op;
class Symbol;
struct Node;
typedef std::shared_ptr<Node> NodePtr;

struct NodeAttrs {
  const Op* op = nullptr;
  std::string name;
  std::vector<double> scalars;
  std::unordered_map<std::string, std::string> dict;
};
struct NodeEntry {
  NodePtr node;
  uint32_t index = 0, version = 0;
};
struct Node {
  NodeAttrs attrs;
  std::vector<NodeEntry> inputs;
  std::vector<NodePtr> control_deps;
  static NodePtr Create() { return std::make_shared<Node>(); }
};

typedef std::function<void(const NodeAttrs& attrs, NodePtr var, const int index)> FSetInputVarAttrOnCompose;
typedef std::function<std::vector<std::string>(const NodeAttrs& attrs)> FListInputNames;
typedef std::function<std::vector<std::string>(const NodeAttrs& attrs)> FListOutputNames;
typedef std::function<std::vector<uint32_t>(const NodeAttrs& attrs)> FMutateInputs;

/// Takes what is said of a class operator as a node of MXNet's graphs.
class Op {
 public:
  explicit Op(const char* name) : m_name(name) {}
  Op& describe(const std::string&) { return *this; }
  Op& add_argument(const std::string&, const std::string&, const std::string&) { return *this; }
  template <class List>
  Op& add_arguments(const List&) {
    return *this;
  }
  Op& set_num_inputs(uint32_t) { return *this; }
  Op& set_num_outputs(uint32_t) { return *this; }
  Op& set_support_level(uint32_t) { return *this; }
  template <class T>
  Op& set_attr(const std::string&, const T&, int = 10) {
    return *this;
  }
  Op& add_alias(const std::string& alias);
  const std::string& name() const { return m_name; }

 private:
  std::string m_name;
};

}  // namespace nnvm
#if defined(TARSIA_INLINE_SOURCE) && defined(__clang__)
#pragma clang optimize on
#endif

#define NNVM_STR_CONCAT_(a, b) a##b
#define NNVM_STR_CONCAT(a, b) NNVM_STR_CONCAT_(a, b)
/// Speaks of an op that is registered by MXNET_REGISTER_OP_PROPERTY.
#define NNVM_REGISTER_OP(OpName)                                                                      \
  static ::nnvm::Op NNVM_STR_CONCAT(__make_NnvmOp_##OpName##_, __COUNTER__) __attribute__((unused)) = \
      ::nnvm::Op(#OpName)
