// Texts to embed that go in one call, through the whole dispatcher.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "base/testing/manual_clock.h"
#include "dispatch/dispatcher.h"
#include "dispatch/testing/held_backend.h"
#include "dispatch/testing/manual_waker.h"
#include "dispatch/testing/raw_rows.h"

namespace windrow::dispatch {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;
using testing::failure;
using testing::HeldBackend;

llm::Request text(int number) {
  return testing::raw_row(llm::Endpoint::kEmbeddings,
                          fmt::format(R"({{"model":"m","input":"{}"}})", number));
}

// The texts of a call, one or several.
std::vector<int> texts_of(const llm::Request& request) {
  const json::value body = json::parse(request.raw);
  const json::value& input = body.at("input");
  std::vector<int> texts;
  if (input.is_string()) return {std::stoi(input.as_string().c_str())};
  for (const json::value& one : input.as_array())
    texts.push_back(std::stoi(one.as_string().c_str()));
  return texts;
}

// What embeds a number as itself, the last first; `wrong` leaves one out.
llm::Outcome embed(const llm::Request& request, bool wrong = false) {
  const std::vector<int> texts = texts_of(request);
  json::array data;
  for (size_t i = texts.size(); i > (wrong ? 1U : 0U); --i)
    data.push_back({{"index", i - 1}, {"embedding", {texts[i - 1]}}});
  const auto tokens = static_cast<int32_t>(10 * texts.size());
  llm::Answer answer;
  answer.raw = json::serialize(
      json::object{{"data", std::move(data)}, {"usage", {{"prompt_tokens", tokens}}}});
  answer.usage.prompt_tokens = tokens;
  return answer;
}

class DispatcherBatches : public ::testing::Test {
 protected:
  void open(PackerOptions packer, int32_t pack_rows_max = INT32_MAX) {
    DispatchOptions options{.in_flight_max = 1, .packer = packer};
    options.cost_of = [](const llm::Request&, const llm::Usage& usage) {
      return Cost{usage.prompt_tokens};
    };
    options.on_batch = [this](const SentBatch& batch) { batches_.push_back(batch); };
    dispatcher_.emplace(
        std::vector<DispatchUpstream>{{.backend = &backend_, .pack_rows_max = pack_rows_max}},
        options, clock_, waker_);
  }

  void submit(int from, int to) {
    for (int number = from; number <= to; ++number) {
      llm::Request request = text(number);
      const WorkItem item = testing::item_of(request);
      ASSERT_TRUE(dispatcher_->submit(
          std::move(request), item, 0,
          [this, number](DispatchResult result) { ends_[number] = std::move(result); }));
    }
  }

  // Until nothing is out; how many calls that took.
  int answer_all(const std::function<llm::Outcome(const llm::Request&)>& outcome_of) {
    int calls = 0;
    for (; backend_.held() > 0 && calls < 1000; ++calls) {
      backend_.answer_next(outcome_of);
      while (backend_.held() == 0 && waker_.jump()) {
      }
    }
    return calls;
  }

  void expect_own_answers(int from, int to) const {
    for (int number = from; number <= to; ++number) {
      const auto found = ends_.find(number);
      ASSERT_NE(found, ends_.end()) << number;
      const auto* answer = std::get_if<llm::Answer>(&found->second.outcome);
      ASSERT_NE(answer, nullptr) << number;
      EXPECT_EQ(json::parse(answer->raw).at("data").at(0).at("embedding").at(0).as_int64(), number);
    }
  }

  std::vector<int32_t> sizes() const {
    std::vector<int32_t> sizes;
    sizes.reserve(batches_.size());
    for (const SentBatch& batch : batches_)
      sizes.push_back(batch.rows);
    return sizes;
  }

