#include "engine/manager/model_backend.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <optional>
#include <utility>

#include "base/testing/manual_clock.h"
#include "engine/testing/byte_vocabulary.h"
#include "engine/testing/scripted_embedding_runner.h"
#include "engine/testing/scripted_runner.h"

namespace windrow::engine {
namespace {

using testing::ByteVocabulary;

class ModelBackendTest : public ::testing::Test {
 protected:
  ModelKinds kinds() {
    ModelKinds kinds;
    kinds.generation = [this]() -> Result<std::unique_ptr<GenerationBackend>> {
      ++generations_opened_;
      if (!broken_.empty()) return Error{ErrorKind::kUnavailable, broken_};
      const RunnerLimits limits{.cells_max = 500,
                                .rows_max = 4,
                                .sequences_max = 4,
                                .step_tokens_max = 128,
                                .step_outputs_max = 4,
                                .row_tokens_max = 100,
                                .vocabulary_size = ByteVocabulary::kSize,
                                .sharing = Sharing::kAnyRange};
      return std::make_unique<GenerationBackend>(std::make_unique<testing::ScriptedRunner>(limits),
                                                 bytes_, chat::ChatTemplate::make("chatml", {}),
                                                 clock_, GenerationOptions{});
    };
    kinds.embedding = [this]() -> Result<std::unique_ptr<EmbeddingBackend>> {
      ++embeddings_opened_;
      const EmbeddingLimits limits{.batch_tokens_max = 64,
                                   .inputs_max = 64,
                                   .input_tokens_max = 64,
                                   .dimensions = 3,
                                   .vocabulary_size = ByteVocabulary::kSize};
      return std::make_unique<EmbeddingBackend>(
          std::make_unique<testing::ScriptedEmbeddingRunner>(limits), bytes_, PairFormat{}, clock_,
          EmbeddingOptions{.batch_tokens = 64});
    };
    return kinds;
  }

  static llm::Request completion(std::string prompt) {
    return {.endpoint = llm::Endpoint::kCompletions,
            .inputs = {{.text = std::move(prompt)}},
            .output_tokens_max = 3,
            .ignore_eos = true};
  }

  static llm::Request embeddings(std::vector<llm::Input> inputs) {
    return {.endpoint = llm::Endpoint::kEmbeddings, .inputs = std::move(inputs)};
  }

  static llm::Outcome ask(ModelBackend& model, llm::Request request) {
    std::promise<llm::Outcome> promise;
    model.submit(llm::plain_call(std::move(request)),
                 [&](llm::Outcome outcome) { promise.set_value(std::move(outcome)); });
    return promise.get_future().get();
  }

  windrow::testing::ManualClock clock_;
  ByteVocabulary bytes_;
  std::string broken_;
  int generations_opened_ = 0;
  int embeddings_opened_ = 0;
};

TEST_F(ModelBackendTest, AContextIsOpenedWhenItIsFirstAskedForAndOnce) {
  ModelBackend model(kinds());
  EXPECT_EQ(model.in_flight_target(), 1);
  EXPECT_EQ(generations_opened_ + embeddings_opened_, 0);
  EXPECT_EQ(std::get<llm::Answer>(ask(model, completion("ab"))).choices.size(), 1U);
  EXPECT_EQ(std::get<llm::Answer>(ask(model, completion("ab"))).choices.size(), 1U);
  EXPECT_EQ(generations_opened_, 1);
  EXPECT_EQ(embeddings_opened_, 0);
  EXPECT_EQ(model.in_flight_target(), 8);
  EXPECT_EQ(std::get<llm::Answer>(ask(model, embeddings({{.text = "a"}, {.text = "b"}})))
                .embeddings.size(),
            2U);
  EXPECT_EQ(embeddings_opened_, 1);
  EXPECT_GE(model.in_flight_target(), 8);
  EXPECT_TRUE(std::holds_alternative<llm::Answer>(ask(model, embeddings({{.text = "a"}}))));
  EXPECT_GE(model.stats().prompt_tokens, 2 + 2) << "as of the last step but one, of both kinds";
}

TEST_F(ModelBackendTest, APrefixIsHeldAlsoFromBeforeItsContextIsOpen) {
  constexpr size_t kLength = 60;
  const auto cached_at_second_time = [&](ModelBackend& model) {
    const llm::Request asking = completion(std::string(kLength, 'a'));
    ask(model, asking);
    return std::get<llm::Answer>(ask(model, asking)).usage.cached_tokens;
  };
  ModelBackend model(kinds());
  const auto held = model.hold(std::vector<Token>(kLength - 2, 'a'));
  EXPECT_NE(held, nullptr);
  EXPECT_EQ(generations_opened_, 0);
  EXPECT_EQ(cached_at_second_time(model), kLength - 2);
  ModelBackend other(kinds());
  EXPECT_EQ(cached_at_second_time(other), 0) << "without a hold nothing is kept in a job";
}

TEST_F(ModelBackendTest, AContextThatCannotBeOpenedEndsTheJobAndNotTheRow) {
  ModelBackend model(kinds());
  broken_ = "no memory";
  const llm::Outcome outcome = ask(model, completion("ab"));
  EXPECT_EQ(std::get<llm::Failure>(outcome).failure_class, llm::FailureClass::kBackend);
  EXPECT_EQ(std::get<llm::Failure>(outcome).message, "no memory");
  broken_.clear();
  EXPECT_TRUE(std::holds_alternative<llm::Answer>(ask(model, completion("ab")))) << "tried again";
}

TEST_F(ModelBackendTest, AnEncoderRefusesTheRowsItCannotAnswer) {
  ModelKinds encoder = kinds();
  encoder.no_generation = "it is an encoder";
  ModelBackend model(std::move(encoder));
  const llm::Outcome outcome = ask(model, completion("ab"));
  EXPECT_EQ(std::get<llm::Failure>(outcome).failure_class, llm::FailureClass::kRequest);
  EXPECT_EQ(std::get<llm::Failure>(outcome).message, "it is an encoder");
  EXPECT_EQ(generations_opened_, 0);
  EXPECT_TRUE(std::holds_alternative<llm::Answer>(ask(model, embeddings({{.text = "a"}}))));
}

TEST_F(ModelBackendTest, MeasuresWhatARequestBrings) {
  ModelBackend model(kinds());
  llm::Request several = completion("ab");
  several.inputs.push_back({.text = "cde"});
  several.choices = 2;
  const auto measured = std::get<MeasuredPrompts>(model.measure(several));
  ASSERT_EQ(measured.prompts.size(), 2U);
  EXPECT_EQ(measured.prompts[1].size(), 3U);
  EXPECT_EQ(measured.output_tokens_max, 2 * 2 * 3);
  const auto inputs = std::get<MeasuredPrompts>(model.measure(embeddings({{.text = "abcd"}})));
  EXPECT_EQ(inputs.prompts.at(0).size(), 4U);
  EXPECT_EQ(inputs.output_tokens_max, 0);
  EXPECT_TRUE(
      std::holds_alternative<llm::Failure>(model.measure(completion(std::string(200, 'x')))));
}

// A server's threads have others to look after while a context is opened.
class OpenedAsideTest : public ModelBackendTest {
 protected:
  // The opening of the embedder waits until it is let go on.
  OpenedAsideTest() {
    ModelKinds made = kinds();
    made.open_aside = true;
    made.embedding = [this, open = std::move(made.embedding)] {
      opening_.set_value();
      go_on_.get_future().wait();
      return open();
    };
    model_.emplace(std::move(made));
  }

