// The arguments of an op's functions: BindInfo while the op is bound and inferred, Context while it runs.
#pragma once

#include <tarsia/detail/macros_push.h>

#include <tarsia/detail/op_attributes.h>
#include <tarsia/op_abi.h>
#include <tarsia/tensor.h>

#include <typeinfo>

namespace tarsia {

/// A write request: what the caller wants to happen to an output. `null`: leave it alone. `write`: overwrite
/// it. `inplace`: overwrite it; it shares its memory with an input. `add`: add to it.
enum class Request { null = 0, write = 1, inplace = 2, add = 3 };

/// The shape, dtype and storage type of an input or output. Each may be unknown. A Meta refers to the op's
/// own data: assigning to it changes those, and it must not outlive the call that gave it. Outside of
/// inference it is read-only: functions that change it throw ValueError.
class Meta {
 public:
  /// Refers to a tarsia_meta.
  explicit Meta(tarsia_meta* meta_, bool read_only_ = false) : m_meta(meta_), m_read_only(read_only_) {}
  Meta(const Meta&) = default;
  /// Takes over what is known in the other; keeps the rest.
  Meta& operator=(const Meta& o_) {
    if (o_.has_shape()) set_shape(o_.shape());
    if (o_.has_dtype()) set_dtype(o_.dtype());
    if (o_.m_meta->storage != TARSIA_ANY_STORAGE) writable()->storage = o_.m_meta->storage;
    return *this;
  }

  /// False for an optional input that was not given.
  bool present() const { return m_meta->present != 0; }
  /// Whether the number of dimensions is known; an extent may still be -1.
  bool has_shape() const { return m_meta->ndim >= 0; }
  /// Whether the dtype is known.
  bool has_dtype() const { return m_meta->dtype.code != TARSIA_ANY_DTYPE; }
  /// The number of dimensions; -1 if it is unknown.
  int ndim() const { return m_meta->ndim; }
  /// The extents, -1 for an unknown one; empty if the number of dimensions is unknown.
  Dims shape() const { return Dims(m_meta->shape, m_meta->ndim < 0 ? 0 : m_meta->ndim); }
  /// The extent of dimension i, counted from the end if negative. Throws IndexError if there is none.
  int64_t size(int i_) const { return shape()[i_]; }
  /// The dtype; its code is TARSIA_ANY_DTYPE if it is unknown.
  DType dtype() const { return m_meta->dtype; }
  /// The storage type; TARSIA_ANY_STORAGE if it is unknown.
  tarsia_storage_type storage() const { return tarsia_storage_type(m_meta->storage); }

  /// Sets the shape; -1 stands for an unknown extent. Throws ValueError for more than 32 dimensions.
  TARSIA_DETAIL_SUPPORT void set_shape(const Dims& shape_) const {
    if (shape_.size() > TARSIA_MAX_NDIM) throw ValueError("tensors have at most 32 dimensions");
    writable()->ndim = shape_.size();
    for (int i_ = 0; i_ < shape_.size(); ++i_) m_meta->shape[i_] = shape_[i_];
  }
  /// Sets the extent of dimension i, counted from the end if negative; -1 stands for an unknown one. Throws
  /// IndexError if there is no such dimension, as for all of an unknown shape.
  TARSIA_DETAIL_SUPPORT void set_size(int i_, int64_t extent_) const {
    tarsia_meta* const changed_ = writable();
    size(i_);  // throws
    changed_->shape[i_ < 0 ? i_ + changed_->ndim : i_] = extent_;
  }
  /// Sets the dtype.
  void set_dtype(DType d_) const { writable()->dtype = d_; }
  /// Sets the storage type.
  void set_storage(tarsia_storage_type s_) const { writable()->storage = uint8_t(s_); }

  /// The struct that this refers to.
  tarsia_meta* get() const { return m_meta; }

