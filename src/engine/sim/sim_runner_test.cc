#include "engine/sim/sim_runner.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <future>
#include <memory>
#include <set>

#include "base/testing/manual_clock.h"
#include "chat/chat_template.h"
#include "engine/generate/generation_backend.h"
#include "engine/sim/testing/clock_pause.h"
#include "llm/request_json.h"
#include "schema/validator.h"

namespace windrow::engine::sim {
namespace {

class SimModel : public ::testing::Test {
 protected:
  GenerationBackend backend(const SimOptions& model, const SimRunnerOptions& options = {}) {
    return GenerationBackend(
        std::make_unique<SimRunner>(vocabulary_, model, options, clock_,
                                    std::make_unique<testing::ClockPause>(clock_)),
        vocabulary_, chat::ChatTemplate::make("chatml", {}), clock_, {});
  }

  static llm::Request chat(const std::string& members, std::string_view content = "tell me") {
    const std::string body =
        fmt::format(R"({{"model":"sim","messages":[{{"role":"user","content":"{}"}}]{}{}}})",
                    content, members.empty() ? "" : ",", members);
    auto request = llm::parse_request(llm::Endpoint::kChatCompletions,
                                      boost::json::parse(body).as_object(), 1);
    if (auto* failure = std::get_if<llm::Failure>(&request)) ADD_FAILURE() << failure->message;
    return std::get<llm::Request>(std::move(request));
  }

  static std::vector<llm::Answer> answers(GenerationBackend& backend,
                                          const std::vector<llm::Request>& requests) {
    std::vector<std::promise<llm::Outcome>> promises(requests.size());
    for (size_t i = 0; i < requests.size(); ++i) {
      backend.submit(llm::plain_call(requests[i]), [&promises, i](llm::Outcome outcome) {
        promises[i].set_value(std::move(outcome));
      });
    }
    std::vector<llm::Answer> list;
    for (auto& promise : promises) {
      llm::Outcome outcome = promise.get_future().get();
      if (auto* failure = std::get_if<llm::Failure>(&outcome)) ADD_FAILURE() << failure->message;
      list.push_back(std::get<llm::Answer>(std::move(outcome)));
    }
    return list;
  }

  static std::string text_of(const llm::Answer& answer) { return answer.choices.at(0).text; }

