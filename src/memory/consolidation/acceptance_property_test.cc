// Random responses to random batches: everything that is accepted holds the rules, which are
// checked here one by one, without the code that accepts.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "memory/consolidation/acceptance.h"
#include "memory/consolidation/batch_result.h"

namespace windrow::memory {
namespace {

constexpr int64_t kTexts = 6;

struct Case {
  BatchPrompt prompt;
  std::vector<ShownObservation> shown;
  std::map<MemoryId, std::vector<MemoryId>> folded;
  ModelActions actions;
  int64_t creates_max = -1;
};

std::string random_text(Random& random) {
  if (random.chance(0.1)) return random.chance(0.5) ? "" : " \n";
  const int64_t number = random.between(1, kTexts);
  return fmt::format("text{}{}", random.chance(0.3) ? "  \n" : " ", number);
}

std::vector<std::string> random_fact_names(Random& random) {
  std::vector<std::string> names;
  for (int64_t n = random.between(0, 4); n > 0; --n)
    names.push_back(fmt::format("{}{}", random.chance(0.9) ? "F" : "f", random.between(1, 6)));
  return names;
}

std::string random_target(Random& random) {
  return fmt::format("{}{}", random.chance(0.9) ? "O" : "o", random.between(1, 7));
}

Case random_case(Random& random) {
  Case one;
  const int64_t facts = random.between(1, 4);
  for (int64_t i = 1; i <= facts; ++i) {
    const MemoryId id{fmt::format("f{}", i)};
    one.prompt.facts.emplace(fmt::format("F{}", i), id);
    if (random.chance(0.3)) one.folded[id].push_back({fmt::format("folded{}", i)});
  }
  for (int64_t i = random.between(0, 5); i > 0; --i) {
    ShownObservation& shown = one.shown.emplace_back();
    shown.observation.id = {fmt::format("o{}", i)};
    shown.observation.text = fmt::format("text {}", random.between(1, kTexts));
    for (int64_t fact = 1; fact <= facts; ++fact) {
      if (random.chance(0.5)) shown.recalled_for.push_back({fmt::format("f{}", fact)});
    }
    one.prompt.observations.emplace(fmt::format("O{}", i), shown.observation.id);
  }
  for (int64_t n = random.between(0, 5); n > 0; --n) {
    one.actions.creates.push_back(
        {.text = random_text(random), .source_fact_ids = random_fact_names(random), .reason = ""});
  }
  for (int64_t n = random.between(0, 4); n > 0; --n) {
    one.actions.updates.push_back({.text = random_text(random),
                                   .observation_id = random_target(random),
                                   .source_fact_ids = random_fact_names(random),
                                   .reason = ""});
  }
  for (int64_t n = random.between(0, 3); n > 0; --n)
    one.actions.deletes.push_back({.observation_id = random_target(random), .reason = ""});
  one.creates_max = random.between(-1, 3);
  return one;
}

// Checks what was accepted of one case.
class Checker {
 public:
  Checker(const Case& one, const Accepted& accepted) : case_(one), accepted_(accepted) {
    for (const auto& [name, id] : one.prompt.facts) {
      sources_.insert(id);
      if (one.folded.contains(id)) {
        sources_.insert(one.folded.at(id).begin(), one.folded.at(id).end());
      }
    }
    for (const ShownObservation& shown : one.shown)
      shown_.insert(shown.observation.id);
  }

  void check() const {
    check_deletes();
    check_updates();
    check_creates();
    check_folded();
    check_evidence();
  }

 private:
  void expect_sources(const std::vector<MemoryId>& sources) const {
    EXPECT_FALSE(sources.empty());
    EXPECT_EQ(std::set(sources.begin(), sources.end()).size(), sources.size()) << "each once";
    for (const MemoryId& source : sources)
      EXPECT_TRUE(sources_.contains(source)) << source.text << " is no fact of the batch";
  }