 private:
  tarsia_meta* writable() const {
    if (m_read_only) read_only();
    return m_meta;
  }
  [[noreturn]] TARSIA_DETAIL_SUPPORT static void read_only() {
    throw ValueError("only the op's inference, .infer(…), may set shapes, dtypes and storage types");
  }
  tarsia_meta* m_meta;
  bool m_read_only;
};

/// Writes a shape, as in "(2, 3)", with a ? for each unknown extent.
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

/// Makes two shapes the same: each takes over the extents that only the other knows. Throws ValueError if the
/// shapes differ.
TARSIA_DETAIL_SUPPORT void unify_shape(Meta a_, Meta b_) {
  if (!a_.has_shape() || !b_.has_shape()) {
    if (a_.has_shape()) b_.set_shape(a_.shape());
    if (b_.has_shape()) a_.set_shape(b_.shape());
    return;
  }
  bool same_ = a_.ndim() == b_.ndim();
  for (int i_ = 0; same_ && i_ < a_.ndim(); ++i_) {
    const int64_t x_ = a_.size(i_), y_ = b_.size(i_);
    if (x_ < 0 && y_ >= 0) a_.set_size(i_, y_);
    if (y_ < 0 && x_ >= 0) b_.set_size(i_, x_);
    same_ = x_ < 0 || y_ < 0 || x_ == y_;
  }
  if (same_) return;
  Message text_("shapes ");
  text_ << a_ << " and " << b_ << " have to be the same";
  throw ValueError(text_);
}
/// Makes two dtypes the same: one takes over what only the other knows. Throws ValueError if they differ.
TARSIA_DETAIL_SUPPORT void unify_dtype(Meta a_, Meta b_) {
  if (!a_.has_dtype()) a_.set_dtype(b_.dtype());
  if (!b_.has_dtype()) b_.set_dtype(a_.dtype());
  if (a_.dtype() == b_.dtype()) return;
  char x_[16], y_[16];
  throw ValueError(Message("dtypes ") << name_of(a_.dtype(), x_) << " and " << name_of(b_.dtype(), y_)
                                      << " have to be the same");
}
/// Makes two shapes and two dtypes the same. Throws ValueError if they differ.
TARSIA_DETAIL_SUPPORT void unify(Meta a_, Meta b_) {
  unify_shape(a_, b_);
  unify_dtype(a_, b_);
}

namespace detail {
[[noreturn]] TARSIA_DETAIL_SUPPORT void no_such(int i_, uint32_t n_, const char* what_) {
  Message text_(what_);
  text_ << " " << static_cast<long long>(i_) << " is asked for; ";
  if (n_)
    text_ << "there " << (n_ == 1 ? "is " : "are ") << static_cast<long long>(n_) << ", counted from 0";
  else
    text_ << "there is none";
  throw IndexError(text_);
}
/// Returns i. Throws IndexError unless it is one of 0 … n-1.
inline uint32_t checked(int i_, uint32_t n_, const char* what_) {
  if (static_cast<uint32_t>(i_) >= n_) no_such(i_, n_, what_);
  return static_cast<uint32_t>(i_);
}
/// The type's name in tarsia_op; null without run-time type information.
template <class T_>
const char* type_name_of() {
#ifdef __GXX_RTTI
  return typeid(T_).name();
#else
  return nullptr;
#endif
}
inline bool are_other_types(const char* declared_, const char* asked_) {
  return declared_ && asked_ && declared_ != asked_ && __builtin_strcmp(declared_, asked_) != 0;
}
/// <cxxabi.h> declares it, which an op need not read.
extern "C" __attribute__((visibility("default"))) char* __cxa_demangle(const char*, char*, size_t*, int*);
/// A type's name for people.
class TypeText {
 public:
  explicit TypeText(const char* name_)
      : m_name(name_), m_text(__cxa_demangle(name_, nullptr, nullptr, nullptr)) {}
  TypeText(const TypeText&) = delete;
  TypeText& operator=(const TypeText&) = delete;
  ~TypeText() { __builtin_free(m_text); }
  const char* get() const { return m_text ? m_text : m_name; }

