#include "engine/manager/model_loader.h"

#include <gtest/gtest.h>

#include <array>
#include <future>
#include <mutex>
#include <string>
#include <vector>

#include "base/testing/manual_clock.h"

namespace windrow::engine {
namespace {

class NoBackend final : public LoadedModel, public llm::Backend {
 public:
  llm::Backend& backend() override { return *this; }
  uint64_t bytes() const override { return 8; }
  void submit(llm::BackendCall, Done) override {}
  int32_t in_flight_target() const override { return 1; }
  llm::BackendStats stats() const override { return {}; }
};

class ModelLoaderTest : public ::testing::Test {
 protected:
  void note(std::string text) {
    const std::scoped_lock lock(mutex_);
    notes_.push_back(std::move(text));
  }
  std::vector<std::string> notes() {
    const std::scoped_lock lock(mutex_);
    return notes_;
  }
  std::function<void(const ModelEvent&)> noting_events() {
    return [this](const ModelEvent& event) {
      constexpr std::array<const char*, 4> kKinds = {"loading", "loaded", "failed", "unloaded"};
      note(kKinds.at(static_cast<size_t>(event.kind)) + (" " + event.name) + event.why);
    };
  }

  windrow::testing::ManualClock clock_;
  std::mutex mutex_;
  std::vector<std::string> notes_;
};

TEST_F(ModelLoaderTest, TasksRunInOrderAndTheirEventsFollowTheResults) {
  ManagedModel model{.name = "a"};
  model.check = [&]() -> Result<void> { return Error{ErrorKind::kInvalid, ": bad"}; };
  model.load = [&](const std::stop_token&) -> Result<std::unique_ptr<LoadedModel>> {
    clock_.advance(std::chrono::seconds(3));
    return std::make_unique<NoBackend>();
  };
  SharedModel shared(1);
  std::promise<void> unloaded;
  const ManagedModel other{.name = "b"};
  ModelLoader loader(clock_, noting_events());
  loader.check(model,
               [&](const Result<void>& result) { note("checked" + result.error().message); });
  loader.load(model, [&](Result<ModelLoader::Loaded> result) {
    EXPECT_EQ(result->bytes, 8U);
    EXPECT_EQ(result->took, std::chrono::seconds(3));
    shared.put(std::move(result->model));
    note("got it");
  });
  loader.unload(model, shared, 8, [&] {
    note("freed");
    unloaded.set_value();
  });
  unloaded.get_future().wait();
  loader.check(other, [](const Result<void>& result) { EXPECT_TRUE(result); });
  loader.stop();
  const std::vector<std::string> all = {"checked: bad", "failed a: bad", "loading a", "got it",
                                        "loaded a",     "freed",         "unloaded a"};
  const std::vector<std::string> seen = notes();
  ASSERT_GE(seen.size(), all.size() - 1);
  EXPECT_EQ(seen, std::vector(all.begin(), all.begin() + static_cast<ptrdiff_t>(seen.size())))
      << "the last event may be lost to stop()";
}

TEST_F(ModelLoaderTest, StopCancelsALoadAndDropsWhatHasNotBegun) {
  std::promise<void> begun;
  ManagedModel model{.name = "a"};
  model.load = [&](const std::stop_token& unwanted) -> Result<std::unique_ptr<LoadedModel>> {
    begun.set_value();
    std::promise<void> stopped;
    const std::stop_callback on_stop(unwanted, [&] { stopped.set_value(); });
    stopped.get_future().wait();
    return Error{ErrorKind::kUnavailable, "cancelled"};
  };
  ModelLoader loader(clock_, noting_events());
  loader.load(model,
              [&](const Result<ModelLoader::Loaded>& result) { note(result.error().message); });
  loader.load(model, [&](const Result<ModelLoader::Loaded>&) { note("a second load"); });
  begun.get_future().wait();
  loader.stop();
  loader.check(model, [&](const Result<void>&) { note("a check"); });
  EXPECT_EQ(notes(), (std::vector<std::string>{"loading a", "cancelled"}));
}

}  // namespace
}  // namespace windrow::engine
