#include "program/models/dispatched_program_models.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <thread>

#include "dispatch/dispatcher.h"
#include "json/parse.h"
#include "llm/testing/chatml_tokenizer.h"
#include "llm/testing/scripted_backend.h"

namespace windrow::program {
namespace {

using llm::FailureClass;
using llm::testing::ChatmlTokenizer;

// A backend that answers at once, notes what it was asked, and counts holds.
class NotedBackend final : public llm::Backend {
 public:
  std::function<llm::Outcome(const llm::Request&)> answer = [](const llm::Request&) {
    return llm::Answer{};
  };

  void submit(llm::BackendCall call, Done done) override {
    calls.push_back(call);
    done(answer(*call.request));
  }
  int32_t in_flight_target() const override { return 4; }
  llm::BackendStats stats() const override { return {}; }

  std::unique_ptr<llm::PrefixHold> hold(std::vector<int32_t> tokens) override {
    struct Hold final : llm::PrefixHold {
      explicit Hold(int& count) : holds(count) { ++holds; }
      ~Hold() override { --holds; }
      int& holds;
    };
    held_last = std::move(tokens);
    return std::make_unique<Hold>(holds);
  }

  const llm::Request& last() const { return *calls.back().request; }

  std::vector<llm::BackendCall> calls;
  std::vector<int32_t> held_last;
  int holds = 0;
};

// The models "here", in this process, and "there", at a server elsewhere.
class TwoModels final : public dispatch::Models {
 public:
  TwoModels(dispatch::Dispatcher& here, dispatch::Dispatcher& there)
      : here_{.name = "here", .dispatcher = &here},
        there_{.name = "there", .dispatcher = &there, .raw = true} {}

  std::variant<dispatch::Model, llm::Failure> find(llm::Endpoint, std::string_view name) override {
    if (name == "here" || name == "alias" || name.empty()) return here_;
    if (name == "there") return there_;
    return llm::Failure{.status = 404, .code = "model_not_found", .message = "", .param = "model"};
  }
  uint64_t upstreams_of(std::string_view name) override { return name == "there" ? 1 : 0; }

  void move_away() { here_.raw = true; }

 private:
  dispatch::Model here_;
  dispatch::Model there_;
};

// The outcome of a call that has ended.
template <class Reply>
struct Kept {
  std::optional<CallOutcome<Reply>> outcome;

  CallDone<Reply> done() {
    return [this](CallOutcome<Reply> it) {
      EXPECT_FALSE(outcome) << "it ended twice";
      outcome = std::move(it);
    };
  }
  const Reply& reply() const {
    const auto* failure = std::get_if<llm::Failure>(&outcome.value());
    if (failure != nullptr) ADD_FAILURE() << failure->message;
    return std::get<Reply>(*outcome);
  }
  const llm::Failure& failure() const { return std::get<llm::Failure>(outcome.value()); }
};

class DispatchedProgramModelsTest : public ::testing::Test {
 protected:
  DispatchedProgramModelsOptions options() {
    DispatchedProgramModelsOptions options;
    options.tokenizer_of = [this](std::string_view) { return tokenizer_; };
    options.output_tokens_default = 50;
    options.weight_of = [](std::string_view) { return 3; };
    options.charge = [this](std::string_view key, const llm::Usage& usage) {
      charged_.emplace_back(key, usage.prompt_tokens);
    };
    return options;
  }

  std::shared_ptr<const ContextModel> model(std::string_view name) {
    return std::get<std::shared_ptr<const ContextModel>>(models_.find(name));
  }

  llm::Failure not_found(std::string_view name) {
    return std::get<llm::Failure>(models_.find(name));
  }

  static Prompt chat() {
    return {.chat = {.messages = {{{"role", "user"}, {"content", "hi"}}}}, .tokens = {5, 6, 7}};
  }

  Kept<GenerateReply> generate(std::string_view name, GenerateOptions options = {},
                               CallOwner owner = {}) {
    Kept<GenerateReply> kept;
    models_.generate(model(name), chat(), std::move(options), std::move(owner), {}, kept.done());
    return kept;
  }

