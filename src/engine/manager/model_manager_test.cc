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

constexpr ModelId kA{0};
constexpr ModelId kB{1};
constexpr ModelId kC{2};

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

class ModelManagerTest : public ::testing::Test {
 protected:
  using Loading = std::function<Result<void>(std::stop_token)>;

  ManagedModel model(std::string name, Loading loading = {}, bool at_once = true) {
    ManagedModel kept{.name = name, .needs = {.bytes = 4}};
    kept.load = [this, name, loading = std::move(loading),
                 at_once](std::stop_token unwanted) -> Result<std::unique_ptr<LoadedModel>> {
      if (loading) {
        if (Result<void> done = loading(std::move(unwanted)); !done) return done.error();
      }
      return std::make_unique<Model>(memory_, name, 4, at_once);
    };
    kept.client_message = [](const Error& error) { return "hm: " + error.message; };
    return kept;
  }

  std::unique_ptr<ModelManager> managed(std::vector<ManagedModel> models,
                                        ModelManagerOptions options = kTwo) {
    return std::make_unique<ModelManager>(std::move(models), std::move(options), clock_);
  }

  static std::future<llm::Outcome> ask(ModelManager& manager, ModelId model,
                                       llm::BackendCall call = llm::plain_call({})) {
    auto promise = std::make_shared<std::promise<llm::Outcome>>();
    std::future<llm::Outcome> outcome = promise->get_future();
    manager.backend(model).submit(
        std::move(call), [promise](llm::Outcome ended) { promise->set_value(std::move(ended)); });
    return outcome;
  }