  void check_deletes() const {
    std::set<MemoryId> deleted;
    for (const MemoryId& id : accepted_.deletes) {
      EXPECT_TRUE(deleted.insert(id).second) << "deleted twice";
      EXPECT_TRUE(shown_.contains(id));
      EXPECT_TRUE(std::ranges::any_of(case_.actions.deletes, [&](const auto& action) {
        const auto name = case_.prompt.observations.find(action.observation_id);
        return name != case_.prompt.observations.end() && name->second == id;
      })) << "no action asks for it";
    }
  }

  void check_updates() const {
    std::set<MemoryId> updated;
    for (const UpdateObservation& update : accepted_.updates) {
      EXPECT_TRUE(updated.insert(update.id).second) << "updated twice";
      ASSERT_TRUE(shown_.contains(update.id));
      EXPECT_EQ(std::ranges::count(accepted_.deletes, update.id), 0) << "also deleted";
      EXPECT_FALSE(normalised(update.text).empty());
      expect_sources(update.new_sources);
      const ShownObservation& shown = *std::ranges::find(
          case_.shown, update.id, [](const auto& one) { return one.observation.id; });
      const bool only_joined = std::ranges::all_of(update.new_sources, [&](const auto& source) {
        return accepted_.joined.contains({.observation = update.id, .fact = source});
      });
      if (only_joined) {
        EXPECT_EQ(update.text, shown.observation.text);
      } else {
        EXPECT_TRUE(std::ranges::any_of(update.new_sources, [&](const auto& source) {
          return std::ranges::count(shown.recalled_for, source) > 0;
        })) << "it was shown for none of the sources";
      }
    }
  }

  void check_creates() const {
    std::set<std::string> texts;
    for (const AcceptedCreate& create : accepted_.creates) {
      EXPECT_FALSE(normalised(create.text).empty());
      EXPECT_TRUE(texts.insert(normalised(create.text)).second) << "two with one text";
      expect_sources(create.sources);
      for (const ShownObservation& shown : case_.shown)
        EXPECT_NE(normalised(shown.observation.text), normalised(create.text));
      for (const UpdateObservation& update : accepted_.updates)
        EXPECT_NE(normalised(update.text), normalised(create.text));
    }
    if (case_.creates_max >= 0) {
      EXPECT_LE(std::ssize(accepted_.creates), case_.creates_max + std::ssize(accepted_.deletes));
    }
  }

  void check_folded() const {
    const auto expect_whole = [&](const std::vector<MemoryId>& sources) {
      for (const auto& [fact, folded] : case_.folded) {
        const bool has_fact = std::ranges::count(sources, fact) > 0;
        for (const MemoryId& one : folded)
          EXPECT_EQ(std::ranges::count(sources, one) > 0, has_fact);
      }
    };
    for (const AcceptedCreate& create : accepted_.creates)
      expect_whole(create.sources);
    for (const UpdateObservation& update : accepted_.updates)
      expect_whole(update.new_sources);
  }

  // A create with a text and a source ends as an observation, as a source of one, or rejected
  // because the scope is full.
  void check_evidence() const {
    size_t unusable = 0;
    for (const auto& action : case_.actions.creates) {
      const bool has_source = std::ranges::any_of(action.source_fact_ids, [&](const auto& name) {
        return case_.prompt.facts.contains(name);
      });
      if (normalised(action.text).empty() || !has_source) ++unusable;
    }
    const auto rejected =
        static_cast<size_t>(std::ranges::count_if(accepted_.rejected, [](const Rejected& one) {
          return one.what.starts_with("creates") && one.kind != RejectedKind::kScopeFull;
        }));
    EXPECT_EQ(rejected, unusable);
  }

  const Case& case_;
  const Accepted& accepted_;
  std::set<MemoryId> sources_;
  std::set<MemoryId> shown_;
};

TEST(AcceptProperty, WhateverIsAcceptedHoldsTheRules) {
  for (uint64_t seed = 0; seed < 10'000; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    const Case one = random_case(random);
    const Accepted accepted = accept(one.actions, {.prompt = one.prompt,
                                                   .shown = one.shown,
                                                   .folded = one.folded,
                                                   .creates_max = one.creates_max});
    Checker(one, accepted).check();
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace windrow::memory
