// MetricsWriter: writes a page in Prometheus' text format 0.0.4, family by family, each with its
// HELP and TYPE and then its samples.
//
//   page.family("windrow_files", "gauge", "Files of /v1/files.");
//   page.sample({}, files);
//   page.family("windrow_batches", "gauge", "Batches of /v1/batches, by status.");
//   page.sample({{"status", "failed"}}, failed);
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "api/pages/serve_metrics.h"

namespace windrow::api {

class MetricsWriter {
 public:
  struct Label {
    std::string_view name;
    std::string_view value;  // any bytes
  };
  using Labels = std::initializer_list<Label>;

  // Begins a family, whose samples follow; there may be none. Each name once.
  void family(std::string_view name, std::string_view type, std::string_view help);

  void sample(Labels labels, int64_t value);
  void sample(Labels labels, double value);
  void histogram(Labels labels, const Histogram::Reading& reading);

  // The page; the writer is empty then.
  std::string finish();

 private:
  void add(std::string_view ending, Labels labels, std::string_view bound, std::string_view value);

  std::string name_;
  std::string page_;
};

}  // namespace windrow::api
