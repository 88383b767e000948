#include "memory/service/bank_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "base/testing/manual_clock.h"
#include "memory/bank/testing/bank_file.h"
#include "memory/service/bank_files.h"
#include "store/posix_disk.h"
#include "store/testing/temporary_folder.h"

namespace windrow::memory {
namespace {

using ::testing::ElementsAre;
using testing::fact;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(BankFiles, NamesLeadBackToIds) {
  EXPECT_EQ(bank_file_name(BankId{"team 1/a"}), "team%201%2Fa.bank");
  EXPECT_EQ(bank_of_file_name("team%201%2Fa.bank"), BankId{"team 1/a"});
  for (const std::string_view other :
       {"team 1.bank", "a%2fb.bank", "a%41.bank", ".bank", "a.bank.new", "a", "%00.bank"})
    EXPECT_EQ(bank_of_file_name(other), std::nullopt) << other;

  constexpr uint64_t kSeed = 22;
  SCOPED_TRACE(kSeed);
  Random random(kSeed);
  const std::array<std::string, 8> pieces = {"a",  "+", "%",        "/",
                                             "..", " ", "\xC3\xBC", "\xF0\x9F\x8C\xB1"};
  std::set<std::string> names;
  std::set<BankId> ids;
  for (int i = 0; i < 2000; ++i) {
    std::string text;
    const auto size = static_cast<size_t>(random.between(1, kBankIdBytesMax));
    while (text.size() < size)
      text += pieces.at(random.below(pieces.size()));
    text.resize(std::min(text.size(), size));
    const Result<BankId> id = bank_id_from(text);
    if (!id) continue;  // the last character was cut
    const std::string name = bank_file_name(*id);
    EXPECT_LE(name.size() + std::string_view(".new-wal").size(), 255U);
    EXPECT_EQ(name.find('/'), std::string::npos);
    ids.insert(*id);
    names.insert(name);
    if (is_hashed_bank_name(name))
      EXPECT_EQ(bank_of_file_name(name), std::nullopt);
    else
      EXPECT_EQ(bank_of_file_name(name), *id);
  }
  EXPECT_EQ(names.size(), ids.size());
  EXPECT_TRUE(is_hashed_bank_name(bank_file_name(BankId{std::string(192, ' ')})));
  EXPECT_FALSE(is_hashed_bank_name(bank_file_name(BankId{std::string(192, 'a')})));
}

class BankRegistryTest : public ::testing::Test {
 protected:
  std::unique_ptr<BankRegistry> opened(size_t open_max = 64) {
    Result<std::unique_ptr<BankRegistry>> registry = BankRegistry::open(
        banks(), disk_, clock_, {.open_max = open_max, .warn = [this](const std::string& text) {
                                   warnings_.push_back(text);
                                 }});
    EXPECT_TRUE(registry) << registry.error().message;
    return *std::move(registry);
  }

  std::string banks() const { return folder_ / "banks"; }
  std::string file(std::string_view name) const { return banks() + "/" + std::string(name); }

