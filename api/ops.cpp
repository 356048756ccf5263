// Ops: look-up, inference, binding, calls.
#include <tarsia/c_api.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "api/handles.h"
#include "api/text.h"
#include "base/error.h"
#include "pipeline/cached_times.h"
#include "registry/measure/measure.h"
#include "registry/resources/last_error.h"

using namespace tarsia;
using namespace tarsia::api;
using registry::guarded;
using registry::OpRegistry;
using registry::Ref;

namespace {

/// Measured choices outlive the process. Never destroyed: threads may bind ops while the process exits.
[[maybe_unused]] const bool k_times_are_kept = (registry::keep_times_in(new pipeline::CachedTimes()), true);

}  // namespace

int32_t tarsia_op_names(char*** names, uint64_t* n) {
  return guarded([&] {
    const std::vector<std::string> list = OpRegistry::instance().names();
    size_t bytes = (list.size() + 1) * sizeof(char*);  // pointers, then texts, in one block
    for (const std::string& name : list) bytes += name.size() + 1;
    char** block = static_cast<char**>(std::malloc(bytes));
    if (!block) throw std::bad_alloc();
    char* text = reinterpret_cast<char*>(block + list.size() + 1);
    for (size_t i = 0; i < list.size(); ++i) {
      block[i] = text;
      std::memcpy(text, list[i].c_str(), list[i].size() + 1);
      text += list[i].size() + 1;
    }
    block[list.size()] = nullptr;
    *names = block;
    *n = list.size();
  });
}

int32_t tarsia_define_ops(const char* name, const tarsia_op* const* ops, uint64_t n_ops,
                          void (*release)(void*), void* user, tarsia_library** library) {
  return guarded(
      [&] { *library = to_c(registry::Library::define(name, {ops, n_ops}, release, user).detach()); });
}

int32_t tarsia_op_find(const char* name, tarsia_op_handle** op) {
  return guarded([&] { *op = to_c(OpRegistry::instance().find_registered(name).detach()); });
}

void tarsia_op_retain(tarsia_op_handle* op) {
  from_c(op)->retain();
}

void tarsia_op_release(tarsia_op_handle* op) {
  if (op) from_c(op)->release();
}

const tarsia_op* tarsia_op_describe(const tarsia_op_handle* op) {
  return &from_c(op)->op();
}

uint64_t tarsia_op_generation(void) {
  return OpRegistry::instance().generation();
}

int32_t tarsia_op_infer(tarsia_op_handle* op, const tarsia_op_request* request, tarsia_meta* inputs,
                        uint32_t* n_inputs, tarsia_meta* outputs, uint32_t* n_outputs) {
  return guarded([&] {
    const registry::BoundInfo bound(from_c(op)->op(), *request);
    if (bound.inputs().size() > *n_inputs || bound.outputs().size() > *n_outputs)
      throw ArgumentError::value_error("there is no room for " + std::to_string(bound.inputs().size()) +
                                       " inputs and " + std::to_string(bound.outputs().size()) + " outputs");
    std::ranges::copy(bound.inputs(), inputs);
    std::ranges::copy(bound.outputs(), outputs);
    *n_inputs = static_cast<uint32_t>(bound.inputs().size());
    *n_outputs = static_cast<uint32_t>(bound.outputs().size());
  });
}

int32_t tarsia_op_count(tarsia_op_handle* op, const tarsia_op_request* request, uint32_t* n_inputs,
                        uint32_t* n_outputs) {
  return guarded([&] {
    const registry::Arity arity = registry::counts_of(from_c(op)->op(), *request);
    *n_inputs = arity.n_inputs;
    *n_outputs = static_cast<uint32_t>(std::ranges::count(arity.hidden, false));
  });
}

int32_t tarsia_op_inputs(tarsia_op_handle* op, const tarsia_op_request* request, tarsia_port* ports,
                         uint32_t* n) {
  return guarded([&] {
    const registry::Arity arity = registry::counts_of(from_c(op)->op(), *request);
    if (arity.n_inputs > *n)
      throw ArgumentError::value_error("there is no room for " + std::to_string(arity.n_inputs) + " inputs");
    std::ranges::copy(arity.inputs, ports);
    *n = arity.n_inputs;
  });
}

int32_t tarsia_op_bind(tarsia_op_handle* op, const tarsia_op_request* request, tarsia_bound_op** bound) {
  return guarded([&] { *bound = to_c(registry::bind(Ref(from_c(op)), *request).detach()); });
}

void tarsia_bound_retain(tarsia_bound_op* bound) {
  from_c(bound)->retain();
}

void tarsia_bound_release(tarsia_bound_op* bound) {
  if (bound) from_c(bound)->release();
}

const tarsia_meta* tarsia_bound_inputs(const tarsia_bound_op* bound, uint32_t* n) {
  return give(from_c(bound)->bound().inputs(), n);
}

const tarsia_port* tarsia_bound_ports(const tarsia_bound_op* bound, uint32_t* n) {
  return give(from_c(bound)->bound().input_ports(), n);
}

const tarsia_meta* tarsia_bound_outputs(const tarsia_bound_op* bound, uint32_t* n) {
  return give(from_c(bound)->bound().outputs(), n);
}

int32_t tarsia_bound_has_backward(const tarsia_bound_op* bound) {
  return from_c(bound)->has_backward();
}

int32_t tarsia_bound_has_gradient(const tarsia_bound_op* bound, uint32_t i) {
  return i < from_c(bound)->bound().inputs().size() && from_c(bound)->has_gradient(i);
}

int32_t tarsia_bound_describe(const tarsia_bound_op* bound, uint32_t pass, tarsia_bound_pass* description) {
  return guarded([&] {
    if (pass > TARSIA_BACKWARD)
      throw ArgumentError::value_error("there is no pass " + std::to_string(pass) +
                                       ": 0 is forward, 1 backward");
    const registry::BoundOp& op = *from_c(bound);
    const auto which = static_cast<tarsia_pass>(pass);
    tarsia_bound_pass full{};
    full.size = description->size;
    full.implementation = op.implementation(which);
    full.name = op.implementation_name(which).c_str();
    full.inplace = give(op.inplace(which), &full.n_inplace);
    full.workspace = op.workspace(which);
    full.conversions = give(op.conversion_texts(which), &full.n_conversions);
    full.needs = give(op.needs(which), &full.n_needs);
    full.measured = give(op.measured_times(which), &full.n_measured);
    full.not_measured = op.measured(which).reason.c_str();
    full.layouts = give(op.layout_texts(which), &full.n_layouts);
    std::memcpy(description, &full, std::min<size_t>(description->size, sizeof full));
  });
}

int32_t tarsia_op_explain(tarsia_op_handle* op, const tarsia_op_request* request, char** text) {
  return guarded([&] { *text = give_text(registry::explain_bind(Ref(from_c(op)), *request)); });
}

int32_t tarsia_bound_call(tarsia_bound_op* bound, const tarsia_op_call* call) {
  return from_c(bound)->call(*call);
}

int32_t tarsia_bound_check(const tarsia_bound_op* bound, const tarsia_op_call* call) {
  return guarded([&] { from_c(bound)->check(*call); });
}
