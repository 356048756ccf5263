// What the functions of an op see: BindInfo while it is bound and inferred, Context while it runs.
#pragma once

#include <tarsia/detail/macros_push.h>

#include <tarsia/op_abi.h>
#include <tarsia/op_attributes.h>
#include <tarsia/tensor.h>

namespace tarsia {

/// What a caller asks to happen to an output.
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

  TARSIA_DETAIL_SUPPORT void set_shape(const Dims& shape_) const {
    if (shape_.size() > TARSIA_MAX_NDIM) throw ValueError("tensors have at most 32 dimensions");
    m_meta->ndim = shape_.size();
    for (int i_ = 0; i_ < shape_.size(); ++i_) m_meta->shape[i_] = shape_[i_];
  }
  void set_dtype(DType d_) const { m_meta->dtype = d_; }
  void set_storage(tarsia_storage_type s_) const { m_meta->storage = uint8_t(s_); }

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

inline Message& operator<<(Message&& text_, const Meta& m_) {
  return text_ << m_;
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
  /// By the names that the op declares. Throw ValueError for others.
  Meta input(const char* name_) const { return input(input_index(name_)); }
  Meta output(const char* name_) const { return output(output_index(name_)); }
  int input_index(const char* name_) const {
    return port(m_info, "input", m_info->declared->inputs, m_info->declared->n_inputs, name_);
  }
  int output_index(const char* name_) const {
    return port(m_info, "output", m_info->declared->outputs, m_info->declared->n_outputs, name_);
  }
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
    return detail::attribute_type<T_>::get(find_as(m_info, name_, detail::attribute_type<T_>::describe()));
  }
  /// The struct whose members the attributes were declared as.
  template <class P_>
  const P_& params() const {
    return *static_cast<const P_*>(m_info->params);
  }

  const tarsia_bind_info* get() const { return m_info; }

 private:
  TARSIA_DETAIL_SUPPORT static int port(const tarsia_bind_info* info_, const char* what_,
                                        const tarsia_port* ports_, uint32_t n_, const char* name_) {
    for (uint32_t i_ = 0; i_ < n_; ++i_)
      if (!__builtin_strcmp(ports_[i_].name, name_)) return static_cast<int>(i_);
    throw ValueError(Message("op '") << info_->op << "' has no " << what_ << " '" << name_ << "'");
  }
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

/// A sparse input or output: values, and where they belong.
class Sparse {
 public:
  Sparse(const tarsia_sparse* sparse_, tarsia_storage_type storage_)
      : m_sparse(sparse_), m_storage(storage_) {}

  /// False for an absent input, and for an output that nobody wants.
  explicit operator bool() const noexcept { return m_sparse != nullptr; }
  /// TARSIA_CSR or TARSIA_ROW_SPARSE.
  tarsia_storage_type storage() const { return m_storage; }
  /// Of the whole tensor.
  Dims shape() const { return Dims(m_sparse->whole.shape, m_sparse->whole.ndim); }
  DType dtype() const { return m_sparse->whole.dtype; }
  /// How many elements (CSR) or rows (row-sparse) are stored. 0 for an output whose size is not set yet.
  int64_t count() const { return m_sparse->indices.shape ? m_sparse->indices.shape[0] : 0; }
  /// CSR: the elements stored. Row-sparse: the rows stored, as one dense tensor.
  Tensor values() const { return Tensor(&m_sparse->values); }
  template <class T_>
  T_* values() const {
    return count() ? values().template data<T_>() : nullptr;
  }
  /// The column of each element, or the number of each row.
  int64_t* indices() const { return static_cast<int64_t*>(m_sparse->indices.data); }
  /// CSR: where each row starts, rows + 1 numbers.
  int64_t* indptr() const { return static_cast<int64_t*>(m_sparse->indptr.data); }

  const tarsia_sparse* get() const { return m_sparse; }

 private:
  const tarsia_sparse* m_sparse;
  tarsia_storage_type m_storage;
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
  /// In forward, by the names that the op declares. Throw ValueError for others.
  Tensor input(const char* name_) const { return input(info().input_index(name_)); }
  Tensor output(const char* name_) const { return output(info().output_index(name_)); }
  Request request(const char* name_) const { return request(info().output_index(name_)); }

  /// How input and output i of this pass are stored. The functions below give sparse ones.
  tarsia_storage_type input_storage(int i_) const {
    return static_cast<tarsia_storage_type>(input_meta(m_context, i_)->storage);
  }
  tarsia_storage_type output_storage(int i_) const {
    return static_cast<tarsia_storage_type>(output_meta(m_context, i_)->storage);
  }
  /// Input i of this pass, which is sparse. Throws TypeError if it is dense.
  Sparse sparse_input(int i_) const {
    return sparse(m_context->info->op, m_context->inputs[i_], input_meta(m_context, i_), "input", i_);
  }
  /// Output i of this pass, which is sparse: if the request is to add, the tensor to add to. Throws TypeError
  /// if it is dense.
  Sparse sparse_output(int i_) const {
    return sparse(m_context->info->op, m_context->outputs[i_], output_meta(m_context, i_), "output", i_);
  }
  /// Gives sparse output i its size, in elements (CSR) or rows (row-sparse), and memory to be filled. The
  /// last call counts; without a call it has no elements. Throws ValueError if it is dense or not wanted.
  Sparse allocate_sparse(int i_, int64_t count_) const { return allocate_sparse(m_context, i_, count_); }

