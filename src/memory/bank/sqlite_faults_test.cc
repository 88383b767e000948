// What is left of a bank file when its process is killed, its disk is full or the file is damaged.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "memory/bank/sqlite/schema.h"
#include "memory/bank/testing/bank_file.h"
#include "store/database.h"

namespace windrow::memory {
namespace {

using testing::BankFile;
using ::testing::ElementsAre;
using testing::fact;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// --- a process that works at a bank -------------------------------------------------------------

// Facts of one scope become observations: one of each batch, with all of its facts.
Result<void> consolidate_scope(BankStore& store, const Scope& scope, std::string id) {
  const Result<std::vector<PendingFact>> pending = store.pending_facts();
  if (!pending) return pending.error();
  BatchEffects effects;
  effects.scope = scope;
  CreateObservation create{.id = MemoryId{std::move(id)}, .text = "observation", .sources = {}};
  for (const PendingFact& one : *pending) {
    if (create.sources.size() == 5 ||
        std::ranges::find(one.scopes_left, scope) == one.scopes_left.end())
      continue;
    create.sources.push_back(one.id);
    effects.facts.push_back({.id = one.id, .word = "created"});
  }
  if (create.sources.empty()) return {};
  effects.creates.push_back(std::move(create));
  return store.apply(effects, 1);
}

// Retains and consolidates until it is killed; tells each retain that was acknowledged by its
// number.
[[noreturn]] void work_until_killed(const std::string& path, int round, int acknowledge) {
  Result<std::unique_ptr<SqliteBankStore>> store = SqliteBankStore::open(path);
  if (!store) _exit(1);
  std::jthread consolidating([&] {
    for (int i = 0;; ++i) {
      for (const std::string tag : {"x", "y"}) {
        const std::string id = "o" + std::to_string(round) + tag + std::to_string(i);
        const Result<void> applied = consolidate_scope(**store, Scope({tag}), id);
        if (!applied) _exit(2);
      }
    }
  });
  for (uint32_t number = 0;; ++number) {
    Retained retained;
    const std::string name = "r" + std::to_string(round) + "n" + std::to_string(number);
    for (int i = 0; i < 3; ++i) {
      NewFact one = fact(name, {"x", "y"});
      one.scopes.kind = ScopeKind::kPerTag;
      one.document_id = name;
      one.embedding = {1, 0};
      retained.facts.push_back(one);
    }
    retained.documents.push_back({.id = name});
    retained.consolidate = true;
    if (!(*store)->retain(retained, 1)) _exit(3);
    if (write(acknowledge, &number, sizeof(number)) != sizeof(number)) _exit(4);
  }
}

// Kills that process when it has retained `retains` times and a while more; the number of retains
// that it acknowledged.
uint32_t killed_at_work(const std::string& path, int round, uint32_t retains, uint64_t while_more) {
  std::array<int, 2> ends = {};
  EXPECT_EQ(pipe(ends.data()), 0);
  const pid_t child = fork();
  if (child == 0) work_until_killed(path, round, ends[1]);
  close(ends[1]);
  uint32_t acknowledged = 0;
  uint32_t number = 0;
  const auto read_one = [&] { return read(ends[0], &number, sizeof(number)) == sizeof(number); };
  while (acknowledged < retains && read_one())
    ++acknowledged;
  for (uint64_t i = 0; i < while_more; ++i)
    std::this_thread::yield();
  kill(child, SIGKILL);
  while (read_one())
    ++acknowledged;
  int status = 0;
  waitpid(child, &status, 0);
  close(ends[0]);
  EXPECT_TRUE(WIFSIGNALED(status)) << "the process ended by itself: " << status;
  return acknowledged;
}

// Effects and stamps agree: a fact has a pass in a scope if and only if an observation of the scope
// has it as a source, exactly one; and with both it is stamped.
void expect_consistent(SqliteBankStore& store) {
  std::map<MemoryId, int> scopes_of;
  for (const std::string tag : {"x", "y"}) {
    std::map<MemoryId, int> observed;
    const std::vector<Memory> observations = store.observations_of(Scope({tag})).value();
    for (const Memory& observation : observations)
      for (const MemoryId& source : observation.sources)
        ++observed[source];
    for (const auto& [fact, times] : observed) {
      EXPECT_EQ(times, 1) << "an effect was repeated";
      ++scopes_of[fact];
    }
  }
  std::map<MemoryId, size_t> left;
  const std::vector<PendingFact> pending = store.pending_facts().value();
  for (const PendingFact& one : pending)
    left.emplace(one.id, one.scopes_left.size());
  const MemoryPage page = store.list({.types = {MemoryType::kWorld}, .limit = 1'000'000}).value();
  for (const Memory& memory : page.memories) {
    EXPECT_EQ(left[memory.id], 2U - static_cast<size_t>(scopes_of[memory.id]));
    EXPECT_EQ(memory.consolidated.has_value(), scopes_of[memory.id] == 2);
  }
  const BankStats stats = store.stats().value();
  EXPECT_EQ(stats.facts_world, 3 * stats.documents) << "a retain is all or nothing";
  EXPECT_EQ(store.nearest(std::vector<float>{1, 0}, {}, 1'000'000)->size(),
            static_cast<size_t>(stats.facts_world));
}

// SQLite's own checks: of its pages and keys, and that the index of words has the words of the
// memories.
void expect_whole(const std::string& path) {
  const auto database = store::Database::open(path, bank_versions());
  ASSERT_TRUE(database) << database.error().message;
  for (const std::string_view check : {"PRAGMA integrity_check", "PRAGMA foreign_key_check"}) {
    std::vector<std::string> found;
    ASSERT_TRUE((*database)->ask(
        check, {}, [&](const store::DatabaseRow& row) { found.push_back(row.text(0)); }));
    std::erase(found, "ok");
    EXPECT_THAT(found, SizeIs(0)) << check;
  }
  const Result<int64_t> words =
      (*database)->change("INSERT INTO words (words, rank) VALUES ('integrity-check', 1)");
  EXPECT_TRUE(words) << words.error().message;
}

TEST(SqliteBankStoreFaults, AKillLosesNothingAcknowledgedAndRepeatsNothing) {
  constexpr uint64_t kSeed = 9;
  SCOPED_TRACE(kSeed);
  Random random(kSeed);
  BankFile file;
  int64_t acknowledged = 0;
  for (int round = 0; round < 30 && !::testing::Test::HasFailure(); ++round) {
    file.close();
    const auto retains = static_cast<uint32_t>(random.below(4));
    acknowledged += killed_at_work(file.path(), round, retains, random.below(3000));
    file.reopen();
    expect_consistent(file.store());
    const int64_t documents = file.store().stats()->documents;
    EXPECT_GE(documents, acknowledged) << "an acknowledged retain was lost";
    // The last retain may have been stored without having been acknowledged.
    EXPECT_LE(documents, acknowledged + round + 1);
    EXPECT_EQ(file.store().operations({}, {}, 10, 0, nullptr)->size(), documents == 0 ? 0U : 1U);
  }
  EXPECT_GT(acknowledged, 20);
  EXPECT_GT(file.store().stats()->observations, 10);
  file.close();
  expect_whole(file.path());
}

// --- a full disk --------------------------------------------------------------------------------

// No file of this process may grow beyond `bytes` from now on.
bool limit_files(rlim_t bytes) {
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit = {};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0) return false;
  limit.rlim_cur = std::min(bytes, limit.rlim_max);
  return setrlimit(RLIMIT_FSIZE, &limit) == 0;
}

// Runs in a process of its own; 0 if all is as it should be, else the number of the step.
int on_a_full_disk(const std::string& path) {
  Result<std::unique_ptr<SqliteBankStore>> opened = SqliteBankStore::open(path);
  if (!opened) return 1;
  SqliteBankStore& store = **opened;
  constexpr rlim_t kBytes = 400'000;
  if (!limit_files(kBytes)) return 2;
  Retained retained;
  for (int i = 0; i < 20; ++i)
    retained.facts.push_back(fact(std::string(1000, 'a') + std::to_string(i), {"x"}));
  int64_t stored = 0;
  Result<std::vector<MemoryId>> ids = std::vector<MemoryId>();
  while ((ids = store.retain(retained, 1)))
    stored += std::ssize(*ids);
  if (ids.error().kind != ErrorKind::kDiskFull) return 3;
  const std::string& message = ids.error().message;
  if (message.find(path) == std::string::npos || message.find("free space") == std::string::npos)
    return 4;
  if (stored == 0 || store.list({})->total != stored) return 5;

  // The same for consolidation: neither effects nor stamps.
  BatchEffects effects;
  effects.scope = Scope({"x"});
  const std::vector<PendingFact> pending = store.pending_facts().value();
  if (std::ssize(pending) != stored) return 6;
  for (const PendingFact& one : pending) {
    effects.facts.push_back({.id = one.id, .word = "created"});
    effects.creates.push_back(
        {.id = MemoryId{"o" + one.id.text}, .text = std::string(1000, 'b'), .sources = {one.id}});
  }
  const Result<void> refused = store.apply(effects, 2);
  if (refused || refused.error().kind != ErrorKind::kDiskFull) return 7;
  if (!store.observations_of(effects.scope)->empty()) return 8;
  if (std::ssize(*store.pending_facts()) != stored) return 9;
  if (store.matching("bbb", {}, 5)->size() != 0) return 10;

  // With room again the same store goes on.
  if (!limit_files(RLIM_INFINITY)) return 11;
  if (!store.apply(effects, 3) || !store.retain(retained, 4)) return 12;
  if (std::ssize(*store.observations_of(effects.scope)) != stored) return 13;
  return store.pending_facts()->size() == retained.facts.size() ? 0 : 14;
}

TEST(SqliteBankStoreFaults, AFullDiskStoresNothingByHalvesAndIsOverWithRoom) {
  BankFile file;
  file.close();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(on_a_full_disk(file.path()));
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0) << "this step went wrong";
  file.reopen();
  EXPECT_GT(file.store().stats()->observations, 0);
  EXPECT_EQ(file.store().stats()->pending_consolidation, 20);
  file.close();
  expect_whole(file.path());
}

