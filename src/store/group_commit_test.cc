#include "store/group_commit.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <future>
#include <latch>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "store/testing/temporary_folder.h"

namespace windrow::store {
namespace {

using testing::TemporaryFolder;

constexpr std::array<std::string_view, 1> kVersions = {
    "CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT UNIQUE);"};

class GroupCommitTest : public ::testing::Test {
 protected:
  Result<void> insert(const std::string& name) {
    const Result<int64_t> done = database_->change("INSERT INTO things (name) VALUES (?)", {name});
    if (!done) return done.error();
    return {};
  }

  std::set<std::string> names() {
    std::set<std::string> names;
    EXPECT_TRUE(database_->ask("SELECT name FROM things", {},
                               [&](const DatabaseRow& row) { names.insert(row.text(0)); }));
    return names;
  }

  // Runs transactions that wait for each other: the first one holds the commit until all others
  // wait behind it.
  std::vector<Result<void>> together(std::vector<std::function<Result<void>()>> bodies,
                                     std::span<const Durability> durabilities = {}) {
    std::vector<std::future<Result<void>>> results;
    std::latch first_runs(1);
    std::latch others_wait(1);
    auto first = std::async(std::launch::async, [&] {
      return group_.transaction([&]() -> Result<void> {
        first_runs.count_down();
        others_wait.wait();
        return {};
      });
    });
    first_runs.wait();
    for (size_t i = 0; i < bodies.size(); ++i) {
      const Durability durability =
          i < durabilities.size() ? durabilities[i] : Durability::kPowerLoss;
      results.push_back(std::async(std::launch::async, [this, &body = bodies[i], durability] {
        return group_.transaction(body, durability);
      }));
    }
    while (group_.waiting() < 1 + bodies.size())
      std::this_thread::yield();
    others_wait.count_down();
    EXPECT_TRUE(first.get());
    std::vector<Result<void>> ends;
    ends.reserve(results.size());
    for (auto& result : results)
      ends.push_back(result.get());
    return ends;
  }

  const TemporaryFolder folder_;
  const std::unique_ptr<Database> database_ = *Database::open(folder_ / "a.db", kVersions);
  GroupCommit group_{*database_, 4};
};

TEST_F(GroupCommitTest, ThoseThatWaitAreCommittedTogether) {
  std::vector<std::function<Result<void>()>> bodies;
  std::set<std::string> wanted;
  for (int i = 0; i < 8; ++i) {
    bodies.emplace_back([this, name = std::to_string(i)] { return insert(name); });
    wanted.insert(std::to_string(i));
  }
  for (const Result<void>& end : together(std::move(bodies)))
    EXPECT_TRUE(end);
  EXPECT_EQ(names(), wanted);
  EXPECT_EQ(group_.commits(), 3U) << "the first alone, then four each";
}

TEST_F(GroupCommitTest, OneThatFailsIsUndoneAlone) {
  const std::vector<Result<void>> ends =
      together({[this] { return insert("a"); },
                [this]() -> Result<void> {
                  if (Result<void> done = insert("b"); !done) return done;
                  return Error{ErrorKind::kInvalid, "not this one"};
                },
                [this] { return insert("c"); }});
  EXPECT_TRUE(ends.at(0));
  ASSERT_FALSE(ends.at(1));
  EXPECT_EQ(ends.at(1).error().message, "not this one");
  EXPECT_TRUE(ends.at(2));
  EXPECT_EQ(names(), (std::set<std::string>{"a", "c"}));
  EXPECT_EQ(group_.commits(), 2U);
}

TEST_F(GroupCommitTest, IfTheCommitFailsAllOfItFail) {
  const std::vector<Result<void>> ends = together({[this] { return insert("a"); },
                                                   [this]() -> Result<void> {
                                                     // As a full disk does: SQLite ends the whole
                                                     // transaction.
                                                     EXPECT_TRUE(database_->change("ROLLBACK"));
                                                     return Error{ErrorKind::kDiskFull, "no space"};
                                                   },
                                                   [this] { return insert("c"); }});
  for (const Result<void>& end : ends)
    EXPECT_FALSE(end);
  EXPECT_TRUE(names().empty());
  EXPECT_TRUE(group_.transaction([this] { return insert("later"); }));
  EXPECT_EQ(names(), std::set<std::string>{"later"});
}

TEST_F(GroupCommitTest, ACommonCommitHasTheHighestDurability) {
  // SQLite answers this pragma when it reads it, so each text is another one.
  std::string sql = "PRAGMA synchronous";
  std::vector<int64_t> levels;
  const auto look = [&]() -> Result<void> {
    return database_->ask(sql += ' ', {},
                          [&](const DatabaseRow& row) { levels.push_back(row.number(0)); });
  };
  constexpr std::array kOneOfThem = {Durability::kProcessCrash, Durability::kPowerLoss};
  for (const Result<void>& end : together({look, look}, kOneOfThem))
    EXPECT_TRUE(end);
  constexpr std::array kNone = {Durability::kProcessCrash, Durability::kProcessCrash};
  for (const Result<void>& end : together({look, look}, kNone))
    EXPECT_TRUE(end);
  EXPECT_EQ(levels, (std::vector<int64_t>{2, 2, 1, 1}));
}

TEST_F(GroupCommitTest, ManyThreadsLoseAndRepeatNothing) {
  constexpr int kThreads = 4;
  constexpr int kEach = 50;
  std::vector<std::jthread> threads;
  std::atomic<int> failed = 0;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        // Every tenth name is taken by the first thread that comes to it.
        const std::string name = i % 10 == 0 ? "shared " + std::to_string(i)
                                             : std::to_string(t) + "/" + std::to_string(i);
        if (!group_.transaction([&] { return insert(name); })) ++failed;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(names().size(), kThreads * kEach - (kThreads - 1) * kEach / 10);
  EXPECT_EQ(failed, (kThreads - 1) * kEach / 10);
}

}  // namespace
}  // namespace windrow::store
