// The log: silent unless TARSIA_LOG is trace, debug, info, warn or error; then on standard error.
#pragma once

#include <spdlog/logger.h>

namespace tarsia {

/// Lives as long as the process. Thread-safe.
spdlog::logger& log();

}  // namespace tarsia
