#include "api/pages/model_control.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace windrow::api {
namespace {

struct Told final : Residence {
  ResidenceReading read() const override { return reading; }
  void load() override { reading.state = ResidenceState::kLoading; }
  Unloading unload() override {
    if (reading.kept) return Unloading::kKept;
    if (reading.requests > 0) return Unloading::kInUse;
    reading.state = ResidenceState::kUnloading;
    return Unloading::kLeaves;
  }
  void unload_when_unused() override {}

  ResidenceReading reading;
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
    return model.name + " " + std::string(to_string(model.residence->read().state));
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
  EXPECT_EQ(here_->reading.state, ResidenceState::kAbsent);
  EXPECT_EQ(order("nobody", ModelOrder::kLoad), "404 model_not_found");
  EXPECT_EQ(order("elsewhere", ModelOrder::kUnload), "400 unsupported_by_model");
  here_->reading.requests = 1;
  EXPECT_EQ(order("here", ModelOrder::kUnload), "409 model_in_use");
  here_->reading.kept = true;
  EXPECT_EQ(order("here", ModelOrder::kUnload), "409 model_kept_loaded");
}

}  // namespace
}  // namespace windrow::api
