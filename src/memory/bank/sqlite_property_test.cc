// Random changes of a bank, done to SqliteBankStore and to NaiveBank: after each of them both say
// the same. The seed is printed with a failure.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "memory/bank/testing/bank_file.h"
#include "memory/bank/testing/naive_bank.h"

namespace windrow::memory {
namespace {

using testing::BankFile;
using testing::NaiveBank;

class RandomChanges {
 public:
  explicit RandomChanges(uint64_t seed) : random_(seed) {}

  void run(int steps) {
    for (int i = 0; i < steps && !::testing::Test::HasFailure(); ++i) {
      ++now_;
      const std::string what = step();
      SCOPED_TRACE("step " + std::to_string(i) + ": " + what);
      EXPECT_EQ(NaiveBank::lines_of(store()), naive_.lines());
      compare_searches();
    }
    EXPECT_GT(applied_, steps / 20) << "batches of consolidation were among the steps";
    EXPECT_GT(refused_, 0);
  }

 private:
  using Step = std::string (RandomChanges::*)();

  std::string step() {
    constexpr std::array<std::pair<uint64_t, Step>, 11> kSteps = {{
        {20, &RandomChanges::retain},
        {40, &RandomChanges::consolidate},
        {10, &RandomChanges::apply_stale},
        {10, &RandomChanges::edit},
        {8, &RandomChanges::mark_failed},
        {3, &RandomChanges::recover},
        {5, &RandomChanges::clear_observations_of},
        {4, &RandomChanges::delete_document},
        {1, &RandomChanges::clear},
        {8, &RandomChanges::embed},
        {3, &RandomChanges::reopen},
    }};
    uint64_t total = 0;
    for (const auto& [weight, step] : kSteps)
      total += weight;
    uint64_t left = random_.below(total);
    for (const auto& [weight, step] : kSteps) {
      if (left < weight) return (this->*step)();
      left -= weight;
    }
    return "";
  }

  BankStore& store() { return file_.store(); }

  Tags some_tags() {
    std::vector<std::string> tags;
    for (const std::string tag : {"a", "b", "c"})
      if (random_.chance(0.35)) tags.push_back(tag);
    return Tags(std::move(tags));
  }

  ObservationScopes some_scopes() {
    ObservationScopes scopes;
    scopes.kind = static_cast<ScopeKind>(random_.below(5));
    if (scopes.kind == ScopeKind::kExplicit) {
      for (uint64_t i = random_.below(3); i > 0; --i)
        scopes.listed.push_back(some_tags());
    }
    return scopes;
  }

  std::string some_text() {
    constexpr std::array<std::string_view, 6> kWords = {
        "tea", "garden", "\xE8\x8C\xB6\xE6\xB0\xB4", "likes", "old", "caf\xC3\xA9"};
    std::string text = std::to_string(++texts_);
    for (uint64_t i = random_.below(4); i > 0; --i)
      text.append(" ").append(kWords.at(random_.below(kWords.size())));
    return text;
  }

  std::vector<float> some_vector() {
    constexpr std::array<std::array<float, 2>, 4> kVectors = {
        {{1, 0}, {0, 1}, {0.6F, 0.8F}, {0.8F, -0.6F}}};
    const std::array<float, 2>& vector = kVectors.at(random_.below(kVectors.size()));
    return {vector.begin(), vector.end()};
  }

  template <class T>
  T* any_of(std::vector<T>& list) {
    return list.empty() ? nullptr : &list[random_.below(list.size())];
  }

  std::string retain() {
    Retained retained;
    std::vector<NaiveBank::Fact> made;
    for (uint64_t i = 1 + random_.below(4); i > 0; --i) {
      NewFact fact;
      fact.type = random_.chance(0.3) ? MemoryType::kExperience : MemoryType::kWorld;
      fact.text = some_text();
      fact.tags = some_tags();
      fact.scopes = some_scopes();
      if (random_.chance(0.3)) fact.document_id = "document " + std::to_string(random_.below(3));
      if (random_.chance(0.7)) fact.embedding = some_vector();
      made.push_back({.id = {},
                      .type = fact.type,
                      .text = fact.text,
                      .tags = fact.tags,
                      .scopes = fact.scopes,
                      .document = fact.document_id,
                      .has_embedding = !fact.embedding.empty(),
                      .passes = {}});
      retained.facts.push_back(std::move(fact));
    }
    const Result<std::vector<MemoryId>> ids = store().retain(retained, now_);
    EXPECT_TRUE(ids);
    for (size_t i = 0; i < made.size(); ++i) {
      made[i].id = ids->at(i);
      naive_.facts.push_back(std::move(made[i]));
    }
    return "retain";
  }

