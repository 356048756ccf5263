// What messages say of a call's inputs. Inline sources are linked with it (support.h).
#pragma once

#include <string>

#include <dmlc/logging.h>
#include <tarsia/class_op/glue/host.h>
#include <tarsia/class_op/glue/support.h>
#include <tarsia/op_context.h>

#pragma GCC visibility push(hidden)
namespace mshadow {
namespace tarsia_detail {

inline std::string name_of_input(const tarsia_bind_info* info, uint32_t i) {
  const char* name = info->ports ? info->ports[i].name : "";
  return *name ? std::string(name) : "input " + std::to_string(i);
}
/// The inputs with their shapes and types: "data (2, 3) float32, gamma (3,) float32".
inline std::string inputs_of(const tarsia_bind_info* info) {
  std::string text;
  for (uint32_t i = 0; i < info->n_inputs; ++i) {
    const ::tarsia::Meta meta(info->inputs + i, true);
    char type[16];
    text += (i ? ", " : "") + name_of_input(info, i) + " ";
    text += meta.has_shape() ? (::tarsia::Message() << meta).text() : "of no known shape";
    if (meta.has_dtype()) text += std::string(" ") + ::tarsia::name_of(meta.dtype(), type);
  }
  return text.empty() ? "no inputs" : text;
}
/// Throws: a switch has no case for the type. Names the inputs of the call that have it, and what it takes.
[[noreturn]] TARSIA_DETAIL_GLUE void refuse_type(const char* file, int line, int flag, const char* taken) {
  const bool is_known = flag >= 0 && flag < k_types;
  char name[16];
  const std::string type =
      is_known ? ::tarsia::name_of(dtype_of(flag), name) : "of number " + std::to_string(flag);
  std::string whose;
  bool many = false;
  const tarsia_bind_info* info = ::mxnet::tarsia_detail::current_call();
  for (uint32_t i = 0; is_known && info && i < info->n_inputs; ++i)
    if (info->inputs[i].dtype == dtype_of(flag)) {
      many = !whose.empty();
      whose += (many ? " and " : "") + name_of_input(info, i);
    }
  throw ::dmlc::Error(std::string(file) + ":" + std::to_string(line) + ": " +
                      (whose.empty() ? "the element type is" : whose + (many ? " are" : " is")) + " " + type +
                      ", and the operator takes " + taken + " here: convert " +
                      (whose.empty() ? "what has it" : whose) + " before the call");
}

}  // namespace tarsia_detail
}  // namespace mshadow
#pragma GCC visibility pop