  std::vector<std::pair<std::string, int32_t>> charged_;
  Result<std::shared_ptr<const llm::Tokenizer>> tokenizer_ = std::make_shared<ChatmlTokenizer>();
  NotedBackend here_;
  NotedBackend there_;
  dispatch::Dispatcher here_dispatcher_{here_, {.attempts_max = 1}};
  dispatch::Dispatcher there_dispatcher_{there_, {.attempts_max = 1}};
  TwoModels served_{here_dispatcher_, there_dispatcher_};
  DispatchedProgramModels models_{served_, options()};
};

TEST_F(DispatchedProgramModelsTest, ContextsOfOneModelShareIt) {
  EXPECT_EQ(model("here")->name, "here");
  EXPECT_EQ(model("here")->tokenizer, *tokenizer_);
  EXPECT_EQ(model("here"), model("alias"));
  EXPECT_EQ(model("here"), model(""));
  EXPECT_EQ(model("there")->tokenizer, nullptr);
  EXPECT_EQ(model("there"), model("there"));
}

TEST_F(DispatchedProgramModelsTest, AModelThatCameAnewHasItsNewTokenizer) {
  const auto before = model("here");
  tokenizer_ = std::make_shared<ChatmlTokenizer>();
  EXPECT_NE(model("here"), before);
  EXPECT_EQ(model("here")->tokenizer, *tokenizer_);
}

TEST_F(DispatchedProgramModelsTest, WhatCannotBeFoundSaysWhy) {
  EXPECT_EQ(not_found("other").code, "model_not_found");
  tokenizer_ = Error{.message = "the file is damaged"};
  EXPECT_EQ(not_found("here").code, "no_tokenizer");
  EXPECT_NE(not_found("here").message.find("the file is damaged"), std::string::npos);
  tokenizer_ = std::shared_ptr<const llm::Tokenizer>();
  EXPECT_EQ(not_found("here").code, "no_tokenizer");
}

TEST_F(DispatchedProgramModelsTest, AModelHereIsAskedByTokens) {
  here_.answer = [](const llm::Request&) {
    llm::Answer answer;
    answer.choices = {{.text = "hello", .token_ids = {8, 9}}};
    answer.usage = {.prompt_tokens = 3, .completion_tokens = 2, .cached_tokens = 1};
    return answer;
  };
  const auto kept = generate("here", {.seed = 4});
  EXPECT_EQ(kept.reply().choice.text, "hello");
  EXPECT_EQ(kept.reply().choice.token_ids, (std::vector<int32_t>{8, 9}));
  EXPECT_EQ(kept.reply().usage.cached_tokens, 1);
  EXPECT_EQ(here_.last().chat_tokens, (std::vector<int32_t>{5, 6, 7}));
  EXPECT_EQ(here_.last().output_tokens_max, 50);
  EXPECT_EQ(here_.last().sampling.seed, 4U);
  EXPECT_TRUE(here_.last().raw.empty());
}

TEST_F(DispatchedProgramModelsTest, AModelElsewhereIsAskedByMessages) {
  there_.answer = [](const llm::Request&) {
    llm::Answer answer;
    answer.raw = R"({"choices":[{"message":{"content":"{\"choice\":\"yes\"}"}}]})";
    answer.usage = {.prompt_tokens = 3};
    return answer;
  };
  GenerateOptions options{.seed = 4};
  options.structured = {.kind = llm::StructureSpec::Kind::kChoice, .choices = {"yes", "no"}};
  const auto kept = generate("there", std::move(options));
  EXPECT_EQ(kept.reply().choice.text, "yes");
  EXPECT_EQ(kept.reply().usage.prompt_tokens, 3);
  const auto body = parse_written_json(there_.last().raw);
  EXPECT_EQ(body.at("model"), "there");
  EXPECT_EQ(body.at("seed"), 4);
  EXPECT_EQ(body.at("max_tokens"), 50);
}

TEST_F(DispatchedProgramModelsTest, ACallIsItsOwners) {
  here_.answer = [](const llm::Request&) {
    llm::Answer answer;
    answer.choices = {{}};
    answer.usage = {.prompt_tokens = 3};
    return answer;
  };
  const auto kept = generate(
      "here", {}, {.key = "alice", .priority = llm::Priority::kInteractive, .trace_tag = 99});
  EXPECT_TRUE(kept.outcome);
  EXPECT_EQ(here_.calls.back().priority, llm::Priority::kInteractive);
  EXPECT_EQ(here_.calls.back().trace_tag, 99U);
  EXPECT_EQ(charged_, (std::vector<std::pair<std::string, int32_t>>{{"alice", 3}}));
  (void)generate("here");
  EXPECT_EQ(charged_.size(), 1U) << "a call without a key is charged to no key";
}

