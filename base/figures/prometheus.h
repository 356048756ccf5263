// Prometheus's text format, version 0.0.4.
#pragma once

#include <string>
#include <string_view>

#include "base/figures/durations.h"

namespace tarsia {

/// Writes metrics one after the other. Names, labels and values of labels need no escapes.
class PrometheusText {
 public:
  /// Begins a metric: what it is, for people, and its type.
  PrometheusText& begin(std::string_view name, std::string_view type, std::string_view help);
  /// A sample of the metric that was begun.
  PrometheusText& sample(double value);
  PrometheusText& sample(std::string_view label, std::string_view label_value, double value);
  /// A metric with one sample.
  PrometheusText& one(std::string_view name, std::string_view type, std::string_view help, double value) {
    return begin(name, type, help).sample(value);
  }
  PrometheusText& histogram(std::string_view name, std::string_view help, const Durations& durations);

  const std::string& text() const { return m_text; }

 private:
  std::string m_text, m_name;
};

}  // namespace tarsia
