// Kernels and device variables.
#include <tarsia/c_api.h>

#include <algorithm>
#include <cstring>

#include "api/handles.h"
#include "registry/call/global.h"
#include "registry/call/kernel.h"
#include "registry/resources/call_context.h"
#include "registry/resources/last_error.h"

using namespace tarsia;
using namespace tarsia::api;
using registry::guarded;

namespace {

/// A caller's struct may be older or newer than this one.
template <class T>
T whole(const T& given) {
  T copy{};
  std::memcpy(&copy, &given, std::min<std::size_t>(given.size, sizeof(T)));
  return copy;
}
template <class T>
void give_struct(T found, T* to) {
  const std::uint32_t size = to->size ? to->size : sizeof(T);
  found.size = size;
  std::memcpy(to, &found, std::min<std::size_t>(size, sizeof(T)));
}

}  // namespace

const tarsia_global* const* tarsia_library_globals(const tarsia_library* library, uint64_t* n) {
  return give(from_c(library)->globals(), n);
}

const tarsia_kernel_template* const* tarsia_library_templates(const tarsia_library* library, uint64_t* n) {
  return give(from_c(library)->templates(), n);
}

int32_t tarsia_library_global(tarsia_library* library, const tarsia_global* global, int32_t device,
                              tarsia_storage** storage) {
  return guarded([&] { *storage = registry::open_global(*from_c(library), *global, device); });
}

int32_t tarsia_kernel_launch(const tarsia_kernel* kernel, const tarsia_launch* launch,
                             const tarsia_value* args, uint32_t n_args) {
  return guarded([&] {
    registry::CallFrame frame({TARSIA_CPU, 0});
    registry::launch_kernel(*kernel, whole(*launch), {args, n_args});
  });
}

int32_t tarsia_kernel_launch_values(const tarsia_kernel* kernel, const tarsia_launch* launch,
                                    const tarsia_value* values) {
  return guarded([&] { registry::launch_values(*kernel, *launch, values); });
}

int32_t tarsia_kernel_get_attributes(const tarsia_kernel* kernel, int32_t device,
                                     tarsia_kernel_attributes* attributes) {
  return guarded([&] { give_struct(registry::attributes_of(*kernel, device), attributes); });
}

int32_t tarsia_kernel_occupancy(const tarsia_kernel* kernel, int32_t device, uint32_t threads,
                                uint32_t shared_bytes, tarsia_occupancy* occupancy) {
  return guarded(
      [&] { give_struct(registry::occupancy_of(*kernel, device, threads, shared_bytes), occupancy); });
}

int32_t tarsia_kernel_suggest_block(const tarsia_kernel* kernel, int32_t device, uint32_t shared_bytes,
                                    uint32_t limit, uint32_t* threads) {
  return guarded([&] { *threads = registry::suggested_block(*kernel, device, shared_bytes, limit); });
}
