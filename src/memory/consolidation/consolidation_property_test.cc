// Random facts, random order of answers, random failures: whatever the interleaving, each scope
// ends with what a serial run computes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "async/executor.h"
#include "base/random.h"
#include "base/testing/manual_clock.h"
#include "base/testing/rounds.h"
#include "memory/bank/testing/bank_file.h"
#include "memory/consolidation/consolidation.h"
#include "memory/testing/hashed_words.h"
#include "memory/testing/held_models.h"
#include "memory/testing/scripted_models.h"
#include "memory/testing/serial_bank.h"
#include "memory/testing/topic_consolidator.h"

namespace windrow::memory {
namespace {

using testing::SerialBank;

constexpr size_t kDimension = 64;

// One random bank and its run.
class RandomBank {
 public:
  explicit RandomBank(uint64_t seed)
      : random_(seed),
        batch_facts_max_(static_cast<int32_t>(random_.between(1, 4))),
        in_flight_max_(static_cast<int32_t>(random_.between(1, 4))),
        serial_(static_cast<size_t>(batch_facts_max_)) {
    models_.on_chat = [this](const ChatCall& call) { return answer(call); };
    if (random_.chance(0.8)) models_.on_embed = testing::embed_by_hashed_words(kDimension);
  }

  // In several runs, as facts come in.
  void go() {
    for (int64_t runs = random_.between(1, 3); runs > 0; --runs) {
      retain(random_.between(1, 14));
      consolidate_all();
      expect_same();
    }
  }

 private:
  void retain(int64_t count) {
    Retained retained;
    for (int64_t i = 0; i < count; ++i) {
      NewFact fact;
      std::vector<std::string> tags;
      for (const auto* tag : {"a", "b"}) {
        if (random_.chance(0.5)) tags.emplace_back(tag);
      }
      fact.tags = Tags(std::move(tags));
      constexpr ScopeKind kKinds[] = {ScopeKind::kCombined, ScopeKind::kCombined,
                                      ScopeKind::kPerTag, ScopeKind::kAllCombinations,
                                      ScopeKind::kShared};
      fact.scopes.kind = kKinds[random_.below(5)];
      fact.text = text_for(fact);
      if (models_.on_embed) fact.embedding = testing::hashed_words(fact.text, kDimension);
      retained.facts.push_back(std::move(fact));
    }
    const Result<std::vector<MemoryId>> ids = bank_.store().retain(retained, 1);
    ASSERT_TRUE(ids) << ids.error().message;
    for (size_t i = 0; i < ids->size(); ++i) {
      const NewFact& fact = retained.facts[i];
      serial_.add((*ids)[i], fact.tags, fact.scopes, fact.text);
    }
  }

  // Of one of a few topics: a new value, or the last one of such facts again.
  std::string text_for(const NewFact& fact) {
    const std::string topic = fmt::format("t{}", random_.below(4));
    std::string& last = last_told_[{fact.tags, resolve_scopes(fact.tags, fact.scopes), topic}];
    if (last.empty() || random_.chance(0.6)) last = fmt::format("{}: v{}", topic, ++values_);
    return last;
  }

  void consolidate_all() {
    testing::HeldModels held(models_);
    const testing::RandomAnswers answers(held, random_.next(),
                                         [this] { clock_.advance(std::chrono::seconds(1)); });
    async::Executor executor(3);
    ConsolidationOptions options{.in_flight_max = in_flight_max_, .bank = "bank"};
    options.config.consolidation_llm_batch_size = batch_facts_max_;
    const ConsolidationReport report =
        consolidate(bank_.store(), held, executor, clock_, options, {}, {});
    EXPECT_EQ(report.end, ConsolidationEnd::kCompleted) << report.error;
    EXPECT_EQ(report.counts.facts_failed, 0);
    EXPECT_LE(held.in_flight_max(), in_flight_max_);
    EXPECT_TRUE(bank_.store().pending_facts()->empty());
  }

  // The ideal model, which sometimes fails first.
  ChatOutcome answer(const ChatCall& call) {
    if (call.user.starts_with("A: ")) return ChatReply{.text = R"({"action":"keep"})"};
    if (failed_.insert(call.user).second) {
      const bool is_single = call.user.find("F2: ") == std::string::npos;
      if (random_of_model_.chance(0.1) && !is_single) return ChatReply{.text = "no JSON"};
      if (random_of_model_.chance(0.05)) {
        return llm::Failure{
            .failure_class = llm::FailureClass::kTransient, .status = 503, .message = "busy"};
      }
    }
    return ChatReply{.text = testing::consolidate_topics(call.user)};
  }

  void expect_same() {
    for (const auto& [scope, expected] : serial_.consolidate()) {
      const Result<std::vector<Memory>> stored = bank_.store().observations_of(scope);
      ASSERT_TRUE(stored) << stored.error().message;
      SerialBank::Observations observations;
      for (const Memory& one : *stored) {
        const auto [added, is_new] =
            observations.try_emplace(testing::topic_of(one.text), SerialBank::Observation());
        EXPECT_TRUE(is_new) << "two observations of " << one.text;
        added->second = {.text = one.text, .sources = {one.sources.begin(), one.sources.end()}};
        EXPECT_EQ(one.proof_count, std::ssize(added->second.sources));
      }
      ASSERT_EQ(observations.size(), expected.size());
      for (const auto& [topic, observation] : expected) {
        EXPECT_EQ(observations[topic].text, observation.text) << to_json(scope);
        EXPECT_EQ(observations[topic].sources, observation.sources) << to_json(scope);
      }
    }
  }

  Random random_;
  Random random_of_model_{random_.next()};
  const int32_t batch_facts_max_;
  const int32_t in_flight_max_;
  SerialBank serial_;
  testing::BankFile bank_;
  windrow::testing::ManualClock clock_;
  std::map<std::tuple<Tags, std::vector<Scope>, std::string>, std::string> last_told_;
  int64_t values_ = 0;
  std::set<std::string> failed_;  // prompts that were asked once
  testing::ScriptedModels models_;
};

TEST(ConsolidationProperty, AnyInterleavingIsWhatASerialRunComputes) {
  for (uint64_t seed = 0; seed < windrow::testing::rounds(20U, 60U); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    RandomBank(seed).go();
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace windrow::memory
