// Matches a caller's arguments with the values that an adapter takes: selects the overload, assigns the
// parameters, converts the values. A face, Python's or C's, gives a small view of its arguments. The rules
// are the same for all faces.
//
// A face is a class that lives as long as one call. It has these types and functions:
//
// clang-format off
//   Argument                                           a pointer to one argument; null: it was omitted
//   Memory                                             a tensor that was read: <tarsia/detail/argument_rules.h>
//   List                                               items that were read: `n` of them, list[i] is an Argument
//   bool is_none(argument)
//   bool is_stream(argument)                           whether it certainly is a stream: a number is not
//   Numeric numeric(argument)
//   Why read_integer(type, argument, Integer&)
//   Why read_float(argument, double&)
//   Why read_complex(argument, double (&parts)[2])     of an object that is no number of another class
//   Why read_text(argument, const char*& text, uint64_t& size)
//   Why read_memory(type, argument, const Memory*&)    keeps the memory for the call; the type says whether the callee writes
//   Why read_stream(argument, void*&)
//   Why read_list(type of the items, argument, List&)
//   Why read_object(type, argument, void*& handle)      the handle of a framework's object
//   Why read_struct(param, argument, value)            the bytes for a kernel's struct
//   Why read_bytes(type, argument, value)              the memory of plain structs, which the type lets the callee write to or not
//   Why read_address(param, argument, value, why)      takes a bare address where no tensor fits, else returns `why`
//   Why convert(param, type, fit, argument, value)     arguments::convert, perhaps after a fast path
//   void* current_stream()
//   T* room_for<T>(n)                                  memory until the call ends
//   Together& together()
//   Blame<Argument, Memory>& blame()
// clang-format on
#pragma once

#include <tarsia/detail/argument_rules.h>

#include <cstddef>
#include <initializer_list>

