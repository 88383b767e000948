#include "program/program_rig.h"

#include <fmt/format.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <condition_variable>
#include <stdexcept>
#include <utility>
#include <variant>

#include "fleet/load_tokenizer.h"
#include "session/gauges.h"

namespace windrow::program_bench {

// Nothing that a fleet has to say is part of a measurement, but a warning is shown.
class ProgramRig::Events final : public fleet::FleetEvents {
 public:
  void note(const std::string& /*text*/) override {}
  void warn(const std::string& text) override { fmt::print(stderr, "{}\n", text); }
  void packed_call_sent(const std::string& /*upstream*/,
                        const dispatch::SentBatch& /*call*/) override {}
};

namespace {

template <class T>
T need(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return *std::move(result);
}
void need(const Result<void>& result) {
  if (!result) throw std::runtime_error(result.error().message);
}

// The end of each of several instances, in the order in which they were started.
class Ends {
 public:
  explicit Ends(size_t count) : ends_(count), left_(count) {}

  void put(size_t index, program::ProgramEnd end) {
    const std::scoped_lock lock(mutex_);
    ends_[index] = std::move(end);
    if (--left_ == 0) changed_.notify_all();
  }

  std::vector<program::ProgramEnd> wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return left_ == 0; });
    return std::move(ends_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<program::ProgramEnd> ends_;
  size_t left_;
};

EndedRun ended_run(const program::ProgramEnd& end) {
  if (const auto* failure = std::get_if<llm::Failure>(&end.outcome)) {
    throw std::runtime_error(
        fmt::format("an instance failed: {}: {}", failure->code, failure->message));
  }
  const boost::json::value body = boost::json::parse(std::get<std::string>(end.outcome));
  return {.result = body.as_object().at("result"), .usage = end.usage};
}

program::ProgramStart start_of(const boost::json::object& input, size_t index) {
  return {.input = boost::json::serialize(input),
          .id = fmt::format("row-{}", index),
          .model = {},
          .key = {},
          .seed = index + 1};
}

}  // namespace

ProgramRig::ProgramRig(Options options, std::string source) : events_(std::make_unique<Events>()) {
  const fleet::ModelChoice choice{.path = options.model};
  fleet::LocalFleetOptions fleet_options;
  fleet_options.engine.rows_max = options.rows_max;
  fleet_options.on_rows = [this](const llm::StepReport& step, std::span<const llm::RowTrace> rows) {
    on_rows(step, rows);
  };
  fleet_ = std::make_unique<fleet::LocalJobFleet>(std::vector{choice}, std::move(fleet_options),
                                                  clock_, *events_);
  need(fleet_->open({.began_unix_s = clock_.unix_seconds()}));
  tokenizer_ = need(fleet::load_tokenizer(nullptr, choice, clock_.unix_seconds()));
  routes_ = std::make_unique<fleet::RoutedModels>(*fleet_);
  program::DispatchedProgramModelsOptions models_options;
  models_options.tokenizer_of =
      [this](std::string_view /*model*/) -> Result<std::shared_ptr<const llm::Tokenizer>> {
    return tokenizer_;
  };
  models_ = std::make_unique<program::DispatchedProgramModels>(*routes_, std::move(models_options));
  program::ProgramLoopOptions loop_options{.limits = options.limits, .on_log = {}};
  if (options.on_log) {
    loop_options.on_log = [on_log = std::move(options.on_log)](
                              std::string_view /*id*/, std::string_view line) { on_log(line); };
  }
  loop_ = std::make_unique<program::ProgramLoop>(
      std::make_shared<const program::Program>(
          program::Program{.name = "bench.lua", .source = std::move(source)}),
      *models_, passes_, nullptr, clock_, std::move(loop_options));
}

ProgramRig::~ProgramRig() = default;

std::vector<EndedRun> ProgramRig::run(const std::vector<boost::json::object>& inputs) {
  Ends ends(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    loop_->start(start_of(inputs[i], i), [this, &ends, i](program::ProgramEnd end) {
      {
        const std::scoped_lock lock(mutex_);
        thread_seconds_ = session_bench::cpu_of_thread().all();
      }
      ends.put(i, std::move(end));
    });
  }
  std::vector<EndedRun> runs;
  for (const program::ProgramEnd& end : ends.wait())
    runs.push_back(ended_run(end));
  return runs;
}

void ProgramRig::start(const std::vector<boost::json::object>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i)
    loop_->start(start_of(inputs[i], i), [](const program::ProgramEnd&) {});
}

int64_t ProgramRig::calls_waiting() const {
  int64_t calls = static_cast<int64_t>(models_->waiting());
  for (const fleet::JobRoute& route : fleet_->routes())
    calls += route.dispatcher->in_flight();
  return calls;
}

double ProgramRig::thread_seconds() const {
  const std::scoped_lock lock(mutex_);
  return thread_seconds_;
}

void ProgramRig::watch_rows(size_t rows) {
  const std::scoped_lock lock(mutex_);
  watch_ = {.rows = rows, .tags = {}, .seen_at = {}};
}

std::optional<TimePoint> ProgramRig::rows_seen_at() const {
  const std::scoped_lock lock(mutex_);
  return watch_.seen_at;
}

void ProgramRig::on_rows(const llm::StepReport& step, std::span<const llm::RowTrace> rows) {
  passes_.observe(step, rows);
  const std::scoped_lock lock(mutex_);
  if (watch_.rows == 0 || watch_.seen_at) return;
  for (const llm::RowTrace& row : rows)
    watch_.tags.insert(row.tag);
  if (watch_.tags.size() >= watch_.rows) watch_.seen_at = clock_.now();
}

}  // namespace windrow::program_bench