 private:
  const char* m_name;
  char* m_text;
};
/// Throws ValueError if the op has no object of this kind, TypeError if it is of another type than is asked
/// for; ops of old libraries do not tell theirs.
TARSIA_DETAIL_SUPPORT void check_object(const tarsia_bind_info* info_, const void* object_, bool is_state_,
                                        const char* asked_) {
  const tarsia_op* op_ = info_->declared;
  const char* const where_ = op_ && op_->location ? op_->location : "";
  if (!object_)
    throw ValueError(Message("the op (")
                     << where_ << ") has no "
                     << (is_state_ ? "state: declare .state(f), whose f gives a new S"
                                   : "params: declare .attribute(\"name\", &P::name), or .params<P>()"));
  if (!op_ || !TARSIA_DETAIL_HAS_FIELD(*op_, state_type)) return;
  const char* const declared_ = is_state_ ? op_->state_type : op_->params_type;
  if (!are_other_types(declared_, asked_)) return;
  const TypeText is_(declared_), other_(asked_);
  throw TypeError(Message("op '") << info_->op << "' (" << where_ << ") has "
                                  << (is_state_ ? "a state" : "params") << " of type " << is_.get()
                                  << ", which is asked for as " << other_.get());
}
}  // namespace detail

/// An op that is bound or being bound: its metas, attributes and device. Inference writes the metas. Valid
/// during the call that gets it.
class BindInfo {
 public:
  /// Refers to a tarsia_bind_info. With `read_only`, its metas cannot be set.
  explicit BindInfo(const tarsia_bind_info* info_, bool read_only_ = false)
      : m_info(info_), m_read_only(read_only_) {}

  /// The op's name.
  const char* op() const { return m_info->op; }
  /// The number of inputs, absent ones included.
  int n_inputs() const { return int(m_info->n_inputs); }
  /// The number of outputs, hidden ones included.
  int n_outputs() const { return int(m_info->n_outputs); }
  /// Input i, counted from 0. Throws IndexError if there is none.
  Meta input(int i_) const {
    return Meta(m_info->inputs + detail::checked(i_, m_info->n_inputs, "input"), m_read_only);
  }
  /// Output i, counted from 0. Throws IndexError if there is none.
  Meta output(int i_) const {
    return Meta(m_info->outputs + detail::checked(i_, m_info->n_outputs, "output"), m_read_only);
  }
  /// The input of a declared name. Throws ValueError if there is none.
  Meta input(const char* name_) const { return input(input_index(name_)); }
  /// The output of a declared name. Throws ValueError if there is none.
  Meta output(const char* name_) const { return output(output_index(name_)); }
  /// The number of the input of a declared name. Throws ValueError if there is none.
  int input_index(const char* name_) const {
    return port(m_info, "input", m_info->declared->inputs, m_info->declared->n_inputs, name_);
  }
  /// The number of the output of a declared name. Throws ValueError if there is none.
  int output_index(const char* name_) const {
    return port(m_info, "output", m_info->declared->outputs, m_info->declared->n_outputs, name_);
  }
  /// The device that the op is bound to.
  Device device() const { return m_info->device; }
  /// Whether that device is a GPU.
  bool is_gpu() const { return m_info->device.type == TARSIA_GPU; }

  /// Whether the attribute is declared or given, and has a value. Throws ValueError for a null name, as all
  /// functions that take names.
  bool has_attribute(const char* name_) const {
    const tarsia_value* v_ = find(m_info, name_);
    return v_ && v_->kind != TARSIA_KIND_NONE;
  }
  /// The value of an attribute. Throws ValueError if there is no such attribute, TypeError if it has no value
  /// or its value is not a T. An integer may be read as a float.
  template <class T_>
  T_ attribute(const char* name_) const {
    return detail::attribute_type<T_>::get(find_as(m_info, name_, detail::attribute_type<T_>::describe()));
  }
  /// The op's struct of parameters. Throws ValueError if the op declares none, TypeError if it is no P.
  template <class P_>
  const P_& params() const {
    detail::check_object(m_info, m_info->params, false, detail::type_name_of<P_>());
    return *static_cast<const P_*>(m_info->params);
  }

