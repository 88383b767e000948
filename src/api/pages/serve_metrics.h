// ServeMetrics: what the server counts itself, for /metrics. Counters and histograms only grow;
// gauges are read when the page is made (metrics_page.h).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/pages/request_log.h"
#include "base/clock.h"
#include "dispatch/work_item.h"
#include "llm/request.h"
#include "llm/step_report.h"

namespace windrow::api {

// Counts of values up to fixed bounds, as in Prometheus. Thread-safe without a lock: a reading may
// lack the newest values.
class Histogram {
 public:
  // `bounds` are in ascending order; a value equal to a bound counts below it.
  explicit Histogram(std::vector<double> bounds);

  // Negative values count as 0, so that the sum only rises.
  void add(double value);

  struct Reading {
    std::vector<double> bounds;
    std::vector<int64_t> counts;  // cumulative, one for each bound, then the total
    double sum = 0;
  };
  Reading read() const;

 private:
  const std::vector<double> bounds_;
  std::unique_ptr<std::atomic<int64_t>[]> counts_;  // of each interval
  std::atomic<double> sum_ = 0;
};

// By dispatch::Priority.
constexpr size_t kPriorities = 3;

// Thread-safe. The observers that steps() returns may outlive it.
class ServeMetrics {
 public:
  ServeMetrics();
  ~ServeMetrics();
  ServeMetrics(const ServeMetrics&) = delete;
  ServeMetrics& operator=(const ServeMetrics&) = delete;

  // A request has ended; RequestGuard reports each one.
  void ended(const RequestRecord& record, Duration duration);

  // The time between two tokens of a stream.
  void token_gap(dispatch::Priority priority, Duration gap);

  // An observer for the engine's options that counts the forward passes of this model. Any thread.
  llm::StepObserver steps(std::string model);

  // The forward passes of one model and kind.
  struct StepSeries {
    std::string model;
    llm::StepKind kind = llm::StepKind::kGenerate;
    std::array<int64_t, 6> steps = {};  // by llm::StepReason
    int64_t preempted = 0;
    double sampling_s = 0;
    double mask_wait_s = 0;
    Histogram::Reading rows;
    Histogram::Reading tokens;
    Histogram::Reading duration_s;
  };

  struct CallSeries {
    llm::Endpoint endpoint = llm::Endpoint::kChatCompletions;
    Dialect dialect = Dialect::kOwn;
    int status = 0;
    std::string model;
    int64_t count = 0;
  };

  struct TokenSeries {
    std::string model;
    int64_t prompt = 0;
    int64_t cached = 0;
    int64_t generated = 0;
  };

  struct Reading {
    std::vector<CallSeries> calls;
    std::vector<std::pair<std::string, int64_t>> errors;  // of all requests, by code
    std::vector<TokenSeries> tokens;                      // of calls that ended
    int64_t others = 0;                                   // requests other than calls
    int64_t clients_left = 0;
    std::array<Histogram::Reading, kPriorities> queue_s;
    std::array<Histogram::Reading, kPriorities> ttft_s;
    std::array<Histogram::Reading, kPriorities> token_gap_s;
    std::array<Histogram::Reading, kPriorities> duration_s;  // of calls
    std::vector<StepSeries> steps;
  };
  Reading read() const;

 private:
  struct Steps;
  struct CallCounts {
    int64_t count = 0;
    int64_t prompt = 0;
    int64_t cached = 0;
    int64_t generated = 0;
  };
  // Dialect, endpoint and status in one number, then the model.
  using CallKey = std::pair<int, std::string>;
  struct CallLess {
    using is_transparent = void;
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
      if (a.first != b.first) return a.first < b.first;
      return std::string_view(a.second) < std::string_view(b.second);
    }
  };

  std::array<Histogram, kPriorities> queue_s_;
  std::array<Histogram, kPriorities> ttft_s_;
  std::array<Histogram, kPriorities> token_gap_s_;
  std::array<Histogram, kPriorities> duration_s_;
  std::atomic<int64_t> others_ = 0;
  std::atomic<int64_t> clients_left_ = 0;

  mutable std::mutex mutex_;
  std::map<CallKey, CallCounts, CallLess> calls_;
  std::map<std::string, int64_t, std::less<>> errors_;
  std::vector<std::shared_ptr<Steps>> steps_;
};

}  // namespace windrow::api
