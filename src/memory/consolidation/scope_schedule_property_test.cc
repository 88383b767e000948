// ScopeSchedule against a model of its rules that scans lists, over random facts and events.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <list>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/random.h"
#include "base/testing/rounds.h"
#include "memory/consolidation/scope_schedule.h"

namespace windrow::memory {
namespace {

using Group = std::pair<Tags, std::vector<Scope>>;

// The rules, as directly as they can be said.
class NaiveSchedule {
 public:
  NaiveSchedule(int32_t batch_facts_max, int32_t in_flight_max)
      : batch_facts_max_(static_cast<size_t>(batch_facts_max)), in_flight_max_(in_flight_max) {}

  void add(const PendingFact& fact) {
    const size_t group =
        groups_.try_emplace({fact.tags, resolve_scopes(fact.tags, fact.scopes)}, groups_.size())
            .first->second;
    for (const Scope& scope : fact.scopes_left)
      scope_named(scope).waiting.push_back({.age = facts_, .id = fact.id, .group = group});
    ++facts_;
  }

  std::optional<ScopeBatch> next(TimePoint now) {
    if (in_flight() >= in_flight_max_) return std::nullopt;
    std::vector<ScopeState*> ready;
    int64_t all_left = 0;
    for (ScopeState& scope : scopes_) {
      all_left += left(scope);
      const bool has_work = !scope.put_back.empty() || !scope.waiting.empty();
      if (has_work && !scope.flying && !scope.is_held && scope.due <= now) ready.push_back(&scope);
    }
    if (ready.empty()) return std::nullopt;
    const auto longest = std::ranges::min_element(ready, {}, [&](const ScopeState* scope) {
      return std::pair(-left(*scope), oldest(*scope));
    });
    const auto fewest = std::ranges::min_element(ready, {}, [&](const ScopeState* scope) {
      return std::pair(scope->handed_out, oldest(*scope));
    });
    return hand_out(left(**longest) * in_flight_max_ >= all_left ? **longest : **fewest);
  }

  void done(const ScopeBatch& batch) { scope_named(batch.scope).flying.reset(); }

  void split(const ScopeBatch& batch) {
    ScopeState& scope = scope_named(batch.scope);
    const auto middle = static_cast<ptrdiff_t>((scope.flying->passes.size() + 1) / 2);
    auto& passes = scope.flying->passes;
    scope.put_back.push_front({.passes = {passes.begin() + middle, passes.end()}, .attempts = 0});
    scope.put_back.push_front({.passes = {passes.begin(), passes.begin() + middle}, .attempts = 0});
    scope.flying.reset();
  }

  void again(const ScopeBatch& batch, TimePoint due) {
    ScopeState& scope = scope_named(batch.scope);
    ++scope.flying->attempts;
    scope.put_back.push_front(*scope.flying);
    scope.flying.reset();
    scope.due = due;
  }

  void hold_back(const ScopeBatch& batch) {
    ScopeState& scope = scope_named(batch.scope);
    scope.put_back.push_front(*scope.flying);
    scope.flying.reset();
    --scope.handed_out;
    --numbered_;
    scope.is_held = true;
  }

  void release(const Scope& scope) { scope_named(scope).is_held = false; }

  int32_t in_flight() const {
    return static_cast<int32_t>(
        std::ranges::count_if(scopes_, [](const auto& scope) { return scope.flying.has_value(); }));
  }

  int64_t passes_left() const {
    size_t passes = 0;
    for (const ScopeState& scope : scopes_) {
      passes += scope.waiting.size();
      if (scope.flying) passes += scope.flying->passes.size();
      for (const Formed& formed : scope.put_back)
        passes += formed.passes.size();
    }
    return static_cast<int64_t>(passes);
  }

 private:
  struct Pass {
    int64_t age = 0;
    MemoryId id;
    size_t group = 0;
  };
  struct Formed {
    std::vector<Pass> passes;
    int32_t attempts = 0;
  };
  struct ScopeState {
    Scope scope;
    std::list<Pass> waiting;
    std::list<Formed> put_back;
    std::optional<Formed> flying;
    int64_t handed_out = 0;
    TimePoint due = {};
    bool is_held = false;
  };

