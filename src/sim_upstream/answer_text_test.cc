#include "sim_upstream/answer_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <cmath>
#include <numeric>

namespace windrow::sim_upstream {
namespace {

ModelCall chat(const std::string& text) {
  return {.prompts = {{.text = "user\n" + text + "\n", .tokens = 10}}, .question = text};
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

}  // namespace
}  // namespace windrow::sim_upstream