  std::future<llm::Outcome> submit(llm::Request request, std::stop_token withdrawn = {}) {
    auto promise = std::make_shared<std::promise<llm::Outcome>>();
    llm::BackendCall call = llm::plain_call(std::move(request));
    call.withdrawn = std::move(withdrawn);
    model_->submit(std::move(call),
                   [promise](llm::Outcome outcome) { promise->set_value(std::move(outcome)); });
    return promise->get_future();
  }

  std::promise<void> opening_;
  std::promise<void> go_on_;
  std::optional<ModelBackend> model_;  // last: its threads use the others
};

TEST_F(OpenedAsideTest, WhoSubmitsDoesNotWaitUntilItIsOpen) {
  std::future<llm::Outcome> waiting = submit(embeddings({{.text = "a"}}));
  std::future<llm::Outcome> also = submit(embeddings({{.text = "b"}}));
  opening_.get_future().wait();
  EXPECT_EQ(model_->read_ahead(embeddings({{.text = "c"}})), nullptr);
  EXPECT_EQ(model_->stats().rows_waiting, 2);
  go_on_.set_value();
  EXPECT_TRUE(std::holds_alternative<llm::Answer>(waiting.get()));
  EXPECT_TRUE(std::holds_alternative<llm::Answer>(also.get()));
  EXPECT_EQ(embeddings_opened_, 1);
}

TEST_F(OpenedAsideTest, WhatIsOpenAnswersWhileTheOtherIsOpened) {
  ASSERT_TRUE(std::holds_alternative<llm::Answer>(submit(completion("ab")).get()));
  std::future<llm::Outcome> waiting = submit(embeddings({{.text = "a"}}));
  opening_.get_future().wait();
  EXPECT_TRUE(std::holds_alternative<llm::Answer>(submit(completion("ab")).get()));
  EXPECT_FALSE(model_->prepare(llm::Endpoint::kCompletions));
  go_on_.set_value();
  EXPECT_TRUE(std::holds_alternative<llm::Answer>(waiting.get()));
}

TEST_F(OpenedAsideTest, WhatWaitsForTheOpeningCanBeCancelled) {
  std::stop_source withdrawn;
  std::future<llm::Outcome> waiting = submit(embeddings({{.text = "a"}}), withdrawn.get_token());
  opening_.get_future().wait();
  std::future<llm::Outcome> also = submit(embeddings({{.text = "c"}}), withdrawn.get_token());
  withdrawn.request_stop();
  EXPECT_EQ(std::get<llm::Failure>(waiting.get()).failure_class, llm::FailureClass::kCancelled);
  EXPECT_EQ(std::get<llm::Failure>(also.get()).failure_class, llm::FailureClass::kCancelled);
  EXPECT_EQ(model_->stats().rows_waiting, 0);
  std::future<llm::Outcome> late = submit(embeddings({{.text = "d"}}), withdrawn.get_token());
  EXPECT_EQ(std::get<llm::Failure>(late.get()).failure_class, llm::FailureClass::kCancelled);
  go_on_.set_value();
  EXPECT_TRUE(std::holds_alternative<llm::Answer>(submit(embeddings({{.text = "b"}})).get()));
}

}  // namespace
}  // namespace windrow::engine
