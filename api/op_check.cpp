// The C functions that test ops on generated inputs.
#include "registry/check/op_check.h"

#include <tarsia/c_api.h>
#include <tarsia/detail/support.h>

#include <cstdlib>
#include <cstring>
#include <new>

#include "api/handles.h"
#include "registry/resources/last_error.h"

using namespace tarsia;
using namespace tarsia::api;

namespace {
registry::Ref<registry::OpEntry> hold(tarsia_op_handle* op) {
  from_c(op)->retain();
  return registry::Ref<registry::OpEntry>::adopt(from_c(op));
}
}  // namespace

int32_t tarsia_op_check(tarsia_op_handle* op, const tarsia_check_request* request,
                        tarsia_check_result** results, uint64_t* n) {
  return registry::guarded([&] {
    registry::CheckOptions options;
    options.inputs.assign(request->inputs, request->inputs + request->n_inputs);
    for (uint32_t i = 0; i < request->n_attributes; ++i)
      options.attributes.emplace_back(request->attribute_names[i], request->attribute_texts[i]);
    options.gradient = !(request->flags & TARSIA_CHECK_NO_GRADIENT);
    options.exact = request->flags & TARSIA_CHECK_EXACT_MEMORY;
    options.seed = request->seed;
    if (TARSIA_DETAIL_HAS_FIELD(*request, n_writes))
      options.writes.assign(request->writes, request->writes + request->n_writes);
    if (TARSIA_DETAIL_HAS_FIELD(*request, constants))
      options.constants.assign(request->constants, request->constants + request->n_constants);
    const auto found = registry::check_op(hold(op), options);
    size_t bytes = found.size() * sizeof(tarsia_check_result) + 1;  // results, then texts, in one block
    for (const auto& result : found) bytes += result.check.size() + result.message.size() + 2;
    auto* block = static_cast<tarsia_check_result*>(std::malloc(bytes));
    if (!block) throw std::bad_alloc();
    char* text = reinterpret_cast<char*>(block + found.size());
    auto keep = [&](const std::string& from) {
      const char* kept = static_cast<const char*>(std::memcpy(text, from.c_str(), from.size() + 1));
      text += from.size() + 1;
      return kept;
    };
    for (size_t i = 0; i < found.size(); ++i)
      block[i] = {keep(found[i].check), keep(found[i].message), static_cast<int32_t>(found[i].status)};
    *results = block;
    *n = found.size();
  });
}
