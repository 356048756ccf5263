// Binding and running registered ops in a line, for tests.
#pragma once

#include <memory>
#include <utility>

#include "tests/unit/registry/module_fixture.h"

namespace tarsia::registry {

using Attrs = std::vector<std::pair<const char*, tarsia_value>>;

/// A request that keeps what it points to.
struct Request {
  Request(std::vector<tarsia_meta> in, const Attrs& attrs = {}, std::vector<tarsia_meta> out = {},
          tarsia_device device = {TARSIA_CPU, 0})
      : inputs(std::move(in)), outputs(std::move(out)) {
    for (const auto& [name, value] : attrs) names.push_back(name), values.push_back(value);
    request.size = sizeof(request);
    request.n_inputs = static_cast<std::uint32_t>(inputs.size());
    request.n_outputs = static_cast<std::uint32_t>(outputs.size());
    request.n_attributes = static_cast<std::uint32_t>(names.size());
    request.inputs = inputs.data();
    request.outputs = outputs.data();
    request.attribute_names = names.data();
    request.attributes = values.data();
    request.device = device;
  }
  std::vector<tarsia_meta> inputs, outputs;
  std::vector<const char*> names;
  std::vector<tarsia_value> values;
  tarsia_op_request request{};
};

inline tarsia_meta meta(std::vector<std::int64_t> shape, tarsia_dtype dtype = k_dtype_of<float>) {
  tarsia_meta m = unknown_meta();
  m.ndim = static_cast<std::int32_t>(shape.size());
  std::copy(shape.begin(), shape.end(), m.shape);
  m.dtype = dtype;
  m.storage = TARSIA_DENSE;
  return m;
}

inline Ref<BoundOp> bind(const std::string& op, std::vector<tarsia_meta> inputs, const Attrs& attrs = {},
                         std::vector<tarsia_meta> outputs = {}) {
  const Request request(std::move(inputs), attrs, std::move(outputs));
  return Ref<BoundOp>::adopt(new BoundOp(OpRegistry::instance().find(op), request.request));
}

/// Runs a bound op. Errors are thrown.
inline void run(BoundOp& bound, std::vector<const tarsia_tensor*> inputs,
                std::vector<const tarsia_tensor*> outputs, std::vector<std::uint8_t> requests = {},
                tarsia_pass pass = TARSIA_FORWARD) {
  tarsia_op_call call{};
  call.size = sizeof(call);
  call.n_inputs = static_cast<std::uint32_t>(inputs.size());
  call.n_outputs = static_cast<std::uint32_t>(outputs.size());
  call.inputs = inputs.data();
  call.outputs = outputs.data();
  call.requests = requests.empty() ? nullptr : requests.data();
  call.pass = pass;
  bound.check(call);
  if (bound.call(call)) throw_last_error();
}

/// Binds and runs an op of one input and one output of one shape.
inline std::vector<float> map(const std::string& op, std::vector<float> x, const Attrs& attrs = {}) {
  Array<float> in(std::move(x)), out(std::vector<float>(in.data.size()));
  run(*bind(op, {meta(in.shape)}, attrs), {&in.tensor}, {&out.tensor});
  return out.data;
}

}  // namespace tarsia::registry