// --- files that cannot be used ------------------------------------------------------------------

class UnusableFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(file_.store().retain({.facts = {fact("a", {})}}, 1));
    file_.close();
  }

  std::string bytes() const {
    std::ifstream file(file_.path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string& bytes) const {
    std::ofstream(file_.path(), std::ios::binary | std::ios::trunc) << bytes;
  }

  Error refused() const {
    const auto opened = SqliteBankStore::open(file_.path());
    EXPECT_FALSE(opened);
    if (opened) return {};
    EXPECT_THAT(opened.error().message, HasSubstr(file_.path()));
    return opened.error();
  }

  BankFile file_;
};

TEST_F(UnusableFileTest, ADamagedFileIsLeftAsItIs) {
  std::string damaged = bytes();
  ASSERT_GT(damaged.size(), 50'000U);
  std::fill_n(damaged.begin() + 4096 * 3, 4096, '\xEE');
  write(damaged);
  std::ofstream(file_.path() + "-wal") << "";  // as a killed process leaves it
  const Error error = refused();
  EXPECT_EQ(error.kind, ErrorKind::kInvalid);
  EXPECT_THAT(error.message, HasSubstr("restore it from a backup"));
  EXPECT_EQ(bytes(), damaged);
}

TEST_F(UnusableFileTest, AFileOfALaterVersionIsRefused) {
  {
    const auto database = store::Database::open(file_.path(), bank_versions());
    ASSERT_TRUE((*database)->change("PRAGMA user_version = 99"));
  }
  const Error error = refused();
  EXPECT_EQ(error.kind, ErrorKind::kConflict);
  EXPECT_THAT(error.message, HasSubstr("later version"));
}

TEST_F(UnusableFileTest, ADatabaseOfAnotherProgramIsNotTouched) {
  std::filesystem::remove(file_.path());
  {
    constexpr std::array<std::string_view, 1> kOthers = {"CREATE TABLE theirs (id INTEGER);"};
    ASSERT_TRUE(store::Database::open(file_.path(), kOthers));
  }
  const std::string before = bytes();
  const Error error = refused();
  EXPECT_EQ(error.kind, ErrorKind::kInvalid);
  EXPECT_THAT(error.message, HasSubstr("another program"));
  EXPECT_EQ(bytes(), before);
}

TEST_F(UnusableFileTest, AFileWithoutABankOrNoFileIsNotFound) {
  {
    const auto database = store::Database::open(file_.path(), bank_versions());
    ASSERT_TRUE((*database)->change("DELETE FROM bank"));
  }
  EXPECT_EQ(refused().kind, ErrorKind::kNotFound);
  std::filesystem::remove(file_.path());
  EXPECT_EQ(refused().kind, ErrorKind::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(file_.path()));
  EXPECT_EQ(SqliteBankStore::create("/nowhere/a.bank", {.id = BankId{"a"}}).error().kind,
            ErrorKind::kNotFound);
}

}  // namespace
}  // namespace windrow::memory
