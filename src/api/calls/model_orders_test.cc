#include "api/calls/model_orders.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

namespace windrow::api {
namespace {

struct Told final : llm::ModelResidency {
  llm::ModelStatus status() const override { return reading; }
  void load() override { reading.state = llm::LoadState::kLoading; }
  llm::UnloadResult unload() override {
    if (reading.pinned) return llm::UnloadResult::kPinned;
    if (reading.requests > 0) return llm::UnloadResult::kInUse;
    reading.state = llm::LoadState::kUnloading;
    return llm::UnloadResult::kUnloading;
  }
  void unload_when_unused() override {}

  llm::ModelStatus reading;
};

class ModelControlTest : public ::testing::Test {
 protected:
  ModelControlTest() {
    registry_.add({.name = "here", .residence = here_});
    registry_.add({.name = "elsewhere"});
    registry_.add_alias("alias", "here");
  }

  std::string order(std::string_view name, ModelOrder order, bool is_admin = true) const {
    const auto done = give_order(registry_, name, order, is_admin);
    if (const auto* failure = std::get_if<llm::Failure>(&done))
      return std::to_string(failure->status) + " " + failure->code;
    const auto& model = std::get<ServedModel>(done);
    return model.name + " " + std::string(to_string(model.residence->status().state));
  }

  std::shared_ptr<Told> here_ = std::make_shared<Told>();
  ModelRegistry registry_;
};

TEST_F(ModelControlTest, LoadsAndUnloadsByAnyName) {
  EXPECT_EQ(order("here", ModelOrder::kLoad), "here loading");
  EXPECT_EQ(order("alias", ModelOrder::kUnload), "alias unloading");
}

TEST_F(ModelControlTest, SaysWhyItDoesNot) {
  EXPECT_EQ(order("here", ModelOrder::kLoad, false), "403 permission_denied");
  EXPECT_EQ(here_->reading.state, llm::LoadState::kAbsent);
  EXPECT_EQ(order("unknown-model", ModelOrder::kLoad), "404 model_not_found");
  EXPECT_EQ(order("elsewhere", ModelOrder::kUnload), "400 unsupported_by_model");
  here_->reading.requests = 1;
  EXPECT_EQ(order("here", ModelOrder::kUnload), "409 model_in_use");
  here_->reading.pinned = true;
  EXPECT_EQ(order("here", ModelOrder::kUnload), "409 model_kept_loaded");
}

}  // namespace

namespace {

using std::chrono::seconds;

struct Comer final : llm::ModelResidency {
  llm::ModelStatus status() const override { return reading; }
  void load() override { reading.wanted = reading.state != llm::LoadState::kLoaded; }
  llm::UnloadResult unload() override { return llm::UnloadResult::kUnloading; }
  void unload_when_unused() override {}

  llm::ModelStatus reading;
};

class AwaitedLoadTest : public ::testing::Test {
 protected:
  void order(std::optional<TimePoint> until = std::nullopt) {
    load_.emplace(ServedModel{.name = "m", .residence = comer_}, until);
  }

  // "waits", "there", or the code and the text of the failure.
  std::string look(int at_s = 0) const {
    const auto end = load_->look(TimePoint(seconds(at_s)));
    if (!end) return "waits";
    return end->failure ? end->failure->code + ": " + end->failure->message : "there";
  }

  llm::ModelStatus& now() { return comer_->reading; }

  std::shared_ptr<Comer> comer_ = std::make_shared<Comer>();
  std::optional<AwaitedLoad> load_;
};

TEST_F(AwaitedLoadTest, OneThatIsThereIsNotWaitedFor) {
  now().state = llm::LoadState::kLoaded;
  order();
  EXPECT_EQ(look(), "there");
}

TEST_F(AwaitedLoadTest, EndsWhenItIsThere) {
  order();
  EXPECT_TRUE(now().wanted);
  EXPECT_EQ(look(), "waits") << "others have its room";
  now().state = llm::LoadState::kLoading;
  now().wanted = false;
  EXPECT_EQ(look(1'000'000), "waits") << "as long as it takes";
  now().state = llm::LoadState::kLoaded;
  now().loads = 1;
  EXPECT_EQ(look(), "there");
}

TEST_F(AwaitedLoadTest, OneThatCameAndLeftBetweenTwoLooksWasThere) {
  now().loads = 4;
  order();
  now() = {.state = llm::LoadState::kUnloading, .loads = 5};
  EXPECT_EQ(look(), "there");
}

TEST_F(AwaitedLoadTest, AFailureSaysWhyAndAnOldOneIsNone) {
  now().loads_failed = 2;
  now().load_error = "the old reason";
  order();
  EXPECT_EQ(look(), "waits");
  now() = {.loads_failed = 3, .load_error = "no such file"};
  EXPECT_EQ(look(), "model_unavailable: the model m cannot be loaded: no such file");
}

TEST_F(AwaitedLoadTest, EndsIfTheLoadWasWithdrawn) {
  order();
  now().wanted = false;
  EXPECT_EQ(
      look(),
      "model_unavailable: the model m was not loaded: an admin has unloaded it, or it does not fit "
      "into memory beside the models that are kept loaded; try again, and if that does not help, "
      "ask "
      "the operator to raise --memory or to name fewer models with --keep-loaded");
}

TEST_F(AwaitedLoadTest, EndsAtTheServersTimeLimit) {
  order(TimePoint(seconds(120)));
  EXPECT_EQ(look(119), "waits");
  EXPECT_EQ(
      look(120),
      "model_loading: the model m was not loaded within the time that --load-wait-s allows; try "
      "again later");
}

}  // namespace

}  // namespace windrow::api
