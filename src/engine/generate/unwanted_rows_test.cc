// Cancelled rows and requests, in every state: each ends once, with kCancelled, and takes part in
// no step after that.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <map>
#include <stop_token>

#include "base/random.h"
#include "base/testing/manual_clock.h"
#include "engine/generate/generation_backend.h"
#include "engine/generate/step_loop.h"
#include "engine/structure/structure.h"
#include "engine/testing/byte_vocabulary.h"
#include "engine/testing/recording_listener.h"
#include "engine/testing/scripted_answer.h"
#include "engine/testing/scripted_runner.h"
#include "engine/testing/word_vocabulary.h"

namespace windrow::engine {
namespace {

using testing::ByteVocabulary;
using testing::RecordingListener;
using testing::scripted_answer;
using testing::ScriptedRunner;
using testing::WordVocabulary;
using windrow::testing::ManualClock;
using Kind = llm::StructureSpec::Kind;

constexpr RunnerLimits kLimits{.cells_max = 400,
                               .rows_max = 3,
                               .sequences_max = 8,
                               .step_tokens_max = 40,
                               .step_outputs_max = 40,
                               .row_tokens_max = 200,
                               .vocabulary_size = ByteVocabulary::kSize,
                               .sharing = Sharing::kAnyRange};

class UnwantedRowsTest : public ::testing::Test {
 protected:
  static EngineRequest request(std::vector<Token> prompt, int32_t output_tokens_max) {
    return {.prompt = std::move(prompt),
            .output_tokens_max = output_tokens_max,
            .sampling = {.temperature = 0},
            .ignore_eos = true};
  }

  // Adds a request whose outcome lands in outcomes_[name], and which stops_[name] stops.
  void add(int name, EngineRequest request) {
    request.unwanted = stops_[name].get_token();
    request.done = [this, name](llm::Outcome outcome) {
      EXPECT_TRUE(outcomes_.emplace(name, std::move(outcome)).second) << "answered twice";
    };
    loop_.add(std::move(request));
  }

  bool is_cancelled(int name) const {
    const auto found = outcomes_.find(name);
    if (found == outcomes_.end()) return false;
    const auto* failure = std::get_if<llm::Failure>(&found->second);
    return failure != nullptr && failure->failure_class == llm::FailureClass::kCancelled;
  }

  llm::Usage usage(int name) const { return std::get<llm::Failure>(outcomes_.at(name)).usage; }

  void expect_answered(int name, const EngineRequest& request) const {
    const auto* answer = std::get_if<llm::Answer>(&outcomes_.at(name));
    ASSERT_NE(answer, nullptr) << name;
    const llm::Answer alone = scripted_answer(request, kLimits.vocabulary_size);
    EXPECT_EQ(answer->choices[0].text, alone.choices[0].text) << name;
  }