  store::testing::TemporaryFolder folder_;
  store::PosixDisk disk_;
  windrow::testing::ManualClock clock_;
  std::vector<std::string> warnings_;
};

TEST_F(BankRegistryTest, BanksAreMadeFoundListedAndRemoved) {
  const BankId simple{"b"};
  const BankId odd{"team 1/\xC3\xBC"};
  const BankId longest{std::string(192, ' ')};
  {
    const auto registry = opened();
    EXPECT_EQ(registry->bank(simple).error().kind, ErrorKind::kNotFound);
    EXPECT_THAT(*registry->list(), IsEmpty());
    for (const BankId& id : {simple, odd, longest}) {
      const auto store = *registry->bank_or_new(id, "key 1");
      EXPECT_EQ(store->bank()->id, id);
      EXPECT_EQ(store->bank()->owner, "key 1");
      ASSERT_TRUE(store->retain({.facts = {fact("in " + id.text, {})}}, 5));
    }
    EXPECT_EQ((*registry->bank_or_new(simple, "key 2"))->bank()->owner, "key 1");
    EXPECT_THAT(*registry->list(), ElementsAre(longest, simple, odd));
  }
  const auto registry = opened();
  EXPECT_THAT(*registry->list(), ElementsAre(longest, simple, odd));
  EXPECT_EQ((*registry->bank(longest))->list({})->memories.at(0).text, "in " + longest.text);
  EXPECT_TRUE(registry->remove(longest));
  EXPECT_EQ(registry->remove(longest).error().kind, ErrorKind::kNotFound);
  EXPECT_THAT(*registry->list(), ElementsAre(simple, odd));
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(BankRegistryTest, OneProcessHoldsTheFolder) {
  auto registry = opened();
  (void)*registry->bank_or_new(BankId{"b"}, "");
  const auto second = BankRegistry::open(banks(), disk_, clock_, {});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::kConflict);
  const auto one_file = open_bank_file(file("b.bank"), disk_, clock_, false);
  ASSERT_FALSE(one_file);
  EXPECT_EQ(one_file.error().kind, ErrorKind::kConflict);
  registry.reset();
  auto file_alone = open_bank_file(file("b.bank"), disk_, clock_, false);
  ASSERT_TRUE(file_alone) << file_alone.error().message;
  EXPECT_FALSE(BankRegistry::open(banks(), disk_, clock_, {}));
  *file_alone = nullptr;
  EXPECT_TRUE(BankRegistry::open(banks(), disk_, clock_, {}));
}

TEST_F(BankRegistryTest, AFileAloneIsOpenedAndMade) {
  const std::string path = folder_ / "notes of ana.bank";
  EXPECT_EQ(open_bank_file(path, disk_, clock_, false).error().kind, ErrorKind::kNotFound);
  {
    const auto made = open_bank_file(path, disk_, clock_, true);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ((*made)->bank()->id.text, "notes of ana");
    ASSERT_TRUE((*made)->retain({.facts = {fact("kept", {})}}, 5));
  }
  const auto again = open_bank_file(path, disk_, clock_, true);
  ASSERT_TRUE(again);
  EXPECT_EQ((*again)->list({})->total, 1);
}

TEST_F(BankRegistryTest, OnlySoManyBanksStayOpen) {
  const auto registry = opened(2);
  const auto is_open = [&](const std::string& name) {
    return std::filesystem::exists(file(name + ".bank-wal"));
  };
  const auto held = *registry->bank_or_new(BankId{"held"}, "");
  for (const char* const name : {"a", "b", "c"}) {
    const auto store = *registry->bank_or_new(BankId{name}, "");
    ASSERT_TRUE(store->retain({.facts = {fact(name, {})}}, 5));
  }
  EXPECT_TRUE(is_open("held"));
  EXPECT_FALSE(is_open("a"));
  EXPECT_FALSE(is_open("b"));
  EXPECT_TRUE(is_open("c"));
  EXPECT_EQ((*registry->bank(BankId{"a"}))->list({})->total, 1);
  EXPECT_TRUE(is_open("a"));
  EXPECT_FALSE(is_open("c"));
  EXPECT_TRUE(held->retain({.facts = {fact("still there", {})}}, 5));
}

TEST_F(BankRegistryTest, ARemovedBankIsGoneForItsHoldersAndCanBeMadeAgain) {
  const auto registry = opened();
  const auto held = *registry->bank_or_new(BankId{"b"}, "");
  ASSERT_TRUE(held->retain({.facts = {fact("old", {})}}, 5));
  ASSERT_TRUE(registry->remove(BankId{"b"}));
  EXPECT_EQ(held->bank().error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(held->retain({.facts = {fact("late", {})}}, 6).error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(held->nearest({}, {}, 1).error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(registry->bank(BankId{"b"}).error().kind, ErrorKind::kNotFound);
  const auto made = *registry->bank_or_new(BankId{"b"}, "");
  EXPECT_EQ(made->list({})->total, 0);
  ASSERT_TRUE(made->retain({.facts = {fact("new", {})}}, 7));
  EXPECT_EQ(held->list({}).error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(made->list({})->total, 1);
}

TEST_F(BankRegistryTest, FilesThatCannotBeUsedAreNamedAndLeftAsTheyAre) {
  {
    (void)*opened()->bank_or_new(BankId{"a"}, "");
  }
  std::filesystem::copy_file(file("a.bank"), file("copy.bank"));
  std::ofstream(file("bad.bank")) << std::string(5000, 'x');
  std::ofstream(file("a copy.bank")) << "x";
  std::ofstream(file("half.bank.new")) << "x";
  const auto registry = opened();
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("a copy.bank is not taken for a bank")));
  const auto bad = registry->bank(BankId{"bad"});
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().kind, ErrorKind::kInvalid);
  EXPECT_THAT(bad.error().message, HasSubstr(file("bad.bank")));
  EXPECT_THAT(bad.error().message, HasSubstr("restore it from a backup"));
  EXPECT_EQ(registry->bank_or_new(BankId{"bad"}, "").error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(std::filesystem::file_size(file("bad.bank")), 5000U);
  const auto copy = registry->bank(BankId{"copy"});
  ASSERT_FALSE(copy);
  EXPECT_THAT(copy.error().message, HasSubstr("is the file of the bank \"a\""));
  EXPECT_TRUE(registry->bank(BankId{"a"}));
  const auto made = registry->bank_or_new(BankId{"half"}, "");
  EXPECT_TRUE(made) << made.error().message;
}

// Killed while it makes, fills and removes a bank, over and over: each time the bank is there with
// what was acknowledged of it, or it is not there.
TEST_F(BankRegistryTest, AKilledProcessLeavesNoHalfBank) {
  (void)opened();
  for (int round = 0; round < 12; ++round) {
    std::array<int, 2> pipe_ends = {};
    ASSERT_EQ(pipe(pipe_ends.data()), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const auto registry = BankRegistry::open(banks(), disk_, clock_, {});
      if (!registry) _exit(1);
      for (;;) {
        const auto store = (*registry)->bank_or_new(BankId{"b"}, "");
        if (!store || !(*store)->retain({.facts = {fact("one", {}), fact("two", {})}}, 5)) _exit(2);
        if (write(pipe_ends[1], "x", 1) != 1) _exit(3);
        if (!(*registry)->remove(BankId{"b"})) _exit(4);
      }
    }
    close(pipe_ends[1]);
    // After some rounds of the child, each time elsewhere in the next one.
    char byte = 0;
    for (int i = 0; i < 1 + round % 3; ++i)
      ASSERT_EQ(read(pipe_ends[0], &byte, 1), 1);
    for (int i = 0; i < round * 2000; ++i)
      std::this_thread::yield();
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    close(pipe_ends[0]);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the child ended with " << WEXITSTATUS(status);

    const auto registry = opened();
    const auto store = registry->bank(BankId{"b"});
    if (store) {
      const int64_t total = (*store)->list({})->total;
      EXPECT_TRUE(total == 0 || total == 2) << total;
    } else {
      EXPECT_EQ(store.error().kind, ErrorKind::kNotFound) << store.error().message;
      EXPECT_EQ((*registry->bank_or_new(BankId{"b"}, ""))->list({})->total, 0);
    }
  }
}

TEST_F(BankRegistryTest, ThreadsOpenCloseAndRemoveBanksSideBySide) {
  const auto registry = opened(1);
  constexpr int kThreads = 4;
  std::atomic<int> wrong = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      Random random(static_cast<uint64_t>(t));
      for (int i = 0; i < 40; ++i) {
        const BankId id{std::string(1, static_cast<char>('a' + random.below(3)))};
        if (random.chance(0.1)) {
          const Result<void> removed = registry->remove(id);
          if (!removed && removed.error().kind != ErrorKind::kNotFound) ++wrong;
          continue;
        }
        const auto store = registry->bank_or_new(id, "");
        if (!store) {
          ++wrong;
          continue;
        }
        const auto ids = (*store)->retain({.facts = {fact("x", {})}}, i);
        if (!ids && ids.error().kind != ErrorKind::kNotFound) ++wrong;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace windrow::memory
