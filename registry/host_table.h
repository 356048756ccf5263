// The table of functions that modules get.
#pragma once

#include <tarsia/host.h>

namespace tarsia::registry {

/// Lives as long as the process.
const tarsia_host* host_table();

}  // namespace tarsia::registry
