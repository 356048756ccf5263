// What the functions of an op see: BindInfo while it is bound and inferred, Context while it runs.
#pragma once

#include <tarsia/macros_push.h>

#include <tarsia/op_abi.h>
#include <tarsia/tensor.h>

namespace tarsia {

/// What is asked to happen to an output.
enum class Request { null = 0, write = 1, inplace = 2, add = 3 };

/// Shape, dtype and storage type of an input or output, as far as known. A reference: assigning writes
/// through.
class Meta {
 public:
  explicit Meta(tarsia_meta* meta_) : m_meta(meta_) {}
  Meta(const Meta&) = default;
  /// Takes over what the other knows.
  Meta& operator=(const Meta& o_) {
    if (o_.has_shape()) set_shape(o_.shape());
    if (o_.has_dtype()) set_dtype(o_.dtype());
    if (o_.m_meta->storage != TARSIA_ANY_STORAGE) m_meta->storage = o_.m_meta->storage;
    return *this;
  }

  /// False for an optional input that was not given.
  bool present() const { return m_meta->present != 0; }
  /// Whether the number of dimensions is known; an extent may still be -1.
  bool has_shape() const { return m_meta->ndim >= 0; }
  bool has_dtype() const { return m_meta->dtype.code != TARSIA_ANY_DTYPE; }
  int ndim() const { return m_meta->ndim; }
  Dims shape() const { return Dims(m_meta->shape, m_meta->ndim < 0 ? 0 : m_meta->ndim); }
  int64_t size(int i_) const { return shape()[i_]; }
  DType dtype() const { return m_meta->dtype; }
  tarsia_storage_type storage() const { return tarsia_storage_type(m_meta->storage); }

  TARSIA_DETAIL_SUPPORT void set_shape(const Dims& shape_) {
    if (shape_.size() > TARSIA_MAX_NDIM) throw ValueError("tensors have at most 32 dimensions");
    m_meta->ndim = shape_.size();
    for (int i_ = 0; i_ < shape_.size(); ++i_) m_meta->shape[i_] = shape_[i_];
  }
  void set_dtype(DType d_) { m_meta->dtype = d_; }
  void set_storage(tarsia_storage_type s_) { m_meta->storage = uint8_t(s_); }

  tarsia_meta* get() const { return m_meta; }

 private:
  tarsia_meta* m_meta;
};

/// Writes "(2, 3)", with ? for what is unknown.
TARSIA_DETAIL_SUPPORT Message& operator<<(Message& text_, const Meta& m_) {
  if (!m_.has_shape()) return text_ << "(?)";
  text_ << "(";
  for (int i_ = 0; i_ < m_.ndim(); ++i_) {
    if (i_) text_ << ", ";
    if (m_.size(i_) < 0)
      text_ << "?";
    else
      text_ << static_cast<long long>(m_.size(i_));
  }
  return text_ << (m_.ndim() == 1 ? ",)" : ")");
}

/// Makes two metas alike: each takes over what only the other knows. Throws ValueError if they differ.
TARSIA_DETAIL_SUPPORT void unify_shape(Meta a_, Meta b_) {
  if (!a_.has_shape() || !b_.has_shape()) {
    if (a_.has_shape()) b_.set_shape(a_.shape());
    if (b_.has_shape()) a_.set_shape(b_.shape());
    return;
  }
  bool same_ = a_.ndim() == b_.ndim();
  for (int i_ = 0; same_ && i_ < a_.ndim(); ++i_) {
    int64_t &x_ = a_.get()->shape[i_], &y_ = b_.get()->shape[i_];
    if (x_ < 0) x_ = y_;
    if (y_ < 0) y_ = x_;
    same_ = x_ == y_;
  }
  if (same_) return;
  Message text_("shapes ");
  text_ << a_ << " and " << b_ << " have to be the same";
  throw ValueError(text_);
}
TARSIA_DETAIL_SUPPORT void unify_dtype(Meta a_, Meta b_) {
  if (!a_.has_dtype()) a_.set_dtype(b_.dtype());
  if (!b_.has_dtype()) b_.set_dtype(a_.dtype());
  if (a_.dtype() == b_.dtype()) return;
  char x_[16], y_[16];
  throw ValueError(Message("dtypes ") << name_of(a_.dtype(), x_) << " and " << name_of(b_.dtype(), y_)
                                      << " have to be the same");
}
TARSIA_DETAIL_SUPPORT void unify(Meta a_, Meta b_) {
  unify_shape(a_, b_);
  unify_dtype(a_, b_);
}

/// An op that is bound or being bound: metas, attributes, device. Inference writes the metas.
class BindInfo {
 public:
  explicit BindInfo(const tarsia_bind_info* info_) : m_info(info_) {}

