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

// A model that chats gives vectors too; the encoder was made to.
TEST_F(RoutedModelsTest, OfSeveralTheOnlyOneThatAnswersIsMeant) {
  OpenFleet fleet({{.model = "chat",
                    .dispatcher = &one_,
                    .endpoints = {Endpoint::kChatCompletions, Endpoint::kEmbeddings}},
                   {.model = "embed",
                    .dispatcher = &other_,
                    .endpoints = {Endpoint::kEmbeddings},
                    .embeds_first = true}});
  RoutedModels models(fleet);
  EXPECT_EQ(std::get<dispatch::Model>(models.find(Endpoint::kChatCompletions, "")).name, "chat");
  EXPECT_EQ(std::get<dispatch::Model>(models.find(Endpoint::kEmbeddings, "")).name, "embed");
  EXPECT_EQ(std::get<dispatch::Model>(models.find(Endpoint::kEmbeddings, "chat")).name, "chat");
  const auto none = models.find(Endpoint::kRerank, "");
  EXPECT_EQ(std::get<llm::Failure>(none).message,
            "no model is named, and none of several answers /v1/rerank; name one");
}

TEST_F(RoutedModelsTest, WhereSeveralAnswerTheErrorSaysHowToNameOne) {
  const llm::EndpointSet both = {Endpoint::kChatCompletions, Endpoint::kEmbeddings};
  OpenFleet fleet({{.model = "a", .dispatcher = &one_, .endpoints = both},
                   {.model = "b", .dispatcher = &other_, .endpoints = both}});
  RoutedModels models(fleet, {.of_chats = "write --chat", .of_embeddings = "write --embed"});
  EXPECT_EQ(std::get<llm::Failure>(models.find(Endpoint::kChatCompletions, "")).message,
            "no model is named, and a, b answer /v1/chat/completions; write --chat");
  EXPECT_EQ(std::get<llm::Failure>(models.find(Endpoint::kEmbeddings, "")).message,
            "no model is named, and a, b answer /v1/embeddings; write --embed");
}

TEST_F(RoutedModelsTest, OfServersTheOnlyModelThatTheyListIsMeant) {
  const auto found_with = [&](std::vector<std::string> listed) {
    OpenFleet fleet(
        {{.model = "upstream", .dispatcher = &one_, .raw = true, .listed = std::move(listed)}});
    return RoutedModels(fleet).find(Endpoint::kChatCompletions, "");
  };
  EXPECT_EQ(std::get<dispatch::Model>(found_with({"m"})).name, "m");
  EXPECT_TRUE(std::get<dispatch::Model>(found_with({"m"})).raw);
  EXPECT_EQ(std::get<llm::Failure>(found_with({"m", "n"})).message,
            "no model is named, and the servers list m, n; name one");
  EXPECT_EQ(std::get<llm::Failure>(found_with({})).message,
            "no model is named, and the servers list none; name one");
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
