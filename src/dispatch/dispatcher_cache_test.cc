// Answers from earlier runs, through the whole dispatcher.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dispatch/dispatcher.h"
#include "dispatch/testing/held_backend.h"
#include "dispatch/testing/raw_rows.h"
#include "store/testing/memory_disk.h"

namespace windrow::dispatch {
namespace {

using testing::failure;
using testing::HeldBackend;

constexpr std::string_view kGreedy = R"({"messages":[1],"temperature":0})";
constexpr std::string_view kDrawn = R"({"messages":[1]})";

llm::Answer answer(std::string_view raw) {
  llm::Answer answer;
  answer.raw = raw;
  answer.usage.completion_tokens = 9;
  return answer;
}

class DispatcherCache : public ::testing::Test {
 protected:
  DispatcherCache() { open(); }

  // As another run does.
  void open(std::string scope = "", bool coalesce = true) {
    dispatcher_.reset();
    cache_.reset();
    auto cache = ResponseCache::open(disk_, "answers.cache");
    ASSERT_TRUE(cache.has_value());
    cache_ = *std::move(cache);
    dispatcher_.emplace(backend_, DispatchOptions{.in_flight_max = 4,
                                                  .coalesce = coalesce,
                                                  .cache = cache_.get(),
                                                  .cache_scope = std::move(scope)});
  }

  void submit(std::string_view body, uint64_t lane = 0) {
    llm::Request request = testing::raw_row(llm::Endpoint::kChatCompletions, body);
    WorkItem item = testing::item_of(request);
    item.lane = lane;
    ASSERT_TRUE(dispatcher_->submit(std::move(request), item, 0, [this](DispatchResult result) {
      ends_.push_back(std::move(result));
    }));
  }

  std::string last_raw() const { return std::get<llm::Answer>(ends_.back().outcome).raw; }

  store::testing::MemoryDisk disk_;
  HeldBackend backend_;
  std::unique_ptr<ResponseCache> cache_;
  std::optional<Dispatcher> dispatcher_;
  std::vector<DispatchResult> ends_;
};

TEST_F(DispatcherCache, WhatWasAnsweredIsNotAskedAgainInALaterRun) {
  submit(kGreedy);
  backend_.answer_next(answer("{1}"));
  EXPECT_EQ(ends_.back().source, OutcomeSource::kAsked);
  open();
  submit(kGreedy);
  EXPECT_EQ(backend_.held(), 0U);
  ASSERT_EQ(ends_.size(), 2U);
  EXPECT_EQ(last_raw(), "{1}");
  EXPECT_EQ(std::get<llm::Answer>(ends_.back().outcome).usage.completion_tokens, 9);
  EXPECT_EQ(ends_.back().source, OutcomeSource::kCached);
  EXPECT_EQ(ends_.back().attempts, 0);
  EXPECT_EQ(dispatcher_->counts().cached, 1);
  EXPECT_EQ(dispatcher_->counts().calls, 0);
  dispatcher_->wait_idle();
}

TEST_F(DispatcherCache, EqualOnesAtTheSameTimeAreAskedOnce) {
  submit(kGreedy);
  submit(kGreedy);
  EXPECT_EQ(backend_.held(), 1U);
  backend_.answer_next(answer("{1}"));
  ASSERT_EQ(ends_.size(), 2U);
  EXPECT_EQ(ends_.back().source, OutcomeSource::kShared);
  submit(kGreedy);
  EXPECT_EQ(ends_.back().source, OutcomeSource::kCached);
  EXPECT_EQ(dispatcher_->counts().coalesced, 1);
}

TEST_F(DispatcherCache, WhatIsDrawnAnewIsAskedAnew) {
  for (int i = 0; i < 2; ++i) {
    submit(kDrawn);
    backend_.answer_next(answer("{1}"));
  }
  EXPECT_EQ(cache_->reading().stored, 0);
}

TEST_F(DispatcherCache, FailuresAreNotKept) {
  submit(kGreedy);
  backend_.answer_next(failure(llm::FailureClass::kRequest));
  submit(kGreedy);
  backend_.answer_next(answer("{1}"));
  EXPECT_EQ(last_raw(), "{1}");
}

TEST_F(DispatcherCache, AnotherScopeIsAnotherQuestion) {
  submit(kGreedy);
  backend_.answer_next(answer("{1}"));
  open("m=qwen");
  submit(kGreedy);
  backend_.answer_next(answer("{2}"));
  EXPECT_EQ(last_raw(), "{2}");
}

TEST_F(DispatcherCache, WithoutCoalescingItStillRemembers) {
  open("", false);
  submit(kGreedy);
  submit(kGreedy);
  EXPECT_EQ(backend_.held(), 2U);
  backend_.answer_next(answer("{1}"));
  backend_.answer_next(answer("{1}"));
  submit(kGreedy);
  EXPECT_EQ(ends_.back().source, OutcomeSource::kCached);
}

TEST_F(DispatcherCache, NothingLeavesItsPlaceInALane) {
  submit(kGreedy);
  backend_.answer_next(answer("{1}"));
  submit(kDrawn, 7);
  submit(kGreedy, 7);
  EXPECT_EQ(ends_.size(), 1U);
  backend_.answer_next(answer("{2}"));
  backend_.answer_next(answer("{3}"));
  EXPECT_EQ(last_raw(), "{3}");
}

TEST_F(DispatcherCache, WhatIsPassedOnAsItIsIsNeitherKeptNorShared) {
  for (int i = 0; i < 2; ++i) {
    llm::Request request = testing::raw_row(llm::Endpoint::kChatCompletions, kGreedy);
    WorkItem item = testing::item_of(request);
    ASSERT_TRUE(item.same_answer) << "as a caller that does not know better would submit it";
    request.verbatim.emplace();
    ASSERT_TRUE(dispatcher_->submit(std::move(request), item, 0, [this](DispatchResult result) {
      ends_.push_back(std::move(result));
    }));
  }
  EXPECT_EQ(backend_.held(), 2U);
  llm::Answer passed_on;
  passed_on.verbatim = {.status = 200, .body = "{1}"};
  backend_.answer_next(passed_on);
  backend_.answer_next(passed_on);
  EXPECT_EQ(cache_->reading().stored, 0);
  submit(kGreedy);
  EXPECT_EQ(backend_.held(), 1U);
  backend_.answer_next(answer("{2}"));
  EXPECT_EQ(last_raw(), "{2}");
}

}  // namespace
}  // namespace windrow::dispatch
