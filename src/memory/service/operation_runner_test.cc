#include "memory/service/operation_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/testing/eventually.h"
#include "base/testing/manual_clock.h"
#include "memory/bank/new_id.h"
#include "memory/retain/retain_payload.h"
#include "memory/testing/queued_models.h"
#include "memory/testing/topic_consolidator.h"
#include "store/posix_disk.h"

namespace windrow::memory {
namespace {

using ::testing::Eq;
using ::testing::HasSubstr;
using testing::QueuedModels;
using windrow::testing::eventually;
using windrow::testing::ManualClock;

constexpr int64_t kLeaseMs = 60'000;

ChatOutcome topics(const ChatCall& call) {
  return ChatReply{.text = testing::consolidate_topics(call.user), .truncated = false, .usage = {}};
}

// The banks of a folder, one of them, and runners that work at it.
class OperationRunnerTest : public ::testing::Test {
 protected:
  OperationRunnerTest()
      : folder_(std::filesystem::path(::testing::TempDir()) / ("banks-" + new_uuid())) {
    banks_ = BankRegistry::open(folder_.string(), disk_, clock_, {}).value();
    store_ = banks_->bank_or_new(bank_, "").value();
  }
  ~OperationRunnerTest() override {
    store_.reset();
    banks_.reset();
    std::filesystem::remove_all(folder_);
  }

  std::unique_ptr<OperationRunner> runner(MemoryModels& models, std::string worker = "here",
                                          bool works_alone = false) {
    RunnerOptions options;
    options.works_alone = works_alone;
    options.lease_ms = kLeaseMs;
    options.worker = std::move(worker);
    auto made = std::make_unique<OperationRunner>(*banks_, models, clock_, options);
    made->start();
    return made;
  }

  void add(std::string_view text, std::vector<std::string> tags = {}) {
    NewFact fact;
    fact.text = text;
    fact.tags = Tags(std::move(tags));
    ASSERT_TRUE(store_->retain({.facts = {fact}}, now()));
  }

  // A runner whose first call of the model is out and held.
  std::unique_ptr<OperationRunner> runner_with_a_call(QueuedModels& models) {
    models.hold();
    auto runs = runner(models);
    EXPECT_TRUE(models.wait_for(1));
    return runs;
  }

  // Cancels the operation, and waits until its call and its work have ended.
  void cancel(OperationRunner& runs, QueuedModels& models, const OperationId& id) {
    ASSERT_TRUE(store_->cancel_operation(id, now()));
    runs.cancel(bank_, id);
    eventually([&] { return models.waiting().size(); }, Eq(0U));
    eventually([&] { return runs.readings().running; }, Eq(0));
    EXPECT_EQ(operation(id).status, OperationStatus::kCancelled);
  }

  OperationId submit() {
    return store_->submit_consolidation(OperationId{new_uuid()}, now()).value().id;
  }

  // A retain in the background, not yet told to a runner.
  OperationId add_retain(std::string text, std::vector<std::string> tags = {}) {
    Operation work{.id = OperationId{new_uuid()}, .type = OperationType::kRetain};
    RetainItem item;
    item.content = std::move(text);
    item.tags = Tags(std::move(tags));
    work.payload = payload_of({item});
    work.created = work.updated = now();
    EXPECT_TRUE(store_->add_operation(work));
    return work.id;
  }

  Operation operation(const OperationId& id) { return store_->operation(id).value(); }
  Operation await(const OperationId& id, OperationStatus status) {
    eventually([&] { return operation(id).status; }, Eq(status));
    return operation(id);
  }

  int64_t now() const { return clock_.unix_seconds() * 1000; }

