// Error messages for arguments that do not fit: which parameter, what the caller gave, what to do. A face
// adds how it names types, how it shows an argument, and what its user can pass instead. Nothing here runs in
// a call that succeeds.
#pragma once

#include <tarsia/detail/argument_match.h>
#include <tarsia/detail/names.h>

#include <string>

namespace tarsia::arguments {

using detail::dtype_name;

/// The names of types in a face: "an int", "a str or bytes". `or_none` follows a type that may be absent;
/// `gpu` goes before the number of a GPU.
struct Nouns {
  const char *boolean, *integer, *real, *complex, *text, *tensor, *stream, *list, *none, *or_none, *gpu;
};

/// One argument that does not fit.
struct Misfit {
  Why why;
  const Param& param;
  const tarsia_type& type;  ///< of the parameter, or of an item of its list
  uint32_t function_flags;
  const tarsia_tensor* tensor;  ///< what was read; null: none
  tarsia_device others;         ///< Why::apart: where the tensors before it lie

  bool is_kernel() const { return param.bytes != 0; }
  const char* callee() const { return is_kernel() ? "kernel" : "function"; }
  bool writes() const {
    return !(type.flags & TARSIA_TYPE_CONST) &&
           (type.kind == TARSIA_KIND_POINTER || type.kind == TARSIA_KIND_SPAN ||
            type.kind == TARSIA_KIND_STRUCT);
  }
};

struct Explanation {
  std::string text;
  bool is_value_error = false;  ///< right type, unfit value: shape, device, contiguity, range
};

/// The parts of a message that a face supplies for one argument.
class FaceWords {
 public:
  virtual ~FaceWords() = default;
  virtual const Nouns& nouns() const = 0;
  /// Describes the argument: "numpy.ndarray of float64, shape (3, 4), on the CPU".
  virtual std::string given() const = 0;
  /// Shows the value of a number or text, shortened: "300".
  virtual std::string value() const = 0;
  /// Says what to pass instead, as in "; pass x.contiguous()"; may be empty.
  virtual std::string remedy(const Misfit& misfit) const = 0;
  /// Explains a reason that only this face knows.
  virtual Explanation own(const Misfit& misfit) const = 0;
};

/// Names a class of objects: "a torch.Tensor".
inline const char* object_text(const tarsia_type& type) {
  return type.dtype.code == TARSIA_TORCH_TENSOR ? "a torch.Tensor" : "an object of a framework";
}

inline std::string device_name(tarsia_device device, const Nouns& nouns) {
  switch (device.type) {
    case TARSIA_CPU:
      return "the CPU";
    case TARSIA_GPU:
      return nouns.gpu + std::to_string(device.id);
    case TARSIA_GPU_HOST:
      return "the CPU (pinned)";
    case TARSIA_GPU_MANAGED:
      return "managed memory";
    default:
      return "a device of DLPack type " + std::to_string(device.type);
  }
}

/// Writes a shape: "(3, 4)", "(3,)".
inline std::string tuple_text(const int64_t* items, int32_t n) {
  std::string text = "(";
  for (int32_t i = 0; i < n; ++i) text += (i ? ", " : "") + std::to_string(items[i]);
  return text + (n == 1 ? ",)" : ")");
}

/// Describes a tensor: "of float64, shape (3, 4), on the CPU".
inline std::string tensor_text(const tarsia_tensor& tensor, const Nouns& nouns) {
  return "of " + dtype_name(tensor.dtype) + ", shape " + tuple_text(tensor.shape, tensor.ndim) + ", on " +
         device_name(tensor.device, nouns);
}

/// Describes what a parameter takes: "an int", "a float32 tensor", "a list, each item a str or bytes".
inline std::string wanted_text(const tarsia_type& type, const Nouns& nouns) {
  std::string text;
  switch (type.kind) {
    case TARSIA_KIND_BOOL:
      text = nouns.boolean;
      break;
    case TARSIA_KIND_INT:
      text = nouns.integer;
      break;
    case TARSIA_KIND_FLOAT:
      text = nouns.real;
      break;
    case TARSIA_KIND_COMPLEX:
      text = nouns.complex;
      break;
    case TARSIA_KIND_STRING:
      text = nouns.text;
      break;
    case TARSIA_KIND_TENSOR:
      text = nouns.tensor;
      if (!type.dtype.bits) break;
      [[fallthrough]];
    case TARSIA_KIND_SPAN:
    case TARSIA_KIND_POINTER: {
      const std::string dtype = type.dtype.code == TARSIA_ANY_DTYPE ? "" : dtype_name(type.dtype) + " ";
      text = (dtype.starts_with("int") ? "an " : "a ") + dtype + "tensor";
      if (type.kind == TARSIA_KIND_SPAN && type.n_elements)
        text += " of " + std::to_string(type.n_elements) + " elements";
      break;
    }
    case TARSIA_KIND_STREAM:
      text = nouns.stream;
      break;
    case TARSIA_KIND_OBJECT:
      text = object_text(type);
      break;
    case TARSIA_KIND_NUMBER:
      text = std::string("a number (") + nouns.boolean + ", " + nouns.integer + " or " + nouns.real + ")";
      break;
    case TARSIA_KIND_STRUCT:
      text = (type.dtype.bits == 1 ? "a struct of "
              : type.dtype.bits    ? std::to_string(type.dtype.bits) + " structs of "
                                   : "one or more structs of ") +
             std::to_string(type.n_elements) + (type.dtype.bits == 1 ? " bytes" : " bytes each");
      break;
    case TARSIA_KIND_LIST:
      text = nouns.list;
      if (type.dtype.lanes) text += " of " + std::to_string(type.dtype.lanes);
      if (type.elements) text += ", each item " + wanted_text(*type.elements, nouns);
      break;
    default:
      text = nouns.none;
  }
  return type.flags & TARSIA_TYPE_OPTIONAL ? text + nouns.or_none : text;
}

/// Describes an integer type: "an int from 0 to 255 (uint8)".
inline std::string range_text(const tarsia_type& type) {
  if (type.kind == TARSIA_KIND_LIST) return "a list of at most 4294967295 items";
  if (type.kind == TARSIA_KIND_BOOL) return "a bool, 0 or 1";
  const std::string name = dtype_name(type.dtype);
  if (type.kind == TARSIA_KIND_FLOAT || type.kind == TARSIA_KIND_COMPLEX)
    return "a number within the range of " + name;
  const int bits = type.dtype.bits ? type.dtype.bits : 64;
  if (type.dtype.code == TARSIA_UINT)
    return "an int from 0 to " + std::to_string(UINT64_MAX >> (64 - bits)) + " (" + name + ")";
  const int64_t most = INT64_MAX >> (64 - bits);
  return "an int from " + std::to_string(-most - 1) + " to " + std::to_string(most) + " (" + name + ")";
}

/// "float32 at byte 0, 4 of int32 at byte 8", of a struct's elements. Those of any dtype are no numbers.
inline std::string fields_text(const tarsia_type* fields) {
  constexpr int k_most = 8;
  std::string text;
  for (int n = 0; fields->kind != TARSIA_KIND_NONE; ++fields, ++n) {
    if (n == k_most) return text + ", …";
    text += n ? ", " : "";
    if (fields->dtype.lanes > 1) text += std::to_string(fields->dtype.lanes) + " of ";
    const bool is_number = fields->dtype.code != TARSIA_ANY_DTYPE;
    text += is_number ? dtype_name({fields->dtype.code, fields->dtype.bits, 1})
                      : "something else of " + std::to_string(fields->dtype.bits / 8) + " bytes";
    text += " at byte " + std::to_string(fields->n_elements);
  }
  return text;
}

/// Returns the half-sentence after "argument 'x' (1 of 3) ": what the parameter takes, and what was given.
inline Explanation explain(const Misfit& misfit, const FaceWords& face) {
  const tarsia_type& type = misfit.type;
  const Nouns& nouns = face.nouns();
  const auto got = [&] { return ", got " + face.given(); };
  const auto dtype = [&] { return dtype_name(type.dtype); };
  const auto strides = [&] {
    return misfit.tensor ? ", strides " + tuple_text(misfit.tensor->strides, misfit.tensor->ndim) : "";
  };
  const std::string remedy = face.remedy(misfit);
  switch (misfit.why) {
    case Why::none:
      return {"must be " + wanted_text(type, nouns) + ", got " + nouns.none, false};
    case Why::object:
      return {std::string("is ") + object_text(type) +
                  " itself, which only Python can pass; let the function take a tarsia::Tensor or pointers",
              false};
    case Why::range:
      return {"must be " + range_text(type) + ", got " + face.value(), true};
    case Why::text:
      return {"must be text that can be written as UTF-8, up to 4 GiB", true};
    case Why::nul:
      return {"must be without NUL characters, at which a const char* ends (take a std::string_view), got " +
                  face.value(),
              true};
    case Why::fields:
      return {"must have the struct's fields, " + fields_text(type.elements) + got() + remedy, true};
    case Why::count:
      return {"must be " + wanted_text(type, nouns) + got(), true};
    case Why::dtype:
      return {"must be " + wanted_text(type, nouns) + got() + remedy, false};
    case Why::lanes:
      return {"must have a last dimension that is a multiple of " + std::to_string(type.dtype.lanes) + " (" +
                  dtype() + ")" + got(),
              true};
    case Why::strides:
      return {"has strides that are no multiple of its element size; pass a copy", true};
    case Why::conjugated:
      return {"is conjugated or negated lazily, so its memory holds other values" + remedy, true};
    case Why::read_only:
      return {"must be writable, since the " + std::string(misfit.callee()) +
                  " writes to it, got a read-only " + face.given() +
                  "; pass a copy, or declare the parameter const",
              true};
    case Why::layout:
      return {"must be contiguous" + got() + strides() + remedy +
                  (misfit.type.kind == TARSIA_KIND_TENSOR
                       ? ", or let the function take a tarsia::StridedTensor and follow its strides"
                       : ""),
              true};
    case Why::alignment:
      return {"must be aligned to its elements of " +
                  (type.kind == TARSIA_KIND_STRUCT ? std::to_string(type.dtype.lanes) + " bytes" : dtype()) +
                  got() + remedy,
              true};
    case Why::no_memory:
      return {"has no memory behind it (a meta or fake tensor)" + got() + remedy, true};
    case Why::wants_cpu: {
      const bool lacks_cuda = !(misfit.function_flags & TARSIA_FUNCTION_SOURCE_HAS_CUDA);
      return {"must be on the CPU" + got() + (lacks_cuda ? " (the source has no CUDA)" : "") + remedy, true};
    }
    case Why::wants_gpu: {
      const bool takes_stream = misfit.function_flags & TARSIA_FUNCTION_TAKES_STREAM;
      return {std::string("must be on a GPU") +
                  (misfit.is_kernel() ? ", where the kernel runs"
                   : takes_stream     ? ", since the function takes a stream"
                                      : "") +
                  got() + remedy,
              true};
    }
    case Why::apart:
      return {
          "must be on " + device_name(misfit.others, nouns) + " like the tensors before it" + got() + remedy,
          true};
    case Why::other_device:
      return {"must be on the CPU or a CUDA GPU" + got(), true};
    case Why::integer:
      return {"must be a float" + got() + remedy, false};
    case Why::inexact:
      return {
          "must be an int that " + dtype() + " can hold exactly, or a float, got " + face.value() + remedy,
          true};
    case Why::size:
      if (!misfit.is_kernel() && type.dtype.bits != 1)
        return {"must be " + wanted_text(type, nouns) + got() + remedy, true};
      return {"must have the " + std::to_string(misfit.is_kernel() ? misfit.param.bytes : type.n_elements) +
                  " bytes of its C++ type" + got() + remedy,
              true};
    case Why::not_copyable:
      return {
          "is of a class with a copy constructor or a destructor of its own, which only code of the source "
          "can make; launch the kernel from a C++ function of the source",
          false};
    case Why::reference:
      return {"is a reference, which nothing outside of the GPU can give; declare it as a value or a pointer",
              false};
    case Why::type:
      break;
    default:
      return face.own(misfit);
  }
  if (misfit.is_kernel() && type.kind == TARSIA_KIND_NONE)
    return {"must be a struct of " + std::to_string(misfit.param.bytes) + " bytes" + remedy + got(), false};
  return {"must be " + wanted_text(type, nouns) + got() + remedy, false};
}

inline std::string count_text(uint32_t n, const char* noun) {
  return std::to_string(n) + " " + noun + (n == 1 ? "" : "s");
}

/// Names an argument: "argument 'x' (1 of 3)".
inline std::string place_text(const std::string& name, uint32_t i, uint32_t n_params) {
  return "argument " + (name.empty() ? "" : "'" + name + "' ") + "(" + std::to_string(i + 1) + " of " +
         std::to_string(n_params) + ")";
}

/// Explains why arguments cannot be assigned to the parameters. name_of(i) is a parameter's name or "";
/// `keyword` is the name that no parameter has.
template <class Face, class Signature, class NameOf>
std::string explain_count(const Signature& signature, const Mismatch<Face>& mismatch, NameOf name_of,
                          const std::string& keyword) {
  using Count = typename Mismatch<Face>::Count;
  const uint32_t n = signature.n_params;
  const std::string place =
      place_text(mismatch.param < n ? name_of(mismatch.param) : std::string(), mismatch.param, n);
  switch (mismatch.count) {
    case Count::too_many:
      return "takes " + std::string(signature.n_required < n ? "at most " : "") + count_text(n, "argument") +
             ", got " + std::to_string(mismatch.n_given);
    case Count::missing:
      return place + " is missing";
    case Count::twice:
      return place + " is given twice, by position and by name";
    case Count::unknown_keyword: {
      std::string names;
      for (uint32_t i = 0; i < n; ++i) {
        const std::string name = name_of(i);
        if (!name.empty()) names += (names.empty() ? "" : ", ") + name;
      }
      return "has no parameter '" + keyword + "'" +
             (names.empty() ? "; it takes arguments by position only"
                            : "; its parameters are (" + names + ")");
    }
    case Count::gap:
      return place +
             " is left out, but one after it is given: C++ default arguments can only be left out from the "
             "end; "
             "pass this one too";
    case Count::gap_before_stream:
      return place +
             " is left out, so that the caller's current stream cannot be given to the parameter after it; "
             "pass "
             "this one too";
    case Count::fits:
      break;
  }
  return {};
}

/// Names a function: "float ns::f(const float *x, int n) at relu.cu:12".
inline std::string overload_text(const char* signature, const char* location) {
  std::string text = signature;
  if (location && *location) text += std::string(" at ") + location;
  return text;
}

/// The message for a call that no overload takes. It gives the reason of a single overload, or the reasons of
/// all.
class Refusal {
 public:
  explicit Refusal(size_t n_overloads) : m_is_single(n_overloads == 1) {}

  void add(const std::string& overload, const Explanation& why) {
    m_is_value_error &= why.is_value_error;
    m_text += m_is_single ? ": " + why.text + "\n  in " + overload : "\n  " + overload + "\n    " + why.text;
  }
  /// `title` names the function or kernel: "ns::f", "kernel ns::k".
  std::string text(const std::string& title) const {
    return title + (m_is_single ? "" : ": no overload fits") + m_text;
  }
  bool is_value_error() const { return m_is_value_error; }

 private:
  std::string m_text;
  bool m_is_single;
  bool m_is_value_error = true;
};

}  // namespace tarsia::arguments