  windrow::testing::ManualClock clock_;
  testing::ManualWaker waker_{clock_};
  HeldBackend backend_;
  std::map<int, DispatchResult> ends_;
  std::vector<SentBatch> batches_;
  std::optional<Dispatcher> dispatcher_;
};

TEST_F(DispatcherBatches, WhatCameWhileItWasBusyGoesTogether) {
  open({.rows_max = 4});
  submit(1, 8);
  EXPECT_EQ(answer_all([](const auto& request) { return embed(request); }), 3);
  expect_own_answers(1, 8);
  EXPECT_EQ(sizes(), (std::vector<int32_t>{1, 4, 3}));
  EXPECT_EQ(batches_[1].reason, PackReason::kRows);
  EXPECT_EQ(batches_[2].reason, PackReason::kRoom);
  const DispatchCounts counts = dispatcher_->counts();
  EXPECT_EQ(counts.batches, 3);
  EXPECT_EQ(counts.batched_rows, 8);
  // Tokens and money are shared out, and all of them.
  EXPECT_EQ(counts.spent, 80);
  Cost costs = 0;
  for (const auto& [number, end] : ends_)
    costs += end.cost;
  EXPECT_EQ(costs, 80);
}

TEST_F(DispatcherBatches, AWindowWaitsForCompany) {
  open({.rows_max = 4, .window = milliseconds(20)});
  submit(1, 3);
  EXPECT_EQ(backend_.held(), 0U);
  ASSERT_TRUE(waker_.jump());
  EXPECT_EQ(answer_all([](const auto& request) { return embed(request); }), 1);
  expect_own_answers(1, 3);
  EXPECT_EQ(batches_.front().reason, PackReason::kWindow);
}

TEST_F(DispatcherBatches, WhatIsOutInOneCallTakesThePlaceOfOne) {
  open({.rows_max = 4});
  submit(1, 9);  // one is out, two calls' worth wait
  backend_.answer_next([](const auto& request) { return embed(request); });
  submit(10, 13);  // four are out as one; this would block if they counted as four
  EXPECT_EQ(dispatcher_->in_flight(), 12);
  answer_all([](const auto& request) { return embed(request); });
  expect_own_answers(1, 13);
}

TEST_F(DispatcherBatches, ABadRowCostsItselfAndAFewCalls) {
  open({.rows_max = 64});
  submit(1, 65);
  const int calls = answer_all([](const llm::Request& request) -> llm::Outcome {
    if (std::ranges::count(texts_of(request), 33) > 0) return failure(llm::FailureClass::kRequest);
    return embed(request);
  });
  EXPECT_LE(calls, 1 + 1 + 2 * 6);
  ASSERT_EQ(ends_.size(), 65U);
  EXPECT_TRUE(std::holds_alternative<llm::Failure>(ends_.at(33).outcome));
  ends_.erase(33);
  expect_own_answers(1, 32);
  expect_own_answers(34, 65);
}

// One that leaves out what it was given first, whenever it is given several.
TEST_F(DispatcherBatches, AReplyThatDoesNotMatchIsNoRowsAnswer) {
  open({.rows_max = 8});
  submit(1, 17);
  answer_all(
      [](const llm::Request& request) { return embed(request, texts_of(request).size() > 1); });
  expect_own_answers(1, 17);
  // Arrays were given up, and what comes now goes alone.
  batches_.clear();
  submit(18, 20);
  answer_all([](const llm::Request& request) { return embed(request); });
  EXPECT_EQ(sizes(), (std::vector<int32_t>{1, 1, 1}));
}

TEST_F(DispatcherBatches, AnUpstreamMayTakeOneInputACall) {
  open({.rows_max = 8}, 1);
  submit(1, 5);
  EXPECT_EQ(answer_all([](const auto& request) { return embed(request); }), 5);
  expect_own_answers(1, 5);
}

TEST_F(DispatcherBatches, WithoutItEachGoesAlone) {
  open({.rows_max = 1});
  submit(1, 1);
  EXPECT_EQ(answer_all([](const auto& request) { return embed(request); }), 1);
  EXPECT_TRUE(batches_.empty());
}

TEST_F(DispatcherBatches, ACancelEndsAllOfACall) {
  open({.rows_max = 8});
  submit(1, 9);
  backend_.answer_next([](const auto& request) { return embed(request); });
  dispatcher_->stop_admitting();
  dispatcher_->cancel_all();
  dispatcher_->wait_idle();
  ASSERT_EQ(ends_.size(), 9U);
  for (int number = 2; number <= 9; ++number) {
    EXPECT_EQ(std::get<llm::Failure>(ends_.at(number).outcome).failure_class,
              llm::FailureClass::kCancelled);
  }
}

}  // namespace
}  // namespace windrow::dispatch