  const char* op() const { return m_info->op; }
  int n_inputs() const { return int(m_info->n_inputs); }
  int n_outputs() const { return int(m_info->n_outputs); }
  Meta input(int i_) const { return Meta(m_info->inputs + i_); }
  Meta output(int i_) const { return Meta(m_info->outputs + i_); }
  Device device() const { return m_info->device; }
  bool is_gpu() const { return m_info->device.type == TARSIA_GPU; }

  /// Whether the attribute is declared or given, and not none.
  bool has_attribute(const char* name_) const {
    const tarsia_value* v_ = find(m_info, name_);
    return v_ && v_->kind != TARSIA_KIND_NONE;
  }
  /// An attribute's value. Throws TypeError if it is none or cannot be had as a T.
  template <class T_>
  T_ attribute(const char* name_) const {
    return detail::arg<T_>::get(find_as(m_info, name_, detail::arg<T_>::describe()));
  }
  /// The struct whose members the attributes were declared as.
  template <class P_>
  const P_& params() const {
    return *static_cast<const P_*>(m_info->params);
  }

  const tarsia_bind_info* get() const { return m_info; }

 private:
  TARSIA_DETAIL_SUPPORT static const tarsia_value* find(const tarsia_bind_info* info_, const char* name_) {
    for (uint32_t i_ = 0; i_ < info_->n_attributes; ++i_)
      if (!__builtin_strcmp(info_->attribute_names[i_], name_)) return info_->attributes + i_;
    return nullptr;
  }
  TARSIA_DETAIL_SUPPORT static tarsia_value find_as(const tarsia_bind_info* info_, const char* name_,
                                                    tarsia_type wanted_) {
    const tarsia_value* v_ = find(info_, name_);
    if (!v_) throw ValueError(Message("op '") << info_->op << "' has no attribute '" << name_ << "'");
    if (v_->kind == TARSIA_KIND_INT && wanted_.kind == TARSIA_KIND_FLOAT) {
      tarsia_value f_ = *v_;
      f_.kind = TARSIA_KIND_FLOAT, f_.f = double(v_->i);
      return f_;
    }
    const bool absent_ = v_->kind == TARSIA_KIND_NONE && (wanted_.flags & TARSIA_TYPE_OPTIONAL);
    if (v_->kind != wanted_.kind && !absent_)
      throw TypeError(Message("attribute '") << name_ << "' of op '" << info_->op
                                             << "' is asked for as a type that it does not have");
    return *v_;
  }
  const tarsia_bind_info* m_info;
};

/// One run of an op.
class Context {
 public:
  explicit Context(const tarsia_op_context* context_) : m_context(context_) {}

  int n_inputs() const { return int(m_context->n_inputs); }
  int n_outputs() const { return int(m_context->n_outputs); }
  /// Input i of this pass; an absent optional one converts to false.
  Tensor input(int i_) const { return Tensor(m_context->inputs[i_]); }
  /// Output i of this pass; converts to false if its request is null.
  Tensor output(int i_) const { return Tensor(m_context->outputs[i_]); }
  Request request(int i_) const { return Request(m_context->requests[i_]); }

  /// In backward: the gradient of output i, the op's own input and output i, and where the gradient of input
  /// i goes.
  Tensor out_grad(int i_) const { return input(i_); }
  Tensor forward_input(int i_) const { return input(int(m_context->info->n_outputs) + i_); }
  Tensor forward_output(int i_) const {
    return input(int(m_context->info->n_outputs + m_context->info->n_inputs) + i_);
  }
  Tensor in_grad(int i_) const { return output(i_); }

  Device device() const { return m_context->device; }
  bool is_gpu() const { return m_context->device.type == TARSIA_GPU; }
  Stream stream() const { return Stream(static_cast<CUstream_st*>(m_context->stream)); }
  /// Room for n elements that lives until the op returns, on the op's device. Never overlaps other scratch.
  template <class T_>
  T_* scratch(int64_t n_) const {
    return static_cast<T_*>(tarsia::scratch(uint64_t(n_) * sizeof(T_), device()));
  }

  BindInfo info() const { return BindInfo(m_context->info); }
  template <class T_>
  T_ attribute(const char* name_) const {
    return info().attribute<T_>(name_);
  }
  template <class P_>
  const P_& params() const {
    return *static_cast<const P_*>(m_context->info->params);
  }
  /// What the op's state function made for this bound op.
  template <class S_>
  S_& state() const {
    return *static_cast<S_*>(m_context->state);
  }

  const tarsia_op_context* get() const { return m_context; }

 private:
  const tarsia_op_context* m_context;
};

}  // namespace tarsia

#include <tarsia/macros_pop.h>
