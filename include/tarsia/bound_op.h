// Registered ops as programs use them.
#pragma once

#include <tarsia/c_api.h>
#include <tarsia/errors.h>
#include <tarsia/values.h>

#include <array>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tarsia {

/// An attribute's value: text is parsed as the op declares it.
using Attribute = std::variant<bool, int64_t, double, std::string, std::vector<int64_t>, std::vector<double>>;
using Attributes = std::map<std::string, Attribute>;

/// An op with attributes parsed, shapes inferred and implementation chosen. Copies share it. Keeps its
/// library.
class BoundOp {
 public:
  /// Takes one reference over.
  explicit BoundOp(tarsia_bound_op* bound) : m_bound(bound) {}
  BoundOp(const BoundOp& o) : m_bound(o.m_bound) { tarsia_bound_retain(m_bound); }
  BoundOp& operator=(BoundOp o) noexcept {
    std::swap(m_bound, o.m_bound);
    return *this;
  }
  ~BoundOp() { tarsia_bound_release(m_bound); }

  /// Runs on tensors like those that it was bound with; makes the outputs. Throws ArgumentError, OpError.
  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs) const {
    uint32_t n = 0;
    const tarsia_meta* metas = tarsia_bound_outputs(m_bound, &n);
    std::vector<Tensor> outputs;
    for (uint32_t i = 0; i < n; ++i) outputs.push_back(make(metas[i], device_of(inputs)));
    run(inputs, outputs);
    return outputs;
  }
  /// Runs into tensors that exist; `requests` is one tarsia_request for each output, or empty for "write".
  /// Allocates nothing for up to 16 tensors.
  void run(std::span<const Tensor> inputs, std::span<const Tensor> outputs,
           std::span<const uint8_t> requests = {}) const {
    call(inputs, outputs, requests, TARSIA_FORWARD);
  }
  /// The same: `bound.run({x}, {y})`.
  void run(std::initializer_list<Tensor> inputs, std::initializer_list<Tensor> outputs) const {
    call({inputs.begin(), inputs.size()}, {outputs.begin(), outputs.size()}, {}, TARSIA_FORWARD);
  }
  /// The gradients of the inputs; Tensor() for those that have none.
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
  /// Runs the gradient into tensors that exist: `tensors` are output gradients, inputs, outputs.
  void run_backward(std::span<const Tensor> tensors, std::span<const Tensor> gradients,
                    std::span<const uint8_t> requests = {}) const {
    call(tensors, gradients, requests, TARSIA_BACKWARD);
  }
  /// Whether input i, given, has a gradient: mutable ones have none.
  bool has_gradient(uint32_t i) const { return tarsia_bound_has_gradient(m_bound, i) != 0; }
  bool has_backward() const { return tarsia_bound_has_backward(m_bound) != 0; }
  tarsia_bound_op* get() const { return m_bound; }

  /// A CPU or GPU device for tensors of one call.
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
  /// Views of tensors, in place for a few.
  class Views {
   public:
    Views(std::span<const Tensor> tensors, size_t n) : m_n(n) {  // n: or more, null
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
    uint32_t n_inputs = 0;
    tarsia_bound_inputs(m_bound, &n_inputs);
    // In forward, optional inputs may be left out.
    const Views in(inputs, pass == TARSIA_FORWARD && inputs.size() < n_inputs ? n_inputs : inputs.size());
    const Views out(outputs, outputs.size());
    tarsia_op_call c{};
    c.size = sizeof(c);
    c.n_inputs = in.size();
    c.n_outputs = out.size();
    c.inputs = in.data();
    c.outputs = out.data();
    c.requests = requests.empty() ? nullptr : requests.data();
    c.pass = pass;
    detail::check(tarsia_bound_check(m_bound, &c));
    detail::check(tarsia_bound_call(m_bound, &c));
  }

  tarsia_bound_op* m_bound;
};

/// A registered op, by name. Copies share it.
class Op {
 public:
  /// Throws NotFound.
  explicit Op(const std::string& name) { detail::check(tarsia_op_find(name.c_str(), &m_op)); }
  Op(const Op& o) : m_op(o.m_op) { tarsia_op_retain(m_op); }
  Op& operator=(Op o) noexcept {
    std::swap(m_op, o.m_op);
    return *this;
  }
  ~Op() { tarsia_op_release(m_op); }

  const tarsia_op& describe() const { return *tarsia_op_describe(m_op); }

  /// Parses attributes, infers, chooses the implementation for the tensors' device.
  BoundOp bind(const std::vector<Tensor>& inputs, const Attributes& attributes = {}) const {
    std::vector<tarsia_meta> metas;
    for (const Tensor& t : inputs) {
      tarsia_meta meta{};
      meta.present = bool(t);
      meta.ndim = t ? t.ndim() : -1;
      meta.dtype = t ? t.dtype() : DType{TARSIA_ANY_DTYPE, 0, 0};
      for (int i = 0; t && i < t.ndim() && i < TARSIA_MAX_NDIM; ++i) meta.shape[i] = t.shape()[i];
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
    request.device = BoundOp::device_of(inputs);
    tarsia_bound_op* bound = nullptr;
    detail::check(tarsia_op_bind(m_op, &request, &bound));
    return BoundOp(bound);
  }

  /// Binds and runs.
  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs, const Attributes& attributes = {}) const {
    return bind(inputs, attributes)(inputs);
  }

 private:
  tarsia_op_handle* m_op = nullptr;
};

}  // namespace tarsia
