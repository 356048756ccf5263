// Class operators of MXNet: an Operator computes, an OperatorProperty describes it and creates it. A
// registered property becomes an op of Tarsia.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <dmlc/base.h>
#include <dmlc/logging.h>
#include <dmlc/registry.h>
#include <mxnet/base.h>
#include <mxnet/resource.h>
#include <nnvm/op.h>
#include <tarsia/class_op/glue/support.h>

namespace mxnet {

/// What an op does to an output.
enum OpReqType { kNullOp, kWriteTo, kWriteInplace, kAddTo };

/// How the engine of MXNet calls an op. Tarsia calls all ops in one way.
enum ExecType { kSync, kAsync, kCrossDeviceCopy };

namespace engine {
/// Calls of Tarsia's ops end when they return: there is nothing to complete.
struct CallbackOnComplete {
  void operator()() const {}
};
}  // namespace engine

/// What a call of an operator goes by.
struct OpContext {
  int is_train = 0;
  RunContext run_ctx;
  engine::CallbackOnComplete async_on_complete;
  std::vector<Resource> requested;
  template <class xpu>
  mshadow::Stream<xpu>* get_stream() const {
    return run_ctx.get_stream<xpu>();
  }
};

/// The base of operators: what computes.
class Operator {
 public:
  typedef ::mxnet::ExecType ExecType;
  static constexpr ExecType kSync = ::mxnet::kSync, kAsync = ::mxnet::kAsync,
                            kCrossDeviceCopy = ::mxnet::kCrossDeviceCopy;
  virtual ~Operator() {}
  virtual void Forward(const OpContext& ctx, const std::vector<TBlob>& in_data,
                       const std::vector<OpReqType>& req, const std::vector<TBlob>& out_data,
                       const std::vector<TBlob>& aux_states) = 0;
  virtual void Backward(const OpContext&, const std::vector<TBlob>& /*out_grad*/,
                        const std::vector<TBlob>& /*in_data*/, const std::vector<TBlob>& /*out_data*/,
                        const std::vector<OpReqType>& /*req*/, const std::vector<TBlob>& /*in_grad*/,
                        const std::vector<TBlob>& /*aux_states*/) {
    LOG(FATAL) << "Backward is not implemented: the op has no gradient";
  }
  virtual ExecType exec_type() const { return kSync; }
};

/// The base of properties: what describes an operator and creates it.
class OperatorProperty {
 public:
  virtual ~OperatorProperty() {}
  /// Sets the parameters. Called before anything else.
  virtual void Init(const std::vector<std::pair<std::string, std::string>>& kwargs) = 0;
  virtual std::map<std::string, std::string> GetParams() const = 0;
  virtual std::vector<std::string> ListArguments() const { return {"data"}; }
  virtual std::vector<std::string> ListOutputs() const { return {"output"}; }
  virtual std::vector<std::string> ListAuxiliaryStates() const { return {}; }
  virtual int NumOutputs() const { return static_cast<int>(ListOutputs().size()); }
  /// The outputs that callers get are the first ones.
  virtual int NumVisibleOutputs() const { return NumOutputs(); }
  /// Fills in unknown shapes. Returns false if too little is known.
  virtual bool InferShape(std::vector<TShape>* in_shape, std::vector<TShape>* out_shape,
                          std::vector<TShape>* aux_shape) const = 0;
  /// Fills in unknown element types, -1. By default all are 32-bit floats.
  TARSIA_DETAIL_GLUE virtual bool InferType(std::vector<int>* in_type, std::vector<int>* out_type,
                                            std::vector<int>* aux_type) const {
    const int flag = mshadow::default_type_flag;
    CHECK_LE(in_type->size(), ListArguments().size());
    for (int type : *in_type)
      CHECK(type == flag || type == -1)
          << "Unsupported data type " << mshadow::dtype_string(type) << ": the op has no InferType and takes "
          << mshadow::dtype_string(flag);
    in_type->assign(ListArguments().size(), flag);
    out_type->assign(ListOutputs().size(), flag);
    aux_type->assign(ListAuxiliaryStates().size(), flag);
    return true;
  }
  virtual OperatorProperty* Copy() const = 0;
  virtual Operator* CreateOperator(Context ctx) const = 0;
  TARSIA_DETAIL_GLUE virtual Operator* CreateOperatorEx(Context ctx, std::vector<TShape>* in_shape,
                                                        std::vector<int>* in_type) const {
    std::vector<int> out_type(ListOutputs().size()), aux_type(ListAuxiliaryStates().size());
    std::vector<TShape> out_shape(ListOutputs().size()), aux_shape(ListAuxiliaryStates().size());
    CHECK(InferType(in_type, &out_type, &aux_type));
    CHECK(InferShape(in_shape, &out_shape, &aux_shape));
    return CreateOperator(ctx);
  }
  virtual std::string TypeString() const = 0;
  virtual ExecType exec_type() const { return kSync; }
  virtual std::vector<ResourceRequest> ForwardResource(const std::vector<TShape>&) const { return {}; }
  virtual std::vector<ResourceRequest> BackwardResource(const std::vector<TShape>&) const { return {}; }
  /// What backward needs, of the numbers that it gets.
  virtual std::vector<int> DeclareBackwardDependency(const std::vector<int>& out_grad,
                                                     const std::vector<int>& in_data,
                                                     const std::vector<int>& out_data) const {
    std::vector<int> all = out_grad;
    all.insert(all.end(), in_data.begin(), in_data.end());
    all.insert(all.end(), out_data.begin(), out_data.end());
    return all;
  }
  /// Pairs of an input and an output that may share memory.
  virtual std::vector<std::pair<int, void*>> ForwardInplaceOption(
      const std::vector<int>& /*in_data*/, const std::vector<void*>& /*out_data*/) const {
    return {};
  }
  virtual std::vector<std::pair<int, void*>> BackwardInplaceOption(
      const std::vector<int>& /*out_grad*/, const std::vector<int>& /*in_data*/,
      const std::vector<int>& /*out_data*/, const std::vector<void*>& /*in_grad*/) const {
    return {};
  }
  /// Those of the things given that DeclareBackwardDependency names.
  template <class T>
  std::vector<T> BackwardInputs(const std::vector<T>& out_grad, const std::vector<T>& in_data,
                                const std::vector<T>& out_data) const {
    std::vector<T> all = out_grad;
    all.insert(all.end(), in_data.begin(), in_data.end());
    all.insert(all.end(), out_data.begin(), out_data.end());
    std::vector<int> numbers[3];
    const size_t sizes[] = {out_grad.size(), in_data.size(), out_data.size()};
    for (int k = 0, next = 0; k < 3; ++k)
      for (size_t i = 0; i < sizes[k]; ++i) numbers[k].push_back(next++);
    std::vector<T> needed;
    for (int i : DeclareBackwardDependency(numbers[0], numbers[1], numbers[2]))
      needed.push_back(all.at(static_cast<size_t>(i)));
    return needed;
  }
  /// A new property of a registered name.
  static OperatorProperty* Create(const char* type_name);
};

typedef std::function<OperatorProperty*()> OperatorPropertyFactory;

/// A registration. Its functions return the same object, so that calls can be chained.
struct OperatorPropertyReg : public dmlc::FunctionRegEntryBase<OperatorPropertyReg, OperatorPropertyFactory> {
  OperatorPropertyReg& set_key_var_num_args(const std::string& key) {
    key_var_num_args = key;
    return *this;
  }
  OperatorPropertyReg& check_name() { return *this; }
  /// Tarsia's own: the op honours every write request, in its forward and its backward. Without this, the op
  /// is asked to write, and Tarsia serves the other requests through a copy.
  OperatorPropertyReg& honours_requests() {
    honours = true;
    return *this;
  }

