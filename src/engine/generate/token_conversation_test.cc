// A conversation that is kept as tokens: the first prompt, what was sampled, and what the appended
// messages add (chat/increment.h), for every template of the corpus. Sent turn by turn as a chat's
// tokens it is answered bit for bit as the same tokens sent as one rendered prompt are.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <future>
#include <set>
#include <string>
#include <vector>

#include "engine/testing/call_rig.h"
#include "engine/testing/template_corpus.h"

namespace windrow::engine {
namespace {

namespace json = boost::json;

using testing::CallRig;
using testing::CorpusTemplate;
using testing::MarkedVocabulary;
using testing::ScriptedRunner;
using testing::WordVocabulary;

json::object message_of(const llm::Choice& choice) {
  json::object message{{"role", "assistant"}, {"content", choice.text}};
  if (choice.reasoning) message["reasoning_content"] = *choice.reasoning;
  if (choice.tool_calls.empty()) return message;
  json::array calls;
  for (const llm::ToolCall& call : choice.tool_calls) {
    calls.push_back({{"id", call.id},
                     {"type", "function"},
                     {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
  }
  message["tool_calls"] = std::move(calls);
  return message;
}

class TokenConversationTest : public CallRig {
 protected:
  std::unique_ptr<GenerationBackend> backend(const CorpusTemplate& from) {
    const RunnerLimits limits{.cells_max = 20'000,
                              .rows_max = 2,
                              .sequences_max = 6,
                              .step_tokens_max = 8000,
                              .step_outputs_max = 8000,
                              .row_tokens_max = 8000,
                              .vocabulary_size = vocabulary_.size(),
                              .sharing = Sharing::kAnyRange};
    return std::make_unique<GenerationBackend>(
        std::make_unique<ScriptedRunner>(limits), vocabulary_,
        chat::ChatTemplate::make(from.source, {.begin = "<s>", .end = "</s>"}), clock_,
        GenerationOptions{.keep = true});
  }

  llm::Request turn(uint64_t seed) const {
    llm::Request request;
    request.output_tokens_max = 40;
    request.sampling.seed = seed;
    request.sampling.logit_bias = {{.token = WordVocabulary::kEnd, .bias = 6}};
    request.logprobs_top = 1;
    request.return_token_ids = true;
    return request;
  }

  // The conversation after so many turns, and what its last turn was answered with. Nothing where
  // the template does not write it, or not in parts.
  struct Conversation {
    std::vector<int32_t> tokens;  // the prompt of the last turn
    llm::Answer answer;
  };
  std::optional<Conversation> converse(GenerationBackend& model, bool calls, uint64_t turns) {
    llm::Request first = turn(0);
    first.chat.messages = {{{"role", "user"}, {"content", "hi"}}};
    if (calls) {
      first.chat.tools = tools_;
      first.chat.tool_choice = {.use = llm::ToolUse::kRequired};
      first.output_tokens_max = 200;
    }
    llm::Outcome outcome = outcome_of(model, first);
    if (std::holds_alternative<llm::Failure>(outcome)) return std::nullopt;
    Conversation made{.tokens = {}, .answer = std::get<llm::Answer>(std::move(outcome))};
    made.tokens = made.answer.prompt_token_ids.at(0);
    for (uint64_t next = 1; next < turns; ++next) {
      const llm::Choice& said = made.answer.choices.at(0);
      llm::Chat appended{.tools = first.chat.tools};
      for (const llm::ToolCall& call : said.tool_calls) {
        appended.messages.push_back(
            {{"role", "tool"}, {"tool_call_id", call.id}, {"name", call.name}, {"content", "12"}});
      }
      if (said.tool_calls.empty())
        appended.messages.push_back({{"role", "user"}, {"content", "and now"}});
      const auto added = model.tokenizer().append(
          {.message = message_of(said), .tokens = said.token_ids}, appended);
      if (std::holds_alternative<llm::Failure>(added)) return std::nullopt;
      const auto& more = std::get<llm::AppendedTokens>(added);
      const std::vector<int32_t> before = made.tokens;
      made.tokens.insert(made.tokens.end(), said.token_ids.begin(),
                         said.token_ids.end() - (more.drops_last ? 1 : 0));
      made.tokens.insert(made.tokens.end(), more.tokens.begin(), more.tokens.end());
      llm::Request request = turn(next);
      request.chat.tools = first.chat.tools;
      request.chat_tokens = made.tokens;
      made.answer = ask(model, request);
      EXPECT_EQ(made.answer.prompt_token_ids.at(0), made.tokens);
      EXPECT_GE(made.answer.usage.cached_tokens, std::ssize(before))
          << "what was computed for the turn before is there";
    }
    return made;
  }
};

TEST_F(TokenConversationTest, IsAnsweredAsTheSameTokensInOnePromptAre) {
  std::set<std::string> in_parts;
  int with_calls = 0;
  int with_reasoning = 0;
  for (const CorpusTemplate& from : testing::template_corpus()) {
    for (const bool calls : {false, true}) {
      SCOPED_TRACE(fmt::format("{}, {}", from.name, calls ? "calls" : "text"));
      const auto by_turns = backend(from);
      const std::optional<Conversation> one = converse(*by_turns, calls, 3);
      if (!one) continue;
      in_parts.insert(from.name);
      with_calls += calls ? 1 : 0;
      const llm::Choice& said = one->answer.choices.at(0);
      with_reasoning += said.reasoning ? 1 : 0;

      // Another engine has had the same turns but the last one, whose prompt it gets as a whole.
      const auto at_once = backend(from);
      ASSERT_TRUE(converse(*at_once, calls, 2));
      llm::Request whole = turn(2);
      whole.endpoint = llm::Endpoint::kCompletions;
      whole.inputs = {{.text = {}, .tokens = one->tokens}};
      const llm::Answer answer = ask(*at_once, whole);
      EXPECT_EQ(answer.choices.at(0).token_ids, said.token_ids);
      ASSERT_EQ(answer.choices.at(0).tokens.size(), said.tokens.size());
      for (size_t i = 0; i < said.tokens.size(); ++i) {
        EXPECT_EQ(answer.choices.at(0).tokens[i].chosen.logprob, said.tokens[i].chosen.logprob);
        EXPECT_EQ(answer.choices.at(0).tokens[i].top, said.tokens[i].top);
      }
      EXPECT_EQ(answer.usage.cached_tokens, one->answer.usage.cached_tokens);
    }
  }
  EXPECT_GE(in_parts.size(), 40U) << "of 54 templates";
  EXPECT_GE(with_calls, 5);
  EXPECT_GE(with_reasoning, 1);
}

}  // namespace
}  // namespace windrow::engine