  /// During inference: chooses the forward of this name (OpDefinition::named) for the device, whatever
  /// predicates and priorities say. Backward is then the one of that name, if there is one, and else chosen
  /// as usual. The last call counts. Throws ValueError if no forward has the name, or at other times.
  void choose(const char* name_) const {
    require_name(m_info, "implementation", name_);
    amended(m_info, m_info->choose && !m_info->choose(m_info, name_), m_info->choose != nullptr);
  }
  /// During inference: replaces the value of an attribute, also in the op's struct. It is checked as a value
  /// of a caller's. Throws ValueError or TypeError if it does not fit, ValueError at other times.
  template <class T_>
  void set_attribute(const char* name_, const T_& value_) const {
    set(m_info, name_, detail::attribute_type<T_>::default_of(value_));
  }
  /// The same for a text, which is read as a caller's.
  void set_attribute(const char* name_, const char* text_) const {
    set(m_info, name_, detail::attribute_type<const char*>::default_of(text_));
  }

  /// The struct that this refers to.
  const tarsia_bind_info* get() const { return m_info; }

 private:
  TARSIA_DETAIL_SUPPORT static void amended(const tarsia_bind_info* info_, bool done_, bool inferring_) {
    if (done_) return;
    if (inferring_) detail::throw_last(detail::host());
    throw ValueError(Message("op '") << info_->op
                                     << "': only its inference, .infer(…), may choose or change attributes");
  }
  TARSIA_DETAIL_SUPPORT static void set(const tarsia_bind_info* info_, const char* name_,
                                        tarsia_value value_) {
    require_name(info_, "attribute", name_);
    const bool done_ = info_->set_attribute && !info_->set_attribute(info_, name_, &value_);
    detail::free_value(value_);
    amended(info_, done_, info_->set_attribute != nullptr);
  }
  TARSIA_DETAIL_SUPPORT static int port(const tarsia_bind_info* info_, const char* what_,
                                        const tarsia_port* ports_, uint32_t n_, const char* name_) {
    require_name(info_, what_, name_);
    for (uint32_t i_ = 0; i_ < n_; ++i_)
      if (!__builtin_strcmp(ports_[i_].name, name_)) return static_cast<int>(i_);
    throw ValueError(Message("op '") << info_->op << "' has no " << what_ << " '" << name_ << "'");
  }
  TARSIA_DETAIL_SUPPORT static void require_name(const tarsia_bind_info* info_, const char* what_,
                                                 const char* name_) {
    if (name_) return;
    Message text_("an ");
    text_ << what_ << " of op '" << info_->op << "'";
    if (info_->declared && info_->declared->location) text_ << " (" << info_->declared->location << ")";
    throw ValueError(text_ << " is asked for by a null name: pass the name that is declared");
  }
  TARSIA_DETAIL_SUPPORT static const tarsia_value* find(const tarsia_bind_info* info_, const char* name_) {
    require_name(info_, "attribute", name_);
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
      f_.kind = TARSIA_KIND_FLOAT, f_.f = v_->size == TARSIA_UNSIGNED ? double(v_->u) : double(v_->i);
      return f_;
    }
    if (!is_of(*v_, wanted_))
      throw TypeError(Message("attribute '") << name_ << "' of op '" << info_->op
                                             << "' is asked for as a type that it does not have");
    return *v_;
  }
  /// Whether a value, and every value in it, has the wanted type.
  TARSIA_DETAIL_SUPPORT static bool is_of(const tarsia_value& v_, const tarsia_type& wanted_) {
    if (v_.kind != wanted_.kind) return v_.kind == TARSIA_KIND_NONE && (wanted_.flags & TARSIA_TYPE_OPTIONAL);
    const bool list_ = v_.kind == TARSIA_KIND_LIST;
    if (!list_ && v_.kind != TARSIA_KIND_TUPLE) return true;
    if (!list_ && v_.size != wanted_.n_elements) return false;
    for (uint32_t i_ = 0; i_ < v_.size; ++i_)
      if (!is_of(v_.v[i_], wanted_.elements[list_ ? 0 : i_])) return false;
    return true;
  }
  const tarsia_bind_info* m_info;
  bool m_read_only;
};

