#include "engine/manager/model_manager.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>
#include <utility>

#include "base/random.h"
#include "base/testing/eventually.h"
#include "base/testing/manual_clock.h"

namespace windrow::engine {
namespace {

using std::chrono::seconds;

constexpr PooledModelId kA{0};
constexpr PooledModelId kB{1};
constexpr PooledModelId kC{2};

struct Ahead final : llm::ReadAhead {
  explicit Ahead(const llm::Backend* reader) : by(reader) {}
  const llm::Backend* by;
};

// Answers at once with its name, or when the test says so.
class Answering final : public llm::Backend {
 public:
  Answering(std::string name, bool at_once) : name_(std::move(name)), at_once_(at_once) {}
  ~Answering() override { EXPECT_TRUE(held_.empty()) << "it leaves with requests inside"; }

  std::shared_ptr<const llm::ReadAhead> read_ahead(const llm::Request&) override {
    return std::make_shared<const Ahead>(this);
  }
  std::variant<int64_t, llm::Failure> count_prompt(const llm::Request&) override { return 5; }
  void submit(llm::BackendCall call, Done done) override {
    const auto* ahead = dynamic_cast<const Ahead*>(call.read_ahead.get());
    EXPECT_TRUE(ahead == nullptr || ahead->by == this) << "what another one had read";
    ++submitted_;
    if (at_once_) return done(answer());
    const std::scoped_lock lock(mutex_);
    held_.push_back(std::move(done));
  }
  void answer_all() {
    std::vector<Done> held;
    {
      const std::scoped_lock lock(mutex_);
      held.swap(held_);
    }
    for (const Done& done : held)
      done(answer());
  }
  int32_t in_flight_target() const override { return 7; }
  llm::BackendStats stats() const override {
    return {.generated_tokens = submitted_, .rows_running = 1};
  }

 private:
  llm::Outcome answer() const { return llm::Answer{.choices = {{.text = name_}}}; }

  const std::string name_;
  const bool at_once_;
  std::atomic<int64_t> submitted_ = 0;
  std::mutex mutex_;
  std::vector<Done> held_;
};

// What happened to the models of a test.
struct Memory {
  std::atomic<int> there = 0;
  std::atomic<int> most = 0;
  std::atomic<int> loads = 0;
  std::atomic<Answering*> last = nullptr;
};

class Model final : public LoadedModel {
 public:
  Model(Memory& memory, std::string name, uint64_t bytes, bool at_once)
      : memory_(memory), bytes_(bytes), backend_(std::move(name), at_once) {
    const int there = ++memory_.there;
    int most = memory_.most;
    while (there > most && !memory_.most.compare_exchange_weak(most, there)) {
    }
    ++memory_.loads;
    memory_.last = &backend_;
  }
  ~Model() override { --memory_.there; }

  llm::Backend& backend() override { return backend_; }
  uint64_t bytes() const override { return bytes_; }

 private:
  Memory& memory_;
  const uint64_t bytes_;
  Answering backend_;
};

class ModelKeeperTest : public ::testing::Test {
 protected:
  using Loading = std::function<Result<void>(std::stop_token)>;

  KeptModel model(std::string name, Loading loading = {}, bool at_once = true) {
    KeptModel kept{.name = name, .facts = {.bytes = 4}};
    kept.load = [this, name, loading = std::move(loading),
                 at_once](std::stop_token unwanted) -> Result<std::unique_ptr<LoadedModel>> {
      if (loading) {
        if (Result<void> done = loading(std::move(unwanted)); !done) return done.error();
      }
      return std::make_unique<Model>(memory_, name, 4, at_once);
    };
    kept.in_words = [](const Error& error) { return "hm: " + error.message; };
    return kept;
  }

  std::unique_ptr<ModelManager> keep(std::vector<KeptModel> models, KeeperOptions options = kTwo) {
    return std::make_unique<ModelManager>(std::move(models), std::move(options), clock_);
  }

  static std::future<llm::Outcome> ask(ModelManager& keeper, PooledModelId model,
                                       llm::BackendCall call = llm::plain_call({})) {
    auto promise = std::make_shared<std::promise<llm::Outcome>>();
    std::future<llm::Outcome> outcome = promise->get_future();
    keeper.backend(model).submit(
        std::move(call), [promise](llm::Outcome ended) { promise->set_value(std::move(ended)); });
    return outcome;
  }

