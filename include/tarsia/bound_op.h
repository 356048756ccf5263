// Registered ops for programs: binding and calling them.
#pragma once

#include <tarsia/c_api.h>
#include <tarsia/errors.h>
#include <tarsia/sparse_tensor.h>
#include <tarsia/values.h>

#include <array>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tarsia {

class Graph;

/// The value of an attribute. A text is parsed as the op declares the attribute.
using Attribute = std::variant<bool, int64_t, double, std::string, std::vector<int64_t>, std::vector<double>>;

/// The attributes of an op: a map of names to values.
using Attributes = std::map<std::string, Attribute>;

/// An op whose attributes are parsed, whose shapes are inferred and whose implementation is chosen. Copies
/// share it. Keeps its library. May be called from several threads at once; threads take turns if the op has
/// state.
class BoundOp {
 public:
  /// Takes over one reference.
  explicit BoundOp(tarsia_bound_op* bound) : m_bound(bound) {
    uint32_t n = 0;
    const tarsia_meta* metas = tarsia_bound_inputs(m_bound, &n);
    for (uint32_t i = 0; i < n; ++i) m_sparse |= metas[i].present && metas[i].storage != TARSIA_DENSE;
    metas = tarsia_bound_outputs(m_bound, &n);
    for (uint32_t i = 0; i < n; ++i) m_sparse |= metas[i].storage != TARSIA_DENSE;
  }
  BoundOp(const BoundOp& o) : m_bound(o.m_bound), m_sparse(o.m_sparse) { tarsia_bound_retain(m_bound); }
  BoundOp& operator=(BoundOp o) noexcept {
    std::swap(m_bound, o.m_bound);
    std::swap(m_sparse, o.m_sparse);
    return *this;
  }
  ~BoundOp() { tarsia_bound_release(m_bound); }

