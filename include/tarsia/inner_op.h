// InnerOp: a registered op that another op's code calls.
#pragma once

#include <tarsia/detail/macros_push.h>

#include <initializer_list>

#include <tarsia/op_context.h>

namespace tarsia {

/// An attribute of an InnerOp, as in `{"slope", 0.1}` or `{"mode", "exact"}`. Texts are borrowed and parsed
/// as the op declares the attribute.
struct InnerAttribute {
  /// Gives an attribute a number, a bool or a text.
  InnerAttribute(const char* name_, bool x_) : name(name_), value() {
    value.kind = TARSIA_KIND_BOOL, value.i = x_;
  }
  InnerAttribute(const char* name_, int x_) : InnerAttribute(name_, static_cast<long long>(x_)) {}
  InnerAttribute(const char* name_, long x_) : InnerAttribute(name_, static_cast<long long>(x_)) {}
  InnerAttribute(const char* name_, long long x_) : name(name_), value() {
    value.kind = TARSIA_KIND_INT, value.i = x_, value.size = TARSIA_SIGNED;
  }
  InnerAttribute(const char* name_, unsigned x_)
      : InnerAttribute(name_, static_cast<unsigned long long>(x_)) {}
  InnerAttribute(const char* name_, unsigned long x_)
      : InnerAttribute(name_, static_cast<unsigned long long>(x_)) {}
  InnerAttribute(const char* name_, unsigned long long x_) : name(name_), value() {
    value.kind = TARSIA_KIND_INT, value.u = x_, value.size = TARSIA_UNSIGNED;
  }
  InnerAttribute(const char* name_, double x_) : name(name_), value() {
    value.kind = TARSIA_KIND_FLOAT, value.f = x_;
  }
  InnerAttribute(const char* name_, const char* x_) : name(name_), value() {
    if (!x_) return;  // no value
    value.kind = TARSIA_KIND_STRING, value.s = x_, value.size = static_cast<uint32_t>(__builtin_strlen(x_));
  }
  const char* name;    ///< the attribute's name
  tarsia_value value;  ///< its value, typed or as a text
};

/// A registered op, bound to tensors of the shapes, dtypes and device that it will be called with. It runs on
/// the stream of the call under way and has scratch of its own. Keeps the op's library; may be kept in an
/// op's state. May be called from several threads at once.
class InnerOp {
 public:
  /// Looks up the op, parses the attributes, infers, and chooses the implementation. `Tensor()` stands for an
  /// absent optional input. There are at most 32 tensors and 32 attributes. Throws CallError with the op's
  /// own error, and if there is no such op.
  InnerOp(const char* name_, std::initializer_list<Tensor> inputs_,
          std::initializer_list<InnerAttribute> attributes_ = {})
      : m_bound(bind(name_, inputs_.begin(), inputs_.size(), attributes_.begin(), attributes_.size())) {}
  InnerOp(const InnerOp&) = delete;
  InnerOp& operator=(const InnerOp&) = delete;
  InnerOp(InnerOp&& o_) noexcept : m_bound(o_.m_bound) { o_.m_bound = nullptr; }
  ~InnerOp() {
    if (m_bound) detail::host()->op_release(m_bound);
  }

  /// The number of inputs.
  int n_inputs() const { return count(detail::attached()->op_inputs, m_bound); }
  /// The number of outputs.
  int n_outputs() const { return count(detail::attached()->op_outputs, m_bound); }
  /// Makes a tensor for output i, in scratch of the call under way. Throws ValueError if there is no such
  /// output.
  Tensor scratch_output(int i_, Device device_) const { return scratch_for(m_bound, i_, device_); }

  /// Runs the op into existing outputs. `requests` has a request for each output, or is empty to overwrite
  /// all. Throws CallError with the op's own error, ValueError for wrong numbers of tensors or requests.
  void operator()(std::initializer_list<Tensor> inputs_, std::initializer_list<Tensor> outputs_,
                  std::initializer_list<Request> requests_ = {}) const {
    call(m_bound, inputs_.begin(), inputs_.size(), outputs_.begin(), outputs_.size(), requests_.begin(),
         requests_.size(), TARSIA_FORWARD);
  }
  /// Runs the gradient. `inputs` are the output gradients, the inputs and the outputs, in this order;
  /// `gradients` are the input gradients to write. Throws what operator() throws.
  void backward(std::initializer_list<Tensor> inputs_, std::initializer_list<Tensor> gradients_,
                std::initializer_list<Request> requests_ = {}) const {
    call(m_bound, inputs_.begin(), inputs_.size(), gradients_.begin(), gradients_.size(), requests_.begin(),
         requests_.size(), TARSIA_BACKWARD);
  }

