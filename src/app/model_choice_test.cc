#include "app/model_choice.h"

#include <gtest/gtest.h>

namespace windrow::app {
namespace {

TEST(ModelChoice, ANameStandsBeforeTheFirstEqualsSign) {
  EXPECT_EQ(parse_model_choice("m.gguf"), (fleet::ModelChoice{.name = "", .path = "m.gguf"}));
  EXPECT_EQ(parse_model_choice("a=m.gguf"), (fleet::ModelChoice{.name = "a", .path = "m.gguf"}));
  EXPECT_EQ(parse_model_choice("a=b=c.gguf"),
            (fleet::ModelChoice{.name = "a", .path = "b=c.gguf"}));
  EXPECT_EQ(parse_model_choice("./a=b.gguf"),
            (fleet::ModelChoice{.name = "", .path = "./a=b.gguf"}));
  EXPECT_EQ(parse_model_choice("=m.gguf"), (fleet::ModelChoice{.name = "", .path = "=m.gguf"}));
}

std::string message_of(const std::vector<std::string>& texts) {
  const auto choices = parse_model_choices(texts);
  return choices ? "accepted" : choices.error().message;
}

TEST(ModelChoice, SeveralModelsNeedDifferentNames) {
  EXPECT_EQ(message_of({"m.gguf"}), "accepted");
  EXPECT_EQ(message_of({"a=m.gguf", "b=m.gguf"}), "accepted");
  EXPECT_EQ(message_of({}),
            "no model was named; add --model PATH of a .gguf file, or --upstream URL of a "
            "server");
  EXPECT_EQ(message_of({"a="}), "--model a= names no file; write NAME=PATH");
  EXPECT_EQ(message_of({"a=m.gguf", "n.gguf"}),
            "--model n.gguf has no name, but there is more than one model; write --model "
            "NAME=n.gguf, where rows say NAME as their model");
  EXPECT_EQ(message_of({"a=m.gguf", "a=n.gguf"}),
            "--model names a twice; give each model a name of its own");
}

}  // namespace
}  // namespace windrow::app
