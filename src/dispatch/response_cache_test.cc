#include "dispatch/response_cache.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "base/random.h"
#include "store/testing/faulty_disk.h"
#include "store/testing/memory_disk.h"

namespace windrow::dispatch {
namespace {

using store::testing::FaultyDisk;
using store::testing::MemoryDisk;

constexpr const char* kPath = "answers.cache";

Hash128 question(uint64_t number) {
  return hash128(std::to_string(number));
}

llm::Answer answer(std::string_view raw) {
  llm::Answer answer;
  answer.raw = raw;
  answer.usage = {.prompt_tokens = 7, .completion_tokens = 5, .cached_tokens = 3};
  return answer;
}

std::unique_ptr<ResponseCache> open(store::Disk& disk) {
  auto cache = ResponseCache::open(disk, kPath);
  EXPECT_TRUE(cache.has_value()) << cache.error().message;
  return cache ? *std::move(cache) : nullptr;
}

std::string found(ResponseCache& cache, uint64_t number) {
  const auto answer = cache.find(question(number));
  return answer ? answer->raw : "";
}

TEST(ResponseCache, RemembersFromOneRunToTheNext) {
  MemoryDisk disk;
  {
    const auto cache = open(disk);
    EXPECT_EQ(found(*cache, 1), "");
    cache->put(question(1), answer("one"));
    cache->put(question(2), answer("two"));
    EXPECT_EQ(found(*cache, 1), "one");
  }
  disk.drop_unsynced();
  const auto cache = open(disk);
  EXPECT_EQ(cache->reading().entries, 2);
  const auto two = cache->find(question(2));
  ASSERT_TRUE(two);
  EXPECT_EQ(two->raw, "two");
  EXPECT_EQ(two->usage.prompt_tokens, 7);
  EXPECT_EQ(two->usage.completion_tokens, 5);
  EXPECT_EQ(two->usage.cached_tokens, 3);
  EXPECT_EQ(found(*cache, 3), "");
  EXPECT_EQ(cache->reading().hits, 1);
}

TEST(ResponseCache, ManyAndLargeOnesAreFoundAgain) {
  MemoryDisk disk;
  const auto text = [](uint64_t i) {
    return std::string(i % 7 == 0 ? 300'000 : i * 11, static_cast<char>('a' + i % 26));
  };
  {
    const auto cache = open(disk);
    for (uint64_t i = 1; i <= 60; ++i)
      cache->put(question(i), answer(text(i)));
  }
  const auto cache = open(disk);
  for (uint64_t i = 1; i <= 60; ++i)
    EXPECT_EQ(found(*cache, i), text(i)) << i;
}

TEST(ResponseCache, HalfOfAQuestionIsNotTheQuestion) {
  MemoryDisk disk;
  const auto cache = open(disk);
  cache->put({.low = 5, .high = 1}, answer("one"));
  EXPECT_FALSE(cache->find({.low = 5, .high = 2}));
  EXPECT_TRUE(cache->find({.low = 5, .high = 1}));
}

TEST(ResponseCache, AnswersWithoutABodyAreNotStored) {
  MemoryDisk disk;
  const auto cache = open(disk);
  cache->put(question(1), llm::Answer{});
  EXPECT_EQ(cache->reading().stored, 0);
}

TEST(ResponseCache, AnswersThatWereCutAreNotStored) {
  MemoryDisk disk;
  const auto cache = open(disk);
  llm::Answer cut = answer("half");
  cut.truncated = true;
  cache->put(question(1), cut);
  EXPECT_EQ(found(*cache, 1), "");
  cache->put(question(1), answer("whole"));
  EXPECT_EQ(found(*cache, 1), "whole");
}

TEST(ResponseCache, OneProcessHasIt) {
  MemoryDisk disk;
  const auto cache = open(disk);
  const auto second = ResponseCache::open(disk, kPath);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().kind, ErrorKind::kConflict);
}

TEST(ResponseCache, AnotherFileStaysAsItIs) {
  for (const std::string_view text : {"{\"id\":1}\n", "windrow-cache-2\n", "wind owl"}) {
    MemoryDisk disk;
    disk.put(kPath, text);
    const auto cache = ResponseCache::open(disk, kPath);
    ASSERT_FALSE(cache.has_value());
    EXPECT_EQ(cache.error().kind, ErrorKind::kInvalid);
    EXPECT_EQ(disk.get(kPath), text);
  }
}

// Cut anywhere: what was whole is there, the rest is as if it had never been, and it goes on.
TEST(ResponseCache, ATornEndIsCutOff) {
  MemoryDisk whole;
  std::vector<size_t> ends = {whole.get(kPath).size()};
  {
    const auto cache = open(whole);
    for (uint64_t i = 1; i <= 3; ++i) {
      cache->put(question(i), answer(fmt::format("answer {}", i)));
      ends.push_back(whole.get(kPath).size());
    }
  }
  const std::string text = whole.get(kPath);
  for (size_t size = 0; size <= text.size(); ++size) {
    MemoryDisk disk;
    disk.put(kPath, text.substr(0, size));
    {
      const auto cache = open(disk);
      for (uint64_t i = 1; i <= 3; ++i)
        EXPECT_EQ(found(*cache, i), ends[i] <= size ? fmt::format("answer {}", i) : "") << size;
      cache->put(question(9), answer("nine"));
    }
    EXPECT_EQ(found(*open(disk), 9), "nine") << size;
  }
}

// Any byte changed: the answer of that record is unknown, and those before and after it are found.
TEST(ResponseCache, ADamagedRecordIsForgotten) {
  MemoryDisk whole;
  {
    const auto cache = open(whole);
    for (uint64_t i = 1; i <= 3; ++i)
      cache->put(question(i), answer(fmt::format("answer {}", i)));
  }
  const std::string text = whole.get(kPath);
  for (size_t place = 16; place < text.size(); ++place) {
    MemoryDisk disk;
    std::string damaged = text;
    damaged[place] = static_cast<char>(damaged[place] ^ 0x10);
    disk.put(kPath, damaged);
    const auto cache = open(disk);
    int known = 0;
    for (uint64_t i = 1; i <= 3; ++i) {
      const std::string raw = found(*cache, i);
      if (raw.empty()) continue;
      ++known;
      EXPECT_EQ(raw, fmt::format("answer {}", i)) << place;
    }
    EXPECT_EQ(known, 2) << place;
  }
}

TEST(ResponseCache, AFullDiskEndsTheStoringAndNothingElse) {
  MemoryDisk beneath;
  FaultyDisk disk(beneath, {.bytes_until_full = 200});
  {
    const auto cache = open(disk);
    for (uint64_t i = 1; i <= 9; ++i)
      cache->put(question(i), answer("12345678901234567890"));
    const CacheReading reading = cache->reading();
    ASSERT_TRUE(reading.error);
    EXPECT_EQ(reading.error->kind, ErrorKind::kDiskFull);
    EXPECT_EQ(reading.stored, 2);
    EXPECT_NE(found(*cache, 1), "");
    EXPECT_EQ(found(*cache, 3), "");
  }
  disk.set_faults({});
  const auto cache = open(disk);
  EXPECT_EQ(cache->reading().torn_bytes, 0U);
  cache->put(question(3), answer("three"));
  EXPECT_EQ(found(*cache, 3), "three");
}

TEST(ResponseCache, WhatCannotBeReadIsAskedAgain) {
  MemoryDisk beneath;
  FaultyDisk disk(beneath);
  const auto cache = open(disk);
  cache->put(question(1), answer("one"));
  disk.set_faults({.read_fails = true});
  EXPECT_EQ(found(*cache, 1), "");
  disk.set_faults({});
  cache->put(question(1), answer("one again"));
  EXPECT_EQ(found(*cache, 1), "one again");
}

// Runs that end by a loss of power or by kill -9 in the middle of anything.
TEST(ResponseCache, WhateverHappensItTellsNothingWrong) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    MemoryDisk beneath;
    std::map<uint64_t, std::string> asked;
    for (int run = 0; run < 6; ++run) {
      store::testing::Faults faults;
      if (random.chance(0.7)) faults.operations_until_death = random.between(1, 20);
      faults.last_append_part = random.unit();
      {
        FaultyDisk disk(beneath, faults);
        const auto cache = ResponseCache::open(disk, kPath);
        for (int i = 0; cache && i < 15; ++i) {
          const uint64_t number = random.below(30);
          const std::string raw = found(**cache, number);
          if (!raw.empty()) {
            ASSERT_EQ(raw, asked.at(number));
            continue;
          }
          std::string& fresh = asked[number];
          fresh = fmt::format("{} in run {} {}", number, run,
                              std::string(static_cast<size_t>(random.below(50)), 'x'));
          (*cache)->put(question(number), answer(fresh));
        }
      }
      if (random.chance(0.5)) beneath.lose_power(random);
      // What was lost and answered anew may have an older record that came back.
      asked.clear();
      const auto cache = ResponseCache::open(beneath, kPath);
      ASSERT_TRUE(cache.has_value()) << cache.error().message;
      for (uint64_t number = 0; number < 30; ++number) {
        const std::string raw = found(**cache, number);
        if (raw.empty()) continue;
        EXPECT_TRUE(raw.starts_with(fmt::format("{} in run ", number))) << raw;
        asked[number] = raw;
      }
    }
  }
}

}  // namespace
}  // namespace windrow::dispatch
