#include "upstream/models_reply.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace windrow::upstream {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::IsEmpty;
using testing::Optional;

TEST(ModelsReply, ReadsIds) {
  EXPECT_THAT(models_of(R"({"object":"list","data":[{"id":"a","x":1},{"id":"b:8b"}]})"),
              Optional(ElementsAre("a", "b:8b")));
  EXPECT_THAT(models_of(R"({"data":[]})"), Optional(IsEmpty()));
  EXPECT_THAT(models_of(R"({"data":[5,{"id":7},{"id":"a"}]})"), Optional(ElementsAre("a")));
}

TEST(ModelsReply, OtherTextsAreNoList) {
  for (const char* text : {"", "<html>", "[]", "{}", R"({"data":5})", R"({"data":[)"}) {
    EXPECT_EQ(models_of(text), std::nullopt) << text;
  }
}

TEST(ModelsReply, NamesTwentyAtMost) {
  EXPECT_EQ(models_text({}), "it has no models");
  EXPECT_EQ(models_text({"a", "b"}), "it has a, b");
  EXPECT_THAT(models_text(std::vector<std::string>(25, "m")), EndsWith("m and 5 more"));
}

TEST(ModelsReply, ATagMayBeLeftOut) {
  const std::vector<std::string> models = {"llama3:latest", "qwen3:4b"};
  EXPECT_TRUE(has_model(models, "llama3"));
  EXPECT_TRUE(has_model(models, "llama3:latest"));
  EXPECT_TRUE(has_model(models, "qwen3:4b"));
  EXPECT_FALSE(has_model(models, "qwen3"));
  EXPECT_FALSE(has_model({}, "qwen3"));
}

}  // namespace
}  // namespace windrow::upstream