/// A sparse input or output: the stored values and their positions. Valid until the op returns.
class Sparse {
 public:
  /// Refers to a tarsia_sparse, which may be null.
  Sparse(const tarsia_sparse* sparse_, tarsia_storage_type storage_)
      : m_sparse(sparse_), m_storage(storage_) {}

  /// False for an absent input, and for an output whose request is null.
  explicit operator bool() const noexcept { return m_sparse != nullptr; }
  /// TARSIA_CSR or TARSIA_ROW_SPARSE.
  tarsia_storage_type storage() const { return m_storage; }
  /// The shape of the whole tensor. This and the functions below throw ValueError if there is no tensor.
  Dims shape() const { return Dims(given()->whole.shape, m_sparse->whole.ndim); }
  /// The dtype of the elements.
  DType dtype() const { return given()->whole.dtype; }
  /// The number of stored elements (CSR) or rows (row-sparse); 0 for an output whose size is not set yet.
  int64_t count() const { return given()->indices.shape ? m_sparse->indices.shape[0] : 0; }
  /// CSR: the stored elements. Row-sparse: the stored rows, as one dense tensor.
  Tensor values() const {
    return given()->values.shape ? Tensor(&m_sparse->values) : nothing(m_sparse, m_storage);
  }
  /// The first stored value; null if none is stored. Throws TypeError if the dtype is not that of T.
  template <class T_>
  T_* values() const {
    return count() ? values().template data<T_>() : nullptr;
  }
  /// CSR: the column of each stored element. Row-sparse: the number of each stored row.
  int64_t* indices() const { return static_cast<int64_t*>(given()->indices.data); }
  /// CSR: where each row starts among the elements, rows + 1 numbers.
  int64_t* indptr() const { return static_cast<int64_t*>(given()->indptr.data); }

  /// The struct that this refers to.
  const tarsia_sparse* get() const { return m_sparse; }

 private:
  const tarsia_sparse* given() const {
    if (!m_sparse) Tensor().shape();  // throws
    return m_sparse;
  }
  /// The values of a tensor that stores nothing. Its parts are absent.
  TARSIA_DETAIL_SUPPORT static Tensor nothing(const tarsia_sparse* sparse_, tarsia_storage_type storage_) {
    int64_t extents_[TARSIA_MAX_NDIM] = {0};
    for (int i_ = 1; i_ < sparse_->whole.ndim; ++i_) extents_[i_] = sparse_->whole.shape[i_];
    return scratch_tensor(Dims(extents_, storage_ == TARSIA_CSR ? 1 : sparse_->whole.ndim),
                          sparse_->whole.dtype, sparse_->whole.device);
  }

  const tarsia_sparse* m_sparse;
  tarsia_storage_type m_storage;
};

/// One run of an op: its tensors, attributes and resources. Valid until the implementation returns, on the
/// thread that calls it. Inputs and outputs are counted from 0.
class Context {
 public:
  /// Refers to a tarsia_op_context.
  explicit Context(const tarsia_op_context* context_) : m_context(context_) {}

  /// The number of inputs of this pass. In backward these are the output gradients, inputs and outputs.
  int n_inputs() const { return int(m_context->n_inputs); }
  /// The number of outputs of this pass. In backward these are the input gradients.
  int n_outputs() const { return int(m_context->n_outputs); }
  /// Input i of this pass. An absent optional input converts to false. Throws IndexError if there is no such
  /// input.
  Tensor input(int i_) const {
    return Tensor(m_context->inputs[detail::checked(i_, m_context->n_inputs, "input")]);
  }
  /// Output i of this pass. It converts to false if its request is null. Throws IndexError if there is no
  /// such output.
  Tensor output(int i_) const {
    return Tensor(m_context->outputs[detail::checked(i_, m_context->n_outputs, "output")]);
  }
  /// The write request of output i of this pass. Throws IndexError if there is no such output.
  Request request(int i_) const {
    return Request(m_context->requests[detail::checked(i_, m_context->n_outputs, "output")]);
  }
  /// In forward: the input of a declared name. Throws ValueError if there is none.
  Tensor input(const char* name_) const { return input(info().input_index(name_)); }
  /// In forward: the output of a declared name. Throws ValueError if there is none.
  Tensor output(const char* name_) const { return output(info().output_index(name_)); }
  /// In forward: the write request of the output of a declared name. Throws ValueError if there is none.
  Request request(const char* name_) const { return request(info().output_index(name_)); }

