// The cache's figures as Prometheus's text. The names of its metrics are here alone.
#include "api/cache/cache_prometheus.h"

#include <string_view>

#include "base/figures/prometheus.h"

namespace tarsia::api {
namespace {

struct Metric {
  std::string_view of;  ///< the group of counters, or the counter
  const char* name;
  const char* label;  ///< of what tells the members of a group apart
  const char* help;
};

constexpr Metric k_counters[] = {
    {"hits", "tarsia_cache_hits_total", "tier", "Requests that the cache served."},
    {"misses", "tarsia_cache_misses_total", "reason", "Requests that the cache did not serve."},
    {"remote", "tarsia_cache_remote_total", "event", "What shared stores did."},
    {"compiles", "tarsia_cache_compiles_total", "", "Compiles that gave a module."},
    {"compile_failures", "tarsia_cache_compile_failures_total", "", "Compiles that gave no module."},
    {"waits", "tarsia_cache_waits_total", "", "Misses that another caller's compile served."},
    {"forbidden", "tarsia_cache_forbidden_total", "", "Misses where no compile was allowed."},
    {"store_failures", "tarsia_cache_store_failures_total", "", "Entries that the folder did not keep."},
};

void write(PrometheusText& text, const cache::Counts& counts) {
  for (const Metric& metric : k_counters) {
    text.begin(metric.name, "counter", metric.help);
    cache::for_each_count(counts, [&](std::string_view group, std::string_view name, std::uint64_t number) {
      const auto value = static_cast<double>(number);
      if (group == metric.of) text.sample(metric.label, name, value);
      if (group.empty() && name == metric.of) text.sample(value);
    });
  }
  text.histogram("tarsia_cache_compile_seconds",
                 "Time that compiles took, and those that gave no module, in seconds.",
                 cache::compile_times(counts));
}

}  // namespace

std::string to_prometheus(const cache::Counts& counts) {
  PrometheusText text;
  write(text, counts);
  return text.text();
}

std::string to_prometheus(const cache::Counts& counts, const FolderFigures& folder) {
  PrometheusText text;
  write(text, counts);
  text.one("tarsia_cache_entries", "gauge", "Modules in the folder.", static_cast<double>(folder.modules));
  text.one("tarsia_cache_bytes", "gauge", "Bytes that everything in the folder takes.",
           static_cast<double>(folder.bytes));
  text.one("tarsia_cache_max_bytes", "gauge", "The most bytes that are kept; 0: any.",
           static_cast<double>(folder.max_bytes));
  return text.text();
}

}  // namespace tarsia::api
