// Sources of the C ABI that become libraries.
#pragma once

#include <tarsia/c_api.h>

#include <cstdint>
#include <functional>

#include "registry/library/library.h"
#include "registry/resources/ref.h"

namespace tarsia::api {

/// What tarsia_load_inline does, with its errors thrown. The thread's InterruptScope counts, not `options`'.
registry::Ref<registry::Library> load_inline(const tarsia_file* files, std::uint64_t n_files,
                                             const tarsia_options* options);

/// A check for an InterruptScope; none for a null function.
std::function<bool()> interrupt_check(std::int32_t (*interrupted)(void*), void* context);

}  // namespace tarsia::api
