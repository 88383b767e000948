// bench_memory: what consolidation in parallel gains, with a simulated chat model and a simulated
// embedding model that take a fixed time a call, and the real store on a disk. Each ratio is taken
// within one run:
//
//   forty    facts in 40 tag sets of uneven size: calls side by side against one after the other
//   skewed   one tag set holds half of the facts: against the time that it takes alone
//   single   one tag set: against the calls of the chat model alone, which nothing can overlap
//   facets   10 facets told 100 times each: observations, proof counts and calls are checked
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "async/executor.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/random.h"
#include "memory/bank/bank_store.h"
#include "memory/bank/sqlite_bank_store.h"
#include "memory/consolidation/consolidation.h"
#include "memory/models/memory_models.h"
#include "memory/testing/topic_consolidator.h"

namespace windrow::memory {
namespace {

namespace json = boost::json;

struct Shape {
  std::string folder = "/dev/shm";
  int chat_ms = 50;
  int embed_ms = 15;
  int in_flight = 8;
  int facts = 14'000;  // of "forty"
  bool as_json = false;
  std::vector<std::string> scenarios = {"forty", "skewed", "single", "facets"};
};

// Models that answer after a fixed time, however many calls they have.
class TimedModels final : public MemoryModels {
 public:
  explicit TimedModels(const Shape& shape)
      : chat_(std::chrono::milliseconds(shape.chat_ms)),
        embed_(std::chrono::milliseconds(shape.embed_ms)),
        thread_([this] { run(); }) {}
  ~TimedModels() override {
    {
      const std::scoped_lock lock(mutex_);
      ends_ = true;
      changed_.notify_all();
    }
    thread_.join();
  }
  TimedModels(const TimedModels&) = delete;
  TimedModels& operator=(const TimedModels&) = delete;

  void chat(ChatCall call, std::stop_token /*unwanted*/,
            std::function<void(ChatOutcome)> done) override {
    after(chat_, [call = std::move(call), done = std::move(done)] {
      done(ChatReply{
          .text = testing::consolidate_topics(call.user), .truncated = false, .usage = {}});
    });
  }

  void embed(std::string_view /*model*/, std::vector<std::string> texts,
             const ModelCaller& /*caller*/, std::stop_token /*unwanted*/,
             std::function<void(EmbedOutcome)> done) override {
    after(embed_, [texts = std::move(texts), done = std::move(done)] {
      std::vector<std::vector<float>> vectors;
      for (const std::string& text : texts)
        vectors.push_back(vector_of(text));
      done(std::move(vectors));
    });
  }

  std::optional<llm::Failure> chat_fault(std::string_view) override { return std::nullopt; }
  std::optional<llm::Failure> embed_fault(std::string_view) override { return std::nullopt; }
  std::string embed_model_name(std::string_view) override { return "timed"; }
  int64_t count_tokens(std::string_view text) override { return std::ssize(text) / 4 + 1; }

  // Near for one topic, far for others.
  static std::vector<float> vector_of(std::string_view text) {
    constexpr size_t kDimension = 384;
    std::vector<float> vector(kDimension);
    Random topic(hash64(testing::topic_of(text)));
    Random whole(hash64(text));
    double squares = 0;
    for (float& number : vector) {
      number = static_cast<float>(topic.unit() - 0.5 + 0.4 * (whole.unit() - 0.5));
      squares += number * number;
    }
    for (float& number : vector)
      number /= static_cast<float>(std::sqrt(squares));
    return vector;
  }

 private:
  using Ticks = std::chrono::steady_clock;

  void after(Ticks::duration time, std::function<void()> action) {
    const std::scoped_lock lock(mutex_);
    due_.emplace(Ticks::now() + time, std::move(action));
    changed_.notify_all();
  }

  void run() {
    std::unique_lock lock(mutex_);
    while (!ends_) {
      if (due_.empty()) {
        changed_.wait(lock);
        continue;
      }
      const Ticks::time_point next = due_.begin()->first;
      if (Ticks::now() < next) {
        changed_.wait_until(lock, next);
        continue;
      }
      const std::function<void()> action = std::move(due_.begin()->second);
      due_.erase(due_.begin());
      lock.unlock();
      action();
      lock.lock();
    }
  }

  const Ticks::duration chat_;
  const Ticks::duration embed_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::multimap<Ticks::time_point, std::function<void()>> due_;
  bool ends_ = false;
  std::thread thread_;
};

template <class T>
T need(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return *std::move(result);
}
void need(const Result<void>& result) {
  if (!result) throw std::runtime_error(result.error().message);
}

// A bank in a file of its own, removed at the end.
class BenchBank {
 public:
  explicit BenchBank(const Shape& shape)
      : path_((std::filesystem::path(shape.folder) / "windrow-bench.bank").string()) {
    remove();
    need(SqliteBankStore::create(path_, Bank{.id = {"bench"}}));
    store_ = need(SqliteBankStore::open(path_));
  }
  ~BenchBank() {
    store_.reset();
    remove();
  }
  BenchBank(const BenchBank&) = delete;
  BenchBank& operator=(const BenchBank&) = delete;