  // text(), while time passes: a model that was just used has to rest before it leaves.
  std::string text_in_time(ModelManager& keeper, std::future<llm::Outcome> future) {
    while (future.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) {
      clock_.advance(seconds(1));
      keeper.look_at_the_clock();
    }
    return text(std::move(future));
  }

  // The answer, or the code and the message of the failure.
  static std::string text(std::future<llm::Outcome> future) {
    const llm::Outcome outcome = future.get();
    if (const auto* answer = std::get_if<llm::Answer>(&outcome)) return answer->choices.at(0).text;
    const auto& failure = std::get<llm::Failure>(outcome);
    return failure.code + ": " + failure.message;
  }

  // Room for two models of three.
  static inline const KeeperOptions kTwo = {.pool = {.bytes_max = 10}};

  windrow::testing::ManualClock clock_;
  Memory memory_;
};

TEST_F(ModelKeeperTest, OneThatIsAskedForTwiceIsLoadedOnce) {
  std::promise<void> go;
  const std::shared_future<void> gone(go.get_future());
  const auto keeper = keep({model("a", [gone](const std::stop_token&) -> Result<void> {
    gone.wait();
    return {};
  })});
  auto first = ask(*keeper, kA);
  auto second = ask(*keeper, kA);
  EXPECT_EQ(keeper->status(kA).waiting, 2);
  EXPECT_EQ(keeper->backend(kA).stats().rows_waiting, 2);
  go.set_value();
  EXPECT_EQ(text(std::move(first)), "a");
  EXPECT_EQ(text(std::move(second)), "a");
  EXPECT_EQ(memory_.loads, 1);
  EXPECT_EQ(text(ask(*keeper, kA)), "a");
  EXPECT_EQ(keeper->status(kA).state, llm::LoadState::kLoaded);
}

TEST_F(ModelKeeperTest, WhoCountsTokensHasTheModelLoadedAndDoesNotWait) {
  const auto keeper = keep({model("a")});
  const auto counted = keeper->backend(kA).count_prompt({});
  EXPECT_EQ(std::get<llm::Failure>(counted).code, "model_loading");
  EXPECT_EQ(text(ask(*keeper, kA)), "a");
  EXPECT_EQ(std::get<int64_t>(keeper->backend(kA).count_prompt({})), 5);
  EXPECT_EQ(memory_.loads, 1);
}

TEST_F(ModelKeeperTest, ThreeInTurnWhereTwoFit) {
  const auto keeper = keep({model("a"), model("b"), model("c")});
  const std::vector<std::string> names = {"a", "b", "c"};
  for (int i = 0; i < 30; ++i) {
    const PooledModelId id(static_cast<uint32_t>(i % 3));
    clock_.advance(seconds(1));
    llm::BackendCall call = llm::plain_call({});
    call.read_ahead = keeper->backend(id).read_ahead(*call.request);
    EXPECT_EQ(text_in_time(*keeper, ask(*keeper, id, std::move(call))), names[id.value()]);
    windrow::testing::eventually([&] { return keeper->status(id).requests; }, 0);
  }
  EXPECT_EQ(memory_.most, 2);
  EXPECT_EQ(memory_.loads, 30) << "the one that is asked next has just left";
  EXPECT_EQ(keeper->backend(kA).stats().generated_tokens, 10) << "of all its lives";
  EXPECT_EQ(keeper->status(kA).loads, 10);
}

TEST_F(ModelKeeperTest, WhatWasReadAheadByOneThatLeftIsNotUsed) {
  const auto keeper = keep({model("a"), model("b"), model("c")});
  EXPECT_EQ(text(ask(*keeper, kA)), "a");
  llm::BackendCall call = llm::plain_call({});
  call.read_ahead = keeper->backend(kA).read_ahead(*call.request);
  ASSERT_NE(call.read_ahead, nullptr);
  EXPECT_EQ(text(ask(*keeper, kB)), "b");
  EXPECT_EQ(text_in_time(*keeper, ask(*keeper, kC)), "c");
  EXPECT_EQ(keeper->status(kA).state, llm::LoadState::kAbsent);
  EXPECT_EQ(text_in_time(*keeper, ask(*keeper, kA, std::move(call))), "a");
}

TEST_F(ModelKeeperTest, WhoWaitsIsToldWhyItCannotBeLoadedAndItIsNotTriedAtOnce) {
  int tries = 0;
  const auto keeper = keep({model("a", [&](const std::stop_token&) -> Result<void> {
    if (++tries < 2) return Error{ErrorKind::kInvalid, "no model"};
    return {};
  })});
  EXPECT_EQ(text(ask(*keeper, kA)),
            "model_unavailable: the model a cannot be loaded: hm: no model");
  const llm::Outcome again = ask(*keeper, kA).get();
  EXPECT_EQ(std::get<llm::Failure>(again).retry_after_ms, 30'000);
  EXPECT_EQ(tries, 1);
  EXPECT_EQ(keeper->status(kA).loads_failed, 1);
  clock_.advance(seconds(30));
  EXPECT_EQ(text(ask(*keeper, kA)), "a");
}

TEST_F(ModelKeeperTest, AFileThatCannotBeLoadedLeavesTheGoodModelWhereItIs) {
  std::atomic<bool> good = false;
  std::vector<KeptModel> models;
  models.push_back(model("a"));
  models.push_back(model("b"));
  models.back().look = [&]() -> Result<void> {
    if (!good) return Error{ErrorKind::kInvalid, "epsilon is nan"};
    return {};
  };
  std::vector<std::string> news;
  KeeperOptions options{.pool = {.bytes_max = 4}};
  options.on_news = [&](const KeeperNews& it) {
    if (it.kind == KeeperNews::Kind::kFailed) news.push_back(it.name + ": " + it.why);
  };
  const auto keeper = keep(std::move(models), options);
  EXPECT_EQ(text(ask(*keeper, kA)), "a");
  clock_.advance(seconds(100));
  EXPECT_EQ(text_in_time(*keeper, ask(*keeper, kB)),
            "model_unavailable: the model b cannot be loaded: hm: epsilon is nan");
  EXPECT_EQ(keeper->status(kA).state, llm::LoadState::kLoaded);
  EXPECT_EQ(keeper->status(kA).unloads, 0);
  EXPECT_EQ(text(ask(*keeper, kA)), "a");
  EXPECT_EQ(memory_.loads, 1) << "it was never gone";
  EXPECT_EQ(keeper->status(kB).loads_failed, 1);

  good = true;
  clock_.advance(seconds(100));
  EXPECT_EQ(text_in_time(*keeper, ask(*keeper, kB)), "b");
  EXPECT_EQ(keeper->status(kA).state, llm::LoadState::kAbsent);
  EXPECT_EQ(news, (std::vector<std::string>{"b: epsilon is nan"}));
}

TEST_F(ModelKeeperTest, NobodyWaitsLongerThanItMay) {
  std::promise<void> go;
  const std::shared_future<void> gone(go.get_future());
  const auto keeper = keep({model("a", [gone](const std::stop_token&) -> Result<void> {
    gone.wait();
    return {};
  })});
  auto patient = ask(*keeper, kA);
  auto wait = std::make_shared<llm::LoadWait>();
  wait->until = TimePoint(seconds(20));
  llm::BackendCall call = llm::plain_call({});
  call.load_wait = wait;
  auto outcome = ask(*keeper, kA, std::move(call));
  EXPECT_TRUE(wait->waits);
  clock_.advance(seconds(20));
  keeper->look_at_the_clock();
  EXPECT_EQ(text(std::move(outcome)),
            "model_loading: the model a is still being loaded; try again later");
  EXPECT_FALSE(wait->waits);
  EXPECT_EQ(keeper->status(kA).waiting, 1);
  go.set_value();
  EXPECT_EQ(text(std::move(patient)), "a");
}

TEST_F(ModelKeeperTest, WhatIsCancelledDoesNotWait) {
  std::promise<void> go;
  const std::shared_future<void> gone(go.get_future());
  const auto keeper = keep({model("a", [gone](const std::stop_token&) -> Result<void> {
    gone.wait();
    return {};
  })});
  for (const auto token : {&llm::BackendCall::withdrawn, &llm::BackendCall::unwanted}) {
    std::stop_source stop;
    llm::BackendCall call = llm::plain_call({});
    call.*token = stop.get_token();
    call.load_wait = std::make_shared<llm::LoadWait>();
    auto outcome = ask(*keeper, kA, call);
    EXPECT_TRUE(call.load_wait->waits);
    stop.request_stop();
    EXPECT_EQ(text(std::move(outcome)), "cancelled: cancelled before it was answered");
    EXPECT_FALSE(call.load_wait->waits);
    EXPECT_EQ(text(ask(*keeper, kA, call)), "cancelled: cancelled before it was answered");
    EXPECT_EQ(keeper->status(kA).waiting, 0);
  }
  go.set_value();
}

TEST_F(ModelKeeperTest, OneWithRequestsInsideStaysUntilTheyEnd) {
  std::vector<KeptModel> models;
  models.push_back(model("a", {}, false));
  models.back().facts.bytes = 8;
  models.push_back(model("b"));
  models.back().facts.bytes = 8;
  const auto keeper = keep(std::move(models), {.pool = {.bytes_max = 8}});
  const std::vector<PooledModelId> first = {kA};
  ASSERT_TRUE(keeper->load_first(first).has_value());
  auto inside = ask(*keeper, kA);
  clock_.advance(seconds(100));
  auto waits = ask(*keeper, kB);
  clock_.advance(seconds(100));
  keeper->look_at_the_clock();
  EXPECT_EQ(keeper->unload(kA), llm::UnloadResult::kInUse);
  Answering* a = memory_.last;
  a->answer_all();
  EXPECT_EQ(text(std::move(inside)), "a");
  EXPECT_EQ(text_in_time(*keeper, std::move(waits)), "b");
  EXPECT_EQ(memory_.most, 1);
}

TEST_F(ModelKeeperTest, OneThatIsToLeaveWhenNobodyUsesItLeavesAfterTheLastAnswer) {
  const auto keeper = keep({model("a", {}, false)});
  const std::vector<PooledModelId> first = {kA};
  ASSERT_TRUE(keeper->load_first(first).has_value());
  auto inside = ask(*keeper, kA);
  keeper->unload_when_unused(kA);
  EXPECT_EQ(keeper->status(kA).state, llm::LoadState::kLoaded);
  Answering* a = memory_.last;
  a->answer_all();
  EXPECT_EQ(text(std::move(inside)), "a");
  windrow::testing::eventually([&] { return keeper->status(kA).state; }, llm::LoadState::kAbsent);
  EXPECT_EQ(memory_.there, 0);
  EXPECT_EQ(keeper->status(kA).unloads, 1);
}

TEST_F(ModelKeeperTest, TheFirstOnesAreThereOrItIsSaidWhyNot) {
  std::vector<std::string> news;
  KeeperOptions options = kTwo;
  std::mutex mutex;
  options.on_news = [&](const KeeperNews& it) {
    const std::scoped_lock lock(mutex);
    if (it.kind == KeeperNews::Kind::kLoaded) news.push_back(it.name);
  };
  const auto keeper = keep({model("a"), model("b"), model("c"),
                            model("d",
                                  [](const std::stop_token&) -> Result<void> {
                                    return Error{ErrorKind::kUnavailable, "broken"};
                                  })},
                           options);
  const std::vector<PooledModelId> all = {kA, kB, kC};
  ASSERT_TRUE(keeper->load_first(all).has_value());
  EXPECT_EQ(keeper->status(kC).state, llm::LoadState::kAbsent) << "there was no room for it";
  EXPECT_EQ(keeper->bytes_used(), 8U);
  EXPECT_EQ(keeper->unload(kA), llm::UnloadResult::kUnloading);
  EXPECT_EQ(text_in_time(*keeper, ask(*keeper, kC)), "c");
  const auto empty = keep({model("d", [](const std::stop_token&) -> Result<void> {
    return Error{ErrorKind::kUnavailable, "broken"};
  })});
  const std::vector<PooledModelId> broken = {kA};
  EXPECT_EQ(empty->load_first(broken).error().message, "broken");
  const std::scoped_lock lock(mutex);
  EXPECT_EQ(news, (std::vector<std::string>{"a", "b", "c"}));
}

TEST_F(ModelKeeperTest, WhatIsBeingLoadedIsGivenUpAtTheEnd) {
  std::promise<void> begun;
  auto keeper = keep({model("a", [&](const std::stop_token& unwanted) -> Result<void> {
    begun.set_value();
    std::promise<void> stopped;
    const std::stop_callback told(unwanted, [&] { stopped.set_value(); });
    stopped.get_future().wait();
    return Error{ErrorKind::kUnavailable, "given up"};
  })});
  auto waits = ask(*keeper, kA);
  begun.get_future().wait();
  keeper.reset();
  EXPECT_EQ(text(std::move(waits)), "cancelled: cancelled before it was answered");
  EXPECT_EQ(memory_.there, 0);
}

// A backend that ends what is unfinished with itself, as llm::Backend has it.
class Unfinished final : public LoadedModel, public llm::Backend {
 public:
  llm::Backend& backend() override { return *this; }
  uint64_t bytes() const override { return 4; }
  void submit(llm::BackendCall call, Done done) override {
    pending_.watch(pending_.add(std::move(call), std::move(done)));
  }
  int32_t in_flight_target() const override { return 1; }
  llm::BackendStats stats() const override { return {}; }

 private:
  llm::PendingRequests pending_{{.failure_class = llm::FailureClass::kCancelled, .code = "ended"}};
};

TEST_F(ModelKeeperTest, ItsEndEndsWhatRunsInItsModels) {
  KeptModel kept{.name = "a", .facts = {.bytes = 4}};
  kept.load = [](const std::stop_token&) -> Result<std::unique_ptr<LoadedModel>> {
    return std::make_unique<Unfinished>();
  };
  kept.in_words = [](const Error& error) { return error.message; };
  std::vector<KeptModel> models;
  models.push_back(std::move(kept));
  auto keeper = keep(std::move(models));
  ASSERT_TRUE(keeper->load_first(std::vector{kA}));
  std::stop_source unwanted;
  llm::BackendCall call = llm::plain_call({});
  call.unwanted = unwanted.get_token();
  auto cancelled = ask(*keeper, kA, std::move(call));
  auto unfinished = ask(*keeper, kA);
  EXPECT_EQ(keeper->status(kA).requests, 2);
  unwanted.request_stop();
  EXPECT_EQ(text(std::move(cancelled)), "ended: ") << "the model itself ends what runs in it";
  keeper.reset();
  EXPECT_EQ(text(std::move(unfinished)), "ended: ");
}

// Threads that ask five models, of which two fit, and leave now and then: everybody gets one end,
// from the model that was asked.
TEST_F(ModelKeeperTest, ManyAtATimeGetOneEndEach) {
  constexpr uint64_t kSeed = 20261122;
  SCOPED_TRACE(kSeed);
  const SystemClock clock;
  std::vector<KeptModel> models;
  for (const char* name : {"0", "1", "2", "3", "4"})
    models.push_back(model(name));
  KeeperOptions options = kTwo;
  options.pool.turn = std::chrono::milliseconds(1);
  options.pool.rest = std::chrono::microseconds(100);
  std::atomic<int> ends = 0;
  std::atomic<int> answered = 0;
  ModelManager keeper(std::move(models), options, clock);
  constexpr int kThreads = 4;
  constexpr int kEach = 300;
  {
    std::vector<std::jthread> threads;
    threads.reserve(kThreads);
    for (uint64_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        Random random(kSeed + t);
        std::vector<std::future<void>> unended;
        for (int i = 0; i < kEach; ++i) {
          const PooledModelId id(static_cast<uint32_t>(random.below(5)));
          std::stop_source unwanted;
          llm::BackendCall call = llm::plain_call({});
          (random.chance(0.5) ? call.withdrawn : call.unwanted) = unwanted.get_token();
          call.read_ahead = keeper.backend(id).read_ahead(*call.request);
          auto promise = std::make_shared<std::promise<void>>();
          auto ended = promise->get_future();
          keeper.backend(id).submit(std::move(call), [&, id, promise](llm::Outcome outcome) {
            ++ends;
            if (const auto* answer = std::get_if<llm::Answer>(&outcome)) {
              ++answered;
              EXPECT_EQ(answer->choices.at(0).text, std::to_string(id.value()));
            } else {
              EXPECT_EQ(std::get<llm::Failure>(outcome).code, "cancelled");
            }
            promise->set_value();
          });
          if (random.chance(0.12)) unwanted.request_stop();
          if (random.chance(0.5)) {
            ended.wait();
          } else {
            unended.push_back(std::move(ended));
          }
        }
        for (const std::future<void>& ended : unended)
          ended.wait();
      });
    }
  }
  EXPECT_EQ(ends, kThreads * kEach);
  EXPECT_LE(memory_.most, 2);
  EXPECT_GT(answered, kThreads * kEach / 2);
}

}  // namespace
}  // namespace windrow::engine
