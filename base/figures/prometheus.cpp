// Writes Prometheus's text.
#include "base/figures/prometheus.h"

#include <cstdio>

namespace tarsia {
namespace {

/// Counters up to 2^53 are written whole.
std::string number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.16g", value);
  return text;
}

}  // namespace

PrometheusText& PrometheusText::begin(std::string_view name, std::string_view type, std::string_view help) {
  m_name = name;
  m_text.append("# HELP ").append(name).append(" ").append(help);
  m_text.append("\n# TYPE ").append(name).append(" ").append(type).append("\n");
  return *this;
}

PrometheusText& PrometheusText::sample(double value) {
  m_text.append(m_name).append(" ").append(number(value)).append("\n");
  return *this;
}

PrometheusText& PrometheusText::sample(std::string_view label, std::string_view label_value, double value) {
  m_text.append(m_name).append("{").append(label).append("=\"").append(label_value).append("\"} ");
  m_text.append(number(value)).append("\n");
  return *this;
}

PrometheusText& PrometheusText::histogram(std::string_view name, std::string_view help,
                                          const Durations& durations) {
  begin(name, "histogram", help);
  const std::string base = m_name;
  m_name = base + "_bucket";
  std::uint64_t up_to = 0;  // each bucket has those below it, too
  for (std::size_t i = 0; i < k_duration_ranges; ++i) {
    up_to += durations.counts[i];
    sample("le", i < k_duration_limits.size() ? k_duration_limits[i].text : "+Inf",
           static_cast<double>(up_to));
  }
  m_name = base + "_sum";
  sample(durations.seconds);
  m_name = base + "_count";
  return sample(static_cast<double>(up_to));
}

}  // namespace tarsia
