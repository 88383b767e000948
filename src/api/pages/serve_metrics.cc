#include "api/pages/serve_metrics.h"

#include <algorithm>
#include <utility>

#include "base/ensure.h"

namespace windrow::api {

Histogram::Histogram(std::vector<double> bounds)
    : bounds_(std::move(bounds)),
      counts_(std::make_unique<std::atomic<int64_t>[]>(bounds_.size() + 1)) {
  ENSURE(std::ranges::is_sorted(bounds_), "bounds of a histogram rise");
}

void Histogram::add(double value) {
  value = std::max(value, 0.0);
  const auto interval =
      static_cast<size_t>(std::ranges::lower_bound(bounds_, value) - bounds_.begin());
  counts_[interval].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
}

Histogram::Reading Histogram::read() const {
  Reading reading{.bounds = bounds_, .sum = sum_.load(std::memory_order_relaxed)};
  int64_t below = 0;
  for (size_t i = 0; i <= bounds_.size(); ++i) {
    below += counts_[i].load(std::memory_order_relaxed);
    reading.counts.push_back(below);
  }
  return reading;
}

namespace {

// Upstreams may send any error code. Beyond this many different labels, others count as "other".
constexpr size_t kCodesMax = 200;
constexpr size_t kCallSeriesMax = 2000;
constexpr const char* kOther = "other";

constexpr int kClientLeft = 499;

constexpr size_t kStepKinds = 3;
constexpr size_t kStepReasons = 6;

// For requests and queues: from 0.1 ms to half an hour.
std::vector<double> wide_bounds() {
  return {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
          0.5,    1,       2.5,    5,     10,     25,    50,   100,   250,  500, 1800};
}

// For the time between two tokens, and for forward passes.
std::vector<double> narrow_bounds() {
  return {0.0001, 0.00025, 0.0005, 0.001, 0.002, 0.004, 0.006, 0.01, 0.015, 0.02,
          0.03,   0.04,    0.06,   0.1,   0.15,  0.25,  0.5,   1,    2.5,   10};
}

std::vector<double> count_bounds() {
  return {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096};
}

std::array<Histogram, kPriorities> histograms(std::vector<double> (*bounds)()) {
  return {Histogram(bounds()), Histogram(bounds()), Histogram(bounds())};
}

std::array<Histogram::Reading, kPriorities> read_all(
    const std::array<Histogram, kPriorities>& histograms) {
  return {histograms[0].read(), histograms[1].read(), histograms[2].read()};
}

// Packs them into decimal digits, which call_series() unpacks.
int kind_of(llm::Endpoint endpoint, Dialect dialect, int status) {
  return static_cast<int>(dialect) * 10'000 + static_cast<int>(endpoint) * 1000 + status;
}

// The count of `key`, or of "other" if there are too many keys.
template <class Map, class Key, class Other>
auto& bounded(Map& map, const Key& key, const Other& other, size_t size_max) {
  const auto found = map.find(key);
  if (found != map.end()) return found->second;
  if (map.size() >= size_max) return map[typename Map::key_type(other)];
  return map[typename Map::key_type(key)];
}

}  // namespace

struct ServeMetrics::Steps {
  struct Kind {
    std::array<std::atomic<int64_t>, kStepReasons> steps = {};
    std::atomic<int64_t> preempted = 0;
    std::atomic<int64_t> sampling_ns = 0;
    std::atomic<int64_t> mask_wait_ns = 0;
    Histogram rows{count_bounds()};
    Histogram tokens{count_bounds()};
    Histogram duration_s{narrow_bounds()};
  };

  explicit Steps(std::string name) : model(std::move(name)) {}

  void add(const llm::StepReport& report) {
    Kind& kind = kinds.at(static_cast<size_t>(report.kind));
    kind.steps.at(static_cast<size_t>(report.reason)).fetch_add(1, std::memory_order_relaxed);
    kind.preempted.fetch_add(report.preempted, std::memory_order_relaxed);
    kind.sampling_ns.fetch_add(report.sampling.count(), std::memory_order_relaxed);
    kind.mask_wait_ns.fetch_add(report.mask_wait.count(), std::memory_order_relaxed);
    kind.rows.add(report.rows_decoding + report.rows_prefilling);
    kind.tokens.add(report.tokens);
    kind.duration_s.add(seconds(report.duration));
  }