  ScopeState& scope_named(const Scope& scope) {
    const auto found = std::ranges::find(scopes_, scope, &ScopeState::scope);
    if (found != scopes_.end()) return *found;
    ScopeState& added = scopes_.emplace_back();
    added.scope = scope;
    return added;
  }

  int64_t left(const ScopeState& scope) const {
    std::map<size_t, size_t> sizes;
    for (const Pass& pass : scope.waiting)
      ++sizes[pass.group];
    size_t batches = scope.put_back.size() + (scope.flying ? 1 : 0);
    for (const auto& [group, size] : sizes)
      batches += (size + batch_facts_max_ - 1) / batch_facts_max_;
    return static_cast<int64_t>(batches);
  }

  static int64_t oldest(const ScopeState& scope) {
    int64_t age = scope.waiting.empty() ? INT64_MAX : scope.waiting.front().age;
    if (!scope.put_back.empty()) age = std::min(age, scope.put_back.front().passes.front().age);
    return age;
  }

  ScopeBatch hand_out(ScopeState& scope) {
    if (!scope.put_back.empty()) {
      scope.flying = scope.put_back.front();
      scope.put_back.pop_front();
    } else {
      scope.flying = Formed();
      const size_t group = scope.waiting.front().group;
      for (auto pass = scope.waiting.begin(); pass != scope.waiting.end();) {
        const bool taken = pass->group == group && scope.flying->passes.size() < batch_facts_max_;
        if (taken) scope.flying->passes.push_back(*pass);
        pass = taken ? scope.waiting.erase(pass) : std::next(pass);
      }
    }
    ++scope.handed_out;
    ScopeBatch batch{
        .number = ++numbered_, .scope = scope.scope, .attempts = scope.flying->attempts};
    for (const Pass& pass : scope.flying->passes)
      batch.facts.push_back(pass.id);
    return batch;
  }

  const size_t batch_facts_max_;
  const int32_t in_flight_max_;
  std::list<ScopeState> scopes_;  // in the order in which they were named
  std::map<Group, size_t> groups_;
  int64_t facts_ = 0;
  int64_t numbered_ = 0;
};

ObservationScopes random_scopes(Random& random) {
  switch (random.below(6)) {
    case 0:
      return {.kind = ScopeKind::kPerTag, .listed = {}};
    case 1:
      return {.kind = ScopeKind::kAllCombinations, .listed = {}};
    case 2:
      return {.kind = ScopeKind::kShared, .listed = {}};
    case 3:
      return {.kind = ScopeKind::kExplicit, .listed = {Tags({"a"}), Tags({"x"})}};
    default:
      return {};
  }
}

PendingFact random_fact(Random& random, int64_t number) {
  std::vector<std::string> tags;
  for (const auto* tag : {"a", "b", "c"}) {
    if (random.chance(0.4)) tags.emplace_back(tag);
  }
  PendingFact fact{.id = {fmt::format("f{}", number)},
                   .tags = Tags(std::move(tags)),
                   .scopes = random_scopes(random)};
  fact.scopes_left = resolve_scopes(fact.tags, fact.scopes);
  if (fact.scopes_left.size() > 1 && random.chance(0.2)) fact.scopes_left.pop_back();
  return fact;
}

// One random run, with what holds whatever the rules of choice are.
class RandomRun {
 public:
  explicit RandomRun(uint64_t seed)
      : random_(seed),
        batch_facts_max_(static_cast<int32_t>(random_.between(1, 5))),
        in_flight_max_(static_cast<int32_t>(random_.between(1, 6))),
        schedule_(batch_facts_max_, in_flight_max_),
        naive_(batch_facts_max_, in_flight_max_) {}

  void go() {
    for (int i = 0; i < 70 && !::testing::Test::HasFailure(); ++i)
      step();
    while (!schedule_.is_done() && !::testing::Test::HasFailure()) {
      now_ += std::chrono::milliseconds(50);
      hand_out();
      release_one();
      if (!flying_.empty()) end_one(0);
    }
    EXPECT_EQ(naive_.passes_left(), 0);
    EXPECT_EQ(ended_, added_) << "every pass ends exactly once";
  }