  /// How input i of this pass is stored. Throws IndexError if there is no such input.
  tarsia_storage_type input_storage(int i_) const {
    return static_cast<tarsia_storage_type>(input_meta(m_context, i_)->storage);
  }
  /// How output i of this pass is stored. Throws IndexError if there is no such output.
  tarsia_storage_type output_storage(int i_) const {
    return static_cast<tarsia_storage_type>(output_meta(m_context, i_)->storage);
  }
  /// The sparse input i of this pass. Throws TypeError if it is dense, IndexError if there is no such input.
  Sparse sparse_input(int i_) const {
    const tarsia_meta* meta_ = input_meta(m_context, i_);  // checks i
    return sparse(m_context->info->op, m_context->inputs[i_], meta_, "input", i_);
  }
  /// The sparse output i of this pass. If the request is to add, this is the tensor to add to. Throws
  /// TypeError if it is dense, IndexError if there is no such output.
  Sparse sparse_output(int i_) const {
    const tarsia_meta* meta_ = output_meta(m_context, i_);  // checks i
    return sparse(m_context->info->op, m_context->outputs[i_], meta_, "output", i_);
  }
  /// Gives sparse output i its size in elements (CSR) or rows (row-sparse), and returns memory to fill. The
  /// last call counts; without a call the output stores nothing. Throws ValueError if the output is dense or
  /// its request is null, IndexError if there is no such output.
  Sparse allocate_sparse(int i_, int64_t count_) const { return allocate_sparse(m_context, i_, count_); }

  /// In backward: the gradient of the op's output i. Throws IndexError in forward, or if there is no such
  /// output.
  Tensor out_grad(int i_) const {
    return Tensor(m_context->inputs[in_backward(i_, m_context->info->n_outputs, "output gradient")]);
  }
  /// In backward: the op's input i. Throws IndexError in forward, or if there is no such input.
  Tensor forward_input(int i_) const { return Tensor(m_context->inputs[forward_input_at(i_)]); }
  /// In backward: the op's output i. It converts to false if the caller does not pass it. Throws IndexError
  /// in forward, or if there is no such output.
  Tensor forward_output(int i_) const { return Tensor(m_context->inputs[forward_output_at(i_)]); }
  /// In backward: the tensor for the gradient of input i, which is output i of this pass. It converts to
  /// false if its request is null. Throws IndexError in forward, or if there is no such input.
  Tensor in_grad(int i_) const {
    return Tensor(m_context->outputs[in_backward(i_, m_context->info->n_inputs, "input gradient")]);
  }
  /// In backward: the op's sparse input i. Throws TypeError if it is dense, IndexError as forward_input.
  Sparse sparse_forward_input(int i_) const { return sparse_input(int(forward_input_at(i_))); }
  /// In backward: the op's sparse output i. Throws TypeError if it is dense, IndexError as forward_output.
  Sparse sparse_forward_output(int i_) const { return sparse_input(int(forward_output_at(i_))); }

  /// The device that the op runs on.
  Device device() const { return m_context->device; }
  /// Whether that device is a GPU.
  bool is_gpu() const { return m_context->device.type == TARSIA_GPU; }
  /// The stream that the op runs on. Launch all work there.
  Stream stream() const { return Stream(static_cast<CUstream_st*>(m_context->stream)); }
  /// Returns memory for n elements on the op's device. It lives until the op returns, is unset, and never
  /// overlaps other scratch. On a GPU it is ordered on stream(). Throws ValueError if n is negative or no
  /// memory holds so many, CallError if the memory is exhausted.
  template <class T_>
  T_* scratch(int64_t n_) const {
    return static_cast<T_*>(tarsia::scratch(n_, sizeof(T_), device()));
  }