 private:
  enum { k_most = 32 };

  TARSIA_DETAIL_SUPPORT static tarsia_bound_op* bind(const char* name_, const Tensor* inputs_, size_t n_,
                                                     const InnerAttribute* attributes_,
                                                     size_t n_attributes_) {
    if (n_ > k_most || n_attributes_ > k_most)
      throw ValueError("an inner op takes at most 32 tensors and 32 attributes");
    if (!name_) throw ValueError("an inner op is asked for by a null name: pass the name of a registered op");
    for (size_t i_ = 0; i_ < n_attributes_; ++i_)
      if (!attributes_[i_].name)
        throw ValueError(Message("an attribute of the inner op '")
                         << name_ << "' has a null name: pass the name that is declared");
    tarsia_meta metas_[k_most];
    const char* names_[k_most];
    tarsia_value values_[k_most];
    tarsia_op_request request_ = tarsia_op_request();
    request_.device = cpu_device();
    for (size_t i_ = 0; i_ < n_; ++i_) {
      tarsia_meta& meta_ = metas_[i_];
      meta_ = tarsia_meta();
      meta_.ndim = -1;
      meta_.dtype.code = TARSIA_ANY_DTYPE;
      meta_.present = static_cast<bool>(inputs_[i_]);
      if (!inputs_[i_]) continue;
      meta_.dtype = inputs_[i_].dtype();
      Meta(&meta_).set_shape(inputs_[i_].shape());
      if (inputs_[i_].is_gpu()) request_.device = inputs_[i_].device();
    }
    for (size_t i_ = 0; i_ < n_attributes_; ++i_)
      names_[i_] = attributes_[i_].name, values_[i_] = attributes_[i_].value;
    request_.size = sizeof(request_);
    request_.n_inputs = static_cast<uint32_t>(n_);
    request_.inputs = metas_;
    request_.n_attributes = static_cast<uint32_t>(n_attributes_);
    request_.attribute_names = names_;
    request_.attributes = values_;
    tarsia_bound_op* bound_ = nullptr;
    if (const int32_t code_ = detail::attached()->op_bind(name_, &request_, &bound_))
      detail::throw_last(detail::host(), code_);
    return bound_;
  }
  TARSIA_DETAIL_SUPPORT static void call(tarsia_bound_op* bound_, const Tensor* inputs_, size_t n_in_,
                                         const Tensor* outputs_, size_t n_out_, const Request* requests_,
                                         size_t n_requests_, tarsia_pass pass_) {
    if (n_in_ > 3 * k_most || n_out_ > k_most)
      throw ValueError("an inner op takes at most 32 tensors and 32 attributes");
    if (n_requests_ && n_requests_ != n_out_)
      throw ValueError("an inner op takes one request for each output");
    const tarsia_tensor *in_[3 * k_most], *out_[k_most];
    uint8_t asked_[k_most];
    for (size_t i_ = 0; i_ < n_in_; ++i_) in_[i_] = inputs_[i_].get();
    for (size_t i_ = 0; i_ < n_out_; ++i_) out_[i_] = outputs_[i_].get();
    for (size_t i_ = 0; i_ < n_requests_; ++i_) asked_[i_] = static_cast<uint8_t>(requests_[i_]);
    tarsia_op_call call_ = tarsia_op_call();
    call_.size = sizeof(call_);
    call_.n_inputs = static_cast<uint32_t>(n_in_);
    call_.n_outputs = static_cast<uint32_t>(n_out_);
    call_.inputs = in_;
    call_.outputs = out_;
    call_.requests = n_requests_ ? asked_ : nullptr;
    call_.pass = pass_;
    if (const int32_t code_ = detail::attached()->op_call(bound_, &call_))
      detail::throw_last(detail::host(), code_);
  }
  TARSIA_DETAIL_SUPPORT static int count(const tarsia_meta* (*metas_)(const tarsia_bound_op*, uint32_t*),
                                         const tarsia_bound_op* bound_) {
    uint32_t n_ = 0;
    metas_(bound_, &n_);
    return static_cast<int>(n_);
  }
  TARSIA_DETAIL_SUPPORT static Tensor scratch_for(const tarsia_bound_op* bound_, int i_, Device device_) {
    uint32_t n_ = 0;
    const tarsia_meta* metas_ = detail::attached()->op_outputs(bound_, &n_);
    if (i_ < 0 || static_cast<uint32_t>(i_) >= n_) throw ValueError("the inner op has no such output");
    return tarsia::scratch_tensor(Dims(metas_[i_].shape, metas_[i_].ndim), metas_[i_].dtype, device_);
  }

  tarsia_bound_op* m_bound;
};

}  // namespace tarsia

#include <tarsia/detail/macros_pop.h>
