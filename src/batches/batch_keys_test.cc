// Batches of several keys: whose rows they are, what they take of a key's tokens, and that one
// key's batches do not keep out another's.
#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "base/testing/eventually.h"
#include "batches/batch_service.h"
#include "batches/testing/service_rig.h"

namespace windrow::batches {
namespace {

using testing::row;
using testing::rows;
using enum BatchStatus;

// Keys whose tokens a test hands out.
class FakeKeys final : public BatchKeys {
 public:
  struct Use {
    int64_t rows = 0;  // that started and did not end
    int64_t answered = 0;
    int64_t failed = 0;
    int64_t tokens = 0;
    int64_t refused = 0;
  };

  bool knows(std::string_view key) override {
    const std::scoped_lock lock(mutex_);
    return key != gone_;
  }
  int32_t weight_of(std::string_view) override { return 1; }

  Duration take(std::string_view key, int64_t tokens) override {
    const std::scoped_lock lock(mutex_);
    EXPECT_GT(tokens, 0);
    Use& use = uses_[std::string(key)];
    if (key == gone_ || use.rows + use.answered + use.failed >= allowed_) {
      ++use.refused;
      changed_.notify_all();
      return std::chrono::milliseconds(1);
    }
    ++use.rows;
    return {};
  }

  void ended(std::string_view key, int64_t taken, const llm::Usage& used, RowEnd how) override {
    const std::scoped_lock lock(mutex_);
    EXPECT_GT(taken, 0);
    Use& use = uses_[std::string(key)];
    --use.rows;
    use.answered += how == RowEnd::kAnswered ? 1 : 0;
    use.failed += how == RowEnd::kFailed ? 1 : 0;
    use.tokens += used.prompt_tokens + used.completion_tokens;
  }

  void allow(int64_t rows) {
    const std::scoped_lock lock(mutex_);
    allowed_ = rows;
  }
  void take_back(const std::string& key) {
    const std::scoped_lock lock(mutex_);
    gone_ = key;
  }
  void wait_until_refused(const std::string& key) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return uses_[key].refused > 0; });
  }
  Use of(const std::string& key) {
    const std::scoped_lock lock(mutex_);
    return uses_[key];
  }
  std::map<std::string, Use> all() {
    const std::scoped_lock lock(mutex_);
    return uses_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Use> uses_;
  std::string gone_;
  int64_t allowed_ = INT64_MAX;
};

llm::Outcome seven_tokens(const llm::Request& request) {
  llm::Outcome outcome = testing::echo(request);
  if (request.inputs.at(0).text == "bad") return llm::Failure{.status = 400, .code = "bad"};
  std::get<llm::Answer>(outcome).usage = {.prompt_tokens = 5, .completion_tokens = 2};
  return outcome;
}

class BatchKeysTest : public testing::ServiceRig {
 public:
  ~BatchKeysTest() override { close(); }

 protected:
  std::string create_of(const std::string& key, const std::string& bytes) {
    const Viewer owner{.key = key, .sees_all = false};
    auto made = service->create(owner, request(upload(bytes, owner)), "");
    EXPECT_TRUE(std::holds_alternative<BatchView>(made));
    return std::get<BatchView>(made).record.id;
  }

  FakeKeys keys_;
};

TEST_F(BatchKeysTest, WhatRowsTakeIsTheirKeys) {
  open(seven_tokens, {.keys = &keys_});
  start();
  const std::string alices = create_of("alice", rows(20) + row("x", "bad"));
  const std::string bobs = create_of("bob", rows(3));
  wait_for(alices, kCompleted);
  wait_for(bobs, kCompleted);
  EXPECT_EQ(keys_.of("alice").answered, 20);
  EXPECT_EQ(keys_.of("alice").failed, 1);
  EXPECT_EQ(keys_.of("alice").tokens, 140);
  EXPECT_EQ(keys_.of("alice").rows, 0);
  EXPECT_EQ(keys_.of("bob").tokens, 21);
  // A batch that was created without keys counts for no key.
  wait_for(create_of("", rows(2)), kCompleted);
  EXPECT_EQ(keys_.all().size(), 2U);
}

TEST_F(BatchKeysTest, RowsWaitForTokensAndStopAtOnceWhenTheyAreToldTo) {
  keys_.allow(5);
  open(seven_tokens, {.keys = &keys_});
  start();
  const std::string id = create_of("alice", rows(20));
  keys_.wait_until_refused("alice");
  EXPECT_EQ(view(id).record.state.status, kInProgress);
  wait_until(id, [](const BatchView& now) { return now.note.find("tokens") != std::string::npos; });
  // Wait for the rows that the limit allows; the others are still waiting when the batch is
  // cancelled.
  wait_until(id, [](const BatchView& now) { return now.record.counts.completed >= 5; });
  ASSERT_TRUE(std::holds_alternative<BatchView>(service->cancel(me, id)));
  EXPECT_EQ(outcomes(wait_for(id, kCancelled)).size(), 5U);
  EXPECT_EQ(keys_.of("alice").rows, 0);

  const std::string second = create_of("bob", rows(20));
  keys_.wait_until_refused("bob");
  keys_.allow(1000);
  EXPECT_EQ(outcomes(wait_for(second, kCompleted)).size(), 20U);
}

