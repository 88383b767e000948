#include "api/pages/models_page.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <memory>

namespace windrow::api {
namespace {

namespace json = boost::json;
using llm::Endpoint;

const std::vector<ServedModel> kModels = {
    {.name = "a/b",
     .endpoints = {Endpoint::kChatCompletions, Endpoint::kCompletions},
     .created_unix_s = 5,
     .context_tokens = 4096},
    {.name = "e", .endpoints = {Endpoint::kEmbeddings}, .owner = "them"}};

TEST(ModelsPage, ListsThemInTheShapeOfTheApi) {
  EXPECT_EQ(json::parse(models_page(kModels)), json::parse(R"({"object":"list","data":[
      {"id":"a/b","object":"model","created":5,"owned_by":"windrow","max_model_len":4096,
       "endpoints":["/v1/chat/completions","/v1/responses","/v1/messages",
                     "/api/chat","/api/generate","/v1/completions"]},
      {"id":"e","object":"model","created":0,"owned_by":"them",
       "endpoints":["/v1/embeddings","/api/embed","/api/embeddings"]}]})"));
  EXPECT_EQ(json::parse(models_page({})), json::parse(R"({"object":"list","data":[]})"));
}

struct Loading final : llm::ModelResidency {
  llm::ModelStatus status() const override {
    return {.state = llm::LoadState::kLoading,
            .memory_bytes = 7,
            .pinned = true,
            .waiting = 3,
            .load_error = error};
  }
  void load() override {}
  llm::UnloadResult unload() override { return llm::UnloadResult::kUnloading; }
  void unload_when_unused() override {}

  std::string error;
};

TEST(ModelsPage, OfOneThatComesAndGoesSaysWhetherItIsThere) {
  const ServedModel model{.name = "m", .residence = std::make_shared<Loading>()};
  EXPECT_EQ(json::parse(model_page(model)).at("windrow"), json::parse(R"({"state":"loading",
      "memory_bytes":7,"kept_loaded":true,"requests_inside":0,"requests_waiting":3})"));
}

TEST(ModelsPage, WhyItCouldNotBeLoadedIsSaid) {
  const auto failed = std::make_shared<Loading>();
  failed->error = "the file ends early";
  EXPECT_EQ(json::parse(model_page(ServedModel{.name = "m", .residence = failed}))
                .at("windrow")
                .at("load_error"),
            "the file ends early");
}

TEST(ModelsPage, ShowsOne) {
  EXPECT_EQ(json::parse(model_page(kModels, "e").value()).at("id"), "e");
  EXPECT_FALSE(model_page(kModels, "x").has_value());
}

TEST(ModelsPage, PartsOfPathsAreDecoded) {
  EXPECT_EQ(decode_part("a%2Fb%3a"), "a/b:");
  EXPECT_EQ(decode_part("plain"), "plain");
  EXPECT_EQ(decode_part("100%"), "100%");
  EXPECT_EQ(decode_part("%2"), "%2");
  EXPECT_EQ(decode_part("%zz%+1"), "%zz%+1");
  EXPECT_EQ(decode_part(""), "");
}

}  // namespace
}  // namespace windrow::api
