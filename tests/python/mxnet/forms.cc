// Ways to write and to register an op that the interface allows and that the other files here do not take.
#include "mxnet/lib_api.h"

#include <algorithm>
#include <cmath>

using namespace mxnet::ext;

namespace forms {

typedef std::unordered_map<std::string, std::string> Attributes;
typedef std::vector<MXTensor> Tensors;
typedef std::vector<std::vector<unsigned int>> Shapes;

struct Same {
  static MXReturnValue parse(const Attributes&, int* in, int* out) {
    *in = *out = 1;
    return MX_SUCCESS;
  }
  static MXReturnValue type(const Attributes&, std::vector<int>* in, std::vector<int>* out) {
    out->at(0) = in->at(0);
    return MX_SUCCESS;
  }
  static MXReturnValue shape(const Attributes&, Shapes* in, Shapes* out) {
    out->at(0) = in->at(0);
    return MX_SUCCESS;
  }
};

// Static members; every dtype; a lambda as the gradient.
template <typename T>
void scale(const MXTensor& x, MXTensor& y, double factor) {
  for (int64_t i = 0; i < x.size(); ++i) y.data<T>()[i] = static_cast<T>(factor * x.data<T>()[i]);
}
MXReturnValue Scale(const Attributes& attrs, Tensors* in, Tensors* out, const OpResource&) {
  const Attributes::const_iterator found = attrs.find("scale");
  const double factor = found == attrs.end() ? 1.0 : std::stod(found->second);
  MXTensor &x = (*in)[0], &y = (*out)[0];
  switch (x.dtype) {
    case kFloat32: scale<float>(x, y, factor); break;
    case kFloat64: scale<double>(x, y, factor); break;
    case kUint8: scale<uint8_t>(x, y, factor); break;
    case kInt32: scale<int32_t>(x, y, factor); break;
    case kInt8: scale<int8_t>(x, y, factor); break;
    case kInt64: scale<int64_t>(x, y, factor); break;
    case kFloat16:
    case kUNSET:
      MX_ERROR_MSG << "dtype " << x.dtype << " is not supported";
      return MX_FAIL;
  }
  return MX_SUCCESS;
}
REGISTER_OP(forms_scale)
    .setParseAttrs(Same::parse)
    .setInferType(&Same::type)
    .setInferShape(Same::shape)
    .setForward(Scale, "cpu")
    .setBackward([](const Attributes& attrs, Tensors* in, Tensors* out,
                    const OpResource& res) { return Scale(attrs, in, out, res); },
                 "cpu");

// Instances of a template; no exceptions.
template <int k>
MXReturnValue Add(const Attributes&, Tensors* in, Tensors* out, const OpResource&) noexcept {
  for (int64_t i = 0; i < in->at(0).size(); ++i) out->at(0).data<float>()[i] = in->at(0).data<float>()[i] + k;
  return MX_SUCCESS;
}
#define REGISTER_SAME(name, function) \
  REGISTER_OP(name).setParseAttrs(Same::parse).setInferType(Same::type).setInferShape(Same::shape).setForward(function, "cpu")
REGISTER_SAME(forms_add3, Add<3>);
REGISTER_SAME(forms_add4, Add<4>);

// One of several functions of a name.
MXReturnValue pick(int) { return MX_FAIL; }
MXReturnValue pick(const Attributes&, Tensors* in, Tensors* out, const OpResource&) {
  std::copy_n(in->at(0).data<float>(), in->at(0).size(), out->at(0).data<float>());
  return MX_SUCCESS;
}
REGISTER_SAME(forms_pick, pick);

// Numbers of inputs by attribute, two outputs, lambdas throughout.
REGISTER_OP(forms_min_max)
    .setParseAttrs([](const Attributes& attrs, int* in, int* out) {
      *in = attrs.count("n") ? std::stoi(attrs.at("n")) : 2;
      *out = 2;
      return MX_SUCCESS;
    })
    .setInferType([](const Attributes&, std::vector<int>* in, std::vector<int>* out) {
      for (int& type : *in)
        if (type == -1) type = kFloat32;
      out->at(0) = (*out)[1] = in->at(0);
      return MX_SUCCESS;
    })
    .setInferShape([](const Attributes&, Shapes* in, Shapes* out) {
      for (std::vector<unsigned>& shape : *in)
        if (shape.empty()) shape = in->at(0);
      out->at(0) = out->at(1) = in->at(0);
      return MX_SUCCESS;
    })
    .setForward(
        [](const Attributes&, Tensors* in, Tensors* out, const OpResource& res) {
          float* least = static_cast<float*>(res.alloc_cpu(in->at(0).size() * sizeof(float)));
          for (int64_t i = 0; i < in->at(0).size(); ++i) {
            float most = least[i] = in->at(0).data<float>()[i];
            for (const MXTensor& x : *in) {
              least[i] = std::min(least[i], x.data<float>()[i]);
              most = std::max(most, x.data<float>()[i]);
            }
            out->at(0).data<float>()[i] = least[i];
            out->at(1).data<float>()[i] = most;
          }
          return MX_SUCCESS;
        },
        "cpu");

// States made by new, one of which wants no warning of it.
struct Plain : public CustomStatefulOp {
  explicit Plain(bool quiet) { ignore_warn = quiet; }
  MXReturnValue Forward(Tensors* in, Tensors* out, const OpResource& res) override {
    return Add<0>(Attributes(), in, out, res);
  }
};
template <bool quiet>
MXReturnValue createPlain(const Attributes&, const MXContext&, const Shapes&, const std::vector<int>,
                          CustomStatefulOp** op) {
  *op = new Plain(quiet);
  return MX_SUCCESS;
}
REGISTER_OP(forms_plain)
    .setParseAttrs(Same::parse)
    .setInferType(Same::type)
    .setInferShape(Same::shape)
    .setCreateOpState(createPlain<false>, "cpu");
REGISTER_OP(forms_quiet)
    .setParseAttrs(Same::parse)
    .setInferType(Same::type)
    .setInferShape(Same::shape)
    .setCreateOpState(createPlain<true>, "cpu");

// Exceptions of the author's.
MXReturnValue missing(const Attributes& attrs, Tensors*, Tensors*, const OpResource&) {
  return attrs.at("missing").empty() ? MX_FAIL : MX_SUCCESS;
}
REGISTER_SAME(forms_missing, missing);

// The values of the interface: 0, or the number of the first that is wrong.
int values() {
  float data[6] = {0};
  int64_t extents[2] = {4, 5}, indices[3] = {0, 1, 2}, indptr[5] = {0, 1, 2, 3, 3};
  MXTensor a(data, {2, 3}, kFloat32), b;
  b.setTensor(data, kFloat32, a.shape.data(), 2, 0, MXContext::CPU(0), kDefaultStorage);
  if (!a.isSame(b) || b.size() != 6 || b.stype != kDefaultStorage) return 1;
  MXContext cpu = {"cpu", 0}, gpu = MXContext::GPU(1), other("gpu", 2), none;
  if (cpu.dev_type != "cpu" || gpu.dev_id != 1 || other.dev_type != "gpu" || none.dev_id == 0) return 2;
  MXTensor c(data, {6}, kFloat64, 7, gpu, kCSRStorage), d = c;
  if (d.dltensor.ctx.device_type != kDLGPU || d.dltensor.ctx.device_id != 1 || d.dltensor.dtype.bits != 64 ||
      d.dltensor.dtype.code != kDLFloat || d.verID != 7 || a.isSame(d))
    return 3;
  d.shape = {3, 2};
  d.setDLTensor();
  if (d.dltensor.ndim != 2 || d.dltensor.shape != d.shape.data() || d.dltensor.strides) return 4;
  std::vector<MXTensor> list;
  list.push_back(a);
  list.emplace_back(data, std::vector<int64_t>{1}, kInt8);
  list.resize(3);
  list.insert(list.begin(), d);
  std::swap(list[0], list[1]);
  for (const MXTensor& x : list)
    if (x.dltensor.shape != x.shape.data() && x.dltensor.ndim > 0) return 5;
  MXSparse rows, csr;
  rows.set(data, extents, 2, indices, 3);
  csr.set(data, extents, 2, indices, 3, indptr, 5);
  if (rows.data_len != 15 || csr.data_len != 3 || csr.indptr_len != 5 || rows.indptr) return 6;
  mx_cpu_rand_t random(5489);
  if (random() != 3499211612u || MX_NUM_CPU_RANDOM_STATES != 1024 || MX_NUM_GPU_RANDOM_STATES != 32768) return 7;
  JsonVal text(std::string("text")), number(3), map(MAP);
  map.map[text] = number;
  if (map.dump() != "{\"text\": 3}" || JsonVal::parse("[1, {\"a\": []}]").list.size() != 2 || !(number < map)) return 8;
  if (std::string(MX_STR_DTYPE) + MX_STR_SHAPE + MX_STR_EXTRA_INPUTS != "__ext_dtype____ext_shape____ext_extra_inputs__")
    return 9;
  return MX_LIBRARY_VERSION == 11 ? 0 : 10;
}
MXReturnValue checkValues(const Attributes&, Tensors*, Tensors* out, const OpResource&) {
  out->at(0).data<float>()[0] = static_cast<float>(values());
  return MX_SUCCESS;
}
REGISTER_SAME(forms_values, checkValues);

// A subgraph as a graph.
class Expression : public CustomStatefulOp {
 public:
  Expression(const std::string& json, const Attributes& attrs) : m_graph(Graph::fromString(json)), m_attrs(attrs) {}
  ~Expression() { delete m_graph; }
  MXReturnValue Forward(Tensors* in, Tensors* out, const OpResource&) override {
    if (!m_graph || m_graph->outputs.size() != out->size() || m_graph->inputs.size() != in->size()) {
      MX_ERROR_MSG << "the graph has other inputs or outputs";
      return MX_FAIL;
    }
    std::unordered_map<const Node*, std::vector<float>> values;
    for (size_t i = 0; i < in->size(); ++i) m_graph->inputs[i]->tensor = &in->at(i);
    for (Node* node : m_graph->topological_sort()) {
      std::vector<float>& made = values[node];
      if (node->op == "null") {
        made.assign(node->tensor->data<float>(), node->tensor->data<float>() + node->tensor->size());
        continue;
      }
      made = values[node->inputs.at(0).node];
      for (float& x : made) {
        if (node->op == "exp")
          x = std::exp(x);
        else if (node->op == "scale")
          x *= std::stof(node->attrs.at("by"));
        else {
          MX_ERROR_MSG << "no op " << node->op;
          return MX_FAIL;
        }
      }
    }
    for (size_t i = 0; i < out->size(); ++i) {
      const std::vector<float>& made = values[m_graph->outputs[i].node];
      std::copy(made.begin(), made.end(), out->at(i).data<float>());
    }
    return MX_SUCCESS;
  }

