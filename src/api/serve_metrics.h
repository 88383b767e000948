// ServeMetrics: what the server counts itself. Counters and histograms only go up; readings of the
// moment are put beside them when the page is made (metrics_page.h).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "dispatch/work_item.h"
#include "llm/answer.h"
#include "llm/request.h"

namespace windrow::api {

// Cumulative counts below fixed bounds, as Prometheus has them. Thread-safe.
class Histogram {
 public:
  explicit Histogram(std::vector<double> bounds);

  void add(double value);

  struct Reading {
    std::vector<double> bounds;
    std::vector<int64_t> counts;  // one more than bounds: the last is of all
    double sum = 0;
  };
  Reading read() const;

 private:
  const std::vector<double> bounds_;
  mutable std::mutex mutex_;
  std::vector<int64_t> counts_;
  double sum_ = 0;
};

// How a call of a model ended.
struct CallEnded {
  llm::Endpoint endpoint = llm::Endpoint::kChatCompletions;
  std::string_view model;
  dispatch::Urgency urgency = dispatch::Urgency::kNormal;
  bool stream = false;
  int status = 200;                // 499: the client left
  std::string_view error_code;     // empty: none
  Duration duration{};             // from its first byte to its last
  Duration queue{};                // llm::Timings
  std::optional<Duration> ttft{};  // from arrival to the first token; nothing: there was none
  llm::Usage usage;
};

// Thread-safe.
class ServeMetrics {
 public:
  ServeMetrics();

  void ended(const CallEnded& call);
  void token_gap(Duration gap);                     // between two tokens of one stream
  void refused(int status, std::string_view code);  // before it became a call

  struct Reading {
    struct Series {
      std::string labels;  // {endpoint="...",model="...",status="200"}
      int64_t count = 0;
    };
    std::vector<Series> calls;
    std::vector<Series> errors;  // by code
    int64_t prompt_tokens = 0;
    int64_t cached_tokens = 0;
    int64_t generated_tokens = 0;
    std::array<Histogram::Reading, 3> queue_s;  // by urgency
    std::array<Histogram::Reading, 3> ttft_s;
    Histogram::Reading token_gap_s;
    Histogram::Reading duration_s;
  };
  Reading read() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, int64_t> calls_;
  std::map<std::string, int64_t> errors_;
  int64_t prompt_tokens_ = 0;
  int64_t cached_tokens_ = 0;
  int64_t generated_tokens_ = 0;
  std::array<Histogram, 3> queue_s_;
  std::array<Histogram, 3> ttft_s_;
  Histogram token_gap_s_;
  Histogram duration_s_;
};

}  // namespace windrow::api
