// Requests that ask for a structure, through the whole GenerationBackend: waiting for it to be
// compiled, several choices, thoughts, the check of what was said, cancelling.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <map>
#include <set>

#include "base/testing/manual_clock.h"
#include "engine/generate/generation_backend.h"
#include "engine/testing/scripted_runner.h"
#include "engine/testing/word_vocabulary.h"

namespace windrow::engine {
namespace {

using testing::ScriptedRunner;
using testing::WordVocabulary;
using windrow::testing::ManualClock;
using Kind = llm::StructureSpec::Kind;

const std::vector<std::string> kWords = {"<think>", "</think>", "{\"", "\":", "\"}", "name", "yes"};

class StructuredRequestsTest : public ::testing::Test {
 protected:
  GenerationBackend backend(const std::string& chat_template = "{{ messages[0].content }}") {
    return GenerationBackend(
        std::make_unique<ScriptedRunner>(RunnerLimits{.cells_max = 900,
                                                      .rows_max = 4,
                                                      .sequences_max = 8,
                                                      .step_tokens_max = 128,
                                                      .step_outputs_max = 4,
                                                      .row_tokens_max = 200,
                                                      .vocabulary_size = vocabulary_.size(),
                                                      .sharing = Sharing::kAnyRange}),
        vocabulary_, chat::ChatTemplate::make(chat_template, {}), clock_, {});
  }

  static llm::Request completion(llm::StructureSpec spec) {
    spec.param = "response_format";
    return {.endpoint = llm::Endpoint::kCompletions,
            .inputs = {{.text = "abc"}},
            .output_tokens_max = 100,
            .structured = std::move(spec)};
  }

  static llm::StructureSpec choice() {
    return {.kind = Kind::kChoice, .choices = {"yes", "no", "perhaps"}};
  }

  static llm::Outcome ask(GenerationBackend& backend, llm::Request request) {
    std::promise<llm::Outcome> promise;
    backend.submit(llm::plain_call(std::move(request)),
                   [&](llm::Outcome outcome) { promise.set_value(std::move(outcome)); });
    return promise.get_future().get();
  }

  static llm::Answer answer(const llm::Outcome& outcome) {
    if (const auto* failure = std::get_if<llm::Failure>(&outcome)) {
      ADD_FAILURE() << failure->message;
      return {};
    }
    return std::get<llm::Answer>(outcome);
  }

