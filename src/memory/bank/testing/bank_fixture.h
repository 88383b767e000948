// BankTest: tests of a bank in a file, with short ways to make facts and observations.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "memory/bank/testing/bank_file.h"

namespace windrow::memory::testing {

class BankTest : public ::testing::Test {
 protected:
  std::vector<MemoryId> retained(std::vector<NewFact> facts) {
    Retained retained;
    retained.facts = std::move(facts);
    Result<std::vector<MemoryId>> ids = store().retain(retained, ++now_);
    EXPECT_TRUE(ids) << ids.error().message;
    return ids.value();
  }
  MemoryId retained_one(NewFact fact) { return retained({std::move(fact)}).front(); }

  // The effects of a batch of these facts that makes one observation of all of them.
  BatchEffects creation(const std::string& text, const Scope& scope,
                        const std::vector<MemoryId>& facts) {
    BatchEffects effects;
    effects.scope = scope;
    effects.creates.push_back({.id = new_id(), .text = text, .sources = facts});
    for (const MemoryId& fact : facts)
      effects.facts.push_back({.id = fact, .word = "created"});
    return effects;
  }

  // Applies that; the id of the observation.
  MemoryId observed(const std::string& text, const Scope& scope,
                    const std::vector<MemoryId>& facts) {
    const BatchEffects effects = creation(text, scope, facts);
    const Result<void> applied = store().apply(effects, ++now_);
    EXPECT_TRUE(applied) << applied.error().message;
    return effects.creates.front().id;
  }

  MemoryId new_id() { return MemoryId{"observation-" + std::to_string(++ids_)}; }

  // "a(x,y)": a pending fact by its text, with the scopes that are left.
  std::vector<std::string> pending() {
    std::vector<std::string> texts;
    const std::vector<PendingFact> facts = store().pending_facts().value();
    for (const PendingFact& fact : facts) {
      std::string text = store().memory(fact.id)->text;
      for (const Scope& scope : fact.scopes_left)
        text += to_json(scope);
      texts.push_back(std::move(text));
    }
    return texts;
  }

  std::vector<std::string> observations_of(const Scope& scope) {
    std::vector<std::string> texts;
    const std::vector<Memory> observations = store().observations_of(scope).value();
    for (const Memory& observation : observations)
      texts.push_back(observation.text);
    return texts;
  }

  std::vector<std::string> texts_of(const MemoryQuery& query) {
    std::vector<std::string> texts;
    const MemoryPage page = store().list(query).value();
    for (const Memory& memory : page.memories)
      texts.push_back(memory.text);
    return texts;
  }

  // These memories as they are now.
  std::vector<Witness> seen(const std::vector<MemoryId>& ids) {
    std::vector<Witness> witnesses;
    for (const MemoryId& id : ids)
      witnesses.push_back({.id = id, .version = store().memory(id)->version});
    return witnesses;
  }

  bool exists(const MemoryId& id) { return store().memory(id).has_value(); }

  SqliteBankStore& store() { return file_.store(); }

  BankFile file_;
  UnixMs now_ = 1000;

 private:
  int ids_ = 0;
};

}  // namespace windrow::memory::testing