  void run_all() {
    int steps = 0;
    while (loop_.step())
      ASSERT_LT(++steps, 10'000);
  }

  ManualClock clock_;
  ByteVocabulary vocabulary_;
  ScriptedRunner runner_{kLimits};
  std::map<int, std::stop_source> stops_;
  std::map<int, llm::Outcome> outcomes_;
  StepLoop loop_{runner_, vocabulary_, clock_};
};

TEST_F(UnwantedRowsTest, BeforeItCame) {
  stops_[1].request_stop();
  add(1, request({1}, 9));
  EXPECT_TRUE(is_cancelled(1));
  EXPECT_FALSE(loop_.step());
}

TEST_F(UnwantedRowsTest, WhileItWaitsForAPlace) {
  for (int name = 0; name < 5; ++name)
    add(name, request({name, 7}, 20));
  ASSERT_TRUE(loop_.step());
  ASSERT_EQ(loop_.stats().rows_waiting, 2);
  stops_[4].request_stop();
  EXPECT_FALSE(is_cancelled(4)) << "between two steps nothing is touched";
  ASSERT_TRUE(loop_.step());
  EXPECT_TRUE(is_cancelled(4));
  EXPECT_EQ(usage(4), llm::Usage()) << "it cost nothing";
  EXPECT_EQ(loop_.stats().rows_waiting, 1);
  run_all();
  for (int name = 0; name < 4; ++name)
    expect_answered(name, request({name, 7}, 20));
}

TEST_F(UnwantedRowsTest, InTheMiddleOfItsPrompt) {
  add(1, request(std::vector<Token>(150, 5), 20));
  ASSERT_TRUE(loop_.step());
  ASSERT_EQ(loop_.stats().prompt_tokens, 40);
  stops_[1].request_stop();
  EXPECT_FALSE(loop_.step());
  EXPECT_TRUE(is_cancelled(1));
  EXPECT_EQ(usage(1), llm::Usage{.prompt_tokens = 40});
  EXPECT_EQ(loop_.stats().cells_used, 0);
  EXPECT_EQ(loop_.stats().prompt_tokens, 40);
}

TEST_F(UnwantedRowsTest, WhatAnotherWantsOfItStays) {
  std::vector<Token> head(100, 5);
  const auto with = [&](Token last) {
    std::vector<Token> prompt = head;
    prompt.push_back(last);
    return prompt;
  };
  add(1, request(with(1), 20));
  add(2, request(with(2), 20));
  ASSERT_TRUE(loop_.step());
  ASSERT_TRUE(loop_.step());
  stops_[1].request_stop();
  ASSERT_TRUE(loop_.step());
  EXPECT_TRUE(is_cancelled(1));
  run_all();
  expect_answered(2, request(with(2), 20));
  EXPECT_EQ(std::get<llm::Answer>(outcomes_.at(2)).usage.cached_tokens, 80)
      << "what the first had computed";
  EXPECT_EQ(loop_.stats().cells_used, 0);
}

TEST_F(UnwantedRowsTest, InTheMiddleOfItsAnswer) {
  const auto listener = std::make_shared<RecordingListener>();
  EngineRequest one = request({1, 2}, 50);
  one.listener = listener;
  add(1, std::move(one));
  add(2, request({3, 4}, 50));
  for (int step = 0; step < 10; ++step)
    ASSERT_TRUE(loop_.step());
  const int64_t generated = loop_.stats().generated_tokens;
  const int deltas = listener->deltas();
  stops_[1].request_stop();
  ASSERT_TRUE(loop_.step());
  EXPECT_TRUE(is_cancelled(1));
  EXPECT_EQ(loop_.stats().generated_tokens, generated + 1);
  EXPECT_EQ(usage(1), (llm::Usage{.prompt_tokens = 2, .completion_tokens = 10}))
      << "one of each step";
  EXPECT_EQ(loop_.stats().rows_running, 1);
  EXPECT_EQ(listener->deltas(), deltas) << "it was heard of once more";
  run_all();
  expect_answered(2, request({3, 4}, 50));
  EXPECT_EQ(loop_.stats().cells_used, 0);
}

TEST_F(UnwantedRowsTest, WhileItSitsOutForAMask) {
  const WordVocabulary words({"ab", "abc", "the", "an", "in", "[", "(", ")"});
  RunnerLimits limits = kLimits;
  limits.vocabulary_size = words.size();
  ScriptedRunner runner(limits);
  StepLoop loop(runner, words, clock_,
                {.mask_filling = {.threads = 0, .nodes_a_slice = 1, .slices_a_step = 1}});
  const VocabularyTables tables = make_tables(words, {}, {});
  const auto structure =
      make_structure({.kind = Kind::kGrammar,
                      .text = R"g(root ::= "(" root ")" | [a-z]{1,3} | "[" root "," root "]")g"},
                     tables, {});
  ASSERT_TRUE(structure) << structure.error().message;
  EngineRequest one = request({1, 2}, 50);
  one.ignore_eos = false;
  one.form = std::make_shared<const AnswerForm>(AnswerForm{.grammar = (*structure)->grammar});
  one.unwanted = stops_[1].get_token();
  one.done = [this](llm::Outcome outcome) { outcomes_.emplace(1, std::move(outcome)); };
  loop.add(std::move(one));
  for (int step = 0; step < 3; ++step)
    ASSERT_TRUE(loop.step());
  EXPECT_EQ(loop.stats().steps, 1) << "nothing runs, and slices of the mask are looked for";
  stops_[1].request_stop();
  EXPECT_FALSE(loop.step());
  EXPECT_TRUE(is_cancelled(1));
  EXPECT_EQ(loop.stats().cells_used, 0);
}

// Whatever is cancelled when: the others have the answers that they have alone.
TEST_F(UnwantedRowsTest, AtAnyMoment) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    outcomes_.clear();
    stops_.clear();
    std::map<int, EngineRequest> asked;
    for (int name = 0; name < 12; ++name) {
      std::vector<Token> prompt(static_cast<size_t>(random.between(1, 120)), 3);
      prompt.back() = static_cast<Token>(random.below(200));
      EngineRequest row = request(std::move(prompt), static_cast<int32_t>(random.between(1, 60)));
      asked.emplace(name, row);
      add(name, std::move(row));
      for (int64_t steps = random.between(0, 4); steps > 0; --steps)
        loop_.step();
      if (random.chance(0.5)) {
        const int stopped = static_cast<int>(random.below(static_cast<uint64_t>(name) + 1));
        stops_[stopped].request_stop();
      }
    }
    run_all();
    ASSERT_EQ(outcomes_.size(), asked.size());
    for (const auto& [name, row] : asked) {
      if (is_cancelled(name)) {
        EXPECT_TRUE(stops_[name].stop_requested());
      } else {
        expect_answered(name, row);
      }
    }
    EXPECT_EQ(loop_.stats().cells_used, 0);
    EXPECT_EQ(loop_.stats().rows_running + loop_.stats().rows_waiting, 0);
    if (HasFailure()) return;
  }
}

class UnwantedRequestsTest : public ::testing::Test {
 protected:
  UnwantedRequestsTest()
      : model_(std::make_unique<ScriptedRunner>(kLimits), vocabulary_,
               Error{ErrorKind::kInvalid, "no template"}, clock_,
               {.structure_limits = {.threads = 1}}) {}

