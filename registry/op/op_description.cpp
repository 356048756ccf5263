// What makes a description of an op hold together.
#include "registry/op/op_description.h"

#include <tarsia/detail/spelling.h>
#include <tarsia/detail/support.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "registry/library/library.h"
#include "registry/op/attributes.h"
#include "registry/op/choice.h"
#include "registry/op/layouts.h"
#include "registry/op/needs.h"

namespace tarsia::registry {

namespace {

/// Refuses two inputs, or outputs, of one name: neither could be asked for by it.
void check_ports(const char* what, const tarsia_port* ports, std::uint32_t n,
                 const std::function<void(const std::string&)>& fail) {
  for (unsigned i = 0; i < n; ++i) {
    if (!ports[i].name) fail(std::string("has an ") + what + " whose name is null");
    for (unsigned k = 0; k < i; ++k)
      if (*ports[i].name && !std::strcmp(ports[i].name, ports[k].name))
        fail(std::string("declares ") + what + " '" + ports[i].name + "' twice");
  }
}

/// Refuses names that callers could not write, or that say two things.
void check_names(const tarsia_op& op, const std::function<void(const std::string&)>& fail) {
  struct Named {
    std::string_view name;
    const char* what;
  };
  std::vector<Named> all;
  for (unsigned i = 0; i < op.n_inputs; ++i) all.push_back({op.inputs[i].name, "input"});
  for (unsigned i = 0; i < op.n_outputs; ++i) all.push_back({op.outputs[i].name, "output"});
  for (unsigned i = 0; i < op.n_attributes; ++i) all.push_back({op.attributes[i].name, "attribute"});
  std::map<std::string_view, const char*> known;
  for (const auto& [name, what] : all) {
    if (name.empty()) continue;  // ports of MXNet's API have no names
    const std::string shown = std::string(what) + " '" + std::string(name) + "'";
    if (!detail::is_identifier(name)) fail("declares " + shown + ": write letters, digits and underscores");
    const auto [before, is_new] = known.emplace(name, what);
    // Ops for MXNet's API have no place, and may call an input and an output alike.
    const bool is_declared = op.location && *op.location;
    if (!is_new && before->second != what && is_declared)
      fail("declares " + std::string(before->second) + " and " + what + " '" + std::string(name) +
           "': give them two names");
    if (!std::strcmp(what, "attribute") && (name == "out" || name == "req"))
      fail("declares " + shown + ", but calls take " + std::string(name) + "= for " +
           (name == "out" ? "output tensors" : "write requests") + ": choose another name");
  }
}

/// Whether values of the type, or the items of its lists, are numbers.
bool holds_numbers(const tarsia_type& type) {
  if (type.kind != TARSIA_KIND_LIST && type.kind != TARSIA_KIND_TUPLE)
    return type.kind == TARSIA_KIND_INT || type.kind == TARSIA_KIND_FLOAT || type.kind == TARSIA_KIND_NUMBER;
  return std::any_of(type.elements, type.elements + type.n_elements, holds_numbers);
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

/// Whether an integer of the type, or an item of a list of them, lies between the bounds. Other numbers: the
/// least is not above the greatest.
bool is_between(const tarsia_type& type, double least, double greatest) {
  if (type.kind == TARSIA_KIND_LIST || type.kind == TARSIA_KIND_TUPLE)
    return std::all_of(type.elements, type.elements + type.n_elements,
                       [&](const tarsia_type& one) { return is_between(one, least, greatest); });
  if (type.kind == TARSIA_KIND_INT && type.dtype.bits) {
    const bool is_unsigned = type.dtype.code == TARSIA_UINT;
    const double end = std::ldexp(1.0, type.dtype.bits - !is_unsigned);
    least = std::max(std::ceil(least), is_unsigned ? 0.0 : -end);
    greatest = std::min(std::floor(greatest), end - 1);
  }
  return least <= greatest;
}

/// Refuses bounds of what has no order or between which nothing lies, and choices that are listed twice.
void check_bounds(const tarsia_attribute& attribute, const std::function<void(const std::string&)>& fail) {
  const std::string name = std::string("attribute '") + attribute.name + "'";
  if ((attribute.flags & (TARSIA_ATTRIBUTE_MIN | TARSIA_ATTRIBUTE_MAX)) && !holds_numbers(attribute.type))
    fail("bounds " + name + ", which is a " + describe(attribute.type) +
         ": .range(…), .at_least(…) and .at_most(…) are for numbers; .choices({…}) lists texts");
  const bool has_min = attribute.flags & TARSIA_ATTRIBUTE_MIN,
             has_max = attribute.flags & TARSIA_ATTRIBUTE_MAX;
  if ((has_min && std::isnan(attribute.min)) || (has_max && std::isnan(attribute.max)))
    fail("bounds " + name + " by NaN, which is neither less nor greater than a number");
  constexpr double k_infinite = std::numeric_limits<double>::infinity();
  if ((has_min || has_max) && !is_between(attribute.type, has_min ? attribute.min : -k_infinite,
                                          has_max ? attribute.max : k_infinite))
    fail("bounds " + name + " so that no " + describe(attribute.type) + " fits: it has to be " +
         (has_min && has_max ? "from " + number(attribute.min) + " to " + number(attribute.max)
          : has_min          ? "at least " + number(attribute.min)
                             : "at most " + number(attribute.max)));
  for (unsigned i = 0; i < attribute.n_choices; ++i)
    for (unsigned k = 0; k < i; ++k)
      if (!std::strcmp(attribute.choices[i], attribute.choices[k]))
        fail("has " + name + " with choice '" + attribute.choices[i] + "' twice: list it once");
}

/// Refuses pairs of tensors that an implementation does not have. How many it has may depend on the call.
void check_pairs(const tarsia_op& op, const tarsia_implementation& implementation,
                 const std::function<void(const std::string&)>& fail) {
  const bool backward = implementation.pass == TARSIA_BACKWARD;
  const bool any_number =
      op.arity || (op.n_inputs && op.inputs[op.n_inputs - 1].flags & TARSIA_PORT_VARIADIC);
  const std::uint32_t n_in = backward ? 2 * op.n_outputs + op.n_inputs : op.n_inputs,
                      n_out = backward ? op.n_inputs : op.n_outputs;
  for (const tarsia_inplace& pair : std::span(implementation.inplace, implementation.n_inplace)) {
    if (any_number || (pair.input < n_in && pair.output < n_out)) continue;
    const std::string word = pass_name(implementation.pass);
    fail("has ." + word + "_inplace(" + std::to_string(pair.input) + ", " + std::to_string(pair.output) +
         "), and its " + word + " takes " + std::to_string(n_in) + " tensors and writes " +
         std::to_string(n_out) + ", counted from 0");
  }
}

/// Whether it is one identifier, or several with "::" or "." between them. Letters may be of any language.
bool is_op_name(std::string_view name) {
  for (;;) {
    const std::size_t end = std::min(name.find_first_of(":."), name.size());
    std::string part(name.substr(0, end));
    for (char& c : part)
      if (static_cast<signed char>(c) < 0) c = '_';
    if (!detail::is_identifier(part)) return false;
    name.remove_prefix(end);
    if (name.empty()) return true;
    const std::size_t between = name.starts_with("::") ? 2 : 1;
    if (between == 1 && name[0] == ':') return false;
    name.remove_prefix(between);
  }
}

}  // namespace

std::string located(const tarsia_op& op) {
  return op.location && *op.location ? std::string(" at ") + op.location : "";
}

std::string signature_of(const tarsia_op& op) {
  constexpr std::pair<std::uint32_t, const char*> k_flags[] = {{TARSIA_PORT_OPTIONAL, "optional"},
                                                               {TARSIA_PORT_VARIADIC, "variadic"},
                                                               {TARSIA_PORT_MUTABLE, "mutable"},
                                                               {TARSIA_PORT_HIDDEN, "hidden"}};
  const auto ports = [&](const tarsia_port* list, std::uint32_t n) {
    std::string text;
    for (unsigned i = 0; i < n; ++i) {
      text += (i ? ", " : "") + std::string(*list[i].name ? list[i].name : "_");
      for (const auto& [flag, word] : k_flags)
        if (list[i].flags & flag) text += std::string(" (") + word + ")";
    }
    return text;
  };
  std::string text = op.name + ("(" + ports(op.inputs, op.n_inputs));
  for (unsigned i = 0; i < op.n_attributes; ++i) {
    const tarsia_attribute& a = op.attributes[i];
    text += (i             ? ", "
             : op.n_inputs ? ", *, "
                           : "*, ") +
            std::string(a.name) + ": " + (a.n_choices ? "choice" : describe(a.type)) +
            (a.flags & TARSIA_ATTRIBUTE_REQUIRED ? "" : " = …");
  }
  return text + ") -> " + ports(op.outputs, op.n_outputs);
}

namespace {

/// Throws LoadError about a description.
class Fault {
 public:
  Fault(const tarsia_op& op, const std::string& library)
      : m_where(library + ": " + (is_extension(op) ? "TARSIA_IMPLEMENTATION of op '" : "op '") +
                (op.name ? op.name : "") + "'" +
                (op.location && *op.location ? std::string(" (") + op.location + ")" : "")) {}
  [[noreturn]] void operator()(const std::string& what) const { throw LoadError(m_where + " " + what); }

