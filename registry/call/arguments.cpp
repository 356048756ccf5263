// Converts values to parameters, kind by kind.
#include "registry/call/arguments.h"

#include <tarsia/detail/argument_words.h>

#include <algorithm>
#include <charconv>
#include <new>

#include "base/cuda/cuda_driver.h"
#include "base/error.h"
#include "registry/resources/call_context.h"

namespace tarsia::registry {

using arguments::Explanation;
using arguments::Fit;
using arguments::Integer;
using arguments::Numeric;
using arguments::Param;
using arguments::Tried;
using arguments::Why;
using Mismatch = arguments::Mismatch<ValueFace>;

namespace {

/// The arguments of a call, all by position.
struct ValueArguments {
  explicit ValueArguments(std::span<const tarsia_value> args)
      : items(args.data()), n_positional(static_cast<std::uint32_t>(args.size())) {}

  std::uint32_t n_named() const { return 0; }
  const tarsia_value* positional(std::uint32_t i) const { return items + i; }
  bool assign_by_name(const ValueSignature&, const tarsia_value**, Mismatch&) const { return true; }

  /// A list is main's argv itself. Otherwise the arguments are its words.
  const tarsia_value* words_of_main(ValueFace& face) const {
    if (n_positional == 1 && items[0].kind == TARSIA_KIND_LIST) return items;
    auto* words = face.room_for<tarsia_value>(n_positional + 2u);
    words[1] = {};
    words[1].s = "main";
    words[1].size = 4;
    words[1].kind = TARSIA_KIND_STRING;
    std::copy_n(items, n_positional, words + 2);
    words[0] = {};
    words[0].v = words + 1;
    words[0].size = n_positional + 1;
    words[0].kind = TARSIA_KIND_LIST;
    return words;
  }

  const tarsia_value* items;
  std::uint32_t n_positional;
};

bool match_one(ValueFace& face, const ValueSignature& signature, Fit fit, const ValueArguments& args,
               tarsia_value*& values, std::uint32_t& n, Mismatch& mismatch) {
  face.start_over();
  values = face.room_for<tarsia_value>(signature.n_params + std::size_t{1});
  if (signature.is_main())
    return arguments::match_main(face, signature, args.words_of_main(face), values, n, mismatch);
  auto** given = face.room_for<const tarsia_value*>(signature.n_params);
  std::fill_n(given, signature.n_params, nullptr);
  return arguments::match(face, signature, fit, args, given, values, n, mismatch);
}

constexpr arguments::Nouns k_nouns{"a bool",   "an int",      "a float",  "a complex number",
                                   "a string", "a tensor",    "a stream", "a list",
                                   "nothing",  " or nothing", "GPU "};

std::string shortest(double number) {
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof text, number).ptr);
}

std::string quoted(const tarsia_value& string) {
  constexpr std::uint32_t k_most = 60;
  std::string text = "'";
  text.append(string.s, std::min(string.size, k_most));
  return text += string.size > k_most ? "…'" : "'";
}

/// The description of an argument for authors of C and C++ programs.
class ValueWords final : public arguments::FaceWords {
 public:
  explicit ValueWords(const tarsia_value& given) : m_given(given) {}

  const arguments::Nouns& nouns() const override { return k_nouns; }
  std::string given() const override {
    switch (m_given.kind) {
      case TARSIA_KIND_NONE:
        return "nothing";
      case TARSIA_KIND_BOOL:
        return "the bool " + value();
      case TARSIA_KIND_INT:
        return "the int " + value();
      case TARSIA_KIND_FLOAT:
        return "the float " + value();
      case TARSIA_KIND_COMPLEX:
        return "the complex number " + value();
      case TARSIA_KIND_STRING:
        return "the string " + value();
      case TARSIA_KIND_TENSOR:
        return "a tensor " + arguments::tensor_text(*m_given.t, k_nouns);
      case TARSIA_KIND_POINTER:
        return "a pointer";
      case TARSIA_KIND_STRUCT:
      case TARSIA_KIND_CONST_STRUCT:
        return "a struct of " + std::to_string(m_given.size) + " bytes";
      case TARSIA_KIND_STREAM:
        return "a stream";
      case TARSIA_KIND_OBJECT:
        return "an object of a framework";
      case TARSIA_KIND_LIST:
      case TARSIA_KIND_TUPLE:
        return "a list of " + std::to_string(m_given.size);
      default:
        return "a value of kind " + std::to_string(m_given.kind);
    }
  }
  std::string value() const override {
    switch (m_given.kind) {
      case TARSIA_KIND_BOOL:
        return m_given.i ? "true" : "false";
      case TARSIA_KIND_INT:
        return m_given.size == TARSIA_UNSIGNED ? std::to_string(m_given.u) : std::to_string(m_given.i);
      case TARSIA_KIND_FLOAT:
        return shortest(m_given.f);
      case TARSIA_KIND_COMPLEX:
        return "(" + shortest(m_given.v[0].f) + "," + shortest(m_given.v[1].f) + ")";
      case TARSIA_KIND_STRING:
        return quoted(m_given);
      default:
        return given();
    }
  }
  std::string remedy(const arguments::Misfit& misfit) const override {
    switch (misfit.why) {
      case Why::dtype:
        return misfit.writes() ? "; make it of that dtype in the first place" : "; convert it";
      case Why::layout:
        return misfit.writes() ? "; pass a contiguous one, and copy from it afterwards"
                               : "; pass a contiguous copy";
      case Why::alignment:
        return "; pass a copy";
      case Why::type:
        return misfit.is_kernel() && misfit.type.kind == TARSIA_KIND_NONE ? ", in a string" : "";
      default:
        return "";
    }
  }
  Explanation own(const arguments::Misfit&) const override { return {"does not fit", false}; }