  static llm::Request completion(const std::string& regex) {
    llm::Request request{.endpoint = llm::Endpoint::kCompletions,
                         .inputs = {{.text = "abc"}},
                         .output_tokens_max = 20};
    if (regex.empty()) return request;
    request.structured = llm::StructureSpec{.kind = Kind::kRegex, .text = regex};
    request.structured->param = "guided_regex";
    return request;
  }

  static bool is_cancelled(const llm::Outcome& outcome) {
    const auto* failure = std::get_if<llm::Failure>(&outcome);
    return failure != nullptr && failure->failure_class == llm::FailureClass::kCancelled;
  }

  // The thread that calls this request's Done stays in it until released.
  void occupy(const std::string& regex) {
    model_.submit(llm::plain_call(completion(regex)), [this](const llm::Outcome&) {
      occupied_.set_value();
      release_.get_future().wait();
    });
    occupied_.get_future().wait();
  }

  ManualClock clock_;
  ByteVocabulary vocabulary_;
  std::promise<void> occupied_;
  std::promise<void> release_;
  GenerationBackend model_;
};

TEST_F(UnwantedRequestsTest, WhileItsStructureIsNotThere) {
  occupy("(");  // cannot be compiled, and is told so on the only thread that compiles
  for (const auto token : {&llm::BackendCall::withdrawn, &llm::BackendCall::unwanted}) {
    std::stop_source stop;
    llm::BackendCall call = llm::plain_call(completion("[a-z]{9}"));
    call.*token = stop.get_token();
    std::promise<llm::Outcome> outcome;
    model_.submit(std::move(call),
                  [&](llm::Outcome given) { outcome.set_value(std::move(given)); });
    EXPECT_EQ(model_.stats().rows_waiting, 1);
    stop.request_stop();
    EXPECT_TRUE(is_cancelled(outcome.get_future().get()));
    EXPECT_EQ(model_.stats().rows_waiting, 0);
  }
  release_.set_value();
}

TEST_F(UnwantedRequestsTest, WhileItsAnswerIsChecked) {
  occupy("[a-c]{4}");  // whose Done is called on the only thread that checks
  class Last final : public llm::StreamSink {
   public:
    void on_delta(llm::Delta piece) override {
      if (piece.finish_reason) heard.set_value();
    }
    std::promise<void> heard;
  };
  const auto last = std::make_shared<Last>();
  std::stop_source stop;
  llm::BackendCall call = llm::plain_call(completion("[a-z]{9}"));
  call.unwanted = stop.get_token();
  call.listener = last;
  std::promise<llm::Outcome> outcome;
  model_.submit(std::move(call), [&](llm::Outcome given) { outcome.set_value(std::move(given)); });
  last->heard.get_future().wait();
  stop.request_stop();
  release_.set_value();
  EXPECT_TRUE(is_cancelled(outcome.get_future().get()));
}

TEST_F(UnwantedRequestsTest, BeforeItIsAsked) {
  std::stop_source stop;
  stop.request_stop();
  for (const std::string regex : {"", "[a-z]{9}"}) {
    llm::BackendCall call = llm::plain_call(completion(regex));
    call.unwanted = stop.get_token();
    std::promise<llm::Outcome> outcome;
    model_.submit(std::move(call),
                  [&](llm::Outcome given) { outcome.set_value(std::move(given)); });
    EXPECT_TRUE(is_cancelled(outcome.get_future().get()));
  }
}

// From other threads, at any moment; the sanitizers look on.
TEST_F(UnwantedRequestsTest, EachEndsOnceWheneverItIsStopped) {
  std::atomic<int> answered = 0;
  std::atomic<int> cancelled = 0;
  constexpr int kRequests = 200;
  {
    GenerationBackend model(std::make_unique<ScriptedRunner>(kLimits), vocabulary_,
                            Error{ErrorKind::kInvalid, "no template"}, clock_, {});
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 2; ++thread) {
      threads.emplace_back([&, thread] {
        Random random(static_cast<uint64_t>(thread));
        std::vector<std::stop_source> stops(kRequests / 2);
        for (size_t i = 0; i < stops.size(); ++i) {
          llm::Request request =
              completion(i % 2 == 0 ? "" : "[a-z]{" + std::to_string(i % 20 + 1) + "}");
          request.choices = 2;
          llm::BackendCall call = llm::plain_call(std::move(request));
          (random.chance(0.5) ? call.withdrawn : call.unwanted) = stops[i].get_token();
          call.listener = std::make_shared<RecordingListener>();
          model.submit(std::move(call), [&](const llm::Outcome& outcome) {
            ++(is_cancelled(outcome) ? cancelled : answered);
          });
          stops[static_cast<size_t>(random.below(i + 1))].request_stop();
        }
      });
    }
    threads.clear();
  }
  EXPECT_EQ(answered + cancelled, kRequests);
  EXPECT_GT(cancelled, 0);
}

}  // namespace
}  // namespace windrow::engine