  ManualClock clock_;
  WordVocabulary vocabulary_{kWords};
};

TEST_F(StructuredRequestsTest, EveryKindIsAnsweredAndChecked) {
  GenerationBackend model = backend();
  const std::vector<llm::StructureSpec> specs = {
      choice(),
      {.kind = Kind::kRegex, .text = "[0-9]{4}-[0-9]{2}"},
      {.kind = Kind::kGrammar, .text = "root ::= [a-c]{2,4} \"!\""},
      {.kind = Kind::kJsonSchema,
       .text = R"({"type":"object","properties":{"name":{"enum":["yes","no"]}},)"
               R"("required":["name"]})"}};
  for (const llm::StructureSpec& spec : specs) {
    const auto check = make_check(spec);
    for (uint64_t seed = 0; seed < 10; ++seed) {
      llm::Request request = completion(spec);
      request.sampling.seed = seed;
      const llm::Answer given = answer(ask(model, std::move(request)));
      EXPECT_EQ((*check)->fault(given.choices.at(0).text), std::nullopt);
      EXPECT_EQ(given.choices.at(0).structure, llm::StructureLabel::kValid);
      EXPECT_FALSE(given.truncated);
    }
  }
  EXPECT_GT(model.stats().forced_tokens, 0);
}

// The two orders are different structures of one backend.
TEST_F(StructuredRequestsTest, MembersComeInTheOrderThatIsAskedFor) {
  GenerationBackend model = backend();
  llm::StructureSpec spec = {
      .kind = Kind::kJsonSchema,
      .text = R"({"type":"object","properties":{"yes":{"const":1},"no":{"const":2}},)"
              R"("required":["yes","no"]})"};
  std::map<bool, std::set<std::string>> texts;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    spec.any_order = seed % 2 == 1;
    llm::Request request = completion(spec);
    request.sampling.seed = seed;
    // After each prompt the model prefers another one of them.
    request.inputs = {{.text = std::string(seed / 2 + 1, 'a')}};
    texts[spec.any_order].insert(answer(ask(model, std::move(request))).choices.at(0).text);
  }
  EXPECT_EQ(texts[false], std::set<std::string>{R"({"yes":1,"no":2})"});
  EXPECT_EQ(texts[true], (std::set<std::string>{R"({"yes":1,"no":2})", R"({"no":2,"yes":1})"}));
}

TEST_F(StructuredRequestsTest, EachChoiceGoesItsOwnWay) {
  GenerationBackend model = backend();
  llm::Request request = completion({.kind = Kind::kRegex, .text = "[a-z]{6}"});
  request.choices = 8;
  const llm::Answer given = answer(ask(model, std::move(request)));
  ASSERT_EQ(given.choices.size(), 8U);
  std::set<std::string> texts;
  for (const llm::Choice& one : given.choices) {
    EXPECT_EQ(one.text.size(), 6U);
    EXPECT_EQ(one.structure, llm::StructureLabel::kValid);
    texts.insert(one.text);
  }
  EXPECT_EQ(texts.size(), 8U);
}

TEST_F(StructuredRequestsTest, WhatIsCutIsLabelledAndTheAnswerSaysSo) {
  GenerationBackend model = backend();
  llm::Request request = completion({.kind = Kind::kRegex, .text = "[a-z]{50}"});
  request.output_tokens_max = 4;
  const llm::Answer given = answer(ask(model, std::move(request)));
  EXPECT_EQ(given.choices.at(0).structure, llm::StructureLabel::kTruncated);
  EXPECT_EQ(given.choices.at(0).finish_reason, llm::FinishReason::kLength);
  EXPECT_TRUE(given.truncated);
}

TEST_F(StructuredRequestsTest, AnEchoIsNoPartOfTheStructure) {
  GenerationBackend model = backend();
  llm::Request request = completion(choice());
  request.echo = true;
  request.logprobs_top = 1;
  const llm::Answer given = answer(ask(model, std::move(request)));
  EXPECT_TRUE(given.choices.at(0).text.starts_with("abc"));
  EXPECT_EQ(given.choices.at(0).structure, llm::StructureLabel::kValid);
  EXPECT_EQ(static_cast<int32_t>(given.choices.at(0).tokens.size()),
            3 + given.usage.completion_tokens);
}

TEST_F(StructuredRequestsTest, WhatCannotBeCompiledIsRefusedWithItsField) {
  GenerationBackend model = backend();
  constexpr const char* kSchema = R"({"properties":{"a":{"type":"array","uniqueItems":true}}})";
  llm::Request request = completion({.kind = Kind::kJsonSchema, .text = kSchema});
  request.structured->param = "guided_json";
  const llm::Outcome outcome = ask(model, std::move(request));
  const auto& failure = std::get<llm::Failure>(outcome);
  EXPECT_EQ(failure.status, 400);
  EXPECT_EQ(failure.failure_class, llm::FailureClass::kRequest);
  EXPECT_EQ(failure.param, "guided_json");
  EXPECT_TRUE(failure.message.starts_with("guided_json: ")) << failure.message;
  EXPECT_NE(failure.message.find("#/properties/a:"), std::string::npos) << failure.message;

  // Before a job, the same is known without an answer.
  llm::Request again = completion({.kind = Kind::kRegex, .text = "("});
  EXPECT_EQ(model.structure_fault(again)->param, "response_format");
  EXPECT_EQ(model.structure_fault(completion(choice())), std::nullopt);
}

TEST_F(StructuredRequestsTest, WordsOfASchemaThatAreNotKnownAreToldOrRefused) {
  constexpr const char* kSchema =
      R"({"type":"object","properties":{"name":{"enum":["yes","no"],"unit":"m"}},)"
      R"("required":["name"]})";
  GenerationBackend model = backend();
  llm::Request request = completion({.kind = Kind::kJsonSchema, .text = kSchema});
  const llm::Answer given = answer(ask(model, request));
  EXPECT_EQ(given.choices.at(0).structure, llm::StructureLabel::kValid);
  EXPECT_EQ(given.structure_warnings,
            std::vector<std::string>{"at #/properties/name/unit: this is no keyword of JSON "
                                     "Schema, and has no effect"});
  EXPECT_TRUE(answer(ask(model, completion(choice()))).structure_warnings.empty());
  request.schema_unknown = llm::UnknownWords::kRefuse;
  const llm::Outcome refused = ask(model, request);
  ASSERT_TRUE(std::holds_alternative<llm::Failure>(refused));
  EXPECT_NE(std::get<llm::Failure>(refused).message.find("at #/properties/name/unit: "),
            std::string::npos);
}

TEST_F(StructuredRequestsTest, OfManyWarningsTheFirstAreTold) {
  std::string schema = R"({"enum":["yes"])";
  for (int i = 0; i < 50; ++i)
    schema += fmt::format(R"(,"word{}":1)", i);
  schema += fmt::format(R"(,"{}":1}})", std::string(5000, 'w'));
  GenerationBackend model = backend();
  const std::vector<std::string> warnings =
      answer(ask(model, completion({.kind = Kind::kJsonSchema, .text = schema})))
          .structure_warnings;
  ASSERT_EQ(warnings.size(), 21U);
  EXPECT_EQ(warnings.back(), "more words without effect are not listed");
  const llm::Answer one = answer(ask(
      model,
      completion({.kind = Kind::kJsonSchema,
                  .text = fmt::format(R"({{"enum":["yes"],"{}":1}})", std::string(5000, 'w'))})));
  ASSERT_EQ(one.structure_warnings.size(), 1U);
  EXPECT_LT(one.structure_warnings.front().size(), 500U);
}

TEST_F(StructuredRequestsTest, ThoughtsStandApart) {
  // The template opens the thoughts; they last until the limit or until the mark comes by chance.
  GenerationBackend opens = backend("{{ '</think>' }}{{ messages[0].content }}<think>");
  llm::Request request{.chat = {.messages = {{{"role", "user"}, {"content", "hi"}}}},
                       .output_tokens_max = 150,
                       .structured = choice()};
  request.sampling.logit_bias = {{.token = vocabulary_.word("</think>"), .bias = 6}};
  int whole = 0;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    request.sampling.seed = seed;
    const llm::Choice given = answer(ask(opens, request)).choices.at(0);
    if (given.structure == llm::StructureLabel::kTruncated) continue;
    ++whole;
    EXPECT_TRUE(given.text == "yes" || given.text == "no" || given.text == "perhaps") << given.text;
  }
  EXPECT_GT(whole, 5);