  BankStore& store() { return *store_; }

 private:
  void remove() const {
    for (const std::string_view ending : {"", "-wal", "-shm"})
      std::filesystem::remove(path_ + std::string(ending));
  }

  const std::string path_;
  std::unique_ptr<SqliteBankStore> store_;
};

constexpr int kTopics = 20;  // of a scope

NewFact fact_of(const Tags& tags, std::string text) {
  NewFact fact;
  fact.embedding = TimedModels::vector_of(text);
  fact.text = std::move(text);
  fact.tags = tags;
  return fact;
}

// Facts of scopes with these sizes, mixed as they would come in.
std::vector<NewFact> facts_of(const std::vector<int>& sizes) {
  std::vector<NewFact> facts;
  Random random(7);
  std::vector<int> left = sizes;
  int all = std::accumulate(left.begin(), left.end(), 0);
  for (int value = 0; all > 0; ++value, --all) {
    auto at = static_cast<int>(random.below(static_cast<uint64_t>(all)));
    size_t scope = 0;
    while (at >= left[scope])
      at -= left[scope++];
    --left[scope];
    facts.push_back(fact_of(Tags({fmt::format("set-{:02}", scope)}),
                            fmt::format("topic {}: value {}", random.below(kTopics), value)));
  }
  return facts;
}

void retain_all(BankStore& store, std::vector<NewFact> facts) {
  constexpr size_t kAtOnce = 500;
  for (size_t at = 0; at < facts.size(); at += kAtOnce) {
    Retained retained;
    const size_t end = std::min(at + kAtOnce, facts.size());
    for (size_t i = at; i < end; ++i)
      retained.facts.push_back(std::move(facts[i]));
    need(store.retain(retained, 0));
  }
}

ConsolidationReport run(const Shape& shape, const std::vector<int>& sizes, int in_flight) {
  BenchBank bank(shape);
  retain_all(bank.store(), facts_of(sizes));
  TimedModels models(shape);
  async::Executor executor(4);
  const SystemClock clock;
  ConsolidationReport report = consolidate(
      bank.store(), models, executor, clock,
      {.config = {}, .caller = {}, .in_flight_max = in_flight, .bank = "bench", .new_id = {}}, {},
      {});
  if (report.end != ConsolidationEnd::kCompleted || !report.error.empty())
    throw std::runtime_error("the run failed: " + report.error);
  return report;
}

json::object times_of(const ConsolidationReport& report) {
  const double all = report.recall_s + report.model_s + report.commit_s;
  return {{"seconds", report.wall_s},
          {"mean_in_flight", report.mean_in_flight},
          {"batches", report.counts.batches},
          {"llm_calls", report.counts.llm_calls},
          {"observations", report.counts.observations_created},
          {"share_recall", report.recall_s / all},
          {"share_model", report.model_s / all},
          {"share_commit", report.commit_s / all}};
}

std::string text_of(const ConsolidationReport& report) {
  const double all = report.recall_s + report.model_s + report.commit_s;
  return fmt::format(
      "{:8.2f} s, {:5.2f} calls in flight, {} batches; recall {:.1f} %, model {:.1f} %, commit "
      "{:.1f} % of a batch",
      report.wall_s, report.mean_in_flight, report.counts.batches, 100 * report.recall_s / all,
      100 * report.model_s / all, 100 * report.commit_s / all);
}

int64_t batches_of(int facts, const BankConfig& config) {
  return (facts + config.consolidation_llm_batch_size - 1) / config.consolidation_llm_batch_size;
}

class Bench {
 public:
  explicit Bench(Shape shape) : shape_(std::move(shape)) {}

  void forty() {
    // Each set is 5 % smaller than the one before.
    constexpr int kSets = 40;
    std::vector<int> sizes;
    double share = 0.05 / (1 - std::pow(0.95, kSets));
    for (int i = 0; i < kSets; ++i, share *= 0.95)
      sizes.push_back(static_cast<int>(share * shape_.facts));
    sizes.front() += shape_.facts - std::accumulate(sizes.begin(), sizes.end(), 0);
    const ConsolidationReport parallel = run(shape_, sizes, shape_.in_flight);
    const ConsolidationReport serial = run(shape_, sizes, 1);
    const double ratio = serial.wall_s / parallel.wall_s;
    say(
        fmt::format("forty    {} facts in 40 tag sets of {} to {}\n"
                    "  {} in flight {}\n  serial      {}\n  {:.2f} times serial (target 7.5)\n",
                    shape_.facts, sizes.back(), sizes.front(), shape_.in_flight, text_of(parallel),
                    text_of(serial), ratio));
    results_["forty"] = {{"parallel", times_of(parallel)},
                         {"serial", times_of(serial)},
                         {"ratio", ratio},
                         {"target", 7.5}};
  }