TEST_F(DispatchedProgramModelsTest, FailuresAreHandedOnAsTheyAre) {
  const llm::Failure broken{.failure_class = FailureClass::kBackend,
                            .status = 500,
                            .code = "engine_error",
                            .message = "it broke"};
  here_.answer = [&](const llm::Request&) { return broken; };
  there_.answer = here_.answer;
  EXPECT_EQ(generate("here", {}, {.key = "alice"}).failure(), broken);
  EXPECT_EQ(generate("there").failure(), broken);
  EXPECT_TRUE(charged_.empty());
}

TEST_F(DispatchedProgramModelsTest, OptionsThatNoModelCanFollowAreNotSent) {
  EXPECT_EQ(generate("here", {.temperature = 9.0F}).failure().param, "temperature");
  EXPECT_EQ(generate("there", {.temperature = 9.0F}).failure().param, "temperature");
  EXPECT_TRUE(here_.calls.empty());
  EXPECT_TRUE(there_.calls.empty());
}

TEST_F(DispatchedProgramModelsTest, AnAnswerWithoutAChoiceIsAFailure) {
  EXPECT_EQ(generate("here").failure().code, "unusable_answer");
}

TEST_F(DispatchedProgramModelsTest, AModelThatMovedAwayIsSaidToHave) {
  const auto before = model("here");
  served_.move_away();
  Kept<GenerateReply> kept;
  models_.generate(before, chat(), {}, {}, {}, kept.done());
  EXPECT_EQ(kept.failure().code, "model_not_found");
  EXPECT_NE(kept.failure().message.find("make a new context"), std::string::npos);
}

TEST_F(DispatchedProgramModelsTest, TextsAreScoredInOneRequest) {
  here_.answer = [](const llm::Request& request) {
    llm::Answer answer;
    for (const llm::Input& input : request.inputs) {
      llm::Choice& choice = answer.choices.emplace_back();
      for (auto i = static_cast<size_t>(request.score_from); i < input.tokens.size(); ++i) {
        llm::ScoredToken& token = choice.prompt_scores.emplace_back();
        token.chosen.logprob = -static_cast<float>(input.tokens[i]);
      }
    }
    return answer;
  };
  Kept<ScoreReply> kept;
  models_.score(model("here"), chat(), {{1}, {2, 3}}, {}, {}, kept.done());
  ASSERT_EQ(kept.reply().scores.size(), 2U);
  EXPECT_EQ(kept.reply().scores[0].logprob, -1);
  EXPECT_EQ(kept.reply().scores[1].logprob, -5);
  EXPECT_EQ(kept.reply().scores[1].tokens, 2);
  EXPECT_EQ(here_.calls.size(), 1U);
}

TEST_F(DispatchedProgramModelsTest, AModelElsewhereScoresNothing) {
  Kept<ScoreReply> kept;
  models_.score(model("there"), chat(), {{1}}, {}, {}, kept.done());
  EXPECT_EQ(kept.failure().code, "not_for_upstream");
  EXPECT_EQ(kept.failure().status, 400);
  EXPECT_NE(kept.failure().message.find("select"), std::string::npos) << "what to do instead";
  EXPECT_TRUE(there_.calls.empty());
}

TEST_F(DispatchedProgramModelsTest, VectorsHaveLengthOne) {
  here_.answer = [](const llm::Request& request) {
    llm::Answer answer;
    answer.embeddings.assign(request.inputs.size(), {3, 4});
    return answer;
  };
  there_.answer = [](const llm::Request&) {
    llm::Answer answer;
    answer.raw = R"({"data":[{"index":1,"embedding":[0,2]},{"index":0,"embedding":[2,0]}]})";
    return answer;
  };
  Kept<EmbedReply> here;
  models_.embed("", {"a", "b"}, {}, {}, here.done());
  EXPECT_EQ(here.reply().vectors, (std::vector<std::vector<float>>{{0.6F, 0.8F}, {0.6F, 0.8F}}));
  EXPECT_EQ(here_.last().endpoint, llm::Endpoint::kEmbeddings);
  EXPECT_EQ(here_.last().inputs[1].text, "b");
  Kept<EmbedReply> there;
  models_.embed("there", {"a", "b"}, {}, {}, there.done());
  EXPECT_EQ(there.reply().vectors, (std::vector<std::vector<float>>{{1, 0}, {0, 1}}));
  EXPECT_EQ(there_.last().raw, R"({"model":"there","input":["a","b"]})");
}

