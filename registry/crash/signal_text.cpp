// Numbers, tensors and arguments as text, by plain arithmetic.
#include "registry/crash/signal_text.h"

#include <tarsia/detail/dtype_names.h>
#include <tarsia/detail/support.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>

namespace tarsia::registry {
namespace {

std::atomic<int> g_report_descriptor{STDERR_FILENO};

}  // namespace

int report_descriptor() noexcept {
  return g_report_descriptor;
}

void set_report_descriptor(int descriptor) noexcept {
  g_report_descriptor = descriptor;
}

SignalText& SignalText::add(std::string_view text) {
  while (!text.empty()) {
    if (m_used == sizeof m_text) flush();
    const std::size_t n = std::min(text.size(), sizeof m_text - m_used);
    std::memcpy(m_text + m_used, text.data(), n);
    m_used += n;
    text.remove_prefix(n);
  }
  return *this;
}

SignalText& SignalText::number_without_sign(std::uint64_t number) {
  char digits[20];
  std::size_t at = sizeof digits;
  do digits[--at] = static_cast<char>('0' + number % 10);
  while (number /= 10);
  return add({digits + at, sizeof digits - at});
}

SignalText& SignalText::number(std::int64_t number) {
  if (number >= 0) return number_without_sign(static_cast<std::uint64_t>(number));
  return add("-").number_without_sign(~static_cast<std::uint64_t>(number) + 1);
}

SignalText& SignalText::hex(std::uint64_t number) {
  char digits[16];
  std::size_t at = sizeof digits;
  do digits[--at] = "0123456789abcdef"[number % 16];
  while (number /= 16);
  return add("0x").add({digits + at, sizeof digits - at});
}

SignalText& SignalText::real(double number) {
  char digits[32];  // to_chars allocates nothing
  const std::to_chars_result end = std::to_chars(digits, digits + sizeof digits, number);
  return add({digits, static_cast<std::size_t>(end.ptr - digits)});
}

SignalText& SignalText::quoted(std::string_view text) {
  constexpr std::size_t k_most = 60;
  add("'");
  for (const char c : text.substr(0, k_most)) add(c < ' ' || c == 127 ? "." : std::string_view(&c, 1));
  return add(text.size() > k_most ? "'..." : "'");
}

void SignalText::flush() {
  const char* from = m_text;
  while (m_used > 0) {
    const ssize_t n = ::write(m_fd, from, m_used);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    from += n;
    m_used -= static_cast<std::size_t>(n);
  }
  m_used = 0;
}

void add_origin(SignalText& text, std::string_view location, std::span<const TextOrigin> origins) {
  const std::size_t colon = location.rfind(':');
  if (colon == location.npos) return;
  std::uint64_t line = 0;
  std::from_chars(location.data() + colon + 1, location.data() + location.size(), line);
  for (const TextOrigin& origin : origins)
    if (origin.name == location.substr(0, colon) && origin.line_of(line))
      text.add(" (").add(origin.file).add(":").number(origin.line_of(line)).add(")");
}

namespace {

void add_dtype(SignalText& text, tarsia_dtype dtype) {
  if (const char* name = detail::element_name(dtype))
    text.add(name);
  else
    text.add("dtype(").number(dtype.code).add(", ").number(dtype.bits).add(")");
  if (dtype.lanes > 1) text.add("x").number(dtype.lanes);
}

/// `context`: whose tensor_at() finds tensors behind pointers; may be null.
void add_value(SignalText& text, const tarsia_call_context* context, const tarsia_param* param,
               const tarsia_value& value) {
  const bool has_lookup = context && TARSIA_DETAIL_GIVES(*context, tensor_at);
  switch (value.kind) {
    case TARSIA_KIND_NONE:
      text.add("none");
      return;
    case TARSIA_KIND_BOOL:
      text.add(value.i ? "true" : "false");
      return;
    case TARSIA_KIND_INT:
      if (value.size == TARSIA_UNSIGNED ||
          (param && param->type.dtype.code == TARSIA_UINT && param->type.dtype.bits == 64))
        text.number_without_sign(value.u);
      else
        text.number(value.i);
      return;
    case TARSIA_KIND_FLOAT:
      text.real(value.f);
      return;
    case TARSIA_KIND_STRING:
      if (param && param->type.kind != TARSIA_KIND_STRING)
        text.add("a struct of ").number(value.size).add(" bytes");
      else
        text.quoted({value.s, value.size});
      return;
    case TARSIA_KIND_TENSOR:
    case TARSIA_KIND_SPAN:
      add_tensor(text, value.t);
      return;
    case TARSIA_KIND_COMPLEX:
      text.add("(").real(value.v[0].f).add(",").real(value.v[1].f).add(")");
      return;
    case TARSIA_KIND_POINTER:
      if (const tarsia_tensor* tensor =
              has_lookup && value.p ? context->tensor_at(context->user, value.p) : nullptr)
        add_tensor(text, tensor);
      else
        text.hex(reinterpret_cast<std::uintptr_t>(value.p));
      return;
    case TARSIA_KIND_STRUCT:
    case TARSIA_KIND_CONST_STRUCT:
      text.add("a struct of ").number(value.size).add(" bytes");
      return;
    case TARSIA_KIND_OBJECT:
      text.add("an object");
      return;
    case TARSIA_KIND_STREAM:
      text.add("a stream");
      return;
    case TARSIA_KIND_LIST: {
      constexpr std::uint32_t k_most = 4;
      text.add("[");
      for (std::uint32_t i = 0; i < std::min(value.size, k_most); ++i) {
        if (i) text.add(", ");
        add_value(text, context, nullptr, value.v[i]);
      }
      if (value.size > k_most) text.add(", ... ").number(value.size).add(" in all");
      text.add("]");
      return;
    }
    default:
      text.add("?");
  }
}

/// The i-th port, the last one standing for all behind it.
std::string_view port_name(const tarsia_port* ports, std::uint32_t n, std::uint32_t i) {
  if (n == 0) return {};
  const tarsia_port& port = ports[std::min(i, n - 1)];
  const bool has_it = i < n || port.flags & TARSIA_PORT_VARIADIC;
  return has_it && port.name ? std::string_view(port.name) : std::string_view();
}

/// The ports of the inputs, as far as they are known.
struct InputPorts {
  const tarsia_port* ports;
  std::uint32_t n;
  InputPorts(const tarsia_op& op, const tarsia_bind_info& info)
      : ports(info.ports ? info.ports : op.inputs), n(info.ports ? info.n_inputs : op.n_inputs) {}
};

void add_group(SignalText& text, const char* what, const tarsia_port* ports, std::uint32_t n_ports,
               const tarsia_tensor* const* tensors, std::uint32_t n, bool& is_first) {
  for (std::uint32_t i = 0; i < n; ++i) {
    text.add(is_first ? "" : ", ").add(what).add(" ");
    is_first = false;
    if (const std::string_view name = port_name(ports, n_ports, i); !name.empty())
      text.quoted(name);
    else
      text.number(i);
    text.add(" ");
    add_tensor(text, tensors[i]);
  }
}

/// "float32[?, 3]", "?[...]": the parts that are known.
void add_meta(SignalText& text, const tarsia_meta& meta) {
  if (!meta.present) {
    text.add("absent");
    return;
  }
  if (meta.dtype.code == TARSIA_ANY_DTYPE)
    text.add("?");
  else
    add_dtype(text, meta.dtype);
  text.add(meta.ndim < 0 ? "[..." : "[");
  for (std::int32_t i = 0; i < meta.ndim; ++i) {
    if (i) text.add(", ");
    if (meta.shape[i] < 0)
      text.add("?");
    else
      text.number(meta.shape[i]);
  }
  text.add("]");
}

}  // namespace

void add_tensor(SignalText& text, const tarsia_tensor* tensor) {
  if (!tensor) {
    text.add("absent");
    return;
  }
  add_dtype(text, tensor->dtype);
  text.add("[");
  for (std::int32_t i = 0; i < tensor->ndim; ++i) text.add(i ? ", " : "").number(tensor->shape[i]);
  text.add("]");
  if (tensor->device.type != TARSIA_CPU) text.add(" on GPU ").number(tensor->device.id);
}

void add_arguments(SignalText& text, const tarsia_call_context& context) {
  const tarsia_function& function = *context.function;
  for (std::uint64_t i = 0; i < context.n_args; ++i) {
    const tarsia_param* param = i < function.n_params ? &function.params[i] : nullptr;
    if (i) text.add(", ");
    if (param && param->name && *param->name)
      text.add(param->name).add(" = ");
    else
      text.add("argument ").number_without_sign(i).add(" = ");
    add_value(text, &context, param, context.args[i]);
  }
}

void add_tensors(SignalText& text, const tarsia_call_context& context) {
  const tarsia_op& op = *context.op;
  const tarsia_op_context& call = *context.op_call;
  const std::uint32_t n_in = call.info->n_inputs, n_out = call.info->n_outputs;
  bool is_first = true;
  const bool backward = call.pass == TARSIA_BACKWARD;
  const InputPorts of(op, *call.info);
  if (backward) {
    add_group(text, "gradient of", op.outputs, op.n_outputs, call.inputs, n_out, is_first);
    add_group(text, "input", of.ports, of.n, call.inputs + n_out, n_in, is_first);
    add_group(text, "gradient of", of.ports, of.n, call.outputs, n_in, is_first);
    return;
  }
  add_group(text, "input", of.ports, of.n, call.inputs, n_in, is_first);
  add_group(text, "output", op.outputs, op.n_outputs, call.outputs, n_out, is_first);
}

void add_bind_info(SignalText& text, const tarsia_op& op, const tarsia_bind_info& info) {
  const InputPorts of(op, info);
  for (std::uint32_t i = 0; i < info.n_inputs; ++i) {
    text.add(i ? ", input " : "input ");
    if (const std::string_view name = port_name(of.ports, of.n, i); !name.empty())
      text.quoted(name);
    else
      text.number(i);
    text.add(" ");
    add_meta(text, info.inputs[i]);
  }
  for (std::uint32_t i = 0; i < info.n_attributes; ++i) {
    text.add(info.n_inputs || i ? ", " : "").add(info.attribute_names[i]).add(" = ");
    add_value(text, nullptr, nullptr, info.attributes[i]);
  }
}

}  // namespace tarsia::registry