  void skewed() {
    const int half = shape_.facts / 10;
    std::vector<int> sizes(20, half / 20);
    sizes.push_back(half);
    const ConsolidationReport all = run(shape_, sizes, shape_.in_flight);
    const ConsolidationReport alone = run(shape_, {half}, shape_.in_flight);
    const double ratio = alone.wall_s / all.wall_s;
    say(
        fmt::format("skewed   {} facts, half of them in one of 21 tag sets\n"
                    "  all         {}\n  that set    {}\n  {:.3f} of what the longest scope allows "
                    "(target 0.95)\n",
                    2 * half, text_of(all), text_of(alone), ratio));
    results_["skewed"] = {{"all", times_of(all)},
                          {"longest_alone", times_of(alone)},
                          {"ratio", ratio},
                          {"target", 0.95}};
  }

  void single() {
    const int facts = shape_.facts / 14;
    const ConsolidationReport report = run(shape_, {facts}, shape_.in_flight);
    const double ceiling = static_cast<double>(batches_of(facts, {})) * shape_.chat_ms / 1000.0;
    const double ratio = ceiling / report.wall_s;
    say(fmt::format(
        "single   {} facts of one tag set\n  run         {}\n  ceiling     {:8.2f} s: {} "
        "calls of {} ms, all else beside them\n  {:.3f} of the ceiling (target 0.9)\n",
        facts, text_of(report), ceiling, batches_of(facts, {}), shape_.chat_ms, ratio));
    results_["single"] = {
        {"run", times_of(report)}, {"ceiling_s", ceiling}, {"ratio", ratio}, {"target", 0.9}};
  }

  void facets() {
    constexpr int kFacets = 10;
    constexpr int kTimes = 100;
    BenchBank bank(shape_);
    std::vector<NewFact> facts;
    for (int i = 0; i < kFacets * kTimes; ++i) {
      facts.push_back(
          fact_of(Tags({"all"}), fmt::format("facet {}: told for the {}th time", i % kFacets, i)));
    }
    retain_all(bank.store(), std::move(facts));
    TimedModels models(shape_);
    async::Executor executor(4);
    const SystemClock clock;
    const ConsolidationReport report = consolidate(bank.store(), models, executor, clock,
                                                   {.config = {},
                                                    .caller = {},
                                                    .in_flight_max = shape_.in_flight,
                                                    .bank = "bench",
                                                    .new_id = {}},
                                                   {}, {});
    const std::vector<Memory> observations = need(bank.store().observations_of(Tags({"all"})));
    const bool all_proofs = std::ranges::all_of(
        observations, [](const Memory& one) { return one.proof_count == kTimes; });
    const int64_t calls_max = batches_of(kFacets * kTimes, {}) + report.counts.splits;
    const bool right =
        observations.size() == kFacets && all_proofs && report.counts.llm_calls <= calls_max;
    say(fmt::format(
        "facets   {} facets told {} times each\n  {} observations, proof counts all {}: "
        "{}; {} calls (at most {}): {}\n",
        kFacets, kTimes, observations.size(), kTimes, all_proofs ? "yes" : "no",
        report.counts.llm_calls, calls_max, right ? "right" : "WRONG"));
    results_["facets"] = {{"observations", observations.size()},
                          {"all_proof_counts_right", all_proofs},
                          {"llm_calls", report.counts.llm_calls},
                          {"llm_calls_max", calls_max},
                          {"right", right}};
    if (!right) wrong_ = true;
  }

  int finish() const {
    if (shape_.as_json) fmt::print("{}\n", json::serialize(results_));
    return wrong_ ? 1 : 0;
  }

  void run_all() {
    for (const std::string& scenario : shape_.scenarios) {
      if (scenario == "forty") forty();
      if (scenario == "skewed") skewed();
      if (scenario == "single") single();
      if (scenario == "facets") facets();
    }
  }

 private:
  void say(const std::string& text) const {
    if (!shape_.as_json) fmt::print("{}\n", text);
  }

  const Shape shape_;
  json::object results_;
  bool wrong_ = false;
};

int bench(int argc, char** argv) {
  Shape shape;
  CLI::App app("Consolidation of memory banks with simulated models");
  app.add_option("--folder", shape.folder, "where the bank's file is made")->capture_default_str();
  app.add_option("--chat-ms", shape.chat_ms, "of a call of the chat model")->capture_default_str();
  app.add_option("--embed-ms", shape.embed_ms, "of a call of the embedding model")
      ->capture_default_str();
  app.add_option("--in-flight", shape.in_flight, "calls side by side")->capture_default_str();
  app.add_option("--facts", shape.facts, "of the scenario `forty`; others take a part of it")
      ->capture_default_str();
  app.add_option("--scenario", shape.scenarios, "forty, skewed, single, facets");
  app.add_flag("--json", shape.as_json, "the figures as JSON");
  CLI11_PARSE(app, argc, argv);
  Bench all(shape);
  all.run_all();
  return all.finish();
}

}  // namespace
}  // namespace windrow::memory

int main(int argc, char** argv) try {
  return windrow::memory::bench(argc, argv);
} catch (const std::exception& error) {
  fmt::print(stderr, "bench_memory: {}\n", error.what());
  return 1;
}