 private:
  Graph* m_graph;
  const Attributes m_attrs;
};
MXReturnValue createExpression(const Attributes& attrs, const MXContext&, const Shapes&, const std::vector<int>,
                               CustomStatefulOp** op) {
  *op = CustomStatefulOp::create<Expression>(attrs.at(MX_STR_SUBGRAPH_SYM_JSON), attrs);
  return MX_SUCCESS;
}
REGISTER_OP(forms_expression).setIsSubgraphOp().setCreateOpState(createExpression, "cpu");

// What partitioners and passes of these versions are made of.
MXReturnValue supported(const Graph* graph, std::vector<int>* ids, const Attributes& options) {
  for (size_t i = 0; i < graph->size(); ++i)
    if (graph->getNode(i)->op == "exp" && !options.count("none")) ids->at(i) = -1;
  return MX_SUCCESS;
}
MXReturnValue review(const Graph* graph, int, bool* accept, const Attributes& options, Attributes* attrs) {
  *accept = !options.count("reject") && graph->toString() != "";
  attrs->emplace("key", "value");
  return MX_SUCCESS;
}
class Selector : public CustomOpSelector {
 public:
  explicit Selector(const Graph* graph) : m_graph(graph) {}
  bool Select(int node) override { return m_graph->getNode(node)->op == "exp"; }
  bool SelectInput(int, int input) override { return Select(input); }
  bool SelectOutput(int, int output) override { return Select(output); }
  void Filter(const std::vector<int>& candidates, std::vector<int>* keep) override { *keep = candidates; }
  void Reset() override {}

