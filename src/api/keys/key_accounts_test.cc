#include "api/keys/key_accounts.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/crypto.h"
#include "base/testing/manual_clock.h"

namespace windrow::api {
namespace {

using batches::RowEnd;
using std::chrono::seconds;

std::string line_of(std::string_view name, std::string_view limits) {
  Sha256 hash;
  hash.add(name);
  return fmt::format("{} sha256:{} {}\n", name, hash.finish(), limits);
}

class KeyAccountsTest : public ::testing::Test {
 protected:
  KeyAccountsTest() {
    set("rpm=10 tpm=600 weight=7");
    accounts_ = std::make_unique<KeyAccounts>(clock_, holder_);
  }

  void set(std::string_view limits_of_alice) {
    Result<KeyRing> ring =
        KeyRing::parse(line_of("alice", limits_of_alice) + line_of("bob", ""), "keys");
    ASSERT_TRUE(ring) << ring.error().message;
    if (holder_) {
      holder_->set(*std::move(ring));
    } else {
      holder_ = std::make_shared<KeyRingHolder>(*std::move(ring));
    }
  }

  const Key& key(size_t index) const { return holder_->now()->keys()[index]; }

  // A call of alice that ends so.
  void call(int status, llm::Usage usage = {}, bool is_call = true) {
    auto [account, failure] = accounts_->enter(key(0), clock_.now());
    ASSERT_FALSE(failure);
    RequestRecord record{.key = "alice", .status = status, .usage = usage};
    if (is_call) record.endpoint = llm::Endpoint::kEmbeddings;
    accounts_->leave(*account, clock_.now(), 0, 0);
    accounts_->count(record);
  }

  KeyReading reading(size_t index = 0) const { return accounts_->read().at(index); }

  windrow::testing::ManualClock clock_;
  std::shared_ptr<KeyRingHolder> holder_;
  std::unique_ptr<KeyAccounts> accounts_;
};

TEST_F(KeyAccountsTest, CountsCallsByHowTheyEnded) {
  call(200, {.prompt_tokens = 10, .completion_tokens = 4, .cached_tokens = 3});
  call(200, {.prompt_tokens = 1});
  call(429);
  call(429, {}, false);
  call(499, {.prompt_tokens = 2, .completion_tokens = 1});
  call(400);
  call(503);
  call(404, {}, false);  // no call of a model
  EXPECT_EQ(reading().usage, (KeyUsage{.calls_answered = 2,
                                       .calls_limited = 2,
                                       .calls_left = 1,
                                       .calls_failed = 2,
                                       .prompt_tokens = 13,
                                       .cached_tokens = 3,
                                       .completion_tokens = 5}));
  EXPECT_EQ(accounts_->read().size(), 1U) << "bob asked nothing";
}

TEST_F(KeyAccountsTest, WhatIsInsideIsLive) {
  auto first = accounts_->enter(key(0), clock_.now());
  auto second = accounts_->enter(key(1), clock_.now());
  EXPECT_EQ(reading(0).calls_live, 1);
  accounts_->leave(*first.first, clock_.now(), 0, 0);
  EXPECT_EQ(reading(0).calls_live, 0);
  EXPECT_EQ(reading(1).calls_live, 1);
  accounts_->leave(*second.first, clock_.now(), 0, 0);
}

TEST_F(KeyAccountsTest, RowsAndCallsHaveOneLimitOfTokens) {
  EXPECT_EQ(accounts_->take("alice", 300), Duration{});
  EXPECT_EQ(accounts_->take("alice", 10), seconds(1));
  auto [account, failure] = accounts_->enter(key(0), clock_.now());
  ASSERT_FALSE(failure) << "rows are no requests";
  EXPECT_FALSE(accounts_->take_tokens(*account, clock_.now(), 300));
  EXPECT_TRUE(accounts_->take_tokens(*account, clock_.now(), 1));
  accounts_->leave(*account, clock_.now(), 300, 300);
  // It took less than was expected.
  accounts_->ended("alice", 300, {.prompt_tokens = 40, .completion_tokens = 10}, RowEnd::kAnswered);
  EXPECT_EQ(accounts_->take("alice", 10), seconds(6));
  EXPECT_EQ(reading().usage.rows_answered, 1);
  EXPECT_EQ(reading().usage.completion_tokens, 10);
  accounts_->ended("alice", 1, {}, RowEnd::kNeither);
  accounts_->ended("alice", 1, {.prompt_tokens = 2}, RowEnd::kFailed);
  EXPECT_EQ(reading().usage.rows_answered, 1);
  EXPECT_EQ(reading().usage.rows_failed, 1);
  EXPECT_EQ(reading().usage.prompt_tokens, 42);
}

TEST_F(KeyAccountsTest, RowsOfAKeyThatWasTakenBackWait) {
  EXPECT_TRUE(accounts_->knows("alice"));
  EXPECT_FALSE(accounts_->knows("carol"));
  EXPECT_EQ(accounts_->weight_of("alice"), 7);
  EXPECT_EQ(accounts_->weight_of("carol"), 1);
  EXPECT_EQ(accounts_->take("alice", 100), Duration{});
  EXPECT_GT(accounts_->take("carol", 100), Duration{}) << "limits that nobody knows";
  clock_.advance(std::chrono::hours(1));
  EXPECT_GT(accounts_->take("carol", 1), Duration{});
  // A server that no longer demands keys goes on with batches that a key made before.
  KeyAccounts open(clock_, nullptr);
  EXPECT_TRUE(open.knows("carol"));
  EXPECT_EQ(open.take("carol", 1'000'000), Duration{});
}

TEST_F(KeyAccountsTest, LimitsAreThoseOfTheMoment) {
  EXPECT_EQ(accounts_->weight_of("alice"), 7);
  EXPECT_EQ(accounts_->weight_of("bob"), 1);
  set("tpm=60 weight=2");
  EXPECT_EQ(accounts_->weight_of("alice"), 2);
  EXPECT_EQ(accounts_->take("alice", 300), Duration{}) << "all of a minute";
  EXPECT_GT(accounts_->take("alice", 1), seconds(200));
  set("");
  EXPECT_EQ(accounts_->take("alice", 1), Duration{});
}

}  // namespace
}  // namespace windrow::api