  std::string key_var_num_args;
  std::string location;
  std::string alias_of;  ///< the name of the property, if this is another name for it
  bool honours = false;
  bool has_gpu = false;
};

}  // namespace mxnet

#include <tarsia/class_op/glue/registration.h>

namespace mxnet {
inline OperatorProperty* OperatorProperty::Create(const char* type_name) {
  for (OperatorPropertyReg* entry : tarsia_detail::registered())
    if (entry->name == type_name) return entry->body();
  LOG(FATAL) << "Cannot find Operator " << type_name << " in registry";
  return nullptr;
}
}  // namespace mxnet

namespace nnvm {
inline Op& Op::add_alias(const std::string& alias) {
  ::mxnet::tarsia_detail::add_alias(m_name, alias);
  return *this;
}
}  // namespace nnvm

#define MXNET_REGISTER_OP_PROPERTY(name, OperatorPropertyType)                                            \
  static DMLC_ATTRIBUTE_UNUSED ::mxnet::OperatorPropertyReg& __make_OperatorPropertyReg_##name##__ =      \
      ::mxnet::tarsia_detail::register_property(                                                          \
          #name, __FILE__ ":" STRINGIZE(__LINE__), MXNET_USE_CUDA != 0)                                   \
                     .set_body([]() -> ::mxnet::OperatorProperty* { return new OperatorPropertyType(); }) \
                     .set_return_type("NDArray-or-Symbol")                                                \
                     .check_name()
