// Samples of a metrics page, as servers show them to Prometheus: one a line, NAME{LABELS} VALUE.
// (The text format of prometheus.io, "Exposition formats", which OpenMetrics extends.) Pure.
#pragma once

#include <optional>
#include <string_view>

namespace windrow::upstream {

struct MetricSample {
  std::string_view name;  // "vllm:kv_cache_usage_perc"; of the text that was given
  double value = 0;       // may be infinite or no number at all: the format has both
};

// Reads a page from its beginning to its end. A line that is no sample is passed over, so a page of
// anything else has none. Labels are checked for their form and not kept.
class MetricsText {
 public:
  // `text` outlives it and what it gives.
  explicit MetricsText(std::string_view text) : rest_(text) {}

  // The next sample; none at the end.
  std::optional<MetricSample> next();

 private:
  std::string_view rest_;
};

}  // namespace windrow::upstream