  // text(), while time passes: a model that was just used has to rest before it leaves.
  std::string text_in_time(ModelManager& manager, std::future<llm::Outcome> future) {
    while (future.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) {
      clock_.advance(seconds(1));
      manager.on_clock_advanced();
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
  static inline const ModelManagerOptions kTwo = {.cache = {.bytes_max = 10}};

  windrow::testing::ManualClock clock_;
  Memory memory_;
};

TEST_F(ModelManagerTest, OneThatIsAskedForTwiceIsLoadedOnce) {
  std::promise<void> go;
  const std::shared_future<void> gone(go.get_future());
  const auto manager = managed({model("a", [gone](const std::stop_token&) -> Result<void> {
    gone.wait();
    return {};
  })});
  auto first = ask(*manager, kA);
  auto second = ask(*manager, kA);
  EXPECT_EQ(manager->status(kA).waiting, 2);
  EXPECT_EQ(manager->backend(kA).stats().rows_waiting, 2);
  go.set_value();
  EXPECT_EQ(text(std::move(first)), "a");
  EXPECT_EQ(text(std::move(second)), "a");
  EXPECT_EQ(memory_.loads, 1);
  EXPECT_EQ(text(ask(*manager, kA)), "a");
  EXPECT_EQ(manager->status(kA).state, llm::LoadState::kLoaded);
}

TEST_F(ModelManagerTest, CountingTokensLoadsTheModelAndDoesNotWait) {
  const auto manager = managed({model("a")});
  const auto counted = manager->backend(kA).count_prompt({});
  EXPECT_EQ(std::get<llm::Failure>(counted).code, "model_loading");
  EXPECT_EQ(text(ask(*manager, kA)), "a");
  EXPECT_EQ(std::get<int64_t>(manager->backend(kA).count_prompt({})), 5);
  EXPECT_EQ(memory_.loads, 1);
}

TEST_F(ModelManagerTest, ThreeInTurnWhereTwoFit) {
  const auto manager = managed({model("a"), model("b"), model("c")});
  const std::vector<std::string> names = {"a", "b", "c"};
  for (int i = 0; i < 30; ++i) {
    const ModelId id(static_cast<uint32_t>(i % 3));
    clock_.advance(seconds(1));
    llm::BackendCall call = llm::plain_call({});
    call.read_ahead = manager->backend(id).read_ahead(*call.request);
    EXPECT_EQ(text_in_time(*manager, ask(*manager, id, std::move(call))), names[id.value()]);
    windrow::testing::eventually([&] { return manager->status(id).requests; }, 0);
  }
  EXPECT_EQ(memory_.most, 2);
  EXPECT_EQ(memory_.loads, 30) << "the one that is asked next has just left";
  EXPECT_EQ(manager->backend(kA).stats().generated_tokens, 10) << "of all its lives";
  EXPECT_EQ(manager->status(kA).loads, 10);
}

TEST_F(ModelManagerTest, WhatWasReadAheadByOneThatLeftIsNotUsed) {
  const auto manager = managed({model("a"), model("b"), model("c")});
  EXPECT_EQ(text(ask(*manager, kA)), "a");
  llm::BackendCall call = llm::plain_call({});
  call.read_ahead = manager->backend(kA).read_ahead(*call.request);
  ASSERT_NE(call.read_ahead, nullptr);
  EXPECT_EQ(text(ask(*manager, kB)), "b");
  EXPECT_EQ(text_in_time(*manager, ask(*manager, kC)), "c");
  EXPECT_EQ(manager->status(kA).state, llm::LoadState::kAbsent);
  EXPECT_EQ(text_in_time(*manager, ask(*manager, kA, std::move(call))), "a");
}

TEST_F(ModelManagerTest, AWaitingCallIsToldWhyTheLoadFailedAndTheNextIsNotTriedAtOnce) {
  int tries = 0;
  const auto manager = managed({model("a", [&](const std::stop_token&) -> Result<void> {
    if (++tries < 2) return Error{ErrorKind::kInvalid, "no model"};
    return {};
  })});
  EXPECT_EQ(text(ask(*manager, kA)),
            "model_unavailable: the model a cannot be loaded: hm: no model");
  const llm::Outcome again = ask(*manager, kA).get();
  EXPECT_EQ(std::get<llm::Failure>(again).retry_after_ms, 30'000);
  EXPECT_EQ(tries, 1);
  EXPECT_EQ(manager->status(kA).loads_failed, 1);
  clock_.advance(seconds(30));
  EXPECT_EQ(text(ask(*manager, kA)), "a");
}

TEST_F(ModelManagerTest, AFileThatCannotBeLoadedLeavesTheGoodModelWhereItIs) {
  std::atomic<bool> good = false;
  std::vector<ManagedModel> models;
  models.push_back(model("a"));
  models.push_back(model("b"));
  models.back().check = [&]() -> Result<void> {
    if (!good) return Error{ErrorKind::kInvalid, "epsilon is nan"};
    return {};
  };
  std::vector<std::string> events;
  ModelManagerOptions options{.cache = {.bytes_max = 4}};
  options.on_event = [&](const ModelEvent& it) {
    if (it.kind == ModelEvent::Kind::kFailed) events.push_back(it.name + ": " + it.why);
  };
  const auto manager = managed(std::move(models), options);
  EXPECT_EQ(text(ask(*manager, kA)), "a");
  clock_.advance(seconds(100));
  EXPECT_EQ(text_in_time(*manager, ask(*manager, kB)),
            "model_unavailable: the model b cannot be loaded: hm: epsilon is nan");
  EXPECT_EQ(manager->status(kA).state, llm::LoadState::kLoaded);
  EXPECT_EQ(manager->status(kA).unloads, 0);
  EXPECT_EQ(text(ask(*manager, kA)), "a");
  EXPECT_EQ(memory_.loads, 1) << "it was never gone";
  EXPECT_EQ(manager->status(kB).loads_failed, 1);

  good = true;
  clock_.advance(seconds(100));
  EXPECT_EQ(text_in_time(*manager, ask(*manager, kB)), "b");
  EXPECT_EQ(manager->status(kA).state, llm::LoadState::kAbsent);
  EXPECT_EQ(events, (std::vector<std::string>{"b: epsilon is nan"}));
}

TEST_F(ModelManagerTest, NoCallWaitsLongerThanItMay) {
  std::promise<void> go;
  const std::shared_future<void> gone(go.get_future());
  const auto manager = managed({model("a", [gone](const std::stop_token&) -> Result<void> {
    gone.wait();
    return {};
  })});
  auto patient = ask(*manager, kA);
  auto wait = std::make_shared<llm::LoadWait>();
  wait->until = TimePoint(seconds(20));
  llm::BackendCall call = llm::plain_call({});
  call.load_wait = wait;
  auto outcome = ask(*manager, kA, std::move(call));
  EXPECT_TRUE(wait->waits);
  clock_.advance(seconds(20));
  manager->on_clock_advanced();
  EXPECT_EQ(text(std::move(outcome)),
            "model_loading: the model a is still being loaded; try again later");
  EXPECT_FALSE(wait->waits);
  EXPECT_EQ(manager->status(kA).waiting, 1);
  go.set_value();
  EXPECT_EQ(text(std::move(patient)), "a");
}

TEST_F(ModelManagerTest, WhatIsCancelledDoesNotWait) {
  std::promise<void> go;
  const std::shared_future<void> gone(go.get_future());
  const auto manager = managed({model("a", [gone](const std::stop_token&) -> Result<void> {
    gone.wait();
    return {};
  })});
  for (const auto token : {&llm::BackendCall::withdrawn, &llm::BackendCall::unwanted}) {
    std::stop_source stop;
    llm::BackendCall call = llm::plain_call({});
    call.*token = stop.get_token();
    call.load_wait = std::make_shared<llm::LoadWait>();
    auto outcome = ask(*manager, kA, call);
    EXPECT_TRUE(call.load_wait->waits);
    stop.request_stop();
    EXPECT_EQ(text(std::move(outcome)), "cancelled: cancelled before it was answered");
    EXPECT_FALSE(call.load_wait->waits);
    EXPECT_EQ(text(ask(*manager, kA, call)), "cancelled: cancelled before it was answered");
    EXPECT_EQ(manager->status(kA).waiting, 0);
  }
  go.set_value();
}

TEST_F(ModelManagerTest, OneWithRequestsInsideStaysUntilTheyEnd) {
  std::vector<ManagedModel> models;
  models.push_back(model("a", {}, false));
  models.back().needs.bytes = 8;
  models.push_back(model("b"));
  models.back().needs.bytes = 8;
  const auto manager = managed(std::move(models), {.cache = {.bytes_max = 8}});
  const std::vector<ModelId> first = {kA};
  ASSERT_TRUE(manager->load_first(first).has_value());
  auto inside = ask(*manager, kA);
  clock_.advance(seconds(100));
  auto waits = ask(*manager, kB);
  clock_.advance(seconds(100));
  manager->on_clock_advanced();
  EXPECT_EQ(manager->unload(kA), llm::UnloadResult::kInUse);
  Answering* a = memory_.last;
  a->answer_all();
  EXPECT_EQ(text(std::move(inside)), "a");
  EXPECT_EQ(text_in_time(*manager, std::move(waits)), "b");
  EXPECT_EQ(memory_.most, 1);
}

TEST_F(ModelManagerTest, OneThatIsToBeUnloadedWhenUnusedIsSoAfterTheLastAnswer) {
  const auto manager = managed({model("a", {}, false)});
  const std::vector<ModelId> first = {kA};
  ASSERT_TRUE(manager->load_first(first).has_value());
  auto inside = ask(*manager, kA);
  manager->unload_when_unused(kA);
  EXPECT_EQ(manager->status(kA).state, llm::LoadState::kLoaded);
  Answering* a = memory_.last;
  a->answer_all();
  EXPECT_EQ(text(std::move(inside)), "a");
  windrow::testing::eventually([&] { return manager->status(kA).state; }, llm::LoadState::kAbsent);
  EXPECT_EQ(memory_.there, 0);
  EXPECT_EQ(manager->status(kA).unloads, 1);
}

TEST_F(ModelManagerTest, TheFirstOnesAreThereOrItIsSaidWhyNot) {
  std::vector<std::string> events;
  ModelManagerOptions options = kTwo;
  std::mutex mutex;
  options.on_event = [&](const ModelEvent& it) {
    const std::scoped_lock lock(mutex);
    if (it.kind == ModelEvent::Kind::kLoaded) events.push_back(it.name);
  };
  const auto manager = managed({model("a"), model("b"), model("c"),
                                model("d",
                                      [](const std::stop_token&) -> Result<void> {
                                        return Error{ErrorKind::kUnavailable, "broken"};
                                      })},
                               options);
  const std::vector<ModelId> all = {kA, kB, kC};
  ASSERT_TRUE(manager->load_first(all).has_value());
  EXPECT_EQ(manager->status(kC).state, llm::LoadState::kAbsent) << "there was no room for it";
  EXPECT_EQ(manager->bytes_used(), 8U);
  EXPECT_EQ(manager->unload(kA), llm::UnloadResult::kUnloading);
  EXPECT_EQ(text_in_time(*manager, ask(*manager, kC)), "c");
  const auto empty = managed({model("d", [](const std::stop_token&) -> Result<void> {
    return Error{ErrorKind::kUnavailable, "broken"};
  })});
  const std::vector<ModelId> broken = {kA};
  EXPECT_EQ(empty->load_first(broken).error().message, "broken");
  const std::scoped_lock lock(mutex);
  EXPECT_EQ(events, (std::vector<std::string>{"a", "b", "c"}));
}

TEST_F(ModelManagerTest, WhatIsBeingLoadedIsGivenUpAtTheEnd) {
  std::promise<void> begun;
  auto manager = managed({model("a", [&](const std::stop_token& unwanted) -> Result<void> {
    begun.set_value();
    std::promise<void> stopped;
    const std::stop_callback told(unwanted, [&] { stopped.set_value(); });
    stopped.get_future().wait();
    return Error{ErrorKind::kUnavailable, "given up"};
  })});
  auto waits = ask(*manager, kA);
  begun.get_future().wait();
  manager.reset();
  EXPECT_EQ(text(std::move(waits)), "cancelled: cancelled before it was answered");
  EXPECT_EQ(memory_.there, 0);
}

TEST_F(ModelManagerTest, WhatWasLoadedAtTheEndAllTheSameIsDestroyed) {
  std::promise<void> begun;
  auto manager = managed({model("a", [&](const std::stop_token& unwanted) -> Result<void> {
    begun.set_value();
    std::promise<void> stopped;
    const std::stop_callback told(unwanted, [&] { stopped.set_value(); });
    stopped.get_future().wait();
    return {};
  })});
  auto waits = ask(*manager, kA);
  begun.get_future().wait();
  manager.reset();
  EXPECT_EQ(text(std::move(waits)), "cancelled: cancelled before it was answered");
  EXPECT_EQ(memory_.loads, 1);
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

TEST_F(ModelManagerTest, ItsEndEndsWhatRunsInItsModels) {
  ManagedModel kept{.name = "a", .needs = {.bytes = 4}};
  kept.load = [](const std::stop_token&) -> Result<std::unique_ptr<LoadedModel>> {
    return std::make_unique<Unfinished>();
  };
  kept.client_message = [](const Error& error) { return error.message; };
  std::vector<ManagedModel> models;
  models.push_back(std::move(kept));
  auto manager = managed(std::move(models));
  ASSERT_TRUE(manager->load_first(std::vector{kA}));
  std::stop_source unwanted;
  llm::BackendCall call = llm::plain_call({});
  call.unwanted = unwanted.get_token();
  auto cancelled = ask(*manager, kA, std::move(call));
  auto unfinished = ask(*manager, kA);
  EXPECT_EQ(manager->status(kA).requests, 2);
  unwanted.request_stop();
  EXPECT_EQ(text(std::move(cancelled)), "ended: ") << "the model itself ends what runs in it";
  manager.reset();
  EXPECT_EQ(text(std::move(unfinished)), "ended: ");
}

// Threads that ask five models, of which two fit, and leave now and then: everybody gets one end,
// from the model that was asked.
TEST_F(ModelManagerTest, ManyAtATimeGetOneEndEach) {
  constexpr uint64_t kSeed = 20261122;
  SCOPED_TRACE(kSeed);
  const SystemClock clock;
  std::vector<ManagedModel> models;
  for (const char* name : {"0", "1", "2", "3", "4"})
    models.push_back(model(name));
  ModelManagerOptions options = kTwo;
  options.cache.turn = std::chrono::milliseconds(1);
  options.cache.rest = std::chrono::microseconds(100);
  std::atomic<int> ends = 0;
  std::atomic<int> answered = 0;
  ModelManager manager(std::move(models), options, clock);
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
          const ModelId id(static_cast<uint32_t>(random.below(5)));
          std::stop_source unwanted;
          llm::BackendCall call = llm::plain_call({});
          (random.chance(0.5) ? call.withdrawn : call.unwanted) = unwanted.get_token();
          call.read_ahead = manager.backend(id).read_ahead(*call.request);
          auto promise = std::make_shared<std::promise<void>>();
          auto ended = promise->get_future();
          manager.backend(id).submit(std::move(call), [&, id, promise](llm::Outcome outcome) {
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