  /// Returns such memory as a contiguous tensor, for instance for another op.
  Tensor scratch_tensor(const Dims& shape_, DType dtype_) const {
    return tarsia::scratch_tensor(shape_, dtype_, device());
  }
  /// Returns random states of the device, which belong to this call until it returns. On the CPU T is
  /// std::mt19937 and there are 1024; on a GPU T is curandStatePhilox4_32_10_t and there are 32768, for use
  /// on stream(). The next call continues with them; after tarsia::seed it starts anew. Calls at the same
  /// time have different states. Sets `*n`, if it is given, to their number.
  template <class T_>
  T_* random_states(int* n_ = nullptr) const {
    static_assert(sizeof(T_) == 64 || sizeof(T_) == 5000,
                  "tarsia: random states are std::mt19937 or curandStatePhilox4_32_10_t");
    return static_cast<T_*>(tarsia::random_states(device(), sizeof(T_) == 64 ? 2 : 1, n_));
  }

  /// The bound op: its metas, attributes and device.
  BindInfo info() const { return BindInfo(m_context->info, true); }
  /// The value of an attribute. Throws as BindInfo::attribute.
  template <class T_>
  T_ attribute(const char* name_) const {
    return info().attribute<T_>(name_);
  }
  /// The op's struct of parameters. Throws ValueError if the op declares none, TypeError if it is no P.
  template <class P_>
  const P_& params() const {
    return info().template params<P_>();
  }
  /// The state that the op's state function made for this bound op. Throws ValueError if the op declares
  /// none, TypeError if the function does not return an S*.
  template <class S_>
  S_& state() const {
    detail::check_object(m_context->info, m_context->state, true, detail::type_name_of<S_>());
    return *static_cast<S_*>(m_context->state);
  }

  /// The struct that this refers to.
  const tarsia_op_context* get() const { return m_context; }

 private:
  uint32_t in_backward(int i_, uint32_t n_, const char* what_) const {
    return detail::checked(i_, m_context->pass == TARSIA_BACKWARD ? n_ : 0, what_);
  }
  uint32_t forward_input_at(int i_) const {
    return m_context->info->n_outputs + in_backward(i_, m_context->info->n_inputs, "forward input");
  }
  uint32_t forward_output_at(int i_) const {
    return m_context->info->n_outputs + m_context->info->n_inputs +
           in_backward(i_, m_context->info->n_outputs, "forward output");
  }
  /// Backward takes output gradients, inputs and outputs, and writes input gradients.
  TARSIA_DETAIL_SUPPORT static const tarsia_meta* input_meta(const tarsia_op_context* c_, int i_) {
    const uint32_t n_in_ = c_->info->n_inputs, n_out_ = c_->info->n_outputs,
                   k_ = detail::checked(i_, c_->n_inputs, "input");
    if (c_->pass == TARSIA_FORWARD) return c_->info->inputs + k_;
    return k_ < n_out_           ? c_->info->outputs + k_
           : k_ < n_out_ + n_in_ ? c_->info->inputs + (k_ - n_out_)
                                 : c_->info->outputs + (k_ - n_out_ - n_in_);
  }
  static const tarsia_meta* output_meta(const tarsia_op_context* c_, int i_) {
    return (c_->pass == TARSIA_FORWARD ? c_->info->outputs : c_->info->inputs) +
           detail::checked(i_, c_->n_outputs, "output");
  }
  TARSIA_DETAIL_SUPPORT static Sparse sparse(const char* op_, const tarsia_tensor* tensor_,
                                             const tarsia_meta* meta_, const char* what_, int i_) {
    if (meta_->storage == TARSIA_DENSE)
      throw TypeError(Message(what_) << " " << static_cast<long long>(i_) << " of op '" << op_
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

namespace detail {
/// tarsia_implementation::run of a function that takes a Context. It stands here, before declarations, whose
/// code is not optimised: this runs with every call.
template <class F_>
int32_t run_implementation(void* function_, const tarsia_op_context* context_) {
  try {
    Context given_(context_);
    (*static_cast<F_*>(function_))(given_);
    return 0;
  } catch (...) {
    return host()->capture_exception();
  }
}
}  // namespace detail

}  // namespace tarsia

#include <tarsia/detail/macros_pop.h>
