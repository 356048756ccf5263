// The arguments of C, C++ and JAX, in the form that the rules of <tarsia/detail/argument_match.h> need.
#pragma once

#include <tarsia/abi.h>
#include <tarsia/detail/argument_match.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tarsia::registry {

/// A tensor argument. The caller owns its address: results that return it point there.
struct ValueMemory {
  const tarsia_tensor& tensor;
  bool read_only = false;  ///< what tarsia_value.size says
};
inline bool may_be_changed_lazily(const ValueMemory&) {
  return false;
}
inline bool is_changed_lazily(const ValueMemory&) {
  return false;
}
bool is_pinned(const ValueMemory& memory);

/// The face over the tarsia_values of one call. Lists and all but a few values lie in the call's memory, so
/// a context must be current.
class ValueFace {
 public:
  using Argument = const tarsia_value*;
  using Memory = ValueMemory;
  struct List {
    const tarsia_value* items;
    std::uint64_t n;
    Argument operator[](std::uint64_t i) const { return items + i; }
  };

  ValueFace() = default;
  ValueFace(const ValueFace&) = delete;
  ValueFace& operator=(const ValueFace&) = delete;

  bool is_none(Argument argument) const { return argument->kind == TARSIA_KIND_NONE; }
  bool is_stream(Argument argument) const { return argument->kind == TARSIA_KIND_STREAM; }
  arguments::Numeric numeric(Argument argument) const;
  arguments::Why read_integer(const tarsia_type& type, Argument argument, arguments::Integer& number) const;
  arguments::Why read_float(Argument argument, double& number) const;
  arguments::Why read_complex(Argument argument, double (&parts)[2]) const;
  arguments::Why read_text(Argument argument, const char*& text, std::uint64_t& size) const;
  arguments::Why read_memory(const tarsia_type& type, Argument argument, const Memory*& memory);
  arguments::Why read_stream(Argument argument, void*& stream) const;
  arguments::Why read_list(const tarsia_type& element, Argument argument, List& list) const;
  arguments::Why read_object(const tarsia_type& type, Argument argument, void*& handle) const;
  arguments::Why read_bytes(const tarsia_type& type, Argument argument, tarsia_value& value) const;
  arguments::Why read_struct(const arguments::Param& param, Argument argument, tarsia_value& value) const;
  arguments::Why read_address(const arguments::Param& param, Argument argument, tarsia_value& value,
                              arguments::Why why) const;
  arguments::Why convert(const arguments::Param& param, const tarsia_type& type, arguments::Fit fit,
                         Argument argument, tarsia_value& value) {
    return arguments::convert(*this, param, type, fit, argument, value);
  }
  void* current_stream() const;
  template <class T>
  T* room_for(std::size_t n) {
    return static_cast<T*>(room(n * sizeof(T)));
  }
  arguments::Together& together() { return m_together; }
  arguments::Blame<Argument, Memory>& blame() { return m_blame; }

  /// The GPU of the first tensor that is on one; -1 if none is.
  int gpu() const { return m_gpu; }
  /// Forgets the arguments before the next overload is tried.
  void start_over();

 private:
  void* room(std::size_t bytes);

  arguments::Together m_together;
  arguments::Blame<Argument, Memory> m_blame;
  int m_gpu = -1;
  std::size_t m_used = 0;
  alignas(16) char m_room[1024];
};

/// The content of an overload's descriptor, of a function or a kernel.
class ValueSignature {
 public:
  explicit ValueSignature(const tarsia_function& function);
  explicit ValueSignature(const tarsia_kernel& kernel);

  arguments::Param param(std::uint32_t i) const {
    return arguments::param_of(flags, params[i].type, sizes ? sizes[i] : 0);
  }
  bool is_main() const { return !sizes && (flags & TARSIA_FUNCTION_MAIN); }

  std::uint32_t flags;
  std::uint32_t n_params;
  std::uint32_t n_required;
  std::uint32_t n_streams = 0;
  const tarsia_param* params;
  const std::uint32_t* sizes;  ///< of a kernel's parameters; null: it is a function's
  const char* text;
  const char* location;
};

/// Chooses an overload and converts the arguments to `n` values, which lie in the face or in the call's
/// memory. Returns the overload's index. Throws ArgumentError if none fits.
std::size_t match(ValueFace& face, std::span<const tarsia_function* const> overloads,
                  std::span<const tarsia_value> args, tarsia_value*& values, std::uint32_t& n);
/// The same for a kernel.
void match(ValueFace& face, const tarsia_kernel& kernel, std::span<const tarsia_value> args,
           tarsia_value*& values);

}  // namespace tarsia::registry
