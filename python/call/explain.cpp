// Composes the messages about arguments. Nothing here runs in a call that succeeds.
#include "python/call/explain.h"

namespace tarsia::python {
namespace {

bool is_torch(PyObject* object) {
  const ExchangeProtocol protocol = protocol_of(Py_TYPE(object));
  return protocol.kind == ProtocolKind::exchange &&
         static_cast<bool>(attribute_or_null(object, "contiguous"));
}

bool is_numpy(PyObject* object) {
  return protocol_of(Py_TYPE(object)).kind == ProtocolKind::numpy;
}

std::string device_name(tarsia_device device) {
  switch (device.type) {
    case TARSIA_CPU:
      return "the CPU";
    case TARSIA_GPU:
      return "cuda:" + std::to_string(device.id);
    case TARSIA_GPU_HOST:
      return "the CPU (pinned)";
    case TARSIA_GPU_MANAGED:
      return "managed memory";
  }
  return "a device of DLPack type " + std::to_string(device.type);
}

std::string with_article(const std::string& dtype) {
  return (dtype.starts_with("int") ? "an " : "a ") + dtype;
}

std::string tuple_text(const int64_t* items, int32_t n) {
  std::string text = "(";
  for (int32_t i = 0; i < n; ++i) text += (i ? ", " : "") + std::to_string(items[i]);
  return text + (n == 1 ? ",)" : ")");
}

std::string describe_view(const View& view) {
  return type_name(Py_TYPE(view.object)) + " of " + dtype_name(view.tensor.dtype) + ", shape " +
         tuple_text(view.tensor.shape, view.tensor.ndim) + ", on " + device_name(view.tensor.device);
}

std::string wanted_text(const tarsia_type& type) {
  std::string text;
  switch (type.kind) {
    case TARSIA_KIND_BOOL:
      text = "a bool";
      break;
    case TARSIA_KIND_INT:
      text = "an int";
      break;
    case TARSIA_KIND_FLOAT:
      text = "a float";
      break;
    case TARSIA_KIND_STRING:
      text = "a str or bytes";
      break;
    case TARSIA_KIND_TENSOR:
      text = "a tensor (NumPy, PyTorch or anything with __dlpack__)";
      break;
    case TARSIA_KIND_POINTER:
      text =
          type.dtype.code == TARSIA_ANY_DTYPE ? "a tensor" : with_article(dtype_name(type.dtype)) + " tensor";
      break;
    case TARSIA_KIND_STREAM:
      text = "a CUDA stream (int, torch.cuda.Stream, anything with __cuda_stream__, or None)";
      break;
    case TARSIA_KIND_LIST:
      text = "a list or tuple";
      if (type.elements) text += ", each item " + wanted_text(*type.elements);
      break;
    default:
      text = "nothing";
  }
  return type.flags & TARSIA_TYPE_OPTIONAL ? text + " or None" : text;
}

std::string range_text(const tarsia_type& type) {
  if (type.kind == TARSIA_KIND_LIST) return "a list of at most 4294967295 items";
  if (type.kind == TARSIA_KIND_BOOL) return "a bool, 0 or 1";
  const std::string name = dtype_name(type.dtype);
  if (type.kind == TARSIA_KIND_FLOAT) return "a number within the range of " + name;
  const int bits = type.dtype.bits;
  if (type.dtype.code == TARSIA_UINT)
    return "an int from 0 to " + std::to_string(UINT64_MAX >> (64 - bits)) + " (" + name + ")";
  const int64_t most = INT64_MAX >> (64 - bits);
  return "an int from " + std::to_string(-most - 1) + " to " + std::to_string(most) + " (" + name + ")";
}

/// Advice on making a tensor of the wanted dtype.
std::string dtype_advice(const std::string& name, const View& view, const Plan& plan, const tarsia_type& type,
                         bool writes) {
  const std::string dtype = dtype_name(type.dtype);
  if (writes)
    return "the " + std::string(kind_of(plan)) + " writes to it, so make it with dtype=" + dtype +
           " in the first place";
  if (is_torch(view.object)) return "pass " + name + ".to(torch." + dtype + ")";
  if (is_numpy(view.object))
    return "pass " + name + ".astype(numpy." + (dtype == "bool" ? "bool_" : dtype) + ")";
  return "convert it to " + dtype;
}

std::string layout_advice(const std::string& name, const View& view, const Plan& plan, bool writes) {
  if (writes)
    return "the " + std::string(kind_of(plan)) +
           " writes to it: pass a contiguous one, and copy from it afterwards";
  if (is_torch(view.object)) return "pass " + name + ".contiguous()";
  if (is_numpy(view.object)) return "pass numpy.ascontiguousarray(" + name + ")";
  return "pass a contiguous copy";
}

std::string alignment_advice(const std::string& name, const View& view) {
  return is_torch(view.object) ? "pass " + name + ".clone()" : "pass a copy";
}

struct Words {
  std::string text;
  bool is_value_error;
};

/// The half-sentence after "argument 'x' (1 of 3) ".
Words explain_argument(const Plan& plan, const Frame& frame, const Mismatch& mismatch, Ref& cause) {
  const Param& param = plan.params[mismatch.param];
  const bool in_list = frame.blame.item >= 0;
  const tarsia_type& type = in_list ? *frame.blame.type : param.type;
  PyObject* object = in_list ? frame.blame.object : mismatch.object;
  const View* view = frame.blame.view;
  std::string name = text_of(param.name);
  if (name.empty()) name = "x";
  if (in_list) name += "[" + std::to_string(frame.blame.item) + "]";
  const bool writes = !(type.flags & TARSIA_TYPE_CONST) && type.kind == TARSIA_KIND_POINTER;
  const auto given = [&] { return view ? describe_view(*view) : describe_argument(object); };

  switch (mismatch.why) {
    case Why::none:
      return {"must be " + wanted_text(type) + ", got None", false};
    case Why::range:
      return {"must be " + range_text(type) + ", got " + short_repr(object), true};
    case Why::text:
      return {"must be text that can be written as UTF-8, up to 4 GiB", true};
    case Why::nul:
      return {"must be without NUL characters, at which a const char* ends (take a std::string_view), got " +
                  short_repr(object),
              true};
    case Why::unreadable:
      return {explain_unreadable(object, name, cause), true};
    case Why::deleted:
      return {explain_state(mismatch.why, frame, object, name), true};
    case Why::mixed: {
      std::string other;
      for (uint32_t i = 0; i < frame.n_given; ++i)
        if (frame.given[i] == frame.family_object && i < plan.n_params) other = text_of(plan.params[i].name);
      return {explain_state(mismatch.why, frame, object, name) +
                  (other.empty() ? "" : " ('" + other + "' is the first)"),
              false};
    }
    case Why::masked:
    case Why::element_type:
      return {explain_elements(mismatch.why, name, object), false};
    case Why::dtype:
      return {"must be " + wanted_text(type) + ", got " + given() + "; " +
                  dtype_advice(name, *view, plan, type, writes),
              false};
    case Why::lanes:
      return {"must have a last dimension that is a multiple of " + std::to_string(type.dtype.lanes) + " (" +
                  dtype_name(type.dtype) + "), got " + given(),
              true};
    case Why::strides:
      return {"has strides that are no multiple of its element size; pass a copy", true};
    case Why::conjugated:
      return {"is conjugated or negated lazily, so its memory holds other values; pass " + name +
                  ".resolve_conj().resolve_neg()",
              true};
    case Why::read_only:
      return {"must be writable, since the " + std::string(kind_of(plan)) +
                  " writes to it, got a read-only " + given() +
                  "; pass a copy, or declare the parameter const",
              true};
    case Why::layout:
      return {"must be contiguous, got " + given() + ", strides " +
                  tuple_text(view->tensor.strides, view->tensor.ndim) + "; " +
                  layout_advice(name, *view, plan, writes),
              true};
    case Why::alignment:
      return {"must be aligned to its elements of " + dtype_name(type.dtype) + ", got " + given() + "; " +
                  alignment_advice(name, *view),
              true};
    case Why::no_memory:
      return {"has no memory behind it (a meta or fake tensor), got " + given() +
                  "; what torch.compile and torch.export trace calls an operator, tarsia.torch.register",
              true};
    case Why::wants_cpu:
      return {
          "must be on the CPU, got " + given() +
              (plan.function->flags & TARSIA_FUNCTION_SOURCE_HAS_CUDA ? "" : " (the source has no CUDA)") +
              "; pass " + name + ".cpu()",
          true};
    case Why::wants_gpu:
      return {"must be on a GPU" +
                  std::string(param.bytes ? ", where the kernel runs"
                              : plan.function->flags & TARSIA_FUNCTION_TAKES_STREAM
                                  ? ", since the function takes a stream"
                                  : "") +
                  ", got " + given() + "; pass " + name +
                  (is_torch(view->object) ? ".cuda()" : " in GPU memory"),
              true};
    case Why::apart:
      return {"must be on " + device_name(frame.blame.other) + " like the tensors before it, got " + given() +
                  (is_torch(view->object) ? "; pass " + name +
                                                (frame.blame.other.type == TARSIA_CPU
                                                     ? ".cpu()"
                                                     : ".to('" + device_name(frame.blame.other) + "')")
                                          : ""),
              true};
    case Why::integer:
      return {"must be a float, got " + describe_argument(object) + "; pass float(" + name + ")", false};
    case Why::inexact:
      return {"must be an int that " + dtype_name(type.dtype) + " can hold exactly, or a float, got " +
                  short_repr(object) + "; pass float(" + name + ") if the nearest number will do",
              true};
    case Why::size:
      return {"must have the " + std::to_string(param.bytes) + " bytes of its C++ type, got " +
                  describe_argument(object) +
                  "; a NumPy dtype has its layout with align=True, a ctypes.Structure has it by itself",
              true};
    case Why::not_copyable:
      return {
          "is of a class with a copy constructor or a destructor of its own, which Python cannot make; "
          "launch "
          "the kernel from a C++ function of the source",
          false};
    case Why::reference:
      return {"is a reference, which nothing outside of the GPU can give; declare it as a value or a pointer",
              false};
    case Why::other_device:
      return {"must be on the CPU or a CUDA GPU, got " + given(), true};
    default:
      break;
  }
  std::string text = "must be " + wanted_text(type) + ", got " + describe_argument(object);
  if (param.bytes && type.kind == TARSIA_KIND_NONE) {
    const std::string bytes = std::to_string(param.bytes);
    return {"must be a struct of " + bytes + " bytes: bytes, a NumPy record or a ctypes.Structure" +
                (type.dtype.lanes > 1 ? ", or a tuple of " + std::to_string(type.dtype.lanes) + " numbers"
                 : type.dtype.code == TARSIA_COMPLEX ? ", or a complex"
                                                     : "") +
                ", got " + describe_argument(object),
            false};
  }
  text += advice_for(object);
  if (param.bytes && type.kind == TARSIA_KIND_POINTER && PyLong_Check(object))
    text += "; pass the tensor itself, or ctypes.c_void_p(" + name + ") for a bare address";
  const bool wants_number =
      type.kind == TARSIA_KIND_INT || type.kind == TARSIA_KIND_FLOAT || type.kind == TARSIA_KIND_BOOL;
  if (wants_number && protocol_of(Py_TYPE(object)).kind != ProtocolKind::none)
    text += "; pass " + name + ".item()";
  else if (type.kind == TARSIA_KIND_INT && PyFloat_Check(object))
    text += "; pass int(" + name + ")";
  return {text, false};
}

std::string count_text(uint32_t n, const char* noun) {
  return std::to_string(n) + " " + noun + (n == 1 ? "" : "s");
}

/// "argument 'x' (1 of 3)".
std::string place_of(const Plan& plan, uint32_t i) {
  const std::string name = i < plan.n_params ? text_of(plan.params[i].name) : "";
  return "argument " + (name.empty() ? "" : "'" + name + "' ") + "(" + std::to_string(i + 1) + " of " +
         std::to_string(plan.n_params) + ")";
}

std::string explain_count(const Plan& plan, const Mismatch& mismatch) {
  const std::string place = place_of(plan, mismatch.param);
  switch (mismatch.count) {
    case Mismatch::Count::too_many:
      return "takes " + std::string(plan.n_required < plan.n_params ? "at most " : "") +
             count_text(plan.n_params, "argument") + ", got " + std::to_string(mismatch.n_given);
    case Mismatch::Count::missing:
      return place + " is missing";
    case Mismatch::Count::twice:
      return place + " is given twice, by position and by name";
    case Mismatch::Count::unknown_keyword: {
      std::string names;
      for (const Param& param : plan.params) {
        const std::string name = text_of(param.name);
        if (!name.empty()) names += (names.empty() ? "" : ", ") + name;
      }
      return "has no parameter '" + text_of(mismatch.keyword) + "'" +
             (names.empty() ? "; it takes arguments by position only"
                            : "; its parameters are (" + names + ")");
    }
    case Mismatch::Count::gap:
      return place +
             " is left out, but one after it is given: C++ default arguments can only be left out from the "
             "end; "
             "pass this one too";
    case Mismatch::Count::gap_before_stream:
      return place +
             " is left out, so that the caller's current stream cannot be given to the parameter after it; "
             "pass "
             "this one too";
    case Mismatch::Count::fits:
      break;
  }
  return {};
}

}  // namespace

std::string describe(const Plan& plan) {
  std::string text = plan.function->signature;
  if (plan.function->location && *plan.function->location)
    text += std::string(" at ") + plan.function->location;
  return text;
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

/// The message of the Python error that is set, which becomes `cause`.
std::string take_error(Ref& cause) {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  cause = Ref(value);
  const Ref text(value ? PyObject_Str(value) : nullptr);
  std::string message = text_of(text.get());
  return message.substr(0, message.find('\n'));
}

}  // namespace

std::string explain_unreadable(PyObject* object, const std::string& name, Ref& cause) {
  std::string why = take_error(cause);
  const auto is = [&](const char* question) {
    const Ref answer = attribute_or_null(object, question);
    return answer.get() == Py_True;
  };
  const Ref layout = attribute_or_null(object, "layout");
  const Ref text(layout ? PyObject_Str(layout.get()) : nullptr);
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

Explanation explain(const Plan& plan, const Frame& frame, const Mismatch& mismatch) {
  Explanation explanation;
  if (mismatch.count != Mismatch::Count::fits) {
    explanation.text = explain_count(plan, mismatch);
    return explanation;
  }
  std::string place = place_of(plan, mismatch.param) + " ";
  if (frame.blame.item >= 0) place += "item " + std::to_string(frame.blame.item) + " ";
  Words words = explain_argument(plan, frame, mismatch, explanation.cause);
  explanation.text = place + words.text;
  explanation.is_value_error = words.is_value_error;
  return explanation;
}

}  // namespace tarsia::python
