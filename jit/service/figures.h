// What a service counts, as Prometheus's text.
#pragma once

#include <cstdint>
#include <string>

#include "base/figures/durations.h"

namespace tarsia::jit {

struct ServiceFigures {
  // Now.
  std::uint64_t workers_idle = 0, workers_lent = 0, waiting = 0, clients = 0;
  // Since its start.
  std::uint64_t started = 0, leases = 0, busy = 0, crashed = 0, ended = 0, refused = 0;
  Durations waited, lent;
};

/// Prometheus's text format: names, types and values.
std::string prometheus_text(const ServiceFigures& figures);

/// A text as a whole answer of HTTP.
std::string http_answer(const std::string& text);

}  // namespace tarsia::jit
