// Binding and the call path. The call path adds little to the author's function: one context on the stack,
// the thread's slot set and restored, and on a GPU a read of the runtime's error flag. Figures: bench/.
#include "registry/op/bound_op.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/cuda/cuda_driver.h"
#include "base/error.h"
#include "base/log.h"
#include "registry/elements/sparse.h"
#include "registry/op/choice.h"
#include "registry/op/needs.h"
#include "registry/op/op_step.h"
#include "registry/op/requests.h"
#include "registry/resources/call_context.h"
#include "registry/resources/last_error.h"
#include "registry/resources/memory.h"

namespace tarsia::registry {

namespace {

std::string op_name(const tarsia_op& op) {
  return std::string("op '") + op.name + "'";
}

/// The devices that an op has a pass for, for messages.
std::string devices_of(const tarsia_op& op, tarsia_pass pass) {
  std::string text;
  for (bool gpu : {false, true})
    for (unsigned i = 0; i < op.n_implementations; ++i)
      if (op.implementations[i].pass == static_cast<std::uint32_t>(pass) &&
          (op.implementations[i].device_type == TARSIA_GPU) == gpu) {
        text += (text.empty() ? "" : " and ") + std::string(device_name(gpu));
        break;
      }
  return text;
}

}  // namespace

BoundOp::BoundOp(Ref<OpEntry> entry, const tarsia_op_request& request, MeasuredPasses measured)
    : m_entry(std::move(entry)), m_bound(m_entry->op(), request), m_measured(std::move(measured)) {
  const tarsia_op& op = m_entry->op();
  m_bound.require_complete();
  if (has_sparse(m_bound)) m_dense = std::make_unique<DenseInfo>(m_bound);
  for (const tarsia_pass pass : {TARSIA_FORWARD, TARSIA_BACKWARD})
    for (const MeasuredTime& time : m_measured[pass].times)
      m_measured_times[pass].push_back({time.name.c_str(), time.seconds});
  m_passes = {plan(TARSIA_FORWARD), plan(TARSIA_BACKWARD)};
  if (!implementation(TARSIA_FORWARD)) {
    const bool gpu = is_gpu(request.device);
    std::string has = devices_of(op, TARSIA_FORWARD);
    if (has.find(device_name(gpu)) != std::string::npos)
      throw Unsupported(op_name(op) + " has no forward on " + device_text(request.device) +
                        " that takes these inputs");
    throw Unsupported(op_name(op) + " has no forward for " + device_name(gpu) + ", only for " + has +
                      ": move the tensors there, or register one");
  }
  m_write.assign(m_bound.outputs().size() + 1, TARSIA_REQUEST_WRITE);
  for (std::uint32_t i = 0; i < m_bound.inputs().size(); ++i)
    m_write_gradients.push_back(has_gradient(i) ? TARSIA_REQUEST_WRITE : TARSIA_REQUEST_NULL);
  const tarsia_bind_info& info = *m_passes[TARSIA_FORWARD].info;
  if (!op.create_state) return;
  std::optional<CudaDeviceScope> on_its_gpu;  // handles of libraries belong to the GPU on which they are made
  if (is_gpu(info.device) && find_cuda_driver()) on_its_gpu.emplace(info.device.id);
  if (run_step(op, "state", &info, [&] { return op.create_state(op.user, &info, &m_state); }))
    throw_op_error(op, "state");
}

BoundOp::~BoundOp() {
  const tarsia_op& op = m_entry->op();
  if (!m_state || !op.destroy_state) return;
  std::optional<CudaDeviceScope> on_its_gpu;
  try {
    if (is_gpu(m_bound.info().device) && find_cuda_driver()) on_its_gpu.emplace(m_bound.info().device.id);
  } catch (const std::exception&) {  // the driver has ended with the process
  }
  run_step(op, "end of its state", &m_bound.info(), [&] { op.destroy_state(op.user, m_state); });
}

bool BoundOp::draws_random() const {
  return m_entry->op().flags & TARSIA_OP_RANDOM;
}

bool BoundOp::is_compiled(tarsia_pass pass) const {
  const tarsia_implementation* one = implementation(pass);
  return one && *m_entry->library().path() != '\0' && *m_entry->library_of(*one).path() != '\0';
}

bool BoundOp::changes_input(std::uint32_t i) const {
  return m_bound.inputs()[i].present && m_bound.input_flags(i) & TARSIA_PORT_MUTABLE;
}

bool BoundOp::has_gradient(std::uint32_t i) const {
  return m_bound.inputs()[i].present &&
         !(m_bound.input_flags(i) & (TARSIA_PORT_MUTABLE | TARSIA_PORT_NO_GRADIENT));
}

BoundOp::Pass BoundOp::plan(tarsia_pass pass) const {
  const tarsia_op& op = m_entry->op();
  const Choice choice = choose({op, m_bound.info(), m_dense ? &m_dense->info() : nullptr, &m_measured}, pass);
  Pass plan;
  plan.implementation = choice.implementation;
  if (!plan.implementation) return plan;
  const tarsia_implementation& implementation = *plan.implementation;
  plan.name = name_of(op, implementation);
  plan.is_dense = choice.is_dense;
  plan.is_alone = op.create_state && !(op.flags & TARSIA_OP_SHARED_STATE);
  plan.n_inputs = count_inputs(m_bound.info(), pass);
  plan.n_outputs = count_outputs(m_bound.info(), pass);
  if (pass == TARSIA_BACKWARD) plan.needs = needs_of(m_bound);
  if (plan.needs.empty()) plan.n_plain_inputs = plan.n_inputs;
  plan.info = choice.is_dense ? &m_dense->info() : &m_bound.info();
  const tarsia_bind_info& info = *plan.info;
  // What is converted lies in memory of its own, so the pairs are those of the caller's dense tensors.
  plan.pairs = InplacePairs(op, implementation, m_bound.info());
  if (choice.is_dense) {
    plan.conversions = describe_conversions(m_bound, pass, plan.needs);
    for (const std::string& one : plan.conversions) plan.conversion_texts.push_back(one.c_str());
    tell_conversions(op, pass, plan.conversions);
    plan.converted_bytes = registry::converted_bytes(m_bound.info(), pass, plan.needs);
  }
  plan.layouts = PassLayouts(op, implementation, info, m_bound.info());
  plan.pairs.keep(
      [&](const tarsia_inplace& pair) { return plan.layouts.lie_alike(pair.input, pair.output); });
  plan.layout_lines = describe_layouts(m_bound, pass, plan.layouts);
  for (const std::string& one : plan.layout_lines) plan.layout_texts.push_back(one.c_str());
  plan.is_as_given = !choice.is_dense && plan.layouts.are_row_major();
  if (implementation.workspace) {
    const std::int64_t bytes = run_step(op, "workspace", &info, [&] {
      return implementation.workspace(implementation.workspace_user, &info);
    });
    if (bytes < 0) throw_op_error(op, "workspace");
    plan.workspace = static_cast<std::uint64_t>(bytes);
  }
  return plan;
}

std::string explain(const tarsia_op& op, const tarsia_op_request& request, const MeasuredPasses& measured) {
  const BoundInfo bound(op, request);
  bound.require_complete();
  std::string text = op_name(op) + " on " + device_text(request.device);
  for (unsigned i = 0; i < bound.inputs().size(); ++i)
    if (bound.inputs()[i].present) text += ", " + bound.input_name(i) + " " + describe(bound.inputs()[i]);
  text += "\n";
  std::unique_ptr<DenseInfo> dense;
  if (has_sparse(bound)) dense = std::make_unique<DenseInfo>(bound);
  const ChoiceOf of{op, bound.info(), dense ? &dense->info() : nullptr, &measured};
  for (const tarsia_pass pass : {TARSIA_FORWARD, TARSIA_BACKWARD}) {
    if (pass == TARSIA_BACKWARD && devices_of(op, pass).empty()) continue;
    text += explain_choice(of, pass);
    const Choice choice = choose(of, pass);
    if (!choice.implementation) continue;
    try {
      const PassLayouts layouts(op, *choice.implementation, choice.is_dense ? dense->info() : bound.info(),
                                bound.info());
      for (const std::string& one : describe_layouts(bound, pass, layouts)) text += "  takes " + one + "\n";
    } catch (const OpError& fault) {
      text += "  cannot be bound: " + std::string(fault.what()) + "\n";
    }
    if (!choice.is_dense) continue;
    const std::vector<std::uint8_t> needs =
        pass == TARSIA_BACKWARD ? needs_of(bound) : std::vector<std::uint8_t>();
    for (const std::string& one : describe_conversions(bound, pass, needs)) text += "  " + one + "\n";
  }
  return text;
}

std::int32_t BoundOp::call(const tarsia_op_call& call) noexcept {
  // 1. Choose the implementation of the pass, and count the tensors.
  const bool backward = call.pass == TARSIA_BACKWARD;
  const Pass& pass = backward ? m_passes[TARSIA_BACKWARD] : m_passes[TARSIA_FORWARD];
  if (call.n_inputs != pass.n_plain_inputs || call.n_outputs != pass.n_outputs) [[unlikely]]
    return call_slowly(pass, call);
  return this->call(pass, call);
}

std::int32_t BoundOp::call_slowly(const Pass& pass, const tarsia_op_call& call) noexcept {
  if (!pass.implementation || call.n_inputs != pass.n_inputs || call.n_outputs != pass.n_outputs)
    return refuse(call);
  constexpr std::size_t k_few = 16;
  std::array<const tarsia_tensor*, k_few> few;
  std::vector<const tarsia_tensor*> many;
  const tarsia_tensor** inputs = few.data();
  if (call.n_inputs > k_few) {
    if (const std::int32_t code = guarded([&] { many.resize(call.n_inputs); })) return code;
    inputs = many.data();
  }
  for (std::uint32_t i = 0; i < call.n_inputs; ++i) inputs[i] = pass.needs[i] ? call.inputs[i] : nullptr;
  tarsia_op_call needed = call;
  needed.inputs = inputs;
  return this->call(pass, needed);
}

inline std::int32_t BoundOp::call(const Pass& pass, const tarsia_op_call& call) noexcept {
  // 2. Fill the context. From here on it holds all that the author's function sees, save the stream.
  const tarsia_bind_info& info = m_bound.info();
  tarsia_op_context context;
  context.size = sizeof(context);
  context.n_inputs = call.n_inputs;
  context.n_outputs = call.n_outputs;
  context.pass = call.pass;
  context.inputs = call.inputs;
  context.outputs = call.outputs;
  context.requests = call.requests                  ? call.requests
                     : call.pass == TARSIA_BACKWARD ? m_write_gradients.data()
                                                    : m_write.data();
  context.info = &info;
  context.state = m_state;
  context.stream = nullptr;
  context.device = info.device;
  context.allocate_sparse = &allocate_sparse;
  context.caller = this;

  // 3. See whether it can run as it is: whether the implementation takes the storage types and layouts,
  // honours the requests, and may share what outputs share with inputs.
  const bool is_plain = pass.is_as_given && pass.pairs.allow(context, pass.implementation->requests);

  // 4. Enter the device. The CPU has no stream, and nothing is launched there whose errors show later.
  if (is_gpu(info.device)) return call_on_gpu(pass, call, context, is_plain);
  CallFrame frame(info.device, m_entry->op(), context);

  // 5. Run.
  return is_plain ? run(pass, context) : run_converted(pass, context);
}

std::int32_t BoundOp::call_on_gpu(const Pass& pass, const tarsia_op_call& call, tarsia_op_context& context,
                                  bool is_plain) noexcept {
  try {
    // 4. Enter the device and the stream.
    const tarsia_device device = context.device;
    CudaDeviceScope scope(device.id);
    context.stream = call.has_stream ? call.stream : current_stream(device.id);
    CallFrame frame(device, context.stream, m_entry->op(), context);

    // 5. Run.
    const std::int32_t code = is_plain ? run(pass, context) : run_converted(pass, context);

    // 6. Look for launch errors.
    return code ? code : check_launches(*pass.implementation);
  } catch (...) {
    return capture_error();
  }
}

std::int32_t BoundOp::refuse(const tarsia_op_call& call) noexcept {
  return guarded([&] {
    const tarsia_bind_info& info = m_bound.info();
    const Pass& pass = m_passes[call.pass == TARSIA_BACKWARD];
    if (!pass.implementation)
      throw Unsupported(op_name(m_entry->op()) + " has no backward for " + device_name(is_gpu(info.device)));
    throw ArgumentError::type_error(op_name(m_entry->op()) + ", " + pass_name(call.pass) + ": takes " +
                                    std::to_string(pass.n_inputs) + " inputs and " +
                                    std::to_string(pass.n_outputs) + " outputs, not " +
                                    std::to_string(call.n_inputs) + " and " + std::to_string(call.n_outputs));
  });
}

std::int32_t BoundOp::run(const Pass& pass, const tarsia_op_context& context) noexcept {
  const tarsia_implementation& implementation = *pass.implementation;
  if (pass.is_alone && m_state) return run_in_turn(implementation, context);
  const std::int32_t code = implementation.run(implementation.run_user, &context);
  return code ? fail(implementation, code) : 0;
}

std::int32_t BoundOp::run_in_turn(const tarsia_implementation& implementation,
                                  const tarsia_op_context& context) noexcept {
  bool taken = false;
  if (const std::int32_t code = guarded([&] { taken = m_state_turn.take(m_entry->op().name); })) return code;
  const std::int32_t code = implementation.run(implementation.run_user, &context);
  if (taken) m_state_turn.give();
  return code ? fail(implementation, code) : 0;
}

std::int32_t BoundOp::fail(const tarsia_implementation& implementation, std::int32_t code) noexcept {
  try {
    LastError& error = last_error();
    error.code = code;
    error.message = with_place(op_name(m_entry->op()) + ", " + pass_name(implementation.pass) + " on " +
                                   device_text(m_bound.info().device) + ": " + error.message,
                               m_entry->op(), code);
  } catch (...) {
    last_error().code = code;
  }
  return code;
}

std::int32_t BoundOp::check_launches(const tarsia_implementation& implementation) noexcept {
  const LaunchErrors& errors = m_entry->library_of(implementation).launch_errors();
  const CudaRuntime* runtime = errors.runtime;
  if (!runtime || errors.surely_none()) return 0;
  const int result = runtime->cudaGetLastError();
  if (!result) return 0;
  return guarded([&] {
    throw CudaError(op_name(m_entry->op()) + ", " + pass_name(implementation.pass) + " on " +
                    device_text(m_bound.info().device) + ": " + runtime->cudaGetErrorName(result) + ": " +
                    runtime->cudaGetErrorString(result));
  });
}

std::int32_t BoundOp::run_converted(const Pass& pass, tarsia_op_context& context) noexcept {
  if (pass.is_as_given) return run_with_copies(pass, context);
  if (!pass.is_dense) return run_in_layouts(pass, context);
  try {
    DenseRun dense(context, *pass.info);
    if (const std::int32_t code = run_in_layouts(pass, dense.context())) return code;
    dense.finish();
    return 0;
  } catch (...) {
    return capture_error();
  }
}

std::int32_t BoundOp::run_in_layouts(const Pass& pass, tarsia_op_context& context) noexcept {
  try {
    LayoutRun laid_out(context, pass.layouts);
    const bool is_plain = pass.pairs.allow(laid_out.context(), pass.implementation->requests);
    if (const std::int32_t code =
            is_plain ? run(pass, laid_out.context()) : run_with_copies(pass, laid_out.context()))
      return code;
    laid_out.finish();
    return 0;
  } catch (...) {
    return capture_error();
  }
}

std::int32_t BoundOp::run_with_copies(const Pass& pass, tarsia_op_context& context) noexcept {
  try {
    RequestCopies copies(*pass.implementation, pass.pairs, pass.layouts, context);
    if (std::int32_t code = run(pass, copies.context())) return code;
    copies.finish();
    return 0;
  } catch (...) {
    return capture_error();
  }
}

namespace {

bool is_plainly(const tarsia_tensor* tensor, const tarsia_meta& meta, const tarsia_device& device) {
  if (!tensor || meta.storage != TARSIA_DENSE || tensor->ndim != meta.ndim || tensor->strides ||
      std::memcmp(&tensor->device, &device, sizeof(device)) != 0 ||
      std::memcmp(&tensor->dtype, &meta.dtype, sizeof(meta.dtype)) != 0)
    return false;
  for (int i = 0; i < meta.ndim; ++i)
    if (tensor->shape[i] != meta.shape[i]) return false;
  return true;
}

}  // namespace

// The most common call. It is recognised without any text.
bool BoundOp::fits_plainly(const tarsia_op_call& call) const noexcept {
  const tarsia_bind_info& info = m_bound.info();
  if (call.pass != TARSIA_FORWARD || call.n_inputs != info.n_inputs || call.n_outputs != info.n_outputs)
    return false;
  for (std::uint32_t i = 0; i < call.n_inputs; ++i)
    if (!is_plainly(call.inputs[i], info.inputs[i], info.device)) return false;
  for (std::uint32_t i = 0; i < call.n_outputs; ++i)
    if (!is_plainly(call.outputs[i], info.outputs[i], info.device)) return false;
  return true;
}

void BoundOp::check(const tarsia_op_call& call) const {
  if (fits_plainly(call)) return;
  const tarsia_bind_info& info = m_bound.info();
  const bool backward = call.pass == TARSIA_BACKWARD;
  // Texts are put together only for errors, since this runs before every call.
  auto where = [&] { return op_name(m_entry->op()) + ", " + pass_name(call.pass) + ": "; };
  const PassLayouts& layouts = m_passes[backward].layouts;
  const tarsia_implementation* chosen =
      implementation(call.pass == TARSIA_BACKWARD ? TARSIA_BACKWARD : TARSIA_FORWARD);
  const bool follows_strides = chosen && chosen->takes_any & TARSIA_TAKES_ANY_STRIDES;
  auto check_tensor = [&](const tarsia_tensor* tensor, const tarsia_meta& meta, const std::int64_t* strides,
                          const auto& name, bool optional, bool writes = false) {
    if (!tensor) {
      if (optional || !meta.present) return;
      throw ArgumentError::type_error(where() + name() + " is missing");
    }
    if (tensor->device.type != info.device.type && is_gpu(tensor->device) != is_gpu(info.device))
      throw ArgumentError::value_error(where() + name() + " is on " + device_text(tensor->device) +
                                       "; the op is bound to " + device_text(info.device) +
                                       ": bind it again for another device");
    if (is_gpu(info.device) && tensor->device.id != info.device.id)
      throw ArgumentError::value_error(where() + name() + " is on " + device_text(tensor->device) +
                                       "; the op is bound to " + device_text(info.device) +
                                       ": bind it again for another device");
    bool same =
        tensor->ndim == meta.ndim && std::memcmp(&tensor->dtype, &meta.dtype, sizeof(meta.dtype)) == 0;
    for (int i = 0; same && i < meta.ndim; ++i) same = tensor->shape[i] == meta.shape[i];
    if (!same)
      throw ArgumentError::value_error(where() + name() + " is " + describe(meta_of(*tensor)) +
                                       "; the op is bound to " + describe(meta) +
                                       ": bind it again for another shape or dtype");
    if (meta.storage != TARSIA_DENSE) return;
    if (follows_strides && !writes) return;
    if (!is_contiguous(*tensor) && !(strides && lies(*tensor, strides)))
      throw ArgumentError::value_error(where() + name() + " is not contiguous: pass " +
                                       (writes ? "a contiguous tensor, and copy from it afterwards"
                                               : "a contiguous copy, as numpy.ascontiguousarray(x) and "
                                                 "PyTorch's x.contiguous() make it"));
  };
  const std::uint32_t n_in = info.n_inputs, n_out = info.n_outputs;
  if (call.n_inputs != (backward ? 2 * n_out + n_in : n_in) || call.n_outputs != (backward ? n_in : n_out))
    throw ArgumentError::type_error(where() + "takes " + std::to_string(backward ? 2 * n_out + n_in : n_in) +
                                    " inputs and " + std::to_string(backward ? n_in : n_out) +
                                    " outputs, not " + std::to_string(call.n_inputs) + " and " +
                                    std::to_string(call.n_outputs));
  const std::uint32_t first = backward ? n_out : 0;
  const std::vector<std::uint8_t>& needs = m_passes[backward].needs;
  const auto is_needed = [&](std::uint32_t i) { return needs.empty() || needs[i]; };
  for (std::uint32_t i = 0; backward && i < n_out; ++i) {
    const bool is_hidden = m_bound.is_hidden(i);  // nobody has its gradient
    if (is_needed(i))
      check_tensor(
          call.inputs[i], m_bound.outputs()[i], layouts.strides_of_input(i),
          [&] { return "gradient of " + m_bound.output_name(i); }, is_hidden);
    if (is_needed(n_out + n_in + i))
      check_tensor(
          call.inputs[n_out + n_in + i], m_bound.outputs()[i], layouts.strides_of_input(n_out + n_in + i),
          [&] { return m_bound.output_name(i); }, true);
  }
  for (std::uint32_t i = 0; i < n_in; ++i)
    if (is_needed(first + i))
      check_tensor(
          call.inputs[first + i], m_bound.inputs()[i], layouts.strides_of_input(first + i),
          [&] { return m_bound.input_name(i); }, false, !backward && changes_input(i));
  const std::uint8_t* requests = call.requests ? call.requests
                                 : backward    ? m_write_gradients.data()
                                               : m_write.data();
  for (std::uint32_t i = 0; i < (backward ? n_in : n_out); ++i) {
    if (requests[i] > TARSIA_REQUEST_ADD)
      throw ArgumentError::value_error(where() + "there is no write request " + std::to_string(requests[i]));
    if (backward && requests[i] != TARSIA_REQUEST_NULL && !has_gradient(i) && m_bound.inputs()[i].present)
      throw ArgumentError::value_error(where() + m_bound.input_name(i) +
                                       " has no gradient: ask for it with the request null");
    check_tensor(
        call.outputs[i], backward ? m_bound.inputs()[i] : m_bound.outputs()[i], layouts.strides_of_output(i),
        [&] { return backward ? "gradient of " + m_bound.input_name(i) : m_bound.output_name(i); },
        requests[i] == TARSIA_REQUEST_NULL, true);
  }
}

}  // namespace tarsia::registry