namespace tarsia::arguments {

/// The class of an argument for the rules on numbers.
enum class Numeric : uint8_t {
  no,             ///< not a number
  boolean,        ///< a bool
  typed_boolean,  ///< a bool of a sized type: numpy.bool
  integer,        ///< an int
  typed_integer,  ///< an int of a sized type: numpy.int32
  real            ///< a float, or an object that converts to one
};

/// Where a conversion failed. Only error messages read this.
template <class Argument, class Memory>
struct Blame {
  const Memory* memory = nullptr;     ///< the tensor's memory
  const tarsia_type* type = nullptr;  ///< the type of the list's items
  Argument item_given = nullptr;      ///< the item that does not fit
  int64_t item = -1;                  ///< the item's index; -1: no item
};

/// Why an overload does not take the arguments.
template <class Face>
struct Mismatch {
  enum class Count : uint8_t { fits, too_many, missing, twice, unknown_keyword, gap, gap_before_stream };
  Why why = Why::fits;
  Count count = Count::fits;
  uint32_t param = 0;
  uint32_t n_given = 0;                        ///< too_many: positional arguments given
  typename Face::Argument keyword = nullptr;   ///< unknown_keyword: its name
  typename Face::Argument argument = nullptr;  ///< what was given for `param`
};

inline void set_none(tarsia_value& value) {
  value.p = nullptr;
  value.kind = TARSIA_KIND_NONE;
  value.size = 0;
}
inline void set_int(tarsia_value& value, int64_t number) {
  value.i = number;
  value.kind = TARSIA_KIND_INT;
  value.size = 0;
}
inline void set_float(tarsia_value& value, double number) {
  value.f = number;
  value.kind = TARSIA_KIND_FLOAT;
  value.size = 0;
}
inline void set_stream(tarsia_value& value, void* stream) {
  value.p = stream;
  value.kind = TARSIA_KIND_STREAM;
  value.size = 0;
}

// ---- one argument ----

template <class Face>
inline Why convert_pointer(Face& face, const Param& param, const tarsia_type& type,
                           typename Face::Argument argument, tarsia_value& value) {
  const typename Face::Memory* memory = nullptr;
  Why why = face.read_memory(type, argument, memory);
  if (why == Why::fits) [[likely]] {
    why = check_pointer(face.together(), type, param.place, *memory);
    value.p = static_cast<char*>(memory->tensor.data) + memory->tensor.byte_offset;
    value.kind = TARSIA_KIND_POINTER;
    value.size = 0;
    if (why == Why::fits) [[likely]]
      return why;
    face.blame().memory = memory;
  }
  return face.read_address(param, argument, value, why);
}

template <class Face>
Why convert_span(Face& face, const Param& param, const tarsia_type& type, typename Face::Argument argument,
                 tarsia_value& value) {
  const typename Face::Memory* memory = nullptr;
  Why why = face.read_memory(type, argument, memory);
  if (why != Why::fits) return why;
  face.blame().memory = memory;
  value.t = &memory->tensor;
  value.kind = TARSIA_KIND_SPAN;
  value.size = 0;
  why = check_pointer(face.together(), type, param.place, *memory);
  if (why != Why::fits || !type.n_elements) return why;
  return elements_of(type.dtype, memory->tensor) == type.n_elements ? Why::fits : Why::count;
}

template <class Face>
Why convert_complex(Face& face, const tarsia_type& type, Fit fit, typename Face::Argument argument,
                    tarsia_value& value) {
  double parts[2] = {};
  const Numeric numeric = face.numeric(argument);
  if (numeric != Numeric::no && fit == Fit::exact) return Why::type;
  const Why why =
      numeric == Numeric::no ? face.read_complex(argument, parts) : face.read_float(argument, parts[0]);
  if (why != Why::fits) return why;
  value.v = face.template room_for<tarsia_value>(2);
  value.kind = TARSIA_KIND_COMPLEX;
  value.size = 2;
  const tarsia_dtype part{TARSIA_FLOAT, uint8_t(type.dtype.bits / 2), 1};
  for (int i = 0; i < 2; ++i) set_float(value.v[i], parts[i]);
  return float_fits(part, parts[0]) && float_fits(part, parts[1]) ? Why::fits : Why::range;
}

template <class Face>
Why convert_bool(Face& face, const tarsia_type& type, Fit fit, typename Face::Argument argument,
                 tarsia_value& value) {
  const Numeric numeric = face.numeric(argument);
  const bool is_boolean = numeric == Numeric::boolean || numeric == Numeric::typed_boolean;
  if (!is_boolean && (fit == Fit::exact || numeric != Numeric::integer)) return Why::type;
  Integer number{};
  const Why why = face.read_integer(type, argument, number);
  if (why != Why::fits) return why;
  set_int(value, number.value);
  value.kind = TARSIA_KIND_BOOL;
  return number.size == Integer::in_int64 && (number.value == 0 || number.value == 1) ? Why::fits
                                                                                      : Why::range;
}

template <class Face>
Why convert_int(Face& face, const tarsia_type& type, Fit fit, typename Face::Argument argument,
                tarsia_value& value) {
  const Numeric numeric = face.numeric(argument);
  const bool is_integer = numeric == Numeric::integer || numeric == Numeric::typed_integer;
  if (!is_integer && (fit == Fit::exact || numeric != Numeric::boolean)) return Why::type;
  Integer number{};
  const Why why = face.read_integer(type, argument, number);
  if (why != Why::fits) return why;
  set_int(value, number.value);
  return integer_fits(type.dtype, number) ? Why::fits : Why::range;
}

/// Converts an integer for a kernel's floating-point parameter if nothing is lost. An integer of a sized type
/// is refused: it is usually a mistake, and C++ would warn about it.
template <class Face>
Why convert_int_for_kernel(Face& face, const tarsia_type& type, Numeric numeric,
                           typename Face::Argument argument, tarsia_value& value) {
  if (numeric == Numeric::typed_integer || numeric == Numeric::typed_boolean) return Why::integer;
  Integer number{};
  const Why why = face.read_integer(type, argument, number);
  if (why != Why::fits) return why;
  set_float(value, static_cast<double>(number.value));
  if (number.size != Integer::in_int64 || !float_fits(type.dtype, value.f)) return Why::range;
  return holds_exactly(type.dtype, number.value) ? Why::fits : Why::inexact;
}

template <class Face>
Why convert_float(Face& face, const Param& param, const tarsia_type& type, Fit fit,
                  typename Face::Argument argument, tarsia_value& value) {
  const Numeric numeric = face.numeric(argument);
  if (numeric == Numeric::no || (fit == Fit::exact && numeric != Numeric::real)) return Why::type;
  if (param.bytes && numeric != Numeric::real)
    return convert_int_for_kernel(face, type, numeric, argument, value);
  double number = 0;
  const Why why = face.read_float(argument, number);
  if (why != Why::fits) return why;
  set_float(value, number);
  return float_fits(type.dtype, number) ? Why::fits : Why::range;
}

template <class Face>
Why convert_string(Face& face, const tarsia_type& type, typename Face::Argument argument,
                   tarsia_value& value) {
  const char* text = nullptr;
  uint64_t size = 0;
  const Why why = face.read_text(argument, text, size);
  if (why != Why::fits) return why;
  if (size > UINT32_MAX) return Why::text;
  if ((type.flags & TARSIA_TYPE_NO_NUL) && std::memchr(text, 0, size)) return Why::nul;
  value.s = text;
  value.kind = TARSIA_KIND_STRING;
  value.size = static_cast<uint32_t>(size);
  return Why::fits;
}

template <class Face>
Why convert_tensor(Face& face, const Param& param, const tarsia_type& type, typename Face::Argument argument,
                   tarsia_value& value) {
  const typename Face::Memory* memory = nullptr;
  const Why why = face.read_memory(type, argument, memory);
  if (why != Why::fits) return why;
  face.blame().memory = memory;
  value.t = &memory->tensor;
  value.kind = TARSIA_KIND_TENSOR;
  value.size = memory->read_only ? static_cast<uint32_t>(TARSIA_TENSOR_READ_ONLY) : 0;
  return check_tensor(face.together(), type, param.place, *memory);
}

/// A number keeps its kind: true, 1 and 1.0 differ.
template <class Face>
Why convert_number(Face& face, const Param& param, Fit fit, typename Face::Argument argument,
                   tarsia_value& value) {
  tarsia_type type{};
  switch (face.numeric(argument)) {
    case Numeric::boolean:
    case Numeric::typed_boolean:
      return convert_bool(face, type, fit, argument, value);
    case Numeric::integer:
    case Numeric::typed_integer:
      return convert_int(face, type, fit, argument, value);
    case Numeric::real:
      type.dtype = tarsia_dtype{TARSIA_FLOAT, 64, 1};
      return convert_float(face, param, type, fit, argument, value);
    case Numeric::no:
      break;
  }
  return Why::type;
}

template <class Face>
Why convert_object(Face& face, const tarsia_type& type, typename Face::Argument argument,
                   tarsia_value& value) {
  void* handle = nullptr;
  const Why why = face.read_object(type, argument, handle);
  value.p = handle;
  value.kind = TARSIA_KIND_OBJECT;
  value.size = 0;
  return why;
}

/// Bytes of another number than one struct's or several structs', or where no struct may lie, do not fit.
template <class Face>
Why convert_struct(Face& face, const tarsia_type& type, typename Face::Argument argument,
                   tarsia_value& value) {
  const Why why = face.read_bytes(type, argument, value);
  if (why != Why::fits) return why;
  value.kind = TARSIA_KIND_STRUCT;
  const bool fits = type.dtype.bits ? value.size == uint32_t{type.dtype.bits} * type.n_elements
                                    : value.size && value.size % type.n_elements == 0;
  if (!fits) return Why::size;
  if (reinterpret_cast<uintptr_t>(value.p) % type.dtype.lanes == 0) return why;
  if (!(type.flags & TARSIA_TYPE_CONST)) return Why::alignment;
  char* const copy = face.template room_for<char>(value.size);
  std::memcpy(copy, value.p, value.size);
  value.p = copy;
  return why;
}

template <class Face>
Why convert_list(Face& face, const Param& param, const tarsia_type& type, Fit fit,
                 typename Face::Argument argument, tarsia_value& value) {
  if (!type.elements) return Why::type;
  typename Face::List list{};
  Why why = face.read_list(*type.elements, argument, list);
  if (why != Why::fits) return why;
  if (list.n > UINT32_MAX) return Why::range;
  if (type.dtype.lanes && list.n != type.dtype.lanes) return Why::count;
  auto* values = face.template room_for<tarsia_value>(list.n);
  for (uint64_t i = 0; i < list.n; ++i) {
    why = face.convert(param, *type.elements, fit, list[i], values[i]);
    if (why == Why::fits) continue;
    face.blame().type = type.elements;
    face.blame().item_given = list[i];
    face.blame().item = static_cast<int64_t>(i);
    return why;
  }
  value.v = values;
  value.kind = TARSIA_KIND_LIST;
  value.size = static_cast<uint32_t>(list.n);
  return Why::fits;
}

/// Converts an argument for a parameter. `type` is the type of the parameter, or of the items of its list. If
/// the result is not Why::fits, face.blame() says more.
template <class Face>
Why convert(Face& face, const Param& param, const tarsia_type& type, Fit fit,
            typename Face::Argument argument, tarsia_value& value) {
  if (type.kind == TARSIA_KIND_NONE && param.bytes) {
    if (type.flags & TARSIA_TYPE_REFERENCE) return Why::reference;
    if (type.flags & TARSIA_TYPE_NOT_COPYABLE) return Why::not_copyable;
    return face.read_struct(param, argument, value);
  }
  if (type.kind != TARSIA_KIND_STREAM && face.is_none(argument)) {
    set_none(value);
    return type.flags & TARSIA_TYPE_OPTIONAL || type.kind == TARSIA_KIND_NONE ? Why::fits : Why::none;
  }
  switch (type.kind) {
    case TARSIA_KIND_BOOL:
      return convert_bool(face, type, fit, argument, value);
    case TARSIA_KIND_INT:
      return convert_int(face, type, fit, argument, value);
    case TARSIA_KIND_FLOAT:
      return convert_float(face, param, type, fit, argument, value);
    case TARSIA_KIND_STRING:
      return convert_string(face, type, argument, value);
    case TARSIA_KIND_TENSOR:
      return convert_tensor(face, param, type, argument, value);
    case TARSIA_KIND_POINTER:
      return convert_pointer(face, param, type, argument, value);
    case TARSIA_KIND_SPAN:
      return convert_span(face, param, type, argument, value);
    case TARSIA_KIND_COMPLEX:
      return convert_complex(face, type, fit, argument, value);
    case TARSIA_KIND_STREAM: {
      void* stream = nullptr;
      const Why why = face.read_stream(argument, stream);
      if (why == Why::fits) set_stream(value, stream);
      return why;
    }
    case TARSIA_KIND_LIST:
      return convert_list(face, param, type, fit, argument, value);
    case TARSIA_KIND_OBJECT:
      return convert_object(face, type, argument, value);
    case TARSIA_KIND_STRUCT:
      return convert_struct(face, type, argument, value);
    case TARSIA_KIND_NUMBER:
      return convert_number(face, param, fit, argument, value);
    default:
      return Why::type;
  }
}

// ---- the arguments of a call ----

// A face describes an overload by a class `Signature` with n_params, n_required, n_streams and param(i),
// which is a Param. It describes the arguments by a class `Arguments` with n_positional, n_named(),
// positional(i), which is an Argument, and bool assign_by_name(signature, Argument* given, mismatch), which
// assigns the arguments that are given by name.

/// Assigns positional arguments to the parameters. The caller may omit streams: a stream parameter is skipped
/// if the argument in its place is not a stream, unless there are enough arguments for all parameters.
template <class Face, class Signature, class Arguments>
bool assign_positional(Face& face, const Signature& signature, const Arguments& arguments,
                       typename Face::Argument* given, Mismatch<Face>& mismatch) {
  const uint32_t n = arguments.n_positional;
  const bool all_but_streams = n + arguments.n_named() + signature.n_streams <= signature.n_params;
  uint32_t next = 0;
  for (uint32_t i = 0; i < signature.n_params && next < n; ++i) {
    const typename Face::Argument argument = arguments.positional(next);
    const bool stream = signature.param(i).type.kind == TARSIA_KIND_STREAM;
    if (stream && all_but_streams && !face.is_none(argument) && !face.is_stream(argument)) continue;
    given[i] = argument;
    ++next;
  }
  if (next == n) return true;
  mismatch.count = Mismatch<Face>::Count::too_many;
  mismatch.n_given = n;
  return false;
}

/// Returns how many parameters the adapter gets: those up to the last argument, and the streams after it as
/// long as there is no gap before them.
template <class Face, class Signature>
bool count_values(const Signature& signature, typename Face::Argument const* given, uint32_t& n_values,
                  Mismatch<Face>& mismatch) {
  n_values = 0;
  while (n_values < signature.n_params &&
         (given[n_values] || signature.param(n_values).type.kind == TARSIA_KIND_STREAM))
    ++n_values;
  mismatch.param = n_values;
  if (n_values < signature.n_required) {
    mismatch.count = Mismatch<Face>::Count::missing;
    return false;
  }
  for (uint32_t i = n_values; i < signature.n_params; ++i)
    if (given[i]) {
      mismatch.count = Mismatch<Face>::Count::gap;
      return false;
    }
  return true;
}

/// Passes the current stream for streams that the caller omitted. A stream after an omitted default argument
/// cannot be passed; that is allowed only if the current stream is CUDA's default.
template <class Face, class Signature>
bool fill_streams(Face& face, const Signature& signature, typename Face::Argument const* given,
                  uint32_t n_values, tarsia_value* values, Mismatch<Face>& mismatch) {
  for (uint32_t i = 0; i < signature.n_params; ++i) {
    if (signature.param(i).type.kind != TARSIA_KIND_STREAM) continue;
    if (given[i] && !face.is_none(given[i])) continue;
    void* const stream = face.current_stream();
    if (i < n_values) {
      set_stream(values[i], stream);
    } else if (stream) {
      mismatch.count = Mismatch<Face>::Count::gap_before_stream;
      mismatch.param = n_values;
      return false;
    }
  }
  return true;
}

/// Assigns the arguments to an overload's parameters and converts them to n_values values. `values` has room
/// for n_params + 1 values. `given` has n_params nulls and gets the argument of each parameter. Returns false
/// if an argument does not fit; `mismatch` then says why.
template <class Face, class Signature, class Arguments>
bool match(Face& face, const Signature& signature, Fit fit, const Arguments& arguments,
           typename Face::Argument* given, tarsia_value* values, uint32_t& n_values,
           Mismatch<Face>& mismatch) {
  if (!assign_positional(face, signature, arguments, given, mismatch) ||
      !arguments.assign_by_name(signature, given, mismatch) ||
      !count_values<Face>(signature, given, n_values, mismatch))
    return false;
  for (uint32_t i = 0; i < n_values; ++i) {
    const Param& param = signature.param(i);
    if (param.type.kind == TARSIA_KIND_STREAM && (!given[i] || face.is_none(given[i]))) continue;
    mismatch.why = face.convert(param, param.type, fit, given[i], values[i]);
    if (mismatch.why == Why::fits) continue;
    mismatch.param = i;
    mismatch.argument = given[i];
    return false;
  }
  return !signature.n_streams || fill_streams(face, signature, given, n_values, values, mismatch);
}

/// Does the same for main(argc, argv). `words` are all arguments in one list, the program's name first. If it
/// is null, `mismatch` says why there are none.
template <class Face, class Signature>
bool match_main(Face& face, const Signature& signature, typename Face::Argument words, tarsia_value* values,
                uint32_t& n_values, Mismatch<Face>& mismatch) {
  if (!words) return false;
  mismatch.argument = words;
  n_values = 1;
  const Param& param = signature.param(0);
  mismatch.why = face.convert(param, param.type, Fit::any, words, values[0]);
  return mismatch.why == Why::fits;
}

enum class Tried : uint8_t { fits, does_not, failed };

/// Returns the first of n overloads that fits exactly, or else the first that fits; -1 if none fits or
/// `attempt(i, fit)` failed.
template <class Attempt>
int64_t choose(size_t n, Attempt attempt) {
  for (const Fit fit : {Fit::exact, Fit::any}) {
    if (fit == Fit::exact && n == 1) continue;
    for (size_t i = 0; i < n; ++i) {
      const Tried tried = attempt(i, fit);
      if (tried == Tried::fits) return static_cast<int64_t>(i);
      if (tried == Tried::failed) return -1;
    }
  }
  return -1;
}

}  // namespace tarsia::arguments