  // Some pending facts of one scope, and random effects on its observations.
  BatchEffects some_effects() {
    BatchEffects effects;
    const std::vector<PendingFact> pending = store().pending_facts().value();
    if (pending.empty()) return effects;
    const std::vector<Scope>& left = pending[random_.below(pending.size())].scopes_left;
    effects.scope = left[random_.below(left.size())];
    std::vector<MemoryId> batch;
    for (const PendingFact& fact : pending) {
      if (batch.size() < 4 &&
          std::ranges::find(fact.scopes_left, effects.scope) != fact.scopes_left.end()) {
        batch.push_back(fact.id);
        effects.facts.push_back({.id = fact.id, .word = "created"});
        effects.witnesses.push_back({fact.id, store().memory(fact.id)->version});
      }
    }
    const auto some_sources = [&] {
      std::vector<MemoryId> sources = {batch[random_.below(batch.size())]};
      for (const MemoryId& id : batch)
        if (random_.chance(0.3)) sources.push_back(id);
      return sources;
    };
    for (const NaiveBank::Observation& one : naive_.observations) {
      if (one.scope != effects.scope) continue;
      if (random_.chance(0.15)) {
        effects.deletes.push_back(one.id);
      } else if (random_.chance(0.4)) {
        effects.updates.push_back({.id = one.id,
                                   .text = random_.chance(0.5) ? one.text : some_text(),
                                   .new_sources = some_sources()});
        effects.witnesses.push_back({one.id, one.version});
      }
    }
    for (uint64_t i = random_.below(3); i > 0; --i) {
      effects.creates.push_back({.id = MemoryId{"o" + std::to_string(++observations_)},
                                 .text = some_text(),
                                 .sources = some_sources()});
    }
    return effects;
  }

  std::string consolidate() {
    const BatchEffects effects = some_effects();
    if (effects.facts.empty()) return "nothing to consolidate";
    const Result<void> applied = store().apply(effects, now_);
    EXPECT_TRUE(applied) << applied.error().message;
    naive_.apply(effects);
    ++applied_;
    return "consolidate in " + to_json(effects.scope);
  }

  // Effects with one thing wrong: the last of them, so that everything else was done before.
  std::string apply_stale() {
    BatchEffects effects = some_effects();
    if (effects.facts.empty()) return "nothing to consolidate";
    switch (random_.below(4)) {
      case 0:
        ++effects.witnesses[random_.below(effects.witnesses.size())].version;
        break;
      case 1:
        effects.creates.push_back(
            {.id = MemoryId{"x"}, .text = "x", .sources = {MemoryId{"none"}}});
        break;
      case 2:
        effects.updates.push_back({.id = naive_.facts.front().id, .text = "x", .new_sources = {}});
        break;
      default:
        effects.creates.push_back(
            {.id = MemoryId{"x"}, .text = "x", .sources = {effects.facts.front().id}});
        effects.observations_max = 0;
        break;
    }
    EXPECT_FALSE(store().apply(effects, now_));
    ++refused_;
    return "stale effects";
  }

  std::string edit() {
    NaiveBank::Fact* const fact = any_of(naive_.facts);
    if (fact == nullptr) return "nothing to edit";
    const uint64_t kind = random_.below(5);
    const std::string text = some_text();
    const Tags tags = some_tags();
    const bool changes = kind == 0 || kind == 2 || kind == 3 || (kind == 1 && tags != fact->tags);
    const Result<Memory> edited = store().edit_memory(
        fact->id,
        [&](Memory& memory) -> Result<void> {
          if (kind == 0) memory.text = text;
          if (kind == 1) memory.tags = tags;
          if (kind == 2) memory.times.occurred_end = memory.times.occurred_end.value_or(0) + 1;
          if (kind == 3) {
            if (memory.invalidated)
              memory.invalidated.reset();
            else
              memory.invalidated = now_;
          }
          if (kind == 4) memory.metadata["k"] = text;
          return {};
        },
        now_);
    EXPECT_TRUE(edited);
    if (kind == 0) {
      fact->text = text;
      fact->has_embedding = false;
    }
    if (kind == 1) fact->tags = tags;
    if (kind == 3) fact->is_valid = !fact->is_valid;
    if (changes) naive_.begin_again(*fact);
    return "edit of kind " + std::to_string(kind);
  }

  // One with passes done and left if there is one: its failure concerns observations that are
  // there.
  std::string mark_failed() {
    NaiveBank::Fact* fact = any_of(naive_.facts);
    for (NaiveBank::Fact& one : naive_.facts)
      if (random_.chance(0.5) && !one.passes.empty() && one.is_pending()) fact = &one;
    if (fact == nullptr) return "nothing to mark";
    const Witness seen{.id = fact->id, .version = store().memory(fact->id)->version};
    EXPECT_TRUE(store().mark_failed(std::vector{seen}, "hopeless", now_));
    if (fact->is_valid && !fact->is_consolidated()) fact->has_failed = true;
    return "mark failed";
  }

