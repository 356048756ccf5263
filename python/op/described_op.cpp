// Reads the description of an op that is written in Python into the structs of the registry.
#include "python/op/described_op.h"

#include <cstring>
#include <string_view>
#include <utility>

namespace nb = nanobind;

namespace tarsia::python {

namespace {

template <class Key>
const char* text_at(nb::handle container, Key key) {
  return nb::borrow<nb::str>(container[key]).c_str();
}

/// The value of a bool, int, float, str or a tuple of them.
tarsia_value value_of(DescribedOp& described, nb::handle object) {
  tarsia_value value{};
  if (PyBool_Check(object.ptr())) {
    value.kind = TARSIA_KIND_BOOL;
    value.i = object.is(nb::handle(Py_True));
  } else if (PyLong_Check(object.ptr())) {
    value.kind = TARSIA_KIND_INT;
    value.i = nb::cast<int64_t>(object);
  } else if (PyFloat_Check(object.ptr())) {
    value.kind = TARSIA_KIND_FLOAT;
    value.f = nb::cast<double>(object);
  } else if (PyTuple_Check(object.ptr())) {
    std::vector<tarsia_value>& items = described.default_items.emplace_back();
    for (nb::handle item : nb::borrow<nb::tuple>(object)) items.push_back(value_of(described, item));
    value.kind = TARSIA_KIND_LIST;
    value.v = items.data();
    value.size = static_cast<uint32_t>(items.size());
  } else {
    value.kind = TARSIA_KIND_STRING;
    value.s = described.keep(nb::borrow<nb::str>(object).c_str());
    value.size = static_cast<uint32_t>(std::strlen(value.s));
  }
  return value;
}

const tarsia_value& keep_value(DescribedOp& described, nb::handle object) {
  return described.defaults.emplace_back(value_of(described, object));
}

void read_pairs(nb::handle list, std::vector<tarsia_inplace>& pairs) {
  for (nb::handle pair : nb::borrow<nb::list>(list))
    pairs.push_back({nb::cast<uint32_t>(pair[0]), nb::cast<uint32_t>(pair[1])});
}

/// The type of an attribute, but for the list and the optional that it may be.
tarsia_type type_of_kind(std::string_view kind) {
  tarsia_type type{};
  if (kind == "bool") {
    type.kind = TARSIA_KIND_BOOL;
    type.dtype = {TARSIA_BOOL, 8, 1};
  } else if (kind == "int") {
    type.kind = TARSIA_KIND_INT;
    type.dtype = {TARSIA_INT, 64, 1};
  } else if (kind == "float") {
    type.kind = TARSIA_KIND_FLOAT;
    type.dtype = {TARSIA_FLOAT, 64, 1};
  } else {
    type.kind = TARSIA_KIND_STRING;
  }
  return type;
}

tarsia_attribute read_attribute(nb::handle item, DescribedOp& described) {
  tarsia_attribute attribute{};
  attribute.size = sizeof attribute;
  const auto has = [&](const char* key) { return nb::cast<bool>(item[key]); };
  attribute.name = described.keep(text_at(item, "name"));
  attribute.description = described.keep(text_at(item, "description"));
  attribute.type = type_of_kind(text_at(item, "kind"));
  if (has("is_list")) {
    described.elements.push_back(attribute.type);
    attribute.type = {};
    attribute.type.kind = TARSIA_KIND_LIST;
    attribute.type.n_elements = 1;
    attribute.type.elements = &described.elements.back();
  }
  attribute.type.flags = static_cast<uint8_t>(has("optional") ? TARSIA_TYPE_OPTIONAL : 0);
  attribute.flags = has("required") ? TARSIA_ATTRIBUTE_REQUIRED : 0;
  if (!item["default"].is_none()) attribute.default_value = &keep_value(described, item["default"]);
  if (!item["least"].is_none()) {
    attribute.flags |= TARSIA_ATTRIBUTE_MIN;
    attribute.min = nb::cast<double>(item["least"]);
  }
  if (!item["most"].is_none()) {
    attribute.flags |= TARSIA_ATTRIBUTE_MAX;
    attribute.max = nb::cast<double>(item["most"]);
  }
  std::vector<const char*>& choices = described.choices.emplace_back();
  for (nb::handle choice : nb::borrow<nb::tuple>(item["choices"]))
    choices.push_back(described.keep(nb::borrow<nb::str>(choice).c_str()));
  attribute.choices = choices.data();
  attribute.n_choices = static_cast<uint32_t>(choices.size());
  return attribute;
}

tarsia_implementation read_implementation(nb::handle item, DescribedOp& described) {
  constexpr uint32_t k_all = 1u << TARSIA_REQUEST_NULL | 1u << TARSIA_REQUEST_WRITE |
                             1u << TARSIA_REQUEST_INPLACE | 1u << TARSIA_REQUEST_ADD;
  tarsia_implementation implementation{};
  implementation.size = sizeof implementation;
  const auto is = [&](const char* key) { return nb::cast<bool>(item[key]); };
  implementation.pass = is("backward") ? TARSIA_BACKWARD : TARSIA_FORWARD;
  implementation.device_type = is("gpu") ? TARSIA_GPU : TARSIA_CPU;
  implementation.storage_any = is("sparse");
  implementation.requests = is("requests") ? k_all : 1u << TARSIA_REQUEST_WRITE;
  implementation.priority = nb::cast<int32_t>(item["priority"]);
  implementation.name = described.keep(text_at(item, "name"));
  implementation.takes_any = is("any_layout") ? TARSIA_TAKES_ANY_LAYOUT : 0;
  std::vector<tarsia_inplace>& pairs = described.own_pairs.emplace_back();
  read_pairs(item["inplace"], pairs);
  implementation.inplace = pairs.data();
  implementation.n_inplace = static_cast<uint32_t>(pairs.size());
  std::vector<tarsia_layout>& layouts = described.layouts.emplace_back();
  for (nb::handle layout : nb::borrow<nb::list>(item["layouts"])) {
    std::vector<uint8_t>& axes = described.axes.emplace_back();
    for (nb::handle axis : nb::borrow<nb::list>(layout[1])) axes.push_back(nb::cast<uint8_t>(axis));
    layouts.push_back(
        {described.keep(text_at(layout, 0)), axes.data(), static_cast<uint32_t>(axes.size()), 0});
  }
  implementation.layouts = layouts.data();
  implementation.n_layouts = static_cast<uint32_t>(layouts.size());
  return implementation;
}

/// What backward needs: a list of names; or None, for all.
void read_needs(nb::handle names, DescribedOp& described) {
  if (names.is_none()) return;
  for (nb::handle name : nb::borrow<nb::list>(names))
    described.needs.push_back(described.keep(nb::borrow<nb::str>(name).c_str()));
  described.op.n_backward_needs = static_cast<uint32_t>(described.needs.size());
  described.needs.push_back("");  // so that there is a list, also of no names
  described.op.backward_needs = described.needs.data();
}

/// Lets the op point to what was read of it.
void join(DescribedOp& described) {
  tarsia_op& op = described.op;
  op.n_inputs = static_cast<uint32_t>(described.inputs.size());
  op.n_outputs = static_cast<uint32_t>(described.outputs.size());
  op.n_attributes = static_cast<uint32_t>(described.attributes.size());
  op.n_implementations = static_cast<uint32_t>(described.implementations.size());
  op.n_inplace = static_cast<uint32_t>(described.inplace.size());
  op.inputs = described.inputs.data();
  op.outputs = described.outputs.data();
  op.attributes = described.attributes.data();
  op.implementations = described.implementations.data();
  op.inplace = described.inplace.data();
}

}  // namespace

std::vector<OwnFunctions> read_description(const nb::dict& spec, DescribedOp& described) {
  const auto text = [&](const char* key) { return described.keep(nb::borrow<nb::str>(spec[key]).c_str()); };
  tarsia_op& op = described.op;
  op.size = sizeof op;
  op.name = text("name");
  op.description = text("description");
  op.location = text("location");
  for (const auto& [key, ports] :
       {std::pair{"inputs", &described.inputs}, std::pair{"outputs", &described.outputs}})
    for (nb::handle port : nb::borrow<nb::list>(spec[key]))
      ports->push_back(
          {described.keep(text_at(port, 0)), described.keep(text_at(port, 2)), nb::cast<uint32_t>(port[1])});
  for (nb::handle item : nb::borrow<nb::list>(spec["attributes"]))
    described.attributes.push_back(read_attribute(item, described));
  read_pairs(spec["inplace"], described.inplace);
  std::vector<OwnFunctions> own;
  for (nb::handle item : nb::borrow<nb::list>(spec["implementations"])) {
    described.implementations.push_back(read_implementation(item, described));
    own.push_back({nb::cast<bool>(item["applies"]), nb::cast<bool>(item["workspace"])});
  }
  read_needs(spec["backward_needs"], described);
  join(described);
  for (const auto& [key, of] :
       {std::pair{"any_attributes", TARSIA_OP_ANY_ATTRIBUTES}, std::pair{"sparse", TARSIA_OP_INFERS_STORAGE},
        std::pair{"random", TARSIA_OP_RANDOM}})
    if (nb::cast<bool>(spec[key])) op.flags |= static_cast<uint32_t>(of);
  return own;
}

}  // namespace tarsia::python