 private:
  const tarsia_value& m_given;
};

Explanation explain(ValueFace& face, const ValueSignature& signature, const Mismatch& mismatch) {
  const auto name_of = [&](std::uint32_t i) {
    const char* name = signature.params[i].name;
    return std::string(name ? name : "");
  };
  if (mismatch.count != Mismatch::Count::fits)
    return {arguments::explain_count(signature, mismatch, name_of, ""), false};
  const auto& blame = face.blame();
  const bool in_list = blame.item >= 0;
  const Param param = signature.param(mismatch.param);
  const tarsia_value* const given = in_list ? blame.item_given : mismatch.argument;
  if (!given) return {"does not fit", false};
  const ValueWords words(*given);
  Explanation why =
      arguments::explain({mismatch.why, param, in_list ? *blame.type : param.type, signature.flags,
                          blame.memory ? &blame.memory->tensor : nullptr, face.together().device},
                         words);
  std::string place =
      arguments::place_text(name_of(mismatch.param), mismatch.param, signature.n_params) + " ";
  if (in_list) place += "item " + std::to_string(blame.item) + " ";
  return {place + why.text, why.is_value_error};
}

/// Throws the reason why the overloads do not take the arguments. `described` are their descriptors.
template <class Described>
[[noreturn]] void refuse(std::span<const Described* const> described, const ValueArguments& args,
                         const std::string& title) {
  arguments::Refusal refusal(described.size());
  for (const Described* overload : described) {
    const ValueSignature signature(*overload);
    ValueFace face;
    Mismatch mismatch;
    tarsia_value* values = nullptr;
    std::uint32_t n = 0;
    if (match_one(face, signature, Fit::any, args, values, n, mismatch)) continue;
    refusal.add(arguments::overload_text(signature.text, signature.location),
                explain(face, signature, mismatch));
  }
  const std::string text = refusal.text(title);
  throw refusal.is_value_error() ? ArgumentError::value_error(text) : ArgumentError::type_error(text);
}

template <class Described>
std::size_t match_any(ValueFace& face, std::span<const Described* const> described, const std::string& prefix,
                      std::span<const tarsia_value> args, tarsia_value*& values, std::uint32_t& n) {
  const ValueArguments given(args);
  const std::int64_t chosen = arguments::choose(described.size(), [&](std::size_t i, Fit fit) {
    Mismatch mismatch;
    return match_one(face, ValueSignature(*described[i]), fit, given, values, n, mismatch) ? Tried::fits
                                                                                           : Tried::does_not;
  });
  if (chosen < 0) refuse(described, given, prefix + described[0]->name);
  return static_cast<std::size_t>(chosen);
}

}  // namespace

bool is_pinned(const ValueMemory& memory) {
  return is_pinned_memory(memory.tensor.data);
}

Numeric ValueFace::numeric(Argument argument) const {
  switch (argument->kind) {
    case TARSIA_KIND_BOOL:
      return Numeric::boolean;
    case TARSIA_KIND_INT:
      return Numeric::integer;
    case TARSIA_KIND_FLOAT:
      return Numeric::real;
    default:
      return Numeric::no;
  }
}

Why ValueFace::read_integer(const tarsia_type& type, Argument argument, Integer& number) const {
  const bool is_uint64 = type.dtype.code == TARSIA_UINT && (!type.dtype.bits || type.dtype.bits >= 64);
  const bool has_sign = argument->size == TARSIA_SIGNED || (argument->size != TARSIA_UNSIGNED && !is_uint64);
  number = {argument->i < 0 && !has_sign ? Integer::in_uint64 : Integer::in_int64, argument->i};
  return Why::fits;
}