TEST_F(DispatchedProgramModelsTest, VectorsThatAreNoneAreAFailure) {
  for (const std::vector<std::vector<float>>& vectors :
       {std::vector<std::vector<float>>{}, {{0, 0}}, {{1}, {1}}}) {
    here_.answer = [&](const llm::Request&) {
      llm::Answer answer;
      answer.embeddings = vectors;
      return answer;
    };
    Kept<EmbedReply> kept;
    models_.embed("here", {"a"}, {}, {}, kept.done());
    EXPECT_EQ(kept.failure().code, "unusable_answer");
  }
  Kept<EmbedReply> unknown;
  models_.embed("other", {"a"}, {}, {}, unknown.done());
  EXPECT_EQ(unknown.failure().code, "model_not_found");
}

TEST_F(DispatchedProgramModelsTest, PrefixesAreHeldByModelsHere) {
  auto hold = models_.hold(*model("here"), {1, 2});
  EXPECT_NE(hold, nullptr);
  EXPECT_EQ(here_.holds, 1);
  EXPECT_EQ(here_.held_last, (std::vector<int32_t>{1, 2}));
  hold.reset();
  EXPECT_EQ(here_.holds, 0);
  EXPECT_EQ(models_.hold(*model("there"), {1, 2}), nullptr);
  EXPECT_EQ(there_.holds, 0);
}

TEST(DispatchedProgramModelsCosts, ACallThatMayNotBePaidIsNotSent) {
  NotedBackend backend;
  dispatch::Dispatcher dispatcher(backend, {});
  TwoModels served(dispatcher, dispatcher);
  DispatchedProgramModelsOptions options;
  options.expected_cost = [](const llm::Request&) -> std::variant<dispatch::Cost, llm::Failure> {
    return llm::Failure{.code = "no_price"};
  };
  DispatchedProgramModels models(served, std::move(options));
  Kept<EmbedReply> kept;
  models.embed("here", {"a"}, {}, {}, kept.done());
  EXPECT_EQ(kept.failure().code, "no_price");
  EXPECT_TRUE(backend.calls.empty());
}

// Programs on several threads, one model that is mostly full: each call ends once, with its own
// answer.
TEST(DispatchedProgramModelsSoak, EachCallGetsItsOwnAnswer) {
  constexpr int32_t kThreads = 3;
  constexpr int32_t kCalls = 150;
  llm::testing::ScriptedBackend backend(
      [](const llm::Request& request) -> llm::Outcome {
        llm::Answer answer;
        answer.choices = {{.token_ids = request.chat_tokens}};
        return answer;
      },
      {.rows_max = 2, .order_seed = 3});
  dispatch::Dispatcher dispatcher(backend, {.in_flight_max = 2, .waiting_max = 1});
  TwoModels served(dispatcher, dispatcher);
  DispatchedProgramModelsOptions options;
  options.tokenizer_of = [tokenizer = std::make_shared<const ChatmlTokenizer>()](std::string_view) {
    return Result<std::shared_ptr<const llm::Tokenizer>>(tokenizer);
  };
  std::atomic<int32_t> right = 0;
  {
    DispatchedProgramModels models(served, std::move(options));
    std::vector<std::jthread> threads;
    for (int32_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (int32_t i = 0; i < kCalls; ++i) {
          const auto found = models.find("here");
          Prompt prompt;
          prompt.tokens = {t, i};
          models.generate(std::get<std::shared_ptr<const ContextModel>>(found), std::move(prompt),
                          {}, {}, {}, [&right, t, i](const CallOutcome<GenerateReply>& outcome) {
                            const auto* reply = std::get_if<GenerateReply>(&outcome);
                            right += reply != nullptr &&
                                     reply->choice.token_ids == std::vector<int32_t>{t, i};
                          });
        }
      });
    }
    threads.clear();
  }
  EXPECT_EQ(right, kThreads * kCalls);
}

}  // namespace
}  // namespace windrow::program