 private:
  std::string m_where;
};

void check_implementation(const tarsia_implementation& one, const Fault& fail) {
  const std::string pass = pass_name(one.pass);
  if (one.size < sizeof(tarsia_implementation))
    fail("is described for an older Tarsia: build the library again");
  if (one.device_type != TARSIA_CPU && one.device_type != TARSIA_GPU)
    fail("has a " + pass + " for an unknown device: \"cpu\" and \"gpu\" are known");
  if (!one.run) fail("has a " + pass + " without a function");
}

}  // namespace

void check_op(const tarsia_op& op, const std::string& library) {
  const Fault fail(op, library);
  if (!op.name || !*op.name) fail("has no name");
  // Libraries for MXNet's API tell no places, and name their ops as that one lets them.
  const auto is_strange = [](char c) {
    return c == '"' || c == '\'' || static_cast<unsigned char>(c) <= ' ';
  };
  const bool is_declared = op.location && *op.location;
  if (is_declared ? !is_op_name(op.name) : std::ranges::any_of(std::string_view(op.name), is_strange))
    fail("has a name that nobody can call it by: write letters, digits and underscores, without quotes");
  if (!TARSIA_DETAIL_HAS_FIELD(op, destroy_state))
    fail("is described for an older Tarsia: build the library again");
  if (TARSIA_DETAIL_GIVES(op, fault)) fail(op.fault);
  bool has_forward = false;
  for (unsigned i = 0; i < op.n_implementations; ++i) {
    check_implementation(op.implementations[i], fail);
    has_forward |= op.implementations[i].pass == TARSIA_FORWARD;
  }
  if (is_extension(op)) {
    if (!op.n_implementations) fail("adds none: give one with .forward(\"cpu\", f) or .backward(\"cpu\", f)");
    return;
  }
  if (!has_forward) fail("has no forward: give one with .forward(\"cpu\", f) or .forward(\"gpu\", f)");
  check_ports("input", op.inputs, op.n_inputs, fail);
  check_ports("output", op.outputs, op.n_outputs, fail);
  check_names(op, fail);
  std::set<std::string> names;
  for (unsigned i = 0; i < op.n_attributes; ++i) {
    const tarsia_attribute& attribute = op.attributes[i];
    if (!names.insert(attribute.name).second)
      fail(std::string("declares attribute '") + attribute.name + "' twice");
    check_bounds(attribute, fail);
    try {
      check_default(op, attribute);
    } catch (const Error& e) {
      fail(std::string("has a default that does not fit: ") + e.what());
    }
  }
  for (unsigned i = 0; i + 1 < op.n_inputs; ++i)
    if (op.inputs[i].flags & TARSIA_PORT_VARIADIC)
      fail(std::string("has inputs after the variadic '") + op.inputs[i].name + "'");
  for (unsigned i = 0; i < op.n_inplace; ++i)
    if (op.inplace[i].input >= op.n_inputs || op.inplace[i].output >= op.n_outputs)
      fail("declares an in-place pair of ports that it does not have");
  if (has_needs(op))
    for (std::uint32_t i = 0; op.backward_needs && i < op.n_backward_needs; ++i)
      if (const std::string fault = fault_of_need(op, op.backward_needs[i]); !fault.empty()) fail(fault);
  check_implementations(op, op, library);
}

void check_implementations(const tarsia_op& op, const tarsia_op& blamed, const std::string& library) {
  const Fault fail(blamed, library);
  for (unsigned i = 0; i < op.n_implementations; ++i) {
    const tarsia_implementation& a = op.implementations[i];
    check_pairs(op, a, fail);
    for (const tarsia_layout& layout : std::span(a.layouts, a.n_layouts))
      if (const std::string fault = fault_of_layout(op, a, layout); !fault.empty()) fail(fault);
    for (unsigned k = 0; k < i; ++k) {
      const tarsia_implementation& b = op.implementations[k];
      const bool can_be_chosen = op.infer && *a.name && *b.name && std::strcmp(a.name, b.name) != 0;
      if (a.pass == b.pass && a.device_type == b.device_type && a.priority == b.priority &&
          a.storage_any == b.storage_any && !a.applies && !b.applies && !can_be_chosen)
        fail(std::string("has two ") + pass_name(a.pass) + " implementations for " +
             device_name(a.device_type == TARSIA_GPU) +
             " that always apply: give one a predicate, .when(…), or another .priority(…), or name both and "
             "let .infer(…) choose" +
             (is_extension(blamed) ? "; an added one of the same .named(…) is replaced" : ""));
    }
  }
}

}  // namespace tarsia::registry
