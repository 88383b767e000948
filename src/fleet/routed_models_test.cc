#include "fleet/routed_models.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "llm/testing/scripted_backend.h"

namespace windrow::fleet {
namespace {

using llm::Endpoint;

// A fleet that is open, with routes and upstreams that a test sets.
class OpenFleet final : public JobFleet {
 public:
  explicit OpenFleet(std::vector<JobRoute> routes, JobHooks hooks = {})
      : routes_(std::move(routes)), hooks_(std::move(hooks)) {}

  Result<void> open(const JobStart&) override { return {}; }
  llm::BackendStats stats() const override { return {}; }
  std::vector<llm::UpstreamStatus> upstreams() override { return {}; }
  dispatch::DispatchCounts counts() const override { return {}; }
  std::vector<JobRoute> routes() const override { return routes_; }
  JobHooks hooks() override { return hooks_; }
  Result<std::shared_ptr<const llm::Tokenizer>> tokenizer(std::string_view) const override {
    return Error{ErrorKind::kNotFound, "not here"};
  }
  std::string note() const override { return ""; }
  std::string runtime() const override { return ""; }
  std::optional<Error> final_error() override { return std::nullopt; }
  std::vector<std::string> final_notes() const override { return {}; }

 private:
  const std::vector<JobRoute> routes_;
  const JobHooks hooks_;
};

class RoutedModelsTest : public ::testing::Test {
 protected:
  llm::testing::ScriptedBackend backend_{[](const llm::Request&) { return llm::Answer(); }, {}};
  dispatch::Dispatcher one_{backend_, {}};
  dispatch::Dispatcher other_{backend_, {}};
};

TEST_F(RoutedModelsTest, EachNameHasItsDispatcher) {
  OpenFleet fleet({{.model = "a", .dispatcher = &one_}, {.model = "b", .dispatcher = &other_}});
  RoutedModels models(fleet);
  const auto found = models.find(Endpoint::kChatCompletions, "b");
  const auto& model = std::get<dispatch::Model>(found);
  EXPECT_EQ(model.name, "b");
  EXPECT_EQ(model.dispatcher, &other_);
  EXPECT_FALSE(model.raw);
  EXPECT_EQ(models.upstreams_of("b"), 0U);
}

TEST_F(RoutedModelsTest, OneOfSeveralMustBeNamed) {
  OpenFleet fleet({{.model = "a", .dispatcher = &one_}, {.model = "b", .dispatcher = &other_}});
  RoutedModels models(fleet);
  for (const char* name : {"", "c"}) {
    const auto found = models.find(Endpoint::kChatCompletions, name);
    const auto& failure = std::get<llm::Failure>(found);
    EXPECT_EQ(failure.status, 404);
    EXPECT_EQ(failure.code, "model_not_found");
    EXPECT_EQ(failure.param, "model");
  }
}

TEST_F(RoutedModelsTest, OnlyOneAnswersAnyName) {
  OpenFleet fleet({{.model = "a", .dispatcher = &one_}});
  RoutedModels models(fleet);
  for (const char* name : {"", "a", "c"}) {
    const auto found = models.find(Endpoint::kEmbeddings, name);
    EXPECT_EQ(std::get<dispatch::Model>(found).name, "a");
    EXPECT_EQ(std::get<dispatch::Model>(found).dispatcher, &one_);
  }
}

TEST_F(RoutedModelsTest, UpstreamsGetTheNameThatWasAsked) {
  OpenFleet fleet({{.model = "upstream", .dispatcher = &one_, .raw = true}},
                  {.upstreams_of = [](const std::string& name) { return name == "x" ? 6U : 1U; }});
  RoutedModels models(fleet);
  const auto found = models.find(Endpoint::kChatCompletions, "x");
  EXPECT_EQ(std::get<dispatch::Model>(found).name, "x");
  EXPECT_TRUE(std::get<dispatch::Model>(found).raw);
  EXPECT_EQ(models.upstreams_of("x"), 6U);
  EXPECT_EQ(models.upstreams_of("y"), 1U);
}

}  // namespace
}  // namespace windrow::fleet
