// Calls a main, and prints what a library holds.
#include "tools/library.h"

#include <algorithm>
#include <cstdio>

#include "tools/report.h"

namespace tarsia::tools {

const tarsia_function* find_main(const tarsia_library* library) {
  uint64_t n = 0;
  const tarsia_function* const* functions = tarsia_library_functions(library, &n);
  for (uint64_t i = 0; i < n; ++i)
    if (functions[i]->flags & TARSIA_FUNCTION_MAIN) return functions[i];
  return nullptr;
}

int call_main(const tarsia_function* main, const std::vector<std::string>& arguments) {
  std::vector<tarsia_value> words(arguments.size());
  for (std::size_t i = 0; i < words.size(); ++i) {
    words[i].s = arguments[i].c_str();
    words[i].kind = TARSIA_KIND_STRING;
    words[i].size = static_cast<uint32_t>(arguments[i].size());
  }
  tarsia_value list{};
  list.v = words.data();
  list.kind = TARSIA_KIND_LIST;
  list.size = static_cast<uint32_t>(words.size());
  tarsia_call_context context{};
  context.size = sizeof(context);
  context.framework = 1;
  context.device = {TARSIA_CPU, 0};
  tarsia_call_context** slot = tarsia_call_slot();
  tarsia_value result{};
  std::fflush(nullptr);
  tarsia_enter_call(slot, &context);
  const int32_t code = tarsia_call(&main, 1, &list, 1, &result);
  tarsia_leave_call(slot, &context);
  std::fflush(nullptr);
  if (code == 0) return static_cast<int>(result.i);
  print_error(arguments[0] + ": main ended by an exception: " + tarsia_last_error()->message);
  return k_failed;
}

namespace {

struct Line {
  std::string text;
  std::string place;
};

void print_section(const char* title, const std::vector<Line>& lines) {
  if (lines.empty()) return;
  std::printf("\n%s\n", title);
  std::size_t width = 0;
  for (const Line& line : lines)
    if (line.text.size() <= 80) width = std::max(width, line.text.size());
  for (const Line& line : lines) {
    if (line.place.empty())
      std::printf("  %s\n", line.text.c_str());
    else
      std::printf("  %-*s  %s\n", static_cast<int>(width), line.text.c_str(), line.place.c_str());
  }
}

std::string port_text(const tarsia_port& port) {
  std::string text = port.name;
  if (port.flags & TARSIA_PORT_VARIADIC) text += "...";
  if (port.flags & TARSIA_PORT_OPTIONAL) text += '?';
  if (port.flags & TARSIA_PORT_MUTABLE) text += '&';
  return text;
}

std::string type_text(const tarsia_type& type) {
  std::string text = "string";
  if (type.kind == TARSIA_KIND_BOOL) text = "bool";
  if (type.kind == TARSIA_KIND_INT) text = "int";
  if (type.kind == TARSIA_KIND_FLOAT) text = "float";
  if (type.kind == TARSIA_KIND_LIST)
    text = "list of " + (type.elements ? type_text(*type.elements) : "strings");
  return type.flags & TARSIA_TYPE_OPTIONAL ? "optional " + text : text;
}

std::string value_text(const tarsia_value& value) {
  char number[32];
  switch (value.kind) {
    case TARSIA_KIND_BOOL:
      return value.i ? "true" : "false";
    case TARSIA_KIND_INT:
      return value.size == TARSIA_UNSIGNED ? std::to_string(value.u) : std::to_string(value.i);
    case TARSIA_KIND_FLOAT:
      std::snprintf(number, sizeof number, "%g", value.f);
      return number;
    case TARSIA_KIND_COMPLEX:
      return '(' + value_text(value.v[0]) + ',' + value_text(value.v[1]) + ')';
    case TARSIA_KIND_STRUCT:
      return "a struct of " + std::to_string(value.size) + " bytes";
    case TARSIA_KIND_STRING:
      return '"' + std::string(value.s, value.size) + '"';
    case TARSIA_KIND_LIST:
    case TARSIA_KIND_TUPLE: {
      std::string items;
      for (uint32_t i = 0; i < value.size; ++i) items += (i ? ", " : "") + value_text(value.v[i]);
      return value.kind == TARSIA_KIND_LIST ? '[' + items + ']' : '(' + items + ')';
    }
    default:
      return "none";
  }
}

std::string attribute_text(const tarsia_attribute& attribute) {
  std::string text = std::string(attribute.name) + ": ";
  for (uint32_t i = 0; i < attribute.n_choices; ++i)
    text += (i ? "|" : "") + std::string(attribute.choices[i]);
  if (!attribute.n_choices) text += type_text(attribute.type);
  if (attribute.default_text) return text + " = " + attribute.default_text;
  if (!attribute.default_value) return text;
  const tarsia_value& value = *attribute.default_value;
  const bool is_choice =
      value.kind == TARSIA_KIND_INT && value.i >= 0 && static_cast<uint64_t>(value.i) < attribute.n_choices;
  return text + " = " + (is_choice ? attribute.choices[value.i] : value_text(value));
}

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : ", ") + text;
  return all;
}