Why ValueFace::read_float(Argument argument, double& number) const {
  const bool is_unsigned = argument->kind == TARSIA_KIND_INT && argument->size == TARSIA_UNSIGNED;
  number = argument->kind == TARSIA_KIND_FLOAT ? argument->f
           : is_unsigned                       ? static_cast<double>(argument->u)
                                               : static_cast<double>(argument->i);
  return Why::fits;
}

Why ValueFace::read_complex(Argument argument, double (&parts)[2]) const {
  if (argument->kind != TARSIA_KIND_COMPLEX || argument->size != 2) return Why::type;
  for (int i = 0; i < 2; ++i) parts[i] = argument->v[i].f;
  return Why::fits;
}

Why ValueFace::read_text(Argument argument, const char*& text, std::uint64_t& size) const {
  if (argument->kind != TARSIA_KIND_STRING) return Why::type;
  text = argument->s;
  size = argument->size;
  return Why::fits;
}

Why ValueFace::read_memory(const tarsia_type&, Argument argument, const Memory*& memory) {
  if (argument->kind != TARSIA_KIND_TENSOR) return Why::type;
  memory = new (room(sizeof(Memory))) Memory{*argument->t, argument->size == TARSIA_TENSOR_READ_ONLY};
  if (memory->tensor.device.type == TARSIA_GPU && m_gpu < 0) m_gpu = memory->tensor.device.id;
  return Why::fits;
}

Why ValueFace::read_stream(Argument argument, void*& stream) const {
  if (argument->kind != TARSIA_KIND_STREAM && argument->kind != TARSIA_KIND_POINTER) return Why::type;
  stream = argument->p;
  return Why::fits;
}

Why ValueFace::read_list(const tarsia_type&, Argument argument, List& list) const {
  if (argument->kind != TARSIA_KIND_LIST && argument->kind != TARSIA_KIND_TUPLE) return Why::type;
  list = {argument->v, argument->size};
  return Why::fits;
}

Why ValueFace::read_object(const tarsia_type&, Argument, void*&) const {
  return Why::object;
}

Why ValueFace::read_bytes(const tarsia_type& type, Argument argument, tarsia_value& value) const {
  value = *argument;
  if (argument->kind == TARSIA_KIND_STRING || argument->kind == TARSIA_KIND_CONST_STRUCT)
    return type.flags & TARSIA_TYPE_CONST ? Why::fits : Why::type;
  return argument->kind == TARSIA_KIND_STRUCT ? Why::fits : Why::type;
}

Why ValueFace::read_struct(const Param& param, Argument argument, tarsia_value& value) const {
  if (argument->kind != TARSIA_KIND_STRING && argument->kind != TARSIA_KIND_STRUCT &&
      argument->kind != TARSIA_KIND_CONST_STRUCT)
    return Why::type;
  value = *argument;
  return argument->size == param.bytes ? Why::fits : Why::size;
}

Why ValueFace::read_address(const Param&, Argument argument, tarsia_value& value, Why why) const {
  if (argument->kind != TARSIA_KIND_POINTER) return why;  // a bare address: the caller knows what it does
  value = *argument;
  return Why::fits;
}

void* ValueFace::current_stream() const {
  return registry::current_stream(m_gpu >= 0 ? m_gpu : std::max(0, cuda_current_device()));
}

void* ValueFace::room(std::size_t bytes) {
  bytes = (bytes + 15) & ~std::size_t{15};
  if (bytes > sizeof m_room - m_used) return call_memory(bytes);
  void* start = m_room + m_used;
  m_used += bytes;
  return start;
}

void ValueFace::start_over() {
  m_together = {};
  m_blame = {};
  m_gpu = -1;
  m_used = 0;
}

ValueSignature::ValueSignature(const tarsia_function& function)
    : flags(function.flags),
      n_params(function.n_params),
      n_required(function.n_required),
      params(function.params),
      sizes(nullptr),
      text(function.signature),
      location(function.location) {
  for (std::uint32_t i = 0; i < n_params; ++i) n_streams += params[i].type.kind == TARSIA_KIND_STREAM;
}

ValueSignature::ValueSignature(const tarsia_kernel& kernel)
    : flags(arguments::k_kernel_flags),
      n_params(kernel.n_params),
      n_required(kernel.n_params),
      params(kernel.params),
      sizes(kernel.param_sizes),
      text(kernel.signature),
      location(kernel.location) {}

std::size_t match(ValueFace& face, std::span<const tarsia_function* const> overloads,
                  std::span<const tarsia_value> args, tarsia_value*& values, std::uint32_t& n) {
  return match_any(face, overloads, "", args, values, n);
}

void match(ValueFace& face, const tarsia_kernel& kernel, std::span<const tarsia_value> args,
           tarsia_value*& values) {
  const tarsia_kernel* const only = &kernel;
  std::uint32_t n = 0;
  match_any(face, std::span<const tarsia_kernel* const>(&only, 1), "kernel ", args, values, n);
}

}  // namespace tarsia::registry