  const std::string model;
  std::array<Kind, kStepKinds> kinds;
};

ServeMetrics::ServeMetrics()
    : queue_s_(histograms(wide_bounds)),
      ttft_s_(histograms(wide_bounds)),
      token_gap_s_(histograms(narrow_bounds)),
      duration_s_(histograms(wide_bounds)) {}

ServeMetrics::~ServeMetrics() = default;

void ServeMetrics::ended(const RequestRecord& record, Duration duration) {
  if (record.status == kClientLeft) clients_left_.fetch_add(1, std::memory_order_relaxed);
  if (!record.endpoint) others_.fetch_add(1, std::memory_order_relaxed);
  if (record.endpoint) {
    const auto priority = static_cast<size_t>(record.priority);
    duration_s_.at(priority).add(seconds(duration));
    if (record.queue) queue_s_.at(priority).add(seconds(*record.queue));
    if (record.ttft) ttft_s_.at(priority).add(seconds(*record.ttft));
  }
  if (!record.endpoint && record.code.empty()) return;

  const std::scoped_lock lock(mutex_);
  if (!record.code.empty()) ++bounded(errors_, record.code, kOther, kCodesMax);
  if (!record.endpoint) return;
  const int kind = kind_of(*record.endpoint, record.dialect, record.status);
  CallCounts& call = bounded(calls_, std::pair<int, std::string_view>(kind, record.model),
                             std::pair<int, std::string_view>(kind, kOther), kCallSeriesMax);
  ++call.count;
  call.prompt += record.usage.prompt_tokens;
  call.cached += record.usage.cached_tokens;
  call.generated += record.usage.completion_tokens;
}

void ServeMetrics::token_gap(dispatch::Priority priority, Duration gap) {
  token_gap_s_.at(static_cast<size_t>(priority)).add(seconds(gap));
}

llm::StepObserver ServeMetrics::steps(std::string model) {
  const std::scoped_lock lock(mutex_);
  auto found = std::ranges::find(steps_, model, [](const auto& steps) { return steps->model; });
  if (found == steps_.end()) {
    steps_.push_back(std::make_shared<Steps>(std::move(model)));
    found = steps_.end() - 1;
  }
  return [steps = *found](const llm::StepReport& report) { steps->add(report); };
}

ServeMetrics::Reading ServeMetrics::read() const {
  Reading reading;
  reading.others = others_.load(std::memory_order_relaxed);
  reading.clients_left = clients_left_.load(std::memory_order_relaxed);
  reading.queue_s = read_all(queue_s_);
  reading.ttft_s = read_all(ttft_s_);
  reading.token_gap_s = read_all(token_gap_s_);
  reading.duration_s = read_all(duration_s_);

  std::map<std::string, TokenSeries> tokens;
  const std::scoped_lock lock(mutex_);
  for (const auto& [key, call] : calls_) {
    reading.calls.push_back({.endpoint = static_cast<llm::Endpoint>(key.first / 1000 % 10),
                             .dialect = static_cast<Dialect>(key.first / 10'000),
                             .status = key.first % 1000,
                             .model = key.second,
                             .count = call.count});
    TokenSeries& of_model = tokens[key.second];
    of_model.prompt += call.prompt;
    of_model.cached += call.cached;
    of_model.generated += call.generated;
  }
  for (auto& [model, series] : tokens) {
    series.model = model;
    reading.tokens.push_back(std::move(series));
  }
  reading.errors.assign(errors_.begin(), errors_.end());
  for (const auto& steps : steps_) {
    for (size_t k = 0; k < kStepKinds; ++k) {
      const Steps::Kind& kind = steps->kinds.at(k);
      StepSeries series{.model = steps->model, .kind = static_cast<llm::StepKind>(k)};
      int64_t all = 0;
      for (size_t i = 0; i < kStepReasons; ++i)
        all += series.steps.at(i) = kind.steps.at(i).load(std::memory_order_relaxed);
      if (all == 0) continue;
      series.preempted = kind.preempted.load(std::memory_order_relaxed);
      series.sampling_s = seconds(Duration(kind.sampling_ns.load(std::memory_order_relaxed)));
      series.mask_wait_s = seconds(Duration(kind.mask_wait_ns.load(std::memory_order_relaxed)));
      series.rows = kind.rows.read();
      series.tokens = kind.tokens.read();
      series.duration_s = kind.duration_s.read();
      reading.steps.push_back(std::move(series));
    }
  }
  return reading;
}

}  // namespace windrow::api
