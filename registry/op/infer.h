// Inference: derives all metas of an op's inputs and outputs from the known ones.
#pragma once

#include <tarsia/op_abi.h>

#include <span>
#include <string>
#include <vector>

#include "registry/op/attributes.h"

namespace tarsia::registry {

/// A meta of which nothing is known.
tarsia_meta unknown_meta();

/// The meta of a tensor.
tarsia_meta meta_of(const tarsia_tensor& tensor);

/// "float32 (2, 3)", with ? for unknown parts.
std::string describe(const tarsia_meta& meta);

/// How many inputs and outputs an op has.
struct Arity {
  std::uint32_t n_inputs;
  std::uint32_t n_outputs;
  std::vector<bool> hidden = {};         ///< for each output, whether callers do not get it
  std::vector<tarsia_port> inputs = {};  ///< as BoundInfo::input_ports
};

/// Parses the attributes, and settles the numbers of inputs and outputs without inference. Throws what
/// BoundInfo throws.
Arity arity_of(const tarsia_op& op, const tarsia_op_request& request);

/// The same from the attributes of the request alone: its inputs and outputs do not matter.
Arity counts_of(const tarsia_op& op, const tarsia_op_request& request);

/// An op with parsed attributes and metas, to be bound or only asked about. Owns the author's params. The
/// metas are those of the caller's tensors; an op that infers no storage sees dense ones in their place.
class BoundInfo {
 public:
  /// Parses attributes, settles the number of inputs and outputs, and infers. Throws ArgumentError, and
  /// OpError that names the op, the port and both values of a conflict.
  BoundInfo(const tarsia_op& op, const tarsia_op_request& request);
  ~BoundInfo();
  BoundInfo(const BoundInfo&) = delete;
  BoundInfo& operator=(const BoundInfo&) = delete;

  const tarsia_op& op() const { return m_op; }
  const tarsia_bind_info& info() const { return m_info; }
  std::span<const tarsia_meta> inputs() const { return m_inputs; }
  std::span<const tarsia_meta> outputs() const { return m_outputs; }
  /// Whether callers do not get an output.
  bool is_hidden(std::size_t i) const { return m_hidden[i]; }
  /// The names and flags of the inputs. What nothing names has the name "".
  std::span<const tarsia_port> input_ports() const { return m_input_ports; }
  /// Flags of an input, by its port and by what inference found.
  std::uint32_t input_flags(std::size_t i) const { return m_input_ports[i].flags | m_inputs[i].flags; }
  /// Throws unless everything that a run needs is known.
  void require_complete() const;
  /// The name of a port, for messages: "input 'x'", "input 'args' 2".
  std::string input_name(unsigned i) const;
  std::string output_name(unsigned i) const;

 private:
  friend Arity arity_of(const tarsia_op& op, const tarsia_op_request& request);
  friend Arity counts_of(const tarsia_op& op, const tarsia_op_request& request);
  struct AttributesAlone {};
  struct WithoutInference {};
  BoundInfo(const tarsia_op& op, const tarsia_op_request& request, AttributesAlone);
  BoundInfo(const tarsia_op& op, const tarsia_op_request& request, WithoutInference);
  void count(std::uint32_t& n_inputs, std::uint32_t& n_outputs);
  /// Fills in the ports of so many inputs; `asks` the op for their names.
  void name_inputs(std::uint32_t n, bool asks);
  void settle_arity(const tarsia_op_request& request);
  /// Finds out which outputs are hidden.
  void mark_hidden();
  /// Says in the metas which outputs are hidden, and which inputs the op changes.
  void tell_flags();
  void check_ndim() const;
  void create_params();
  void destroy_params() noexcept;
  void infer();
  void infer_metas();
  void infer_elementwise();
  void take_choice(const char* name);
  void take_attribute(const char* name, const tarsia_value& value);
  void publish_attributes();

  const tarsia_op& m_op;
  Attributes m_attributes;
  std::vector<tarsia_meta> m_inputs, m_outputs;
  std::vector<bool> m_hidden;  ///< of the outputs
  std::vector<tarsia_port> m_input_ports;
  tarsia_bind_info m_info{};
};

/// An error's message with " (relu.cpp:12)" behind it, where the op is declared, unless that is in it
/// already. Only wrong values, types and numbers are of the op's text; other errors come as they are.
std::string with_place(std::string message, const tarsia_op& op, std::int32_t code);

/// Throws the last error of a function of the op, with the names of the op and the function before it, and
/// the op's place behind it.
[[noreturn]] void throw_op_error(const tarsia_op& op, const char* function);

}  // namespace tarsia::registry
