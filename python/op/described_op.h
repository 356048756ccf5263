// The description of an op that is written in Python, as the registry takes it.
#pragma once

#include <nanobind/nanobind.h>
#include <tarsia/op_abi.h>

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace tarsia::python {

/// A tarsia_op and the data that it points to. It stays in place.
struct DescribedOp {
  DescribedOp() = default;
  DescribedOp(const DescribedOp&) = delete;

  std::deque<std::string> texts;
  std::vector<tarsia_port> inputs, outputs;
  std::vector<tarsia_attribute> attributes;
  std::deque<tarsia_type> elements;
  std::deque<std::vector<const char*>> choices;
  std::deque<tarsia_value> defaults;
  std::deque<std::vector<tarsia_value>> default_items;
  std::vector<tarsia_implementation> implementations;
  std::vector<tarsia_inplace> inplace;
  std::vector<const char*> needs;
  std::deque<std::vector<tarsia_inplace>> own_pairs;  ///< of implementations
  std::deque<std::vector<tarsia_layout>> layouts;     ///< of implementations
  std::deque<std::vector<uint8_t>> axes;              ///< of layouts
  tarsia_op op{};

  const char* keep(const char* text) { return texts.emplace_back(text).c_str(); }
};

/// Which functions an implementation has besides that which runs.
struct OwnFunctions {
  bool applies, workspace;
};

/// Reads what tarsia._define.define.spec_of gives: name, description, location, inputs and outputs [(name,
/// flags, description)], attributes [{…}, as tarsia._define.attributes.Attribute has them], in-place pairs,
/// implementations [{…}, as tarsia._define.implementations.specs_of gives them], the names of what backward
/// needs or None, whether it takes undeclared attributes, takes sparse tensors, is random. Sets no functions;
/// says for each implementation which it has. Throws what nanobind throws for a spec of another form.
std::vector<OwnFunctions> read_description(const nanobind::dict& spec, DescribedOp& described);

}  // namespace tarsia::python