  std::string recover() {
    const auto failed = std::ranges::count_if(
        naive_.facts, [](const NaiveBank::Fact& fact) { return fact.has_failed; });
    EXPECT_EQ(store().recover_failed(now_).value(), failed);
    for (NaiveBank::Fact& fact : naive_.facts)
      fact.has_failed = false;
    return "recover";
  }

  std::string clear_observations_of() {
    NaiveBank::Fact* fact = any_of(naive_.facts);
    for (const NaiveBank::Observation& one : naive_.observations)
      if (random_.chance(0.2)) fact = naive_.fact(one.sources.front());
    if (fact == nullptr) return "nothing to clear";
    EXPECT_TRUE(store().clear_observations_of(fact->id, now_));
    naive_.lose(fact->id);
    return "clear observations of a fact";
  }

  std::string delete_document() {
    const std::string id = "document " + std::to_string(random_.below(3));
    std::vector<MemoryId> gone;
    for (const NaiveBank::Fact& fact : naive_.facts)
      if (fact.document == id) gone.push_back(fact.id);
    const Result<int64_t> removed = store().delete_document(id, now_);
    if (gone.empty())
      EXPECT_EQ(removed.error().kind, ErrorKind::kNotFound);
    else
      EXPECT_EQ(removed.value(), std::ssize(gone));
    for (const MemoryId& fact : gone)
      naive_.remove_fact(fact);
    return "delete " + id;
  }

  std::string clear() {
    const auto type = static_cast<MemoryType>(random_.below(3));
    EXPECT_TRUE(store().clear(type, now_));
    if (type == MemoryType::kObservation) {
      while (!naive_.observations.empty())
        naive_.remove_observation(MemoryId(naive_.observations.front().id));
      return "clear observations";
    }
    std::vector<MemoryId> gone;
    for (const NaiveBank::Fact& fact : naive_.facts)
      if (fact.type == type) gone.push_back(fact.id);
    for (const MemoryId& fact : gone)
      naive_.remove_fact(fact);
    return "clear facts";
  }

  std::string embed() {
    NaiveBank::Observation* const one = any_of(naive_.observations);
    if (one == nullptr) return "nothing to embed";
    const bool is_late = random_.chance(0.3);
    EXPECT_TRUE(store().set_embeddings(std::vector<BankStore::Embedding>{
        {{one->id, one->version + (is_late ? 1 : 0)}, some_vector()}}));
    if (!is_late) one->has_embedding = true;
    return "embed";
  }

  std::string reopen() {
    file_.reopen();
    return "reopen";
  }

  // Every valid memory with the word is found, and no other; every valid one with a vector, too.
  void compare_searches() {
    constexpr int32_t kAll = 1'000'000;
    for (const std::string word : {"garden", "\xE8\x8C\xB6\xE6\xB0\xB4"}) {
      std::vector<MemoryId> found;
      const std::vector<Hit> hits = store().matching(word, {}, kAll).value();
      for (const Hit& hit : hits)
        found.push_back(hit.id);
      std::vector<MemoryId> wanted;
      for (const NaiveBank::Fact& fact : naive_.facts)
        if (fact.is_valid && fact.text.find(word) != std::string::npos) wanted.push_back(fact.id);
      for (const NaiveBank::Observation& one : naive_.observations)
        if (one.text.find(word) != std::string::npos) wanted.push_back(one.id);
      EXPECT_THAT(found, ::testing::UnorderedElementsAreArray(wanted)) << word;
    }
    std::vector<MemoryId> wanted;
    for (const NaiveBank::Fact& fact : naive_.facts)
      if (fact.is_valid && fact.has_embedding) wanted.push_back(fact.id);
    for (const NaiveBank::Observation& one : naive_.observations)
      if (one.has_embedding) wanted.push_back(one.id);
    std::vector<MemoryId> found;
    const std::vector<Hit> hits = store().nearest(std::vector<float>{1, 0}, {}, kAll).value();
    for (const Hit& hit : hits)
      found.push_back(hit.id);
    EXPECT_THAT(found, ::testing::UnorderedElementsAreArray(wanted));
  }

  Random random_;
  BankFile file_;
  NaiveBank naive_;
  UnixMs now_ = 0;
  int texts_ = 0;
  int observations_ = 0;
  int applied_ = 0;
  int refused_ = 0;
};

TEST(SqliteBankStoreProperty, RandomChangesLeaveWhatANaiveBankHas) {
  for (const uint64_t seed : {1U, 2U, 3U}) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomChanges(seed).run(200);
  }
}

}  // namespace
}  // namespace windrow::memory