  ManualClock clock_;
  store::PosixDisk disk_;
  const BankId bank_{"team"};
  const std::filesystem::path folder_;
  std::unique_ptr<BankRegistry> banks_;
  std::shared_ptr<BankStore> store_;
};

TEST_F(OperationRunnerTest, DoesWhatIsPendingWhenItStarts) {
  add("tea: green");
  const OperationId id = submit();
  QueuedModels models(topics);
  const auto runs = runner(models);
  const Operation done = await(id, OperationStatus::kCompleted);
  EXPECT_EQ(done.result.at("observations_created").as_int64(), 1);
  EXPECT_EQ(done.result.at("status").as_string(), "completed");
  EXPECT_EQ(store_->stats()->observations, 1);
  eventually([&] { return runs->readings().operations_completed; }, Eq(1));
}

TEST_F(OperationRunnerTest, ConsolidatesWhatItIsToldOf) {
  QueuedModels models(topics);
  const auto runs = runner(models);
  add("tea: green");
  const OperationId id = submit();
  runs->notify(bank_);
  await(id, OperationStatus::kCompleted);
}

TEST_F(OperationRunnerTest, TakesTheOperationOfADeadWorkerOverAfterItsLease) {
  add("tea: green");
  const OperationId id = submit();
  ASSERT_TRUE(store_->claim(OperationType::kConsolidation, "dead", now(), kLeaseMs)->has_value());
  QueuedModels models(topics);
  const auto runs = runner(models);
  // A consolidation behind it waits: one at a time.
  add("town: Oslo");
  const OperationId next = submit();
  runs->notify(bank_);
  EXPECT_EQ(operation(id).status, OperationStatus::kProcessing);
  EXPECT_EQ(operation(next).status, OperationStatus::kPending);
  clock_.advance(std::chrono::milliseconds(kLeaseMs + 1000));
  await(id, OperationStatus::kCompleted);
  await(next, OperationStatus::kCompleted);
  eventually([&] { return runs->readings().operations_taken_over; }, Eq(1));
  EXPECT_EQ(store_->stats()->pending_consolidation, 0);
}

TEST_F(OperationRunnerTest, WaitsForNoLeaseWhereNoOtherWorkerCanBe) {
  add("tea: green");
  const OperationId id = submit();
  ASSERT_TRUE(store_->claim(OperationType::kConsolidation, "dead", now(), kLeaseMs)->has_value());
  QueuedModels models(topics);
  const auto runs = runner(models, "here", true);
  await(id, OperationStatus::kCompleted);
}

TEST_F(OperationRunnerTest, RenewsItsLeaseWhileAModelWorks) {
  add("tea: green");
  const OperationId id = submit();
  QueuedModels models(topics);
  const auto runs = runner_with_a_call(models);
  for (int i = 0; i < 4; ++i) {
    clock_.advance(std::chrono::milliseconds(kLeaseMs / 2));
    eventually([&] { return operation(id).lease_until.value_or(0); }, Eq(now() + kLeaseMs));
  }
  EXPECT_EQ(operation(id).worker, "here");
  models.answer_one();
  await(id, OperationStatus::kCompleted);
}

TEST_F(OperationRunnerTest, CancellingEndsTheCallThatIsOut) {
  add("tea: green");
  const OperationId id = submit();
  QueuedModels models(topics);
  const auto runs = runner_with_a_call(models);
  cancel(*runs, models, id);
  EXPECT_EQ(store_->stats()->pending_consolidation, 1);
}

TEST_F(OperationRunnerTest, WhatAStopCutsOffGoesOnAfterTheNextStart) {
  add("tea: green");
  const OperationId id = submit();
  QueuedModels models(topics);
  runner_with_a_call(models)->stop();
  EXPECT_EQ(operation(id).status, OperationStatus::kPending);
  QueuedModels later(topics);
  const auto runs = runner(later, "after the restart");
  await(id, OperationStatus::kCompleted);
}

TEST_F(OperationRunnerTest, CancellingARetainEndsTheCallThatIsOut) {
  const OperationId id = add_retain("Ada likes green tea.");
  QueuedModels models(topics);
  const auto runs = runner_with_a_call(models);
  cancel(*runs, models, id);
  EXPECT_EQ(store_->stats()->facts_world, 0);
}

TEST_F(OperationRunnerTest, ARetainThatAStopCutsOffIsPendingAgain) {
  const OperationId id = add_retain("Ada likes green tea.");
  QueuedModels models(topics);
  const auto runs = runner_with_a_call(models);
  runs->stop();
  EXPECT_TRUE(models.waiting().empty());
  const Operation cut_off = operation(id);
  EXPECT_EQ(cut_off.status, OperationStatus::kPending);
  EXPECT_EQ(cut_off.retries, 0);
  EXPECT_EQ(cut_off.next_retry, std::nullopt);
}

TEST_F(OperationRunnerTest, ARetainWhoseAnswersAreOfNoUseFailsInTheEnd) {
  const OperationId id = add_retain("Ada likes green tea.");
  QueuedModels models([](const ChatCall&) -> ChatOutcome {
    return ChatReply{.text = "no JSON", .truncated = false, .usage = {}};
  });
  const auto runs = runner(models);
  for (int tries = 1; tries <= 2; ++tries) {
    eventually([&] { return operation(id).retries; }, Eq(tries));
    clock_.advance(std::chrono::hours(1));
  }
  EXPECT_THAT(await(id, OperationStatus::kFailed).error, HasSubstr("could not be used"));
  EXPECT_EQ(models.chats().size(), 6U);
}

TEST_F(OperationRunnerTest, VectorsOfAnotherModelFailTheOperation) {
  add("tea: green");
  ASSERT_TRUE(store_->edit_bank([](Bank& bank) -> Result<void> {
    bank.embedding_model = "earlier";
    bank.embedding_size = 2;
    return {};
  }));
  const OperationId id = submit();
  QueuedModels models(topics, [](const std::vector<std::string>& texts) -> EmbedOutcome {
    return std::vector<std::vector<float>>(texts.size(), {1, 0});
  });
  const auto runs = runner(models);
  EXPECT_THAT(await(id, OperationStatus::kFailed).error, HasSubstr("earlier"));
  EXPECT_EQ(store_->stats()->pending_consolidation, 1);
}

TEST_F(OperationRunnerTest, AServerThatAsksForNoPauseIsNotAskedWithoutEnd) {
  add("tea: green");
  const OperationId id = submit();
  QueuedModels models([](const ChatCall&) -> ChatOutcome {
    llm::Failure failure{.failure_class = llm::FailureClass::kTransient,
                         .status = 429,
                         .code = "rate_limit_exceeded",
                         .message = "too many requests"};
    failure.retry_after_ms = 0;
    return failure;
  });
  const auto runs = runner(models);
  eventually([&] { return operation(id).retries; }, Eq(1));
  EXPECT_EQ(operation(id).next_retry, now() + 1000);
}

TEST_F(OperationRunnerTest, ARateLimitPutsTheOperationBackUntilItIsOver) {
  add("tea: green");
  const OperationId id = submit();
  std::atomic<bool> limited = true;
  QueuedModels models([&](const ChatCall& call) -> ChatOutcome {
    if (!limited) return topics(call);
    llm::Failure failure{.failure_class = llm::FailureClass::kTransient,
                         .status = 429,
                         .code = "rate_limit_exceeded",
                         .message = "too many requests"};
    failure.retry_after_ms = 30'000;
    return failure;
  });
  const auto runs = runner(models);
  eventually([&] { return operation(id).retries; }, Eq(1));
  const Operation waits = operation(id);
  EXPECT_EQ(waits.status, OperationStatus::kPending);
  EXPECT_EQ(waits.next_retry, now() + 30'000);
  EXPECT_THAT(waits.error, HasSubstr("too many requests"));
  EXPECT_EQ(store_->stats()->failed_consolidation, 0);
  limited = false;
  clock_.advance(std::chrono::seconds(31));
  await(id, OperationStatus::kCompleted);
}

TEST_F(OperationRunnerTest, ARetainInTheBackgroundIsConsolidatedAfterwards) {
  ASSERT_TRUE(store_->edit_bank([](Bank& bank) -> Result<void> {
    bank.overrides["retain_extraction_mode"] = "verbatim";
    return {};
  }));
  const OperationId id = add_retain("tea: green", {"ann"});
  QueuedModels models(topics);
  const auto runs = runner(models);
  await(id, OperationStatus::kCompleted);
  eventually([&] { return store_->stats()->observations; }, Eq(1));
  EXPECT_EQ(store_->observations_of(Tags({"ann"}))->front().text, "tea: green");
}

}  // namespace
}  // namespace windrow::memory