 private:
  void step() {
    now_ += std::chrono::milliseconds(random_.below(20));
    switch (random_.below(5)) {
      case 0:
        add();
        break;
      case 2:
        release_one();
        break;
      case 1:
        if (!flying_.empty()) end_one(0.4);
        break;
      default:
        hand_out();
        break;
    }
    EXPECT_EQ(schedule_.in_flight(), naive_.in_flight());
    EXPECT_EQ(schedule_.in_flight(), static_cast<int32_t>(flying_.size()));
    EXPECT_LE(schedule_.in_flight(), in_flight_max_);
    EXPECT_EQ(schedule_.passes_left(), naive_.passes_left());
    EXPECT_EQ(schedule_.is_done(), schedule_.passes_left() == 0);
  }

  void add() {
    for (int64_t n = random_.between(1, 4); n > 0; --n) {
      const PendingFact fact = random_fact(random_, number_);
      schedule_.add(fact);
      naive_.add(fact);
      for (const Scope& scope : fact.scopes_left)
        added_.emplace(scope, number_);
      groups_[fact.id] = {fact.tags, resolve_scopes(fact.tags, fact.scopes)};
      ages_[fact.id] = number_++;
    }
  }

  void hand_out() {
    const auto batch = schedule_.next(now_);
    const auto expected = naive_.next(now_);
    ASSERT_EQ(batch.has_value(), expected.has_value());
    if (!batch) return;
    EXPECT_EQ(std::tie(batch->number, batch->scope, batch->facts, batch->attempts),
              std::tie(expected->number, expected->scope, expected->facts, expected->attempts));
    ASSERT_FALSE(batch->facts.empty());
    EXPECT_LE(batch->facts.size(), static_cast<size_t>(batch_facts_max_));
    for (const ScopeBatch& other : flying_)
      EXPECT_NE(other.scope, batch->scope) << "one batch in flight per scope";
    for (const MemoryId& fact : batch->facts)
      EXPECT_EQ(groups_[fact], groups_[batch->facts.front()]) << "a batch is homogeneous";
    if (random_.chance(0.1)) {
      schedule_.hold_back(*batch);
      naive_.hold_back(*batch);
      held_.push_back(batch->scope);
      return;
    }
    flying_.push_back(*batch);
  }

  void release_one() {
    if (held_.empty()) return;
    std::swap(held_[random_.below(held_.size())], held_.back());
    schedule_.release(held_.back());
    naive_.release(held_.back());
    held_.pop_back();
  }

  void end_one(double failing) {
    const size_t index = random_.below(flying_.size());
    const ScopeBatch batch = flying_[index];
    flying_.erase(flying_.begin() + static_cast<ptrdiff_t>(index));
    if (batch.facts.size() > 1 && random_.chance(failing / 2)) {
      schedule_.split(batch);
      naive_.split(batch);
      return;
    }
    if (random_.chance(failing / 2)) {
      const TimePoint due = now_ + std::chrono::milliseconds(random_.below(60));
      schedule_.again(batch, due);
      naive_.again(batch, due);
      return;
    }
    schedule_.done(batch);
    naive_.done(batch);
    for (const MemoryId& fact : batch.facts) {
      const int64_t age = ages_[fact];
      EXPECT_TRUE(ended_.emplace(batch.scope, age).second) << fact.text << " ended twice";
      const auto [last, is_first] = last_ended_.try_emplace({batch.scope, groups_[fact]}, age);
      EXPECT_TRUE(is_first || last->second < age) << "in the order in which the facts came";
      last->second = age;
    }
  }

  Random random_;
  const int32_t batch_facts_max_;
  const int32_t in_flight_max_;
  ScopeSchedule schedule_;
  NaiveSchedule naive_;
  TimePoint now_ = {};
  int64_t number_ = 0;
  std::vector<ScopeBatch> flying_;
  std::vector<Scope> held_;
  std::map<MemoryId, Group> groups_;
  std::map<MemoryId, int64_t> ages_;
  std::set<std::pair<Scope, int64_t>> added_;
  std::set<std::pair<Scope, int64_t>> ended_;
  std::map<std::pair<Scope, Group>, int64_t> last_ended_;
};

TEST(ScopeScheduleProperty, IsWhatAModelOfItsRulesSays) {
  for (uint64_t seed = 0; seed < windrow::testing::rounds(250U, 1000U); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    RandomRun(seed).go();
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace windrow::memory