  /// Makes the outputs and runs the op. The tensors have the shapes, dtypes and device that it was bound
  /// with. Throws ArgumentError, OpError, CudaError, OutOfMemory.
  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs) const {
    uint32_t n = 0;
    const tarsia_meta* metas = tarsia_bound_outputs(m_bound, &n);
    std::vector<Tensor> outputs;
    for (uint32_t i = 0; i < n; ++i) outputs.push_back(make(metas[i], device_of(inputs)));
    run(inputs, outputs);
    return outputs;
  }
  /// Runs the op into existing outputs. `requests` has a tarsia_request for each output, or is empty to
  /// overwrite all. Allocates nothing for up to 16 inputs and 16 outputs. Throws ArgumentError, OpError,
  /// CudaError.
  void run(std::span<const Tensor> inputs, std::span<const Tensor> outputs,
           std::span<const uint8_t> requests = {}) const {
    call(inputs, outputs, requests, TARSIA_FORWARD);
  }
  /// Overwrites existing outputs: `bound.run({x}, {y})`.
  void run(std::initializer_list<Tensor> inputs, std::initializer_list<Tensor> outputs) const {
    call({inputs.begin(), inputs.size()}, {outputs.begin(), outputs.size()}, {}, TARSIA_FORWARD);
  }
  /// Makes and returns the gradients of the inputs; `Tensor()` for an input that has none. Throws Unsupported
  /// if the op has no gradient, and what operator() throws.
  std::vector<Tensor> backward(const std::vector<Tensor>& out_grads, const std::vector<Tensor>& inputs,
                               const std::vector<Tensor>& outputs) const {
    uint32_t n = 0;
    const tarsia_meta* metas = tarsia_bound_inputs(m_bound, &n);
    std::vector<Tensor> all(out_grads), grads;
    all.insert(all.end(), inputs.begin(), inputs.end());
    all.insert(all.end(), outputs.begin(), outputs.end());
    for (uint32_t i = 0; i < n; ++i)
      grads.push_back(has_gradient(i) ? make(metas[i], device_of(inputs)) : Tensor());
    call(all, grads, {}, TARSIA_BACKWARD);
    return grads;
  }
  /// Runs the gradient into existing tensors. `tensors` are the output gradients, the inputs and the outputs,
  /// in this order. `requests` are those of the gradients, as for run().
  void run_backward(std::span<const Tensor> tensors, std::span<const Tensor> gradients,
                    std::span<const uint8_t> requests = {}) const {
    call(tensors, gradients, requests, TARSIA_BACKWARD);
  }
  /// Makes the outputs and runs an op some of whose tensors are sparse. Throws what operator() throws.
  std::vector<AnyTensor> run_any(const std::vector<AnyTensor>& inputs) const {
    uint32_t n_in = 0, n_out = 0;
    const tarsia_meta* in_metas = tarsia_bound_inputs(m_bound, &n_in);
    const tarsia_meta* out_metas = tarsia_bound_outputs(m_bound, &n_out);
    detail::AnyViews in, out;
    for (const AnyTensor& x : inputs) in.add(x);
    while (in.size() < n_in) in.add_none();
    for (uint32_t i = 0; i < in.size() && i < n_in; ++i) in.check_storage(i, in_metas[i], "input ");
    for (uint32_t i = 0; i < n_out; ++i) out.add_output(out_metas[i], detail::device_of(inputs));
    call(in.data(), in.size(), out.data(), out.size(), nullptr, TARSIA_FORWARD);
    return out.take();
  }
  /// Makes and returns the gradients of an op some of whose tensors are sparse; a null Tensor for an input
  /// that has none. Throws what backward() throws.
  std::vector<AnyTensor> backward_any(const std::vector<AnyTensor>& out_grads,
                                      const std::vector<AnyTensor>& inputs,
                                      const std::vector<AnyTensor>& outputs) const {
    uint32_t n_in = 0, n_out = 0;
    const tarsia_meta* in_metas = tarsia_bound_inputs(m_bound, &n_in);
    const tarsia_meta* out_metas = tarsia_bound_outputs(m_bound, &n_out);
    detail::AnyViews in, out;
    for (const auto* list : {&out_grads, &inputs, &outputs})
      for (const AnyTensor& x : *list) in.add(x);
    for (uint32_t i = 0; i < in.size() && i < n_in + 2 * n_out; ++i)
      in.check_storage(i,
                       i < n_out          ? out_metas[i]
                       : i < n_out + n_in ? in_metas[i - n_out]
                                          : out_metas[i - n_out - n_in],
                       "tensor ");
    for (uint32_t i = 0; i < n_in; ++i) {
      if (has_gradient(i))
        out.add_output(in_metas[i], detail::device_of(inputs));
      else
        out.add_none();
    }
    call(in.data(), in.size(), out.data(), out.size(), nullptr, TARSIA_BACKWARD);
    return out.take();
  }
  /// Whether input i was given and has a gradient. Mutable inputs have none.
  bool has_gradient(uint32_t i) const { return tarsia_bound_has_gradient(m_bound, i) != 0; }
  /// Whether the op has a gradient for the device that it is bound to.
  bool has_backward() const { return tarsia_bound_has_backward(m_bound) != 0; }
  /// What runs a pass: its implementation, pairs, workspace and conversions. It lives as long as the bound
  /// op.
  tarsia_bound_pass describe(tarsia_pass pass = TARSIA_FORWARD) const {
    tarsia_bound_pass description{};
    description.size = sizeof(description);
    detail::check(tarsia_bound_describe(m_bound, pass, &description));
    return description;
  }
  /// The name of the implementation of a pass, or "cpu #2", the second of its device and pass; "" if there is
  /// none.
  std::string implementation(tarsia_pass pass = TARSIA_FORWARD) const { return describe(pass).name; }
  /// The pairs of input and output of a pass that may share memory. Backward counts output gradients, inputs
  /// and outputs on one side and input gradients on the other.
  std::vector<std::pair<uint32_t, uint32_t>> inplace(tarsia_pass pass = TARSIA_FORWARD) const {
    const tarsia_bound_pass d = describe(pass);
    std::vector<std::pair<uint32_t, uint32_t>> pairs;
    for (uint32_t i = 0; i < d.n_inplace; ++i) pairs.emplace_back(d.inplace[i].input, d.inplace[i].output);
    return pairs;
  }
  /// Whether backward needs output gradient, input or output i, counted in one row. Otherwise a null Tensor
  /// will do.
  bool backward_needs(uint32_t i) const {
    const tarsia_bound_pass d = describe(TARSIA_BACKWARD);
    return i >= d.n_needs || d.needs[i];
  }
  /// What every call of a pass converts, as in "input 'x': csr -> dense", since no implementation takes the
  /// storage types.
  std::vector<std::string> conversions(tarsia_pass pass = TARSIA_FORWARD) const {
    const tarsia_bound_pass d = describe(pass);
    return {d.conversions, d.conversions + d.n_conversions};
  }
  /// Seconds of a call by the name of each implementation of a pass that applies, below 0 for one that
  /// failed; empty unless the choice was measured.
  std::map<std::string, double> measured(tarsia_pass pass = TARSIA_FORWARD) const {
    const tarsia_bound_pass d = describe(pass);
    std::map<std::string, double> times;
    for (uint64_t i = 0; i < d.n_measured; ++i) times[d.measured[i].name] = d.measured[i].seconds;
    return times;
  }
  /// The handle of the C interface, borrowed.
  tarsia_bound_op* get() const { return m_bound; }

  /// Returns the device for a call with these tensors: the GPU of the first that lies on one, or the CPU.
  static Device device_of(const std::vector<Tensor>& tensors) {
    for (const Tensor& t : tensors)
      if (t && t.is_gpu()) return t.device();
    return cpu_device();
  }

 private:
  static Tensor make(const tarsia_meta& meta, Device device) {
    tarsia_storage* storage = nullptr;
    detail::check(tarsia_empty(meta.shape, meta.ndim, meta.dtype, device, &storage));
    return Tensor::own(storage);
  }
  /// Views of tensors; up to 16 need no allocation.
  class Views {
   public:
    /// Makes n views; those beyond the tensors are null.
    Views(std::span<const Tensor> tensors, size_t n) : m_n(n) {
      if (n > m_few.size()) m_many.resize(n);
      m_views = n > m_few.size() ? m_many.data() : m_few.data();
      for (size_t i = 0; i < n; ++i) m_views[i] = i < tensors.size() ? tensors[i].get() : nullptr;
    }
    Views(const Views&) = delete;
    const tarsia_tensor* const* data() const { return m_views; }
    uint32_t size() const { return static_cast<uint32_t>(m_n); }

   private:
    size_t m_n;
    const tarsia_tensor** m_views;
    std::array<const tarsia_tensor*, 16> m_few;
    std::vector<const tarsia_tensor*> m_many;
  };

  void call(std::span<const Tensor> inputs, std::span<const Tensor> outputs,
            std::span<const uint8_t> requests, tarsia_pass pass) const {
    if (m_sparse) detail::wrong_value("the op is bound to sparse tensors: use run_any and backward_any");
    uint32_t n_inputs = 0;
    tarsia_bound_inputs(m_bound, &n_inputs);
    // In forward, the caller may omit optional inputs.
    const Views in(inputs, pass == TARSIA_FORWARD && inputs.size() < n_inputs ? n_inputs : inputs.size());
    const Views out(outputs, outputs.size());
    call(in.data(), in.size(), out.data(), out.size(), requests.empty() ? nullptr : requests.data(), pass);
  }
  void call(const tarsia_tensor* const* inputs, size_t n_inputs, const tarsia_tensor* const* outputs,
            size_t n_outputs, const uint8_t* requests, tarsia_pass pass) const {
    tarsia_op_call c{};
    c.size = sizeof(c);
    c.n_inputs = static_cast<uint32_t>(n_inputs);
    c.n_outputs = static_cast<uint32_t>(n_outputs);
    c.inputs = inputs;
    c.outputs = outputs;
    c.requests = requests;
    c.pass = pass;
    detail::check(tarsia_bound_check(m_bound, &c));
    detail::check(tarsia_bound_call(m_bound, &c));
  }

  tarsia_bound_op* m_bound;
  bool m_sparse = false;
};