/// Returns the signature of an op: "scale(x, bias?; factor: float = 1) -> y  [cpu, gpu, cpu backward]".
std::string op_text(const tarsia_op& op) {
  std::vector<std::string> inputs, attributes, outputs, runs;
  for (uint32_t i = 0; i < op.n_inputs; ++i) inputs.push_back(port_text(op.inputs[i]));
  for (uint32_t i = 0; i < op.n_attributes; ++i) attributes.push_back(attribute_text(op.attributes[i]));
  if (op.flags & TARSIA_OP_ANY_ATTRIBUTES) attributes.push_back("...");
  for (uint32_t i = 0; i < op.n_outputs; ++i) outputs.push_back(port_text(op.outputs[i]));
  for (uint32_t i = 0; i < op.n_implementations; ++i) {
    const tarsia_implementation& run = op.implementations[i];
    std::string text = run.device_type == TARSIA_GPU ? "gpu" : "cpu";
    if (run.pass == TARSIA_BACKWARD) text += " backward";
    if (std::find(runs.begin(), runs.end(), text) == runs.end()) runs.push_back(std::move(text));
  }
  std::string text = std::string(op.name) + '(' + joined(inputs);
  if (!attributes.empty()) text += (inputs.empty() ? "" : "; ") + joined(attributes);
  text += ") -> " + (outputs.size() == 1 ? outputs[0] : '(' + joined(outputs) + ')');
  return text + "  [" + joined(runs) + ']';
}

Line op_line(const char* name, const Sources& sources) {
  tarsia_op_handle* handle = nullptr;
  if (tarsia_op_find(name, &handle) != 0) return {name, ""};
  const tarsia_op* op = tarsia_op_describe(handle);
  Line line{op_text(*op), op->location ? sources.shown_place(op->location) : ""};
  tarsia_op_release(handle);
  return line;
}

}  // namespace

void print_listing(const tarsia_library* library, const std::string& title, const Sources& sources) {
  std::vector<Line> lines[4];
  uint64_t n = 0;
  const tarsia_function* const* functions = tarsia_library_functions(library, &n);
  for (uint64_t i = 0; i < n; ++i)
    lines[0].push_back({functions[i]->signature, sources.shown_place(functions[i]->location)});
  const tarsia_kernel* const* kernels = tarsia_library_kernels(library, &n);
  for (uint64_t i = 0; i < n; ++i)
    lines[1].push_back({kernels[i]->signature, sources.shown_place(kernels[i]->location)});
  const char* const* ops = tarsia_library_ops(library, &n);
  for (uint64_t i = 0; i < n; ++i) lines[2].push_back(op_line(ops[i], sources));
  const tarsia_skipped* skipped = tarsia_library_skipped(library, &n);
  for (uint64_t i = 0; i < n; ++i) lines[3].push_back({skipped[i].name, skipped[i].reason});

  const auto count = [](std::size_t n, const char* what) {
    return std::to_string(n) + ' ' + what + (n == 1 ? "" : "s");
  };
  std::printf("%s: %s, %s, %s\n", title.c_str(), count(lines[0].size(), "function").c_str(),
              count(lines[1].size(), "kernel").c_str(), count(lines[2].size(), "op").c_str());
  print_section("functions", lines[0]);
  print_section("kernels", lines[1]);
  print_section("ops", lines[2]);
  print_section("not exported", lines[3]);
}

}  // namespace tarsia::tools