TEST_F(BatchKeysTest, BatchesOfAKeyThatIsGoneWaitAndKeepNoBatchOut) {
  keys_.allow(5);
  open(seven_tokens, {.running_max = 1, .keys = &keys_});
  start();
  const std::string id = create_of("alice", rows(20));
  keys_.wait_until_refused("alice");
  keys_.take_back("alice");
  keys_.allow(1000);
  const std::string next = create_of("alice", rows(2));
  for (const std::string& bobs : {create_of("bob", rows(3)), create_of("bob", rows(3))})
    EXPECT_EQ(outcomes(wait_for(bobs, kCompleted)).size(), 3U);
  for (const std::string& waits : {id, next}) {
    wait_until(waits, [](const BatchView& now) {
      return now.note.find("the key alice was revoked") != std::string::npos;
    });
    EXPECT_EQ(view(waits).record.state.status, kInProgress);
  }
  EXPECT_LE(view(id).record.counts.completed, 5);
  ASSERT_TRUE(std::holds_alternative<BatchView>(service->cancel(me, next)));
  wait_for(next, kCancelled);
  keys_.take_back("");
  EXPECT_EQ(outcomes(wait_for(id, kCompleted)).size(), 20U);
}

TEST_F(BatchKeysTest, OneKeyCannotMakeThemAll) {
  open(seven_tokens, {.keys = &keys_});
  const Viewer alice{.key = "alice"};
  const std::string file = upload(rows(1), alice);
  for (int i = 0; i < 1000; ++i)
    ASSERT_TRUE(std::holds_alternative<BatchView>(service->create(alice, request(file), "")));
  const auto refused = service->create(alice, request(file), "");
  EXPECT_EQ(std::get<llm::Failure>(refused).code, "too_many_batches");
  create_of("bob", rows(1));
}

TEST_F(BatchKeysTest, FilesOfOneKeyAreNotAllReadBeforeAnothers) {
  open(seven_tokens, {.keys = &keys_});
  std::mutex mutex;
  std::vector<std::string> asked;  // each once, in the order of their first
  models->on_find = [&](std::string_view name) {
    const std::scoped_lock lock(mutex);
    if (std::ranges::find(asked, name) == asked.end()) asked.emplace_back(name);
  };
  const std::vector<std::string> ids = {create_of("alice", row("a", "p", "alias")),
                                        create_of("alice", row("a", "p", "other")),
                                        create_of("bob", row("a", "p", "m"))};
  start();
  for (const std::string& id : ids)
    wait_for(id, kCompleted);
  EXPECT_EQ(asked, (std::vector<std::string>{"alias", "m", "other"}));
}

// Two run at a time, and both places are one key's.
TEST_F(BatchKeysTest, ManyBatchesOfOneKeyDoNotKeepOutAnothers) {
  std::mutex mutex;
  std::condition_variable changed;
  bool open_gate = false;
  open(
      [&](const llm::Request& request) {
        if (request.inputs.at(0).text == "quick") return testing::echo(request);
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return open_gate; });
        return testing::echo(request);
      },
      {.running_max = 2, .keys = &keys_});
  keys_.allow(3);  // of each: the first rows of alice hold the backend's thread no longer than that
  start();
  std::vector<std::string> alices;
  alices.reserve(4);
  for (int i = 0; i < 4; ++i)
    alices.push_back(create_of("alice", rows(40)));
  keys_.wait_until_refused("alice");
  const std::string bobs = create_of("bob", row("b", "quick"));
  // His row is with the dispatcher although both places are hers; or it has ended by now.
  windrow::testing::eventually([&] { return keys_.of("bob").rows + keys_.of("bob").answered; },
                               ::testing::Ge(1));
  {
    const std::scoped_lock lock(mutex);
    open_gate = true;
    changed.notify_all();
  }
  wait_for(bobs, kCompleted);
  for (const std::string& id : alices)
    EXPECT_FALSE(is_final(view(id).record.state.status));
  keys_.allow(INT64_MAX);
  for (const std::string& id : alices)
    wait_for(id, kCompleted);
  close();  // while the gate is there
}

}  // namespace
}  // namespace windrow::batches