  windrow::testing::ManualClock clock_;
  SimVocabulary vocabulary_{kVocabularyMin};
};

constexpr std::string_view kTools =
    R"("tools":[{"type":"function","function":{"name":"add","parameters":{"type":"object"}}},)"
    R"({"type":"function","function":{"name":"now"}}])";

TEST_F(SimModel, CallsWhatItIsAskedToCall) {
  GenerationBackend model = backend({});
  const std::vector<llm::Answer> all = answers(
      model,
      {chat(std::string(kTools), R"(call add {\"a\": \"b c\"}\ncall now)"),
       chat(std::string(kTools), "call gone {}"), chat(std::string(kTools), "call me"),
       chat(std::string(kTools), "do not call add"),
       chat(std::string(kTools) + R"(,"parallel_tool_calls":false)", R"(call now\ncall now)")});
  const llm::Choice& two = all[0].choices[0];
  ASSERT_EQ(two.tool_calls.size(), 2U) << two.text;
  EXPECT_EQ(two.text, "");
  EXPECT_EQ(two.tool_calls[0].name, "add");
  EXPECT_EQ(two.tool_calls[0].arguments, R"({"a": "b c"})");
  EXPECT_EQ(two.tool_calls[1].name, "now");
  EXPECT_EQ(two.tool_calls[1].arguments, "{}");
  EXPECT_EQ(two.finish_reason, llm::FinishReason::kToolCalls);
  // A call that has begun is one of a tool there is.
  for (const size_t other : {1U, 2U}) {
    ASSERT_FALSE(all[other].choices[0].tool_calls.empty()) << other;
    const std::string& name = all[other].choices[0].tool_calls[0].name;
    EXPECT_TRUE(name == "add" || name == "now") << name;
  }
  EXPECT_TRUE(all[3].choices[0].tool_calls.empty());
  EXPECT_EQ(all[4].choices[0].tool_calls.size(), 1U);
}

// The result of a call is a user's message to it, and that asks for nothing.
TEST_F(SimModel, AResultIsAnsweredWithWords) {
  GenerationBackend model = backend({});
  llm::Request asked = chat(std::string(kTools), "call now");
  asked.chat.messages.emplace_back(boost::json::parse(R"({"role":"assistant","content":"",
      "tool_calls":[{"id":"c","type":"function","function":{"name":"now","arguments":"{}"}}]})"));
  asked.chat.messages.emplace_back(
      boost::json::parse(R"({"role":"tool","content":"noon","tool_call_id":"c"})"));
  const llm::Choice choice = answers(model, {asked})[0].choices[0];
  EXPECT_TRUE(choice.tool_calls.empty());
  EXPECT_NE(choice.text, "");
}

TEST_F(SimModel, AnswersAreWordsOfAboutTheLengthThatWasAskedFor) {
  GenerationBackend model = backend({.answer_tokens = 20});
  std::vector<llm::Request> requests;
  requests.reserve(200);
  for (int i = 0; i < 200; ++i)
    requests.push_back(chat("", fmt::format("question {}", i)));
  int64_t tokens = 0;
  std::set<std::string> texts;
  for (const llm::Answer& answer : answers(model, requests)) {
    EXPECT_EQ(answer.choices.at(0).finish_reason, llm::FinishReason::kStop);
    tokens += answer.usage.completion_tokens;
    const std::string text = text_of(answer);
    texts.insert(text);
    EXPECT_EQ(text.find_first_not_of(" abcdefghijklmnopqrstuvwxyzI"), std::string::npos) << text;
  }
  EXPECT_GT(texts.size(), 190U);
  EXPECT_NEAR(static_cast<double>(tokens) / 200, 20, 2);
}

TEST_F(SimModel, AnAnswerDependsOnTheRequestAndTheSeedAlone) {
  const llm::Request request = chat(R"("temperature":0)");
  std::vector<llm::Request> many(9, chat("", "something else"));
  many[4] = request;
  GenerationBackend model = backend({});
  const std::string together = text_of(answers(model, many)[4]);
  EXPECT_EQ(text_of(answers(model, {request})[0]), together);
  GenerationBackend alone = backend({}, {.share = false});
  EXPECT_EQ(text_of(answers(alone, {request})[0]), together);
  GenerationBackend other = backend({.seed = 2});
  EXPECT_NE(text_of(answers(other, {request})[0]), together);
}

TEST_F(SimModel, AStepTakesWhatItsRowsTake) {
  SimRunner runner(vocabulary_, {}, {}, clock_, std::make_unique<testing::ClockPause>(clock_));
  const std::vector<Token> prompt(100, 'a');
  const std::vector<StepRow> first = {
      {.sequence = SequenceId(0), .first = 0, .tokens = prompt, .outputs_count = 1}};
  ASSERT_TRUE(runner.run(first).has_value());
  EXPECT_EQ(clock_.now().time_since_epoch(), std::chrono::microseconds(12'000 + 100 * 50));
  const std::vector<StepRow> next = {
      {.sequence = SequenceId(0), .first = 100, .tokens = std::span(prompt).first(1)},
      {.sequence = SequenceId(1), .first = 0, .tokens = std::span(prompt).first(1)}};
  const TimePoint before = clock_.now();
  ASSERT_TRUE(runner.run(next).has_value());
  EXPECT_EQ(clock_.now() - before, std::chrono::microseconds(12'000 + 2 * 100));
}

TEST_F(SimModel, StructuredAnswersAreWholeAndValid) {
  const std::string schema = R"({"type":"object","additionalProperties":false,
    "required":["name","tags","size","fits"],"properties":{
      "name":{"type":"string"},"tags":{"type":"array","items":{"type":"string"}},
      "size":{"type":"integer","minimum":0,"maximum":999},"fits":{"type":"boolean"},
      "part":{"type":"object","properties":{"of":{"type":"string"}},"required":["of"],
              "additionalProperties":false}}})";
  const auto validator = schema::Validator::compile(boost::json::parse(schema), {});
  ASSERT_TRUE(validator.has_value());
  GenerationBackend model = backend({.answer_tokens = 32});
  std::vector<llm::Request> requests;
  for (const char* temperature : {"0", "0.7", "1"}) {
    for (int i = 0; i < 12; ++i) {
      requests.push_back(
          chat(fmt::format(R"("temperature":{},"max_tokens":400,"response_format":{{"type":)"
                           R"("json_schema","json_schema":{{"name":"a","strict":false,)"
                           R"("schema":{}}}}})",
                           temperature, schema),
               fmt::format("row {}", i)));
    }
  }
  for (const llm::Answer& answer : answers(model, requests)) {
    EXPECT_EQ(answer.choices.at(0).finish_reason, llm::FinishReason::kStop) << text_of(answer);
    const auto violation = validator->check(text_of(answer));
    EXPECT_FALSE(violation.has_value()) << text_of(answer) << "\n" << violation->message;
  }
}

TEST_F(SimModel, JsonObjectsExpressionsAndChoicesEndToo) {
  GenerationBackend model = backend({.answer_tokens = 16});
  const std::vector<llm::Answer> list =
      answers(model, {chat(R"("max_tokens":300,"response_format":{"type":"json_object"})"),
                      chat(R"("max_tokens":300,"guided_choice":["yes","no"])"),
                      chat(R"("max_tokens":300,"guided_regex":"[a-z]+ [0-9]{2,}")")});
  for (const llm::Answer& answer : list)
    EXPECT_EQ(answer.choices.at(0).finish_reason, llm::FinishReason::kStop) << text_of(answer);
  EXPECT_TRUE(boost::json::parse(text_of(list[0])).is_object());
  EXPECT_TRUE(text_of(list[1]) == "yes" || text_of(list[1]) == "no") << text_of(list[1]);
}

}  // namespace
}  // namespace windrow::engine::sim
