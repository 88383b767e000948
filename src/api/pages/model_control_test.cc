#include "api/pages/model_control.h"

#include <gtest/gtest.h>

#include <memory>
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
    catalogue_.add({.name = "here", .residence = here_});
    catalogue_.add({.name = "elsewhere"});
    catalogue_.add_alias("alias", "here");
  }

  std::string order(std::string_view name, ModelOrder order, bool is_admin = true) const {
    const auto done = give_order(catalogue_, name, order, is_admin);
    if (const auto* failure = std::get_if<llm::Failure>(&done))
      return std::to_string(failure->status) + " " + failure->code;
    const auto& model = std::get<ServedModel>(done);
    return model.name + " " + std::string(to_string(model.residence->status().state));
  }

  std::shared_ptr<Told> here_ = std::make_shared<Told>();
  ModelRegistry catalogue_;
};

TEST_F(ModelControlTest, LoadsAndUnloadsByAnyName) {
  EXPECT_EQ(order("here", ModelOrder::kLoad), "here loading");
  EXPECT_EQ(order("alias", ModelOrder::kUnload), "alias unloading");
}

TEST_F(ModelControlTest, SaysWhyItDoesNot) {
  EXPECT_EQ(order("here", ModelOrder::kLoad, false), "403 permission_denied");
  EXPECT_EQ(here_->reading.state, llm::LoadState::kAbsent);
  EXPECT_EQ(order("nobody", ModelOrder::kLoad), "404 model_not_found");
  EXPECT_EQ(order("elsewhere", ModelOrder::kUnload), "400 unsupported_by_model");
  here_->reading.requests = 1;
  EXPECT_EQ(order("here", ModelOrder::kUnload), "409 model_in_use");
  here_->reading.pinned = true;
  EXPECT_EQ(order("here", ModelOrder::kUnload), "409 model_kept_loaded");
}

}  // namespace
}  // namespace windrow::api