 private:
  const Graph* m_graph;
};
MXReturnValue createSelector(const Graph* graph, CustomOpSelector** selector, const Attributes&) {
  *selector = new Selector(graph);
  return MX_SUCCESS;
}
REGISTER_PARTITIONER(forms_partitioner)
    .addStrategy("first", "forms_expression")
    .setSupportedOps("first", supported)
    .setReviewSubgraph("first", review)
    .addStrategy("second", "forms_expression")
    .setCreateSelector("second", createSelector);

MXReturnValue pass(Graph* graph, const Attributes& options) {
  for (size_t i = 0; i < graph->size(); ++i) {
    Node* node = graph->getNode(i);
    Node* more = graph->addNode(node->name + "_more", "null");
    node->inputs.push_back({more, 0});
    more->outputs.push_back({node, static_cast<int>(node->inputs.size()) - 1});
    graph->inputs.push_back(more);
    node->attrs[MX_STR_EXTRA_INPUTS] = std::to_string(options.size());
    more->alloc_arg({1}, MXContext::CPU(0), kFloat32);
    more->alloc_aux({1}, MXContext::CPU(0), kFloat32);
  }
  graph->print();
  return MX_SUCCESS;
}
REGISTER_PASS(forms_pass).setBody(pass);

}  // namespace forms

MXReturnValue initialize(int) { return MX_SUCCESS; }
