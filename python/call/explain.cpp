// Messages about arguments for Python's users. They name objects, dtypes and devices as their frameworks
// do, and say what to pass instead. Nothing here runs in a call that succeeds.
#include "python/call/explain.h"

#include "python/call/record_format.h"
#include "python/core/errors.h"

namespace tarsia::python {
namespace {

using arguments::Misfit;

bool is_torch(PyObject* object) {
  const ExchangeProtocol protocol = protocol_of(Py_TYPE(object));
  return protocol.kind == ProtocolKind::exchange &&
         static_cast<bool>(attribute_or_null(object, "contiguous"));
}

bool is_numpy(PyObject* object) {
  return protocol_of(Py_TYPE(object)).kind == ProtocolKind::numpy;
}

constexpr arguments::Nouns k_nouns{
    "a bool",
    "an int",
    "a float",
    "a complex",
    "a str or bytes",
    "a tensor (NumPy, PyTorch or anything with __dlpack__)",
    "a CUDA stream (int, torch.cuda.Stream, anything with __cuda_stream__, or None)",
    "a list or tuple",
    "None",
    " or None",
    "cuda:"};

std::string describe_view(const View& view) {
  return type_name(Py_TYPE(view.object)) + " " + arguments::tensor_text(view.tensor, k_nouns);
}

/// Advice on making a tensor of the wanted dtype.
std::string dtype_advice(const std::string& name, const View& view, const Misfit& misfit) {
  const std::string dtype = dtype_name(misfit.type.dtype);
  if (misfit.writes())
    return "the " + std::string(misfit.callee()) + " writes to it, so make it with dtype=" + dtype +
           " in the first place";
  if (is_torch(view.object)) return "pass " + name + ".to(torch." + dtype + ")";
  if (is_numpy(view.object))
    return "pass " + name + ".astype(numpy." + (dtype == "bool" ? "bool_" : dtype) + ")";
  return "convert it to " + dtype;
}

std::string layout_advice(const std::string& name, const View& view, const Misfit& misfit) {
  if (misfit.writes())
    return "the " + std::string(misfit.callee()) +
           " writes to it: pass a contiguous one, and copy from it afterwards";
  if (is_torch(view.object)) return "pass " + name + ".contiguous()";
  if (is_numpy(view.object)) return "pass numpy.ascontiguousarray(" + name + ")";
  return "pass a contiguous copy";
}

/// The explanation of one argument.
class PythonWords final : public arguments::FaceWords {
 public:
  PythonWords(const Plan& plan, const Frame& frame, const Mismatch& mismatch, Ref& cause)
      : m_plan(plan), m_frame(frame), m_cause(cause), m_name(text_of(plan.params[mismatch.param].name)) {
    const bool in_list = frame.blame.item >= 0;
    m_object = in_list ? frame.blame.item_given : mismatch.argument;
    if (m_name.empty()) m_name = "x";
    if (in_list) m_name += "[" + std::to_string(frame.blame.item) + "]";
  }

  const arguments::Nouns& nouns() const override { return k_nouns; }
  std::string given() const override {
    return m_frame.blame.memory ? describe_view(*m_frame.blame.memory) : describe_argument(m_object);
  }
  std::string value() const override { return short_repr(m_object); }
  std::string remedy(const Misfit& misfit) const override;
  Explanation own(const Misfit& misfit) const override;

 private:
  std::string remedy_for_tensor(const Misfit& misfit, const View& view) const;
  std::string remedy_for_type(const Misfit& misfit) const;

