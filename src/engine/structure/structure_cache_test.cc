#include "engine/structure/structure_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <latch>

#include "base/testing/manual_clock.h"
#include "engine/testing/word_vocabulary.h"

namespace windrow::engine {
namespace {

using testing::WordVocabulary;
using windrow::testing::ManualClock;
using Kind = llm::StructureSpec::Kind;
using Made = StructureCache::Made;

llm::StructureSpec regex(std::string text) {
  return {.kind = Kind::kRegex, .text = std::move(text)};
}

class StructureCacheTest : public ::testing::Test {
 protected:
  StructureCache::Make make() {
    return [this](const llm::StructureSpec& spec, const grammar::GiveUp& give_up) {
      ++made_;
      return make_structure(spec, tables_, give_up);
    };
  }

  static Made get(StructureCache& cache, const llm::StructureSpec& spec) {
    std::promise<Made> promise;
    cache.get(spec, [&](const Made& made) { promise.set_value(made); });
    return promise.get_future().get();
  }

  ManualClock clock_;
  WordVocabulary vocabulary_{{"ab", "abc"}};
  VocabularyTables tables_ = make_tables(vocabulary_, {}, {});
  std::atomic<int> made_ = 0;
};

TEST_F(StructureCacheTest, OneThingIsMadeOnce) {
  StructureCache cache(make(), clock_);
  const Made first = get(cache, regex("a+"));
  ASSERT_TRUE(first);
  llm::StructureSpec named = regex("a+");
  named.param = "guided_regex";
  EXPECT_EQ(*get(cache, named), *first) << "who asks makes no difference";
  EXPECT_EQ(made_, 1);
  EXPECT_NE(*get(cache, regex("b+")), *first);
  llm::StructureSpec grammar = regex("a+");
  grammar.kind = Kind::kGrammar;
  EXPECT_FALSE(get(cache, grammar)) << "the same text is something else";
  EXPECT_EQ(made_, 3);
  EXPECT_GT(cache.bytes(), 0U);
}

TEST_F(StructureCacheTest, TheSameFaultIsFoundOnce) {
  StructureCache cache(make(), clock_);
  const Made fault = get(cache, regex("(a"));
  ASSERT_FALSE(fault);
  EXPECT_EQ(fault.error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(get(cache, regex("(a")).error().message, fault.error().message);
  EXPECT_EQ(made_, 1);
}

TEST_F(StructureCacheTest, EachWaitsForItsOwnOnly) {
  std::latch slow_began(1);
  std::latch slow_may_end(1);
  std::promise<void> slow_ended;
  StructureCache cache(
      [&](const llm::StructureSpec& spec, const grammar::GiveUp& give_up) {
        if (spec.text == "slow") {
          slow_began.count_down();
          slow_may_end.wait();
        }
        ++made_;
        return make_structure(spec, tables_, give_up);
      },
      clock_, {.threads = 2});
  std::atomic<int> told = 0;
  for (int i = 0; i < 3; ++i) {
    cache.get(regex("slow"), [&](const Made& made) {
      EXPECT_TRUE(made);
      if (++told == 3) slow_ended.set_value();
    });
  }
  slow_began.wait();
  EXPECT_TRUE(get(cache, regex("quick")));
  EXPECT_EQ(told, 0);
  slow_may_end.count_down();
  slow_ended.get_future().wait();
  EXPECT_EQ(made_, 2);
}

TEST_F(StructureCacheTest, WhatTakesTooLongIsGivenUp) {
  int asked = 0;
  StructureCache cache(
      [&](const llm::StructureSpec&, const grammar::GiveUp& give_up) -> Made {
        ++made_;
        while (!give_up()) {
          ++asked;
          clock_.advance(std::chrono::seconds(1));
        }
        return Error{ErrorKind::kUnavailable, "given up"};
      },
      clock_, {.deadline = std::chrono::seconds(5)});
  EXPECT_EQ(get(cache, regex("a")).error().message,
            "compiling it took longer than 5 s; make it simpler");
  EXPECT_EQ(asked, 6);
  EXPECT_EQ(get(cache, regex("a")).error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(made_, 1) << "it would take as long again";
}

TEST_F(StructureCacheTest, TheEndWaitsForNothing) {
  std::atomic<int> told = 0;
  std::latch began(1);
  {
    StructureCache cache(
        [&](const llm::StructureSpec&, const grammar::GiveUp& give_up) -> Made {
          began.count_down();
          while (!give_up()) {
          }
          return Error{ErrorKind::kUnavailable, "given up"};
        },
        clock_, {.threads = 1});
    for (const char* text : {"a", "b", "a"}) {
      cache.get(regex(text), [&](const Made& made) {
        EXPECT_EQ(made.error().kind, ErrorKind::kUnavailable);
        ++told;
      });
    }
    began.wait();
  }
  EXPECT_EQ(told, 3);
}

TEST_F(StructureCacheTest, TheOldestGoFirst) {
  StructureCache cache(make(), clock_, {.threads = 1, .entries_max = 2});
  ASSERT_TRUE(get(cache, regex("a")));
  ASSERT_TRUE(get(cache, regex("b")));
  ASSERT_TRUE(get(cache, regex("a")));
  ASSERT_TRUE(get(cache, regex("c")));
  EXPECT_EQ(made_, 3);
  ASSERT_TRUE(get(cache, regex("a")));
  EXPECT_EQ(made_, 3);
  ASSERT_TRUE(get(cache, regex("b")));
  EXPECT_EQ(made_, 4);

  StructureCache small(make(), clock_, {.threads = 1, .bytes_max = 1});
  for (const char* text : {"a", "b", "a"})
    ASSERT_TRUE(get(small, regex(text)));
  EXPECT_EQ(made_, 7) << "only the one in use stays";
}

}  // namespace
}  // namespace windrow::engine
