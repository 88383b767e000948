#include "batch/truncated.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

namespace windrow::batch {
namespace {

namespace json = boost::json;

const RowKey kKey{.line = 1, .custom_id = "a", .identity = {.low = 1, .high = 2}, .fingerprint = 3};

llm::Answer cut(llm::FinishReason reason) {
  llm::Choice choice{.text = R"({"a":)", .finish_reason = reason};
  choice.structure = llm::StructureLabel::kTruncated;
  return {.choices = {{.text = "{}", .structure = llm::StructureLabel::kValid}, choice},
          .truncated = true,
          .usage = {.prompt_tokens = 3, .completion_tokens = 4}};
}

TEST(Truncated, TheErrorHoldsWhatWasSaid) {
  const llm::Failure failure = truncated_failure(kKey, llm::Endpoint::kCompletions, "m",
                                                 cut(llm::FinishReason::kLength), 1700000000);
  EXPECT_EQ(failure.failure_class, llm::FailureClass::kRequest);
  EXPECT_EQ(failure.status, 422);
  EXPECT_EQ(failure.code, "truncated_structured_output");
  EXPECT_EQ(failure.param, "max_tokens");
  EXPECT_EQ(failure.usage.completion_tokens, 4);
  EXPECT_EQ(failure.raw.find('\n'), std::string::npos);
  const json::value body = json::parse(failure.raw);
  EXPECT_EQ(body.at("error").at("code"), "truncated_structured_output");
  EXPECT_EQ(body.at("error").at("message"), json::string(failure.message));
  EXPECT_EQ(body.at("answer").at("choices").at(0).at("structure"), "valid");
  EXPECT_EQ(body.at("answer").at("choices").at(1).at("structure"), "truncated");
  EXPECT_EQ(body.at("answer").at("choices").at(1).at("text"), R"({"a":)");
}

TEST(Truncated, AStopTextIsNamed) {
  const llm::Failure failure = truncated_failure(kKey, llm::Endpoint::kCompletions, "m",
                                                 cut(llm::FinishReason::kStop), 1700000000);
  EXPECT_EQ(failure.param, "stop");
}

TEST(Truncated, ARawAnswerStaysAsItIs) {
  const llm::Answer answer{.raw = R"({"choices": [1]})", .truncated = true};
  const llm::Failure failure =
      truncated_failure(kKey, llm::Endpoint::kCompletions, "m", answer, 1700000000);
  EXPECT_TRUE(failure.raw.ends_with(R"(,"answer":{"choices": [1]}})")) << failure.raw;
}

}  // namespace
}  // namespace windrow::batch
