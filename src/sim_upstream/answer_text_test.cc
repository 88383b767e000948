#include "sim_upstream/answer_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>
#include <numeric>

namespace windrow::sim_upstream {
namespace {

namespace json = boost::json;

ModelCall chat(const std::string& text) {
  return {.prompts = {{.text = "user\n" + text + "\n", .tokens = 10}}, .question = text};
}

json::value example(std::string_view schema, uint64_t seed = 1) {
  return example_of_schema(json::parse(schema), Random(seed));
}

TEST(AnswerText, TheSameRequestGetsTheSameAnswer) {
  const SimOptions options;
  const std::string answer = answer_text(options, chat("a"), 0, 0, 20);
  EXPECT_EQ(answer, answer_text(options, chat("a"), 0, 0, 20));
  EXPECT_NE(answer, answer_text(options, chat("b"), 0, 0, 20));
  EXPECT_NE(answer, answer_text(options, chat("a"), 0, 1, 20));
  EXPECT_NE(answer, answer_text({.seed = 2}, chat("a"), 0, 0, 20));
  EXPECT_EQ(std::ranges::count(answer, ' '), 19);
}

TEST(AnswerText, AnEchoIsTheLastLineOfTheQuestion) {
  const SimOptions options{.answer = AnswerKind::kEcho};
  EXPECT_EQ(answer_text(options, chat("Say this:\nnonce 4711\n\n"), 0, 0, 5), "nonce 4711");
  EXPECT_EQ(answer_text(options, chat("one line"), 0, 0, 5), "one line");
  const std::string long_text =
      answer_text(options, chat(std::string(500, 'x') + "é end"), 0, 0, 5);
  EXPECT_EQ(long_text.size(), 400U);
  EXPECT_TRUE(long_text.ends_with("é end"));
}

TEST(AnswerText, AnObjectIsJsonAndFitsTheSchema) {
  ModelCall call = chat("a");
  EXPECT_TRUE(boost::json::parse(answer_text({.answer = AnswerKind::kJson}, call, 0, 0, 5))
                  .at("score")
                  .is_number());
  call.wants_json = true;
  call.schema = boost::json::parse(R"({"type":"object","properties":{"label":{"enum":["x"]}}})");
  EXPECT_EQ(boost::json::parse(answer_text({}, call, 0, 0, 5)).at("label"), "x");
}

TEST(AnswerText, LengthsSpreadEvenlyAroundTheirMean) {
  const SimOptions options{.answer_tokens = 100, .answer_spread = 0.5};
  double sum = 0;
  int64_t shortest = 1000;
  int64_t longest = 0;
  for (int i = 0; i < 2000; ++i) {
    const int64_t tokens = draw_answer_tokens(options, std::to_string(i), 0);
    sum += static_cast<double>(tokens);
    shortest = std::min(shortest, tokens);
    longest = std::max(longest, tokens);
  }
  EXPECT_NEAR(sum / 2000, 100, 4);  // six standard errors
  EXPECT_GE(shortest, 50);
  EXPECT_LE(longest, 150);
  EXPECT_LT(shortest, 55);
  EXPECT_GT(longest, 145);
  EXPECT_EQ(draw_answer_tokens({.answer_tokens = 7, .answer_spread = 0}, "x", 0), 7);
}

TEST(AnswerText, EmbeddingsHaveLengthOneAndBelongToTheirText) {
  const std::vector<float> vector = embedding_of("a", 16);
  const float squares = std::inner_product(vector.begin(), vector.end(), vector.begin(), 0.0F);
  EXPECT_NEAR(squares, 1, 1e-5);
  EXPECT_EQ(vector, embedding_of("a", 16));
  EXPECT_NE(vector, embedding_of("b", 16));
}

TEST(SchemaExample, EveryPropertyHasAValueOfItsType) {
  const json::value value = example(R"({"type":"object","required":["a"],"properties":{
      "a":{"type":"string"},"b":{"type":"integer","minimum":5},"c":{"type":"array","minItems":3,
      "items":{"type":"boolean"}},"d":{"type":["number","null"]},"e":{"const":7},
      "f":{"properties":{"g":{"type":"null"}}}}})");
  EXPECT_TRUE(value.at("a").is_string());
  EXPECT_GE(value.at("b").as_int64(), 5);
  EXPECT_EQ(value.at("c").as_array().size(), 3U);
  EXPECT_TRUE(value.at("c").at(0).is_bool());
  EXPECT_TRUE(value.at("d").is_double());
  EXPECT_EQ(value.at("e"), 7);
  EXPECT_TRUE(value.at("f").at("g").is_null());
}

TEST(SchemaExample, ChoicesAndReferencesAreFollowed) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const json::value value = example(
        R"({"$defs":{"colour":{"enum":["red","green"]}},"anyOf":[{"$ref":"#/$defs/colour"}]})",
        seed);
    EXPECT_TRUE(value == "red" || value == "green") << "seed " << seed;
  }
}

TEST(SchemaExample, CirclesEnd) {
  const json::value value = example(R"({"type":"object","properties":{"next":{"$ref":"#"}}})");
  EXPECT_LT(json::serialize(value).size(), 1000U);
  EXPECT_TRUE(example(R"({"$ref":"#/nothing"})").is_null());
  EXPECT_TRUE(example("true").is_null());
}

}  // namespace
}  // namespace windrow::sim_upstream