/// A registered op as it was when it was looked up. Copies share it. Keeps its library. May be used from
/// several threads at once.
class Op {
 public:
  /// Looks up an op by its name. If no op has the name of one of `<tarsia/math/ops.h>`, that is compiled and
  /// registered. Throws NotFound, and what load_inline() throws.
  explicit Op(const std::string& name) { detail::check(tarsia_op_load(name.c_str(), &m_op)); }
  /// Takes over one reference.
  static Op own(tarsia_op_handle* op) { return Op(op); }
  Op(const Op& o) : m_op(o.m_op) { tarsia_op_retain(m_op); }
  Op& operator=(Op o) noexcept {
    std::swap(m_op, o.m_op);
    return *this;
  }
  ~Op() { tarsia_op_release(m_op); }

  /// The description: ports, attributes, implementations. It lives as long as this object.
  const tarsia_op& describe() const { return *tarsia_op_describe(m_op); }

  /// Parses the attributes, infers shapes and dtypes, and chooses the implementation for the tensors' device.
  /// With TARSIA_CHOICE_MEASURE, it is the fastest, timed on copies of the tensors. Throws ArgumentError,
  /// Unsupported, OpError.
  BoundOp bind(const std::vector<Tensor>& inputs, const Attributes& attributes = {},
               tarsia_choice choice = TARSIA_CHOICE_OF_PROCESS) const {
    detail::AnyViews views;
    for (const Tensor& t : inputs) views.add(t);
    return bind(views, BoundOp::device_of(inputs), attributes, choice);
  }
  /// Binds to inputs some of which are sparse. Throws what bind() throws.
  BoundOp bind_any(const std::vector<AnyTensor>& inputs, const Attributes& attributes = {}) const {
    detail::AnyViews views;
    for (const AnyTensor& t : inputs) views.add(t);
    return bind(views, detail::device_of(inputs), attributes, TARSIA_CHOICE_OF_PROCESS);
  }

