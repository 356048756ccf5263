// Figures as text for Prometheus.
#include "base/figures/prometheus.h"

#include <gtest/gtest.h>

namespace tarsia {
namespace {

TEST(Durations, a_limit_belongs_to_the_range_below_it) {
  EXPECT_EQ(duration_range(0), 0u);
  EXPECT_EQ(duration_range(0.01), 0u);
  EXPECT_EQ(duration_range(0.0101), 1u);
  EXPECT_EQ(duration_range(60), k_duration_limits.size() - 1);
  EXPECT_EQ(duration_range(61), k_duration_limits.size());
  for (const DurationLimit& limit : k_duration_limits) EXPECT_EQ(limit.seconds, std::stod(limit.text));
}

TEST(PrometheusText, writes_metrics_with_and_without_labels) {
  PrometheusText text;
  text.one("a_total", "counter", "As.", 9007199254740991.0);
  text.begin("b", "gauge", "Bs.").sample("state", "idle", 1).sample("state", "lent", 0.5);
  EXPECT_EQ(text.text(),
            "# HELP a_total As.\n# TYPE a_total counter\na_total 9007199254740991\n"
            "# HELP b Bs.\n# TYPE b gauge\nb{state=\"idle\"} 1\nb{state=\"lent\"} 0.5\n");
}

TEST(PrometheusText, buckets_of_a_histogram_have_those_below_them) {
  Durations took;
  for (const double seconds : {0.5, 0.0625, 0.0625, 100.0}) took.add(seconds);
  PrometheusText text;
  text.histogram("t_seconds", "Times.", took);
  EXPECT_EQ(text.text(),
            "# HELP t_seconds Times.\n# TYPE t_seconds histogram\n"
            "t_seconds_bucket{le=\"0.01\"} 0\nt_seconds_bucket{le=\"0.025\"} 0\n"
            "t_seconds_bucket{le=\"0.05\"} 0\nt_seconds_bucket{le=\"0.1\"} 2\n"
            "t_seconds_bucket{le=\"0.25\"} 2\nt_seconds_bucket{le=\"0.5\"} 3\n"
            "t_seconds_bucket{le=\"1\"} 3\nt_seconds_bucket{le=\"2.5\"} 3\nt_seconds_bucket{le=\"5\"} 3\n"
            "t_seconds_bucket{le=\"10\"} 3\nt_seconds_bucket{le=\"30\"} 3\nt_seconds_bucket{le=\"60\"} 3\n"
            "t_seconds_bucket{le=\"+Inf\"} 4\nt_seconds_sum 100.625\nt_seconds_count 4\n");
}

}  // namespace
}  // namespace tarsia
