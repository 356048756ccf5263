// The functions behind glue.h.
//
// An op's functions are called with what Tarsia knows, in the words of that API: an unknown dtype is -1, an
// unknown extent 0, an unknown shape empty. Its messages are collected for the call and become its error.
#pragma once

#include <tarsia/detail/macros_push.h>

#include <tarsia/mxnet/dtypes.h>
#include <tarsia/mxnet/op.h>

#define TARSIA_MXNET_FUNCTION TARSIA_MXNET_SUPPORT TARSIA_MXNET_HIDDEN

namespace mxnet {
namespace ext {
namespace tarsia_detail {

using ::tarsia::detail::host;

/// A pass of an op on a device.
struct Pass {
  const CustomOp* op;
  Compute function;  ///< of stateless ops
  bool backward;
};

/// An op with its description. Lives as long as the library.
struct Registered {
  CustomOp op;
  tarsia_op description;
  std::vector<Pass> passes;
  std::vector<tarsia_implementation> implementations;

  Registered(const char* name_, const char* location_, bool warns_) : op(name_, location_), description() {
    op.warns = warns_;
  }
};

/// What the library has registered.
struct Library {
  std::vector<Registered*> ops;
  std::vector<const tarsia_op*> descriptions;
  std::vector<const char*> ignored;
  ~Library() {
    for (Registered* op_ : ops) delete op_;
  }
};
TARSIA_MXNET_FUNCTION Library& library() {
  static Library library_;
  return library_;
}

/// Collects the messages of a call.
class TARSIA_MXNET_HIDDEN Listening {
 public:
  Listening() : m_outer(MXerrorMsgs::current()) { MXerrorMsgs::current() = &m_messages; }
  ~Listening() { MXerrorMsgs::current() = m_outer; }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;
  /// Sets the error that `function_` failed with what was said.
  int32_t failed(const char* function_) {
    const std::string said_ = m_messages.take();
    const std::string text_ = std::string(function_) + " failed" + (said_.empty() ? "" : ": " + said_);
    return host()->set_error(TARSIA_OP_ERROR, text_.c_str());
  }