  const Plan& m_plan;
  const Frame& m_frame;
  Ref& m_cause;
  std::string m_name;
  PyObject* m_object;
};

/// What the records of a buffer consist of.
static std::string fields_of(PyObject* object) {
  Py_buffer buffer;
  if (run_python<PyObject_GetBuffer>(object, &buffer, PyBUF_FULL_RO) != 0) {
    PyErr_Clear();
    return {};
  }
  const std::string text = fields_text(buffer.format, static_cast<std::uint32_t>(buffer.itemsize));
  run_python<PyBuffer_Release>(&buffer);
  return text.empty() ? text : " with " + text;
}

std::string PythonWords::remedy(const Misfit& misfit) const {
  switch (misfit.why) {
    case Why::integer:
      return "; pass float(" + m_name + ")";
    case Why::inexact:
      return "; pass float(" + m_name + ") if the nearest number will do";
    case Why::size:
      return "; a NumPy dtype has its layout with align=True, a ctypes.Structure has it by itself";
    case Why::fields:
      return fields_of(m_object);
    case Why::type:
      return remedy_for_type(misfit);
    default:
      return m_frame.blame.memory ? remedy_for_tensor(misfit, *m_frame.blame.memory) : "";
  }
}

std::string PythonWords::remedy_for_tensor(const Misfit& misfit, const View& view) const {
  const bool torch = is_torch(view.object);
  switch (misfit.why) {
    case Why::dtype:
      return "; " + dtype_advice(m_name, view, misfit);
    case Why::conjugated:
      return "; pass " + m_name + ".resolve_conj().resolve_neg()";
    case Why::layout:
      return "; " + layout_advice(m_name, view, misfit);
    case Why::alignment:
      return torch ? "; pass " + m_name + ".clone()" : "; pass a copy";
    case Why::no_memory:
      return "; what torch.compile and torch.export trace calls an operator, tarsia.torch.register";
    case Why::wants_cpu:
      return "; pass " + m_name + ".cpu()";
    case Why::wants_gpu:
      return "; pass " + m_name + (torch ? ".cuda()" : " in GPU memory");
    case Why::apart:
      if (!torch) return "";
      return "; pass " + m_name +
             (misfit.others.type == TARSIA_CPU
                  ? ".cpu()"
                  : ".to('" + arguments::device_name(misfit.others, k_nouns) + "')");
    default:
      return "";
  }
}

std::string PythonWords::remedy_for_type(const Misfit& misfit) const {
  const tarsia_type& type = misfit.type;
  if (misfit.is_kernel() && type.kind == TARSIA_KIND_NONE)
    return std::string(": bytes, a NumPy record or a ctypes.Structure") +
           (type.dtype.lanes > 1 ? ", or a tuple of " + std::to_string(type.dtype.lanes) + " numbers"
            : type.dtype.code == TARSIA_COMPLEX ? ", or a complex"
                                                : "");
  if (type.kind == TARSIA_KIND_STRUCT)
    return std::string(": ") + (misfit.writes() ? "" : "bytes, a NumPy record, ") +
           "a NumPy array of such records or a ctypes.Structure";
  std::string text = advice_for(m_object);
  if (misfit.is_kernel() && type.kind == TARSIA_KIND_POINTER && PyLong_Check(m_object))
    text += "; pass the tensor itself, or ctypes.c_void_p(" + m_name + ") for a bare address";
  const bool wants_number =
      type.kind == TARSIA_KIND_INT || type.kind == TARSIA_KIND_FLOAT || type.kind == TARSIA_KIND_BOOL;
  if (wants_number && protocol_of(Py_TYPE(m_object)).kind != ProtocolKind::none)
    text += "; pass " + m_name + ".item()";
  else if (type.kind == TARSIA_KIND_INT && PyFloat_Check(m_object))
    text += "; pass int(" + m_name + ")";
  return text;
}

Explanation PythonWords::own(const Misfit& misfit) const {
  switch (misfit.why) {
    case Why::unreadable:
      return {explain_unreadable(m_object, m_name, m_cause), true};
    case Why::mixed: {
      std::string other;
      for (uint32_t i = 0; i < m_frame.n_given && i < m_plan.n_params; ++i)
        if (m_frame.given[i] == m_frame.family_object) other = text_of(m_plan.params[i].name);
      return {explain_state(misfit.why, m_frame, m_object, m_name) +
                  (other.empty() ? "" : " ('" + other + "' is the first)"),
              false};
    }
    case Why::masked:
    case Why::element_type:
      return {explain_elements(misfit.why, m_name, m_object), false};
    default:
      return {explain_state(misfit.why, m_frame, m_object, m_name), true};
  }
}

}  // namespace

std::string describe(const Plan& plan) {
  return arguments::overload_text(plan.function->signature, plan.function->location);
}

std::string describe_argument(PyObject* object) {
  if (object == Py_None) return "None";
  const std::string type = type_name(Py_TYPE(object));
  Frame frame;
  View* view = frame.new_view(object);
  const ExchangeProtocol protocol = protocol_of(Py_TYPE(object));
  if (protocol.kind != ProtocolKind::none) {
    if (view_of(frame, *view) == Why::fits) return describe_view(*view);
    PyErr_Clear();
    return type;
  }
  return type + " " + short_repr(object);
}

namespace {

/// Whether an array holds plain numbers in the other byte order.
bool is_big_endian(PyObject* object) {
  if (!is_numpy(object)) return false;
  const numpy::Descr& descr = *reinterpret_cast<const numpy::Array*>(object)->descr;
  return descr.byte_order == '>' && static_cast<unsigned>(descr.number) < 24 &&
         numpy::k_dtypes[descr.number].lanes;
}

}  // namespace

std::string explain_unreadable(PyObject* object, const std::string& name, Ref& cause) {
  std::string why = take_error(&cause);
  const auto is = [&](const char* question) {
    const Ref answer = attribute_or_null(object, question);
    return answer.get() == Py_True;
  };
  const Ref layout = attribute_or_null(object, "layout");
  const Ref text(layout ? run_python<PyObject_Str>(layout.get()) : nullptr);
  if (!text) PyErr_Clear();
  const std::string layout_name = text ? text_of(text.get()) : "";
  if (is("is_nested"))
    why = "it is nested; pass its parts, " + name + ".unbind()";
  else if (is("is_quantized"))
    why = "it is quantized; pass " + name + ".int_repr() or " + name + ".dequantize()";
  else if (layout_name.starts_with("torch.") && layout_name != "torch.strided")
    why = "its layout is " + layout_name + "; pass " + name + ".to_dense()";
  return "is a " + type_name(Py_TYPE(object)) + " whose memory cannot be read: " + why;
}

std::string explain_state(Why why, const Frame& frame, PyObject* object, const std::string& name) {
  const std::string type = type_name(Py_TYPE(object));
  if (why == Why::deleted)
    return "is an array of JAX that was deleted or donated to a compiled function; keep the one that "
           "replaced it";
  const std::string other = type_name(Py_TYPE(frame.family_object)),
                    package = other.substr(0, other.find('.'));
  const std::string home = package == "jaxlib" ? "jax.dlpack" : package == "tensorflow" ? "" : package;
  return "is a " + type + ", and the tensors before it are of " + (package == "jaxlib" ? "jax" : package) +
         ": the tensors of one call belong to one framework" +
         (home.empty() ? "" : "; pass " + home + ".from_dlpack(" + name + ")");
}

std::string advice_for(PyObject* object) {
  const std::string type = type_name(Py_TYPE(object));
  const bool is_tracer =
      type.rfind("jax.", 0) == 0 && type.size() > 6 && type.compare(type.size() - 6, 6, "Tracer") == 0;
  return is_tracer ? "; what jax.jit, jax.grad and jax.vmap trace calls tarsia.jax.function(...)" : "";
}

std::string explain_elements(Why why, const std::string& name, PyObject* object) {
  const std::string is = "is a " + type_name(Py_TYPE(object));
  if (why == Why::masked)
    return is + ", whose mask C++ code does not see; pass " + name + ".filled(value), or " + name +
           ".data if the mask does not matter";
  if (is_big_endian(object))
    return is + " of big-endian elements (the other byte order); pass " + name + ".astype(" + name +
           ".dtype.newbyteorder('='))";
  return is +
         " with elements that C++ code cannot read (strings, objects, dates, structs, long doubles, or the "
         "other byte order); convert it to numbers first";
}

Explanation explain(const Plan& plan, const Frame& frame, const Mismatch& mismatch, Ref& cause) {
  const auto name_of = [&](uint32_t i) { return text_of(plan.params[i].name); };
  if (mismatch.count != Mismatch::Count::fits)
    return {arguments::explain_count(plan, mismatch, name_of, text_of(mismatch.keyword)), false};
  const Param& param = plan.params[mismatch.param];
  const auto& blame = frame.blame;
  const Misfit misfit{mismatch.why,
                      param,
                      blame.item >= 0 ? *blame.type : param.type,
                      plan.function->flags,
                      blame.memory ? &blame.memory->tensor : nullptr,
                      frame.together.device};
  Explanation why = arguments::explain(misfit, PythonWords(plan, frame, mismatch, cause));
  std::string place = arguments::place_text(name_of(mismatch.param), mismatch.param, plan.n_params) + " ";
  if (blame.item >= 0) place += "item " + std::to_string(blame.item) + " ";
  return {place + why.text, why.is_value_error};
}

}  // namespace tarsia::python