  /// Says which implementations bind_any() would choose, and why it would not choose each other. Throws what
  /// bind() throws, except that no implementation applies.
  std::string explain(const std::vector<AnyTensor>& inputs, const Attributes& attributes = {}) const {
    detail::AnyViews views;
    for (const AnyTensor& t : inputs) views.add(t);
    char* text = nullptr;
    request(views, detail::device_of(inputs), attributes, [&](const tarsia_op_request& request) {
      detail::check(tarsia_op_explain(m_op, &request, &text));
    });
    const std::unique_ptr<char, void (*)(void*)> owned(text, tarsia_free);
    return text;
  }

  /// Binds the op and runs it. Throws what bind() and BoundOp::operator() throw.
  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs, const Attributes& attributes = {}) const {
    return bind(inputs, attributes)(inputs);
  }

  /// The handle of the C interface, borrowed.
  tarsia_op_handle* get() const { return m_op; }

 private:
  friend class Graph;
  explicit Op(tarsia_op_handle* op) : m_op(op) {}
  BoundOp bind(const detail::AnyViews& inputs, Device device, const Attributes& attributes,
               tarsia_choice choice) const {
    tarsia_bound_op* bound = nullptr;
    request(inputs, device, attributes, [&](tarsia_op_request request) {
      request.choice = choice;
      detail::check(tarsia_op_bind(m_op, &request, &bound));
    });
    return BoundOp(bound);
  }
  /// Calls f with the request of binding to these inputs.
  template <class F>
  static void request(const detail::AnyViews& inputs, Device device, const Attributes& attributes,
                      const F& f) {
    std::vector<tarsia_meta> metas;
    for (size_t k = 0; k < inputs.size(); ++k) {
      const tarsia_tensor* t = inputs.data()[k];
      tarsia_meta meta{};
      meta.present = t != nullptr;
      meta.storage = static_cast<uint8_t>(inputs.storage(k));
      meta.ndim = t ? t->ndim : -1;
      meta.dtype = t ? t->dtype : DType{TARSIA_ANY_DTYPE, 0, 0};
      for (int i = 0; t && i < t->ndim && i < TARSIA_MAX_NDIM; ++i) meta.shape[i] = t->shape[i];
      metas.push_back(meta);
    }
    detail::Lists lists;
    std::vector<const char*> names;
    std::vector<tarsia_value> values;
    for (const auto& [name, value] : attributes) {
      names.push_back(name.c_str());
      values.push_back(std::visit([&](const auto& v) { return detail::to_value(v, lists); }, value));
    }
    tarsia_op_request request{};
    request.size = sizeof(request);
    request.n_inputs = static_cast<uint32_t>(metas.size());
    request.inputs = metas.data();
    request.n_attributes = static_cast<uint32_t>(names.size());
    request.attribute_names = names.data();
    request.attributes = values.data();
    request.device = device;
    request.samples = inputs.data();
    f(request);
  }

  tarsia_op_handle* m_op = nullptr;
};

}  // namespace tarsia
