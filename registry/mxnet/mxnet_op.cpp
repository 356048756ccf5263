// What an op's registration has to have, and the functions of its description: libraries differ in their
// table alone.
#include "registry/mxnet/mxnet_op.h"

#include <tarsia/detail/names.h>

#include <cstring>

#include "base/error.h"
#include "base/log.h"
#include "registry/mxnet/mxnet_infer.h"
#include "registry/mxnet/mxnet_run.h"
#include "registry/resources/last_error.h"

namespace tarsia::registry {

using namespace mxnet;

namespace {

/// Runs f, which gives a code; exceptions of the library and of ours become the last error.
template <class F>
std::int32_t guarded_author(F&& f) noexcept {
  try {
    return f();
  } catch (...) {
    return capture_author_exception();
  }
}

std::string text_of(const char* text) {
  return text ? text : "";
}

}  // namespace

MxnetOp::MxnetOp(const tarsia_mxnet_library& library, const tarsia_mxnet_op& op, const std::string& path)
    : m_library(library), m_op(op) {
  check(path);
  if (op.n_create == 0) {
    for (std::uint32_t i = 0; i < op.n_forward; ++i) add_pass(op.forward[i], false);
    for (std::uint32_t i = 0; i < op.n_backward; ++i) add_pass(op.backward[i], true);
  }
  for (std::uint32_t i = 0; i < op.n_create; ++i) {
    add_pass(op.create[i], false);
    add_pass(op.create[i], true);
  }
  for (size_t i = 0; i < m_passes.size(); ++i) m_implementations[i].run_user = &m_passes[i];

  static const tarsia_port k_any = {"inputs", "", TARSIA_PORT_VARIADIC}, k_one = {"output", "", 0};
  tarsia_op& d = m_description;
  d.size = sizeof(d);
  d.flags = TARSIA_OP_ANY_ATTRIBUTES | (op.infer_storage.function ? TARSIA_OP_INFERS_STORAGE : 0);
  d.name = op.name;
  d.description = "";
  d.location = op.location ? op.location : "";
  d.n_implementations = static_cast<std::uint32_t>(m_implementations.size());
  d.implementations = m_implementations.data();
  d.user = this;
  d.create_params = &create_params;
  d.destroy_params = &destroy_params;
  if (op.parse.function) {
    d.arity = &arity;
  } else {
    d.inputs = &k_any;
    d.outputs = &k_one;
    d.n_inputs = d.n_outputs = 1;
  }
  if (op.mutate.function) d.name_inputs = &name_inputs;
  if (op.infer_shape.function && op.infer_type.function) d.infer = &infer;
  if (op.n_create) {
    d.create_state = &create_state;
    d.destroy_state = &destroy_state;
  }
}

void MxnetOp::check(const std::string& path) const {
  const std::string location = text_of(m_op.location);
  const std::string where =
      path + ": op '" + text_of(m_op.name) + "' " + (location.empty() ? "" : "(" + location + ") ");
  if (text_of(m_op.name).empty()) throw LoadError(where + "has no name: pass one to REGISTER_OP");
  const char* missing = nullptr;
  if (m_op.is_subgraph) {
    if (!m_op.n_create) missing = "createOpState: call setCreateOpState";
  } else if (!m_op.parse.function) {
    missing = "parseAttrs: call setParseAttrs";
  } else if (!m_op.infer_type.function) {
    missing = "inferType: call setInferType";
  } else if (!m_op.infer_shape.function) {
    missing = "inferShape: call setInferShape";
  } else if (!m_op.n_forward && !m_op.n_create) {
    missing = "forward or createOpState: call setForward or setCreateOpState";
  }
  if (missing) throw LoadError(where + "has no " + missing);
  auto check_contexts = [&](const char* what, const tarsia_mxnet_function* functions, std::uint32_t n) {
    for (std::uint32_t i = 0; i < n; ++i) {
      const std::string context = text_of(functions[i].context);
      if (context != "cpu" && context != "gpu")
        throw LoadError(where + "sets " + what + " for the context \"" + context +
                        "\": \"cpu\" and \"gpu\" are known");
      for (std::uint32_t k = 0; k < i; ++k)
        if (context == functions[k].context)
          throw LoadError(where + "sets " + what + " for \"" + context + "\" twice");
    }
  };
  check_contexts("forward", m_op.forward, m_op.n_forward);
  check_contexts("backward", m_op.backward, m_op.n_backward);
  check_contexts("createOpState", m_op.create, m_op.n_create);
}

void MxnetOp::add_pass(const tarsia_mxnet_function& function, bool backward) {
  tarsia_implementation i{};
  i.size = sizeof(i);
  i.pass = backward ? TARSIA_BACKWARD : TARSIA_FORWARD;
  i.device_type = std::strcmp(function.context, "gpu") == 0 ? TARSIA_GPU : TARSIA_CPU;
  i.requests = 1u << TARSIA_REQUEST_WRITE;
  i.storage_any = m_op.infer_storage.function != nullptr;
  i.name = "";
  i.run = &run;
  m_passes.push_back({this, &function, backward});
  m_implementations.push_back(i);
}

std::int32_t MxnetOp::arity(void* self, const tarsia_bind_info* info, std::uint32_t* n_in,
                            std::uint32_t* n_out) {
  return guarded_author([&] {
    const auto& op = *static_cast<const MxnetOp*>(self);
    const MxnetAttributes attributes(op.m_library, *info);
    int in = -1, out = -1;
    if (const std::int32_t code =
            op.m_library.parse(op.m_library.self, &op.m_op.parse, attributes.get(), &in, &out))
      return failure(code, "parseAttrs");
    if (in < 0 || out < 0) return op_is_wrong("parseAttrs gives no numbers of inputs and outputs");
    *n_in = static_cast<std::uint32_t>(in);
    *n_out = static_cast<std::uint32_t>(out);
    return 0;
  });
}

std::int32_t MxnetOp::name_inputs(void* self, const tarsia_bind_info* info, tarsia_port* inputs,
                                  std::uint32_t n) {
  return guarded_author([&] {
    const auto& op = *static_cast<const MxnetOp*>(self);
    const MxnetAttributes attributes(op.m_library, *info);
    return mark_mutable(op.m_library, op.m_op, attributes.get(), inputs, n);
  });
}

std::int32_t MxnetOp::create_params(void* self, const tarsia_bind_info* info, void** params) {
  return guarded_author(
      [&] { return *params = new MxnetAttributes(static_cast<const MxnetOp*>(self)->m_library, *info), 0; });
}

void MxnetOp::destroy_params(void*, void* params) {
  delete static_cast<MxnetAttributes*>(params);
}

std::int32_t MxnetOp::infer(void* self, const tarsia_bind_info* info) {
  return guarded_author([&] {
    const auto& op = *static_cast<const MxnetOp*>(self);
    return mxnet::infer(op.m_library, op.m_op, *info);
  });
}

std::int32_t MxnetOp::create_state(void* self, const tarsia_bind_info* info, void** state) {
  return guarded_author([&] {
    const auto& op = *static_cast<const MxnetOp*>(self);
    const tarsia_mxnet_library& library = op.m_library;
    const char* device = device_type(info->device);
    for (std::uint32_t i = 0; i < op.m_op.n_create; ++i) {
      if (std::strcmp(op.m_op.create[i].context, device) != 0) continue;
      const Shapes shapes(info->inputs, info->n_inputs);
      std::vector<int> dtypes;
      if (const std::int32_t code = read_dtypes(*info, dtypes)) return code;
      std::uint32_t by_new = 0;
      if (const std::int32_t code =
              library.create_state(library.self, &op.m_op.create[i], MxnetAttributes::of(*info), device,
                                   info->device.id, &shapes.get(), dtypes.data(), state, &by_new))
        return failure(code, "createOpState");
      if (!*state) return op_is_wrong("createOpState made no state");
      if (by_new && op.m_op.warns_of_new)
        log().warn(
            "op '{}': createOpState makes its state with new: CustomStatefulOp::create<T>(…) is the way from "
            "MXNet 1.9 on, or set ignore_warn",
            op.m_op.name);
      return 0;
    }
    return op_is_wrong(std::string("there is no createOpState for \"") + device + "\"");
  });
}

void MxnetOp::destroy_state(void* self, void* state) {
  const tarsia_mxnet_library& library = static_cast<const MxnetOp*>(self)->m_library;
  guarded_author([&] { return library.destroy_state(library.self, state), 0; });
}

std::int32_t MxnetOp::run(void* user, const tarsia_op_context* context) {
  return guarded_author([&] {
    const Pass& pass = *static_cast<const Pass*>(user);
    const tarsia_mxnet_library& library = pass.op->m_library;
    const Run run(*context, pass.function, pass.backward);
    const std::int32_t code = library.run(library.self, &run);
    if (!code) return 0;
    return failure(
        code, !context->state ? detail::pass_name(context->pass) : (pass.backward ? "Backward" : "Forward"));
  });
}

}  // namespace tarsia::registry