  /// In backward: the gradient of output i, the op's own input and output i, and where the gradient of input
  /// i goes.
  Tensor out_grad(int i_) const { return input(i_); }
  Tensor forward_input(int i_) const { return input(int(m_context->info->n_outputs) + i_); }
  Tensor forward_output(int i_) const {
    return input(int(m_context->info->n_outputs + m_context->info->n_inputs) + i_);
  }
  Tensor in_grad(int i_) const { return output(i_); }
  Sparse sparse_forward_input(int i_) const { return sparse_input(int(m_context->info->n_outputs) + i_); }
  Sparse sparse_forward_output(int i_) const {
    return sparse_input(int(m_context->info->n_outputs + m_context->info->n_inputs) + i_);
  }

  Device device() const { return m_context->device; }
  bool is_gpu() const { return m_context->device.type == TARSIA_GPU; }
  Stream stream() const { return Stream(static_cast<CUstream_st*>(m_context->stream)); }
  /// Room for n elements that lives until the op returns, on the op's device. Never overlaps other scratch.
  /// Throws ValueError for a number that is negative or that no memory holds.
  template <class T_>
  T_* scratch(int64_t n_) const {
    return static_cast<T_*>(tarsia::scratch(n_, sizeof(T_), device()));
  }

  /// The same as a contiguous tensor, to pass on to another op.
  Tensor scratch_tensor(const Dims& shape_, DType dtype_) const {
    return tarsia::scratch_tensor(shape_, dtype_, device());
  }
  /// Random states of the device, the call's until it returns: on the CPU 1024 of std::mt19937, on a GPU
  /// 32768 of curandStatePhilox4_32_10_t, for use on stream(). The next call goes on with them, and starts
  /// anew after tarsia.seed; calls at the same time have different ones. `n`, if given, is set to their
  /// number.
  template <class T_>
  T_* random_states(int* n_ = nullptr) const {
    static_assert(sizeof(T_) == 64 || sizeof(T_) == 5000,
                  "tarsia: random states are std::mt19937 or curandStatePhilox4_32_10_t");
    return static_cast<T_*>(tarsia::random_states(device(), sizeof(T_) == 64 ? 2 : 1, n_));
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
  /// Backward takes output gradients, inputs, outputs, and gives input gradients.
  TARSIA_DETAIL_SUPPORT static const tarsia_meta* input_meta(const tarsia_op_context* c_, int i_) {
    const uint32_t n_in_ = c_->info->n_inputs, n_out_ = c_->info->n_outputs, k_ = static_cast<uint32_t>(i_);
    if (c_->pass == TARSIA_FORWARD) return c_->info->inputs + k_;
    return k_ < n_out_           ? c_->info->outputs + k_
           : k_ < n_out_ + n_in_ ? c_->info->inputs + (k_ - n_out_)
                                 : c_->info->outputs + (k_ - n_out_ - n_in_);
  }
  static const tarsia_meta* output_meta(const tarsia_op_context* c_, int i_) {
    return (c_->pass == TARSIA_FORWARD ? c_->info->outputs : c_->info->inputs) + i_;
  }
  TARSIA_DETAIL_SUPPORT static Sparse sparse(const char* op_, const tarsia_tensor* tensor_,
                                             const tarsia_meta* meta_, const char* what_, int i_) {
    if (meta_->storage == TARSIA_DENSE)
      throw TypeError(Message(what_) << " " << static_cast<long long>(i_ + 1) << " of op '" << op_
                                     << "' is dense, and is asked for as a sparse tensor");
    return Sparse(reinterpret_cast<const tarsia_sparse*>(tensor_),
                  static_cast<tarsia_storage_type>(meta_->storage));
  }
  TARSIA_DETAIL_SUPPORT static Sparse allocate_sparse(const tarsia_op_context* c_, int i_, int64_t count_) {
    const tarsia_meta* meta_ = output_meta(c_, i_);
    if (c_->allocate_sparse(c_, static_cast<uint32_t>(i_), count_,
                            meta_->storage == TARSIA_CSR ? meta_->shape[0] + 1 : 0))
      detail::throw_last(detail::host());
    return sparse(c_->info->op, c_->outputs[i_], meta_, "output", i_);
  }
  const tarsia_op_context* m_context;
};

}  // namespace tarsia

#include <tarsia/detail/macros_pop.h>
