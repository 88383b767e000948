#include "api/models_page.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

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
       "endpoints":["/v1/chat/completions","/v1/completions"]},
      {"id":"e","object":"model","created":0,"owned_by":"them",
       "endpoints":["/v1/embeddings"]}]})"));
  EXPECT_EQ(json::parse(models_page({})), json::parse(R"({"object":"list","data":[]})"));
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
