// Many batches at random: in any order of answers, and with faults.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/testing/manual_clock.h"
#include "memory/consolidation/consolidation.h"
#include "memory/testing/consolidation_rig.h"

namespace windrow::memory {
namespace {

using testing::by_topic;
using testing::failure;
using testing::LiveRun;
using testing::QueuedModels;
using testing::run_through;
using testing::TestBank;
using testing::texts_of;
using windrow::testing::ManualClock;

// --- any interleaving ends as the serial run does ---

struct Planned {
  std::string text;
  std::vector<std::string> tags;
  ObservationScopes scopes;
};

std::vector<Planned> planned_facts(Random& random) {
  const std::vector<std::vector<std::string>> tag_sets = {{}, {"a"}, {"b"}, {"a", "b"}, {"a", "c"}};
  const std::vector<ScopeKind> kinds = {ScopeKind::kCombined, ScopeKind::kPerTag,
                                        ScopeKind::kAllCombinations, ScopeKind::kShared};
  std::vector<Planned> facts;
  const auto count = 10 + random.below(40);
  for (uint64_t i = 0; i < count; ++i) {
    facts.push_back({.text = "topic " + std::to_string(random.below(4)) + ": value " +
                             std::to_string(random.below(12)),
                     .tags = tag_sets[random.below(tag_sets.size())],
                     .scopes = {.kind = kinds[random.below(kinds.size())], .listed = {}}});
  }
  return facts;
}

// Of each scope: proof count and sources, by text.
using Contents =
    std::map<std::vector<std::string>, std::map<std::string, std::pair<int64_t, size_t>>>;

Contents contents_of(TestBank& bank) {
  Contents contents;
  const Result<std::vector<ScopeCount>> scopes = bank.store().scopes();
  for (const ScopeCount& scope : *scopes) {
    for (const Memory& observation : bank.observations(scope.scope.list())) {
      contents[scope.scope.list()].emplace(
          observation.text, std::pair(observation.proof_count, observation.sources.size()));
    }
  }
  return contents;
}

TEST(ConsolidationSoak, AnyInterleavingEndsAsTheSerialRunDoes) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    Random random(seed);
    const std::vector<Planned> facts = planned_facts(random);
    BankConfig config;
    config.consolidation_llm_batch_size = static_cast<int32_t>(random.between(1, 4));

    TestBank serial;
    TestBank parallel;
    for (const Planned& fact : facts) {
      serial.add(fact.text, fact.tags, fact.scopes);
      parallel.add(fact.text, fact.tags, fact.scopes);
    }
    QueuedModels one(by_topic);
    config.consolidation_llm_parallelism = 1;
    ASSERT_EQ(run_through(serial, one, config).end, ConsolidationEnd::kCompleted);

    QueuedModels many(by_topic);
    many.hold();
    const ManualClock clock;
    config.consolidation_llm_parallelism = static_cast<int32_t>(random.between(2, 6));
    LiveRun run(parallel, many, clock, config);
    while (run.next_call())
      many.answer_one(random.below(many.waiting().size()));
    ASSERT_EQ(run.finish().end, ConsolidationEnd::kCompleted);
    EXPECT_EQ(contents_of(parallel), contents_of(serial)) << "seed " << seed;
    EXPECT_EQ(parallel.stats().pending_consolidation, 0);
  }
}

// --- a soak with faults ---

TEST(ConsolidationSoak, FaultsOfAThousandBatchesMarkNoGoodFactAndCreateNothingTwice) {
  TestBank bank;
  constexpr int kScopes = 20;
  constexpr int kTopics = 5;
  constexpr int kFacts = 2000;
  Random random(11);
  std::map<std::vector<std::string>, std::map<std::string, std::string>> expected;
  std::vector<NewFact> facts;
  for (int i = 0; i < kFacts; ++i) {
    NewFact fact;
    const std::string topic = "topic " + std::to_string(random.below(kTopics));
    fact.text = topic + ": value " + std::to_string(i);
    fact.tags = Tags({"scope " + std::to_string(random.below(kScopes))});
    expected[fact.tags.list()][topic] = fact.text;
    facts.push_back(std::move(fact));
  }
  ASSERT_TRUE(bank.store().retain({.facts = facts}, 1000));
  std::mutex mutex;
  Random faults(12);
  QueuedModels models([&](const ChatCall& call) -> ChatOutcome {
    const std::scoped_lock lock(mutex);
    const double draw = faults.unit();
    if (draw < 0.05) return failure(llm::FailureClass::kTransient, 503);
    if (draw < 0.10) return ChatReply{.text = "not JSON", .truncated = false, .usage = {}};
    if (draw < 0.13) return ChatReply{.text = "{\"creates\":[", .truncated = true, .usage = {}};
    if (draw < 0.14) return failure(llm::FailureClass::kTransient, 429);
    return by_topic(call);
  });
  BankConfig config;
  config.consolidation_llm_batch_size = 2;
  config.consolidation_max_attempts = 6;
  int64_t batches = 0;
  while (bank.stats().pending_consolidation > 0)
    batches += run_through(bank, models, config).counts.batches;
  EXPECT_GE(batches, 1000);
  EXPECT_EQ(bank.stats().failed_consolidation, 0);
  for (const auto& [scope, topics] : expected) {
    std::vector<std::string> texts;
    for (const auto& [topic, text] : topics)
      texts.push_back(text);
    EXPECT_THAT(texts_of(bank.observations(scope)), ::testing::UnorderedElementsAreArray(texts));
  }
}

}  // namespace
}  // namespace windrow::memory