 private:
  MXerrorMsgs m_messages;
  MXerrorMsgs* m_outer;
};

TARSIA_MXNET_FUNCTION int32_t wrong(const std::string& text_) {
  return host()->set_error(TARSIA_OP_VALUE_ERROR, text_.c_str());
}

TARSIA_MXNET_FUNCTION tarsia_attributes attributes_of(const tarsia_bind_info& info_) {
  tarsia_attributes all_;
  for (uint32_t i_ = 0; i_ < info_.n_attributes; ++i_)
    all_[info_.attribute_names[i_]] = std::string(info_.attributes[i_].s, info_.attributes[i_].size);
  return all_;
}
TARSIA_MXNET_FUNCTION const tarsia_attributes& kept_attributes(const tarsia_bind_info& info_) {
  return *static_cast<const tarsia_attributes*>(info_.params);
}
TARSIA_MXNET_FUNCTION MXContext context_of(tarsia_device device_) {
  return device_.type == TARSIA_GPU ? MXContext("gpu", device_.id) : MXContext("cpu", device_.id);
}

/// Some sources append to outputs that are there already: what was appended stands for what was left empty.
template <class T_>
void settle(std::vector<T_>& list_, size_t n_, const T_& unset_) {
  for (size_t i_ = 0; i_ < n_ && list_.size() > n_ + i_; ++i_)
    if (list_[i_] == unset_) list_[i_] = list_[n_ + i_];
  list_.resize(n_, unset_);
}

TARSIA_MXNET_FUNCTION int32_t op_arity(void* user_, const tarsia_bind_info* info_, uint32_t* n_in_,
                                       uint32_t* n_out_) {
  const CustomOp& op_ = static_cast<const Registered*>(user_)->op;
  try {
    Listening listening_;
    int in_ = -1, out_ = -1;
    if (!op_.parse.call(op_.parse.function, attributes_of(*info_), &in_, &out_))
      return listening_.failed("parseAttrs");
    if (in_ < 0 || out_ < 0) return wrong("parseAttrs gives no numbers of inputs and outputs");
    *n_in_ = static_cast<uint32_t>(in_);
    *n_out_ = static_cast<uint32_t>(out_);
    return 0;
  } catch (...) {
    return host()->capture_exception();
  }
}

TARSIA_MXNET_FUNCTION int32_t op_create_params(void*, const tarsia_bind_info* info_, void** params_) {
  try {
    *params_ = new tarsia_attributes(attributes_of(*info_));
    return 0;
  } catch (...) {
    return host()->capture_exception();
  }
}
TARSIA_MXNET_FUNCTION void op_destroy_params(void*, void* params_) {
  delete static_cast<tarsia_attributes*>(params_);
}

TARSIA_MXNET_FUNCTION bool is_known(const tarsia_meta& m_) {
  for (int i_ = 0; i_ < m_.ndim; ++i_)
    if (m_.shape[i_] < 0) return false;
  return m_.ndim >= 0;
}
TARSIA_MXNET_FUNCTION void to_shapes(const tarsia_meta* metas_, uint32_t n_, tarsia_shapes& shapes_) {
  shapes_.resize(n_);
  for (uint32_t k_ = 0; k_ < n_; ++k_)
    for (int i_ = 0; i_ < metas_[k_].ndim; ++i_) {
      const int64_t extent_ = metas_[k_].shape[i_];
      if (extent_ > int64_t(0xffffffff))
        throw std::length_error("an extent of 2^32 and more does not fit this API");
      shapes_[k_].push_back(extent_ < 0 ? 0u : static_cast<unsigned>(extent_));
    }
}
/// An extent of 0 is unknown unless all inputs were known: then it is one.
TARSIA_MXNET_FUNCTION void from_shapes(const tarsia_shapes& shapes_, bool all_known_, bool scalars_,
                                       tarsia_meta* metas_) {
  for (size_t k_ = 0; k_ < shapes_.size(); ++k_) {
    const std::vector<unsigned>& shape_ = shapes_[k_];
    if (shape_.empty() && !scalars_) continue;
    if (shape_.size() > TARSIA_MAX_NDIM) throw std::length_error("tensors have at most 32 dimensions");
    metas_[k_].ndim = static_cast<int32_t>(shape_.size());
    for (size_t i_ = 0; i_ < shape_.size(); ++i_)
      metas_[k_].shape[i_] = shape_[i_] || all_known_ ? static_cast<int64_t>(shape_[i_]) : int64_t(-1);
  }
}

TARSIA_MXNET_FUNCTION int32_t infer_shapes(const CustomOp& op_, const tarsia_bind_info& info_) {
  bool all_known_ = true, scalars_ = false;
  for (uint32_t i_ = 0; i_ < info_.n_inputs; ++i_) {
    all_known_ = all_known_ && is_known(info_.inputs[i_]);
    scalars_ = scalars_ || info_.inputs[i_].ndim == 0;
  }
  tarsia_shapes in_, out_(info_.n_outputs);
  to_shapes(info_.inputs, info_.n_inputs, in_);
  Listening listening_;
  if (!op_.infer_shape.call(op_.infer_shape.function, kept_attributes(info_), in_, out_))
    return listening_.failed("inferShape");
  settle(in_, info_.n_inputs, std::vector<unsigned>());
  settle(out_, info_.n_outputs, std::vector<unsigned>());
  from_shapes(in_, all_known_, false, info_.inputs);
  from_shapes(out_, all_known_, all_known_ && scalars_, info_.outputs);
  return 0;
}

TARSIA_MXNET_FUNCTION int32_t infer_types(const CustomOp& op_, const tarsia_bind_info& info_) {
  std::vector<int> in_(info_.n_inputs, -1), out_(info_.n_outputs, -1);
  for (uint32_t i_ = 0; i_ < info_.n_inputs; ++i_) {
    in_[i_] = from_dtype(info_.inputs[i_].dtype);
    if (in_[i_] == k_foreign_dtype)
      return host()->set_error(
          TARSIA_OP_TYPE_ERROR,
          ("input " + number(i_ + 1) +
           " is of a dtype that this API does not have: it has float16, float32, float64, "
           "int8, int32, int64 and uint8")
              .c_str());
  }
  Listening listening_;
  if (!op_.infer_type.call(op_.infer_type.function, kept_attributes(info_), in_, out_))
    return listening_.failed("inferType");
  settle(in_, info_.n_inputs, -1);
  settle(out_, info_.n_outputs, -1);
  for (uint32_t i_ = 0; i_ < info_.n_inputs + info_.n_outputs; ++i_) {
    const bool is_input_ = i_ < info_.n_inputs;
    const uint32_t k_ = is_input_ ? i_ : i_ - info_.n_inputs;
    const int type_ = is_input_ ? in_[k_] : out_[k_];
    tarsia_meta& meta_ = is_input_ ? info_.inputs[k_] : info_.outputs[k_];
    if (type_ != -1 && !to_dtype(type_, meta_.dtype))
      return wrong("inferType gives " + number(type_) + " for " + (is_input_ ? "input " : "output ") +
                   number(k_ + 1) + ", which is no dtype");
  }
  return 0;
}

TARSIA_MXNET_FUNCTION int32_t infer_storage(const CustomOp& op_, const tarsia_bind_info& info_) {
  std::vector<int> in_(info_.n_inputs, -1), out_(info_.n_outputs, -1);
  for (uint32_t i_ = 0; i_ < info_.n_inputs; ++i_)
    if (info_.inputs[i_].storage != TARSIA_ANY_STORAGE) in_[i_] = info_.inputs[i_].storage;
  Listening listening_;
  if (!op_.infer_storage.call(op_.infer_storage.function, kept_attributes(info_), in_, out_))
    return listening_.failed("inferSType");
  settle(in_, info_.n_inputs, -1);
  settle(out_, info_.n_outputs, -1);
  for (uint32_t i_ = 0; i_ < info_.n_inputs; ++i_)
    if (in_[i_] >= 0) info_.inputs[i_].storage = static_cast<uint8_t>(in_[i_]);
  for (uint32_t i_ = 0; i_ < info_.n_outputs; ++i_)
    if (out_[i_] >= 0) info_.outputs[i_].storage = static_cast<uint8_t>(out_[i_]);
  return 0;
}

TARSIA_MXNET_FUNCTION int32_t find_mutable(const CustomOp& op_, const tarsia_bind_info& info_) {
  std::vector<int> indices_;
  Listening listening_;
  if (!op_.mutate.call(op_.mutate.function, kept_attributes(info_), indices_))
    return listening_.failed("mutateInputs");
  for (int i_ : indices_) {
    if (i_ < 0 || static_cast<uint32_t>(i_) >= info_.n_inputs)
      return wrong("mutateInputs names input " + number(i_) + " of " + number(info_.n_inputs));
    info_.inputs[i_].flags |= TARSIA_PORT_MUTABLE;
  }
  return 0;
}

TARSIA_MXNET_FUNCTION int32_t op_infer(void* user_, const tarsia_bind_info* info_) {
  const CustomOp& op_ = static_cast<const Registered*>(user_)->op;
  try {
    if (const int32_t code_ = infer_shapes(op_, *info_)) return code_;
    if (const int32_t code_ = infer_types(op_, *info_)) return code_;
    if (op_.infer_storage.call)
      if (const int32_t code_ = infer_storage(op_, *info_)) return code_;
    return op_.mutate.call ? find_mutable(op_, *info_) : 0;
  } catch (...) {
    return host()->capture_exception();
  }
}

TARSIA_MXNET_FUNCTION int32_t op_create_state(void* user_, const tarsia_bind_info* info_, void** state_) {
  const CustomOp& op_ = static_cast<const Registered*>(user_)->op;
  try {
    const MXContext context_ = context_of(info_->device);
    for (const CustomOp::InContext<Create>& create_ : op_.create) {
      if (context_.dev_type != create_.context) continue;
      tarsia_shapes shapes_;
      to_shapes(info_->inputs, info_->n_inputs, shapes_);
      std::vector<int> types_;
      for (uint32_t i_ = 0; i_ < info_->n_inputs; ++i_) types_.push_back(from_dtype(info_->inputs[i_].dtype));
      CustomStatefulOp* made_ = nullptr;
      Listening listening_;
      if (!create_.function.call(create_.function.function, kept_attributes(*info_), context_, shapes_,
                                 types_, &made_))
        return listening_.failed("createOpState");
      if (!made_) return wrong("createOpState made no state");
      if (op_.warns && !made_->wasCreated() && !made_->ignore_warn &&
          host()->size >= offsetof(::tarsia_host, warn) + sizeof(host()->warn))
        host()->warn(op_.name,
                     "createOpState makes its state with new: CustomStatefulOp::create<T>(…) is the way from "
                     "MXNet 1.9 on, or set ignore_warn");
      *state_ = made_;
      return 0;
    }
    return wrong("there is no createOpState for \"" + context_.dev_type + "\"");
  } catch (...) {
    return host()->capture_exception();
  }
}
TARSIA_MXNET_FUNCTION void op_destroy_state(void*, void* state_) {
  try {
    delete static_cast<CustomStatefulOp*>(state_);
  } catch (...) {
    host()->capture_exception();
  }
}

/// Tensors of a run. Sparse ones point into `parts_`.
TARSIA_MXNET_FUNCTION void view(const tarsia_tensor* const* tensors_, uint32_t n_, bool inputs_,
                                const Pass& pass_, const tarsia_bind_info& info_, const MXContext& context_,
                                size_t version_, std::vector<MXTensor>& views_,
                                std::vector<MXSparse>& parts_) {
  views_.resize(n_);
  parts_.resize(n_);
  for (uint32_t i_ = 0; i_ < n_; ++i_) {
    // Backward takes output gradients, inputs, outputs, and gives input gradients.
    const bool of_output_ = !inputs_ ? !pass_.backward
                            : !pass_.backward
                                ? false
                                : i_ < info_.n_outputs || i_ >= info_.n_outputs + info_.n_inputs;
    const uint32_t k_ = !pass_.backward || !inputs_ || i_ < info_.n_outputs ? i_
                        : of_output_ ? i_ - info_.n_outputs - info_.n_inputs
                                     : i_ - info_.n_outputs;
    const tarsia_meta& meta_ = of_output_ ? info_.outputs[k_] : info_.inputs[k_];
    const tarsia_tensor* tensor_ = tensors_[i_];
    void* data_ = tensor_ ? static_cast<char*>(tensor_->data) + tensor_->byte_offset : nullptr;
    if (meta_.storage != TARSIA_DENSE && tensor_) {
      const tarsia_sparse& sparse_ = *reinterpret_cast<const tarsia_sparse*>(tensor_);
      if (sparse_.values.data || sparse_.indices.shape)
        parts_[i_].set(sparse_.values.data, meta_.shape, meta_.ndim, sparse_.indices.data,
                       sparse_.indices.shape ? sparse_.indices.shape[0] : 0,
                       meta_.storage == TARSIA_CSR ? sparse_.indptr.data : nullptr,
                       meta_.storage == TARSIA_CSR && sparse_.indptr.shape ? sparse_.indptr.shape[0] : 0);
      data_ = &parts_[i_];
    }
    views_[i_].setTensor(data_, static_cast<MXDType>(from_dtype(meta_.dtype)), meta_.shape, meta_.ndim,
                         version_, context_, static_cast<MXStorageType>(meta_.storage));
  }
}

TARSIA_MXNET_FUNCTION int32_t op_run(void* user_, const tarsia_op_context* c_) {
  const Pass& pass_ = *static_cast<const Pass*>(user_);
  // Tensors of one run have one version, another one in every run: their content may have changed.
  static size_t version_ = 0;
  try {
    const size_t now_ = __atomic_add_fetch(&version_, 1, __ATOMIC_RELAXED);
    const MXContext context_ = context_of(c_->device);
    std::vector<MXTensor> inputs_, outputs_;
    std::vector<MXSparse> in_parts_, out_parts_;
    view(c_->inputs, c_->n_inputs, true, pass_, *c_->info, context_, now_, inputs_, in_parts_);
    view(c_->outputs, c_->n_outputs, false, pass_, *c_->info, context_, now_, outputs_, out_parts_);
    const OpResource resource_(c_);
    Listening listening_;
    if (!c_->state) {
      if (!pass_.function.call(pass_.function.function, kept_attributes(*c_->info), inputs_, outputs_,
                               resource_))
        return listening_.failed(pass_.backward ? "backward" : "forward");
      return 0;
    }
    CustomStatefulOp& state_ = *static_cast<CustomStatefulOp*>(c_->state);
    if (!(pass_.backward ? state_.Backward(&inputs_, &outputs_, resource_)
                         : state_.Forward(&inputs_, &outputs_, resource_)))
      return listening_.failed(pass_.backward ? "Backward" : "Forward");
    return 0;
  } catch (...) {
    return host()->capture_exception();
  }
}

/// Throws std::invalid_argument for an op that lacks a function, or has one twice.
TARSIA_MXNET_FUNCTION void check_op(const CustomOp& op_) {
  const std::string where_ = std::string("op '") + op_.name + "' (" + op_.location + ") ";
  const char* missing_ = nullptr;
  if (!op_.isSGop)
    missing_ = !op_.parse.call         ? "parseAttrs: call setParseAttrs"
               : !op_.infer_type.call  ? "inferType: call setInferType"
               : !op_.infer_shape.call ? "inferShape: call setInferShape"
               : op_.forward.empty() && op_.create.empty()
                   ? "forward or createOpState: call setForward or setCreateOpState"
                   : nullptr;
  else if (op_.create.empty())
    missing_ = "createOpState: call setCreateOpState";
  if (missing_) throw std::invalid_argument(where_ + "has no " + missing_);
  struct Contexts {
    std::string where;
    void check(const char* what_, const char* context_, std::string& seen_) const {
      const std::string context(context_ ? context_ : "");
      if (context != "cpu" && context != "gpu")
        throw std::invalid_argument(where + "sets " + what_ + " for the context \"" + context +
                                    "\": \"cpu\" and \"gpu\" are known");
      if (seen_.find(context) != std::string::npos)
        throw std::invalid_argument(where + "sets " + what_ + " for \"" + context + "\" twice");
      seen_ += context;
    }
  } contexts_ = {where_};
  std::string forward_, backward_, create_;
  for (const CustomOp::InContext<Compute>& f_ : op_.forward) contexts_.check("forward", f_.context, forward_);
  for (const CustomOp::InContext<Compute>& f_ : op_.backward)
    contexts_.check("backward", f_.context, backward_);
  for (const CustomOp::InContext<Create>& f_ : op_.create)
    contexts_.check("createOpState", f_.context, create_);
}

TARSIA_MXNET_FUNCTION void add_pass(Registered& r_, const char* context_, bool backward_, Compute function_) {
  tarsia_implementation i_ = tarsia_implementation();
  i_.size = sizeof(i_);
  i_.pass = backward_ ? TARSIA_BACKWARD : TARSIA_FORWARD;
  i_.device_type = std::string(context_) == "gpu" ? TARSIA_GPU : TARSIA_CPU;
  i_.requests = 1 << TARSIA_REQUEST_WRITE;
  i_.storage_any = r_.op.infer_storage.call ? 1 : 0;
  i_.name = "";
  i_.run = &op_run;
  const Pass pass_ = {&r_.op, function_, backward_};
  r_.passes.push_back(pass_);
  r_.implementations.push_back(i_);
}

TARSIA_MXNET_FUNCTION const tarsia_op* describe_op(Registered& r_) {
  static const tarsia_port any_ = {"inputs", "", TARSIA_PORT_VARIADIC};
  static const tarsia_port one_ = {"output", "", 0};
  const CustomOp& op_ = r_.op;
  check_op(op_);
  if (op_.create.empty()) {
    for (const CustomOp::InContext<Compute>& f_ : op_.forward) add_pass(r_, f_.context, false, f_.function);
    for (const CustomOp::InContext<Compute>& f_ : op_.backward) add_pass(r_, f_.context, true, f_.function);
  }
  for (const CustomOp::InContext<Create>& f_ : op_.create) {
    add_pass(r_, f_.context, false, Compute());
    add_pass(r_, f_.context, true, Compute());
  }
  for (size_t i_ = 0; i_ < r_.passes.size(); ++i_) r_.implementations[i_].run_user = &r_.passes[i_];
  tarsia_op& d_ = r_.description;
  d_.size = sizeof(d_);
  d_.flags = TARSIA_OP_ANY_ATTRIBUTES | (op_.infer_storage.call ? TARSIA_OP_INFERS_STORAGE : 0);
  d_.name = op_.name;
  d_.description = "";
  d_.location = op_.location;
  d_.implementations = r_.implementations.data();
  d_.n_implementations = static_cast<uint32_t>(r_.implementations.size());
  d_.user = &r_;
  d_.create_params = &op_create_params;
  d_.destroy_params = &op_destroy_params;
  if (op_.parse.call) {
    d_.arity = &op_arity;
  } else {
    d_.inputs = &any_;
    d_.outputs = &one_;
    d_.n_inputs = d_.n_outputs = 1;
  }
  if (op_.infer_shape.call && op_.infer_type.call) d_.infer = &op_infer;
  if (!op_.create.empty()) {
    d_.create_state = &op_create_state;
    d_.destroy_state = &op_destroy_state;
  }
  return &d_;
}

TARSIA_MXNET_FUNCTION int32_t list_ops(const tarsia_op* const** ops_, uint64_t* n_) {
  try {
    Library& l_ = library();
    if (l_.descriptions.size() != l_.ops.size()) {
      l_.descriptions.clear();
      for (Registered* op_ : l_.ops) l_.descriptions.push_back(describe_op(*op_));
    }
    *ops_ = l_.descriptions.data();
    *n_ = l_.descriptions.size();
    return 0;
  } catch (...) {
    return host()->capture_exception();
  }
}

TARSIA_MXNET_FUNCTION int32_t initialize_library(int32_t (*found_)(int32_t), int32_t version_) {
  try {
    Listening listening_;
    if (&tarsia_mxnet_initialize) found_ = &tarsia_mxnet_initialize;
    if (!found_ || found_(version_)) return 0;
    return listening_.failed("initialize");
  } catch (...) {
    return host()->capture_exception();
  }
}

TARSIA_MXNET_FUNCTION const char* const* list_ignored(uint64_t* n_) {
  *n_ = library().ignored.size();
  return library().ignored.data();
}

TARSIA_MXNET_FUNCTION const tarsia_extension* extension() {
  static const tarsia_extension extension_ = {sizeof(tarsia_extension), 0, &initialize_library, &list_ops,
                                              &list_ignored};
  return &extension_;
}

/// A library is one for this API by what it registers, or by its initialize() alone.
TARSIA_MXNET_FUNCTION int announce() {
  tarsia_module_extension = &extension;
  return 0;
}
TARSIA_MXNET_FUNCTION CustomOp& register_op(const char* name_, const char* location_, int version_) {
  announce();
  library().ops.push_back(new Registered(name_, location_, version_ >= 11));
  return library().ops.back()->op;
}
TARSIA_MXNET_FUNCTION int register_ignored(const char* what_) {
  library().ignored.push_back(what_);
  return announce();
}

}  // namespace tarsia_detail
}  // namespace ext
}  // namespace mxnet

#include <tarsia/detail/macros_pop.h>