  GenerationBackend closes = backend("{{ messages[0].content }}<think></think>");
  request.sampling.logit_bias.clear();
  const llm::Choice said = answer(ask(closes, request)).choices.at(0);
  EXPECT_EQ(said.reasoning, std::nullopt);
  EXPECT_EQ(said.structure, llm::StructureLabel::kValid);
}

TEST_F(StructuredRequestsTest, EveryRequestIsAnsweredOnceHoweverItIsCancelled) {
  for (int round = 0; round < 30; ++round) {
    std::atomic<int> done = 0;
    {
      GenerationBackend model = backend();
      std::stop_source withdrawn;
      std::stop_source unwanted;
      for (int i = 0; i < 20; ++i) {
        llm::BackendCall call = llm::plain_call(
            completion({.kind = Kind::kRegex, .text = fmt::format("[a-z]{{{}}}", i % 7 + 20)}));
        call.withdrawn = withdrawn.get_token();
        call.unwanted = unwanted.get_token();
        model.submit(std::move(call), [&](const llm::Outcome& outcome) {
          ++done;
          const auto* failure = std::get_if<llm::Failure>(&outcome);
          if (failure == nullptr) return;
          EXPECT_EQ(failure->failure_class, llm::FailureClass::kCancelled) << failure->message;
        });
        if (i == round) std::exchange(withdrawn, {}).request_stop();
        if (i == round + 2) std::exchange(unwanted, {}).request_stop();
      }
    }
    EXPECT_EQ(done, 20);
  }
}

}  // namespace
}  // namespace windrow::engine
