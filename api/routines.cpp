// The ops of <tarsia/math/ops.h>: each is compiled, and registered, when it is first looked up.
#include <tarsia/c_api.h>
#include <tarsia/math/op_names.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "api/handles.h"
#include "api/load.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "registry/host_table.h"
#include "registry/op/op_registry.h"
#include "registry/resources/last_error.h"

using namespace tarsia;
using registry::OpRegistry;

namespace {

#define TARSIA_NAME(name) #name,
constexpr std::string_view k_routines[] = {TARSIA_DETAIL_MATH_OPS(TARSIA_NAME)};
#undef TARSIA_NAME

/// A provider of the registry.
bool provide_routine(std::string_view name) {
  if (std::ranges::find(k_routines, name) == std::end(k_routines)) return false;
  const std::string op(name);
  const std::string text = "#include <tarsia/math/ops.h>\nTARSIA_MATH_OP(" + op + ");\n";
  // The registry keeps the library, unless the name was taken meanwhile.
  const auto load = [&](const char* suffix) {
    const std::string file_name = "tarsia_math_" + op + suffix;
    tarsia_file file{};
    file.name = file_name.c_str();
    file.text = text.data();
    file.bytes = text.size();
    api::load_inline(&file, 1, nullptr);
  };
  try {
    load(registry::host_table()->device_count() > 0 ? ".cu" : ".cc");
  } catch (const NotFound&) {  // a driver, and no CUDA to compile for it
    load(".cc");
  }
  return true;
}

[[maybe_unused]] const bool k_routines_are_provided =
    (OpRegistry::instance().provide_by(&provide_routine), true);

}  // namespace

int32_t tarsia_op_load(const char* name, tarsia_op_handle** op) {
  return registry::guarded([&] { *op = api::to_c(OpRegistry::instance().find(name).detach()); });
}

int32_t tarsia_interruptible(int32_t (*call)(void* user), void* user, int32_t (*interrupted)(void* context),
                             void* context) {
  const InterruptScope scope(api::interrupt_check(interrupted, context));
  return call(user);
}
