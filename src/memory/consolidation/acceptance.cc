#include "memory/consolidation/acceptance.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace windrow::memory {
namespace {

constexpr std::string_view kWhiteSpace = " \t\n\r\f\v";

// Adds what is not there yet, and keeps the order.
void add_each_once(const std::vector<MemoryId>& from, std::vector<MemoryId>& to) {
  for (const MemoryId& id : from) {
    if (std::ranges::find(to, id) == to.end()) to.push_back(id);
  }
}

// A long text of a model is not repeated whole in a log.
std::string shortened(std::string_view name) {
  constexpr size_t kBytesMax = 60;
  return name.size() <= kBytesMax ? std::string(name)
                                  : std::string(name.substr(0, kBytesMax)) + "...";
}

std::string listed(const std::vector<std::string>& names) {
  constexpr size_t kNamesMax = 8;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kNamesMax); ++i)
    text += (i == 0 ? "" : ", ") + shortened(names[i]);
  if (names.size() > kNamesMax) text += fmt::format(" and {} more", names.size() - kNamesMax);
  return names.empty() ? "none" : text;
}

// Judges one response.
class Judge {
 public:
  explicit Judge(const AcceptanceView& view) : view_(view) {
    for (const ShownObservation& one : view.shown) {
      shown_.emplace(one.observation.id, &one);
      by_text_.try_emplace(normalised(one.observation.text), one.observation.id);
    }
  }

  Accepted judge(const ModelActions& actions) {
    for (const std::string& what : actions.malformed)
      reject(RejectedKind::kMalformed, what);
    take_deletes(actions);
    take_updates(actions);
    take_creates(actions);
    finish();
    return std::move(accepted_);
  }

 private:
  struct Target {
    const ShownObservation* shown = nullptr;
    std::string text;               // of the last update; empty: none
    std::vector<MemoryId> sources;  // of updates
    std::vector<MemoryId> joining;  // of creates with the same text
  };

  struct Candidate {
    std::string place;  // "creates[2]"
    std::string text;
    std::vector<MemoryId> sources;
  };

  void reject(RejectedKind kind, std::string what) {
    accepted_.rejected.push_back({.kind = kind, .what = std::move(what)});
  }

  const ShownObservation* shown_as(const std::string& name) const {
    const auto id = view_.prompt.observations.find(name);
    if (id == view_.prompt.observations.end()) return nullptr;
    const auto found = shown_.find(id->second);
    return found == shown_.end() ? nullptr : found->second;
  }

  // Facts of the batch by these names. Names that stand for nothing do not count.
  std::vector<MemoryId> facts_named(const std::vector<std::string>& names) const {
    std::set<MemoryId> seen;
    std::vector<MemoryId> facts;
    for (const std::string& name : names) {
      const auto fact = view_.prompt.facts.find(name);
      if (fact == view_.prompt.facts.end() || !seen.insert(fact->second).second) continue;
      facts.push_back(fact->second);
    }
    return facts;
  }

  // With the facts that were folded into them.
  std::vector<MemoryId> with_folded(const std::vector<MemoryId>& facts) const {
    std::vector<MemoryId> all;
    for (const MemoryId& fact : facts) {
      all.push_back(fact);
      const auto folded = view_.folded.find(fact);
      if (folded != view_.folded.end()) add_each_once(folded->second, all);
    }
    return all;
  }

  void take_deletes(const ModelActions& actions) {
    // A deleted observation that is created again with its own text stays.
    std::set<MemoryId> coming_back;
    for (const ModelActions::Create& create : actions.creates) {
      const auto twin = by_text_.find(normalised(create.text));
      if (twin != by_text_.end() && !facts_named(create.source_fact_ids).empty()) {
        coming_back.insert(twin->second);
      }
    }
    for (size_t i = 0; i < actions.deletes.size(); ++i) {
      const std::string& name = actions.deletes[i].observation_id;
      const ShownObservation* const target = shown_as(name);
      if (target == nullptr) {
        reject(RejectedKind::kUnknownTarget,
               fmt::format("deletes[{}]: observation {} was not shown", i, shortened(name)));
        continue;
      }
      const MemoryId& id = target->observation.id;
      if (coming_back.contains(id) || !deleted_.insert(id).second) continue;
      accepted_.deletes.push_back(id);
      for (const MemoryId& fact : target->recalled_for)
        accepted_.deleted_for.insert(fact);
    }
  }

  void take_updates(const ModelActions& actions) {
    for (size_t i = 0; i < actions.updates.size(); ++i)
      take_update(actions.updates[i], fmt::format("updates[{}]", i));
  }

  void take_update(const ModelActions::Update& update, const std::string& place) {
    const std::string& name = update.observation_id;
    const ShownObservation* const shown = shown_as(name);
    if (shown == nullptr) {
      return reject(RejectedKind::kUnknownTarget,
                    fmt::format("{}: observation {} was not shown", place, shortened(name)));
    }
    std::string text = trimmed(update.text);
    if (text.empty()) return reject(RejectedKind::kEmptyText, place + ": the text is empty");
    const std::vector<MemoryId> facts = facts_named(update.source_fact_ids);
    if (facts.empty()) {
      return reject(RejectedKind::kNoSource,
                    fmt::format("{}: none of its sources is a fact of the batch: {}", place,
                                listed(update.source_fact_ids)));
    }
    const auto recalled = [shown](const MemoryId& fact) {
      return std::ranges::find(shown->recalled_for, fact) != shown->recalled_for.end();
    };
    if (std::ranges::none_of(facts, recalled)) {
      return reject(RejectedKind::kNotRecalled,
                    fmt::format("{}: observation {} was not shown for facts {}", place,
                                shortened(name), listed(update.source_fact_ids)));
    }
    if (deleted_.contains(shown->observation.id)) {
      return reject(RejectedKind::kTargetDeleted,
                    fmt::format("{}: observation {} is deleted by the same response", place,
                                shortened(name)));
    }
    Target& target = target_of(*shown);
    target.text = std::move(text);
    add_each_once(with_folded(facts), target.sources);
  }

  void take_creates(const ModelActions& actions) {
    for (const Target& target : targets_)
      by_text_.try_emplace(normalised(target.text), target.shown->observation.id);

    std::vector<Candidate> candidates;
    std::unordered_map<std::string, size_t> candidate_of;  // by text
    for (size_t i = 0; i < actions.creates.size(); ++i) {
      const ModelActions::Create& create = actions.creates[i];
      const std::string place = fmt::format("creates[{}]", i);
      const std::string key = normalised(create.text);
      if (key.empty()) {
        reject(RejectedKind::kEmptyText, place + ": the text is empty");
        continue;
      }
      const std::vector<MemoryId> sources = with_folded(facts_named(create.source_fact_ids));
      if (sources.empty()) {
        reject(RejectedKind::kNoSource,
               fmt::format("{}: none of its sources is a fact of the batch: {}", place,
                           listed(create.source_fact_ids)));
        continue;
      }
      const auto twin = by_text_.find(key);
      if (twin != by_text_.end()) {
        add_each_once(sources, target_of(*shown_.at(twin->second)).joining);
        continue;
      }
      const auto [same, is_new] = candidate_of.try_emplace(key, candidates.size());
      if (is_new) {
        candidates.push_back({.place = place, .text = trimmed(create.text), .sources = sources});
      } else {
        add_each_once(sources, candidates[same->second].sources);
      }
    }
    keep_what_fits(std::move(candidates));
  }

  void keep_what_fits(std::vector<Candidate> candidates) {
    const int64_t room =
        std::max<int64_t>(view_.creates_max, 0) + static_cast<int64_t>(accepted_.deletes.size());
    for (Candidate& candidate : candidates) {
      if (view_.creates_max >= 0 && static_cast<int64_t>(accepted_.creates.size()) >= room) {
        reject(RejectedKind::kScopeFull,
               fmt::format("{}: the scope has room for {} more observations; raise its limit, or "
                           "delete some",
                           candidate.place, room));
        continue;
      }
      accepted_.creates.push_back(
          {.text = std::move(candidate.text), .sources = std::move(candidate.sources)});
    }
  }

  void finish() {
    for (Target& target : targets_) {
      const Memory& observation = target.shown->observation;
      for (const MemoryId& fact : target.joining) {
        if (std::ranges::find(target.sources, fact) != target.sources.end()) continue;
        accepted_.joined.insert({.observation = observation.id, .fact = fact});
        target.sources.push_back(fact);
      }
      if (target.text.empty()) target.text = observation.text;
      accepted_.updates.push_back({.id = observation.id,
                                   .text = std::move(target.text),
                                   .new_sources = std::move(target.sources)});
    }
  }

  Target& target_of(const ShownObservation& shown) {
    const auto [place, is_new] = target_places_.try_emplace(shown.observation.id, targets_.size());
    if (is_new) targets_.push_back({.shown = &shown});
    return targets_[place->second];
  }

  static std::string trimmed(std::string_view text) {
    const size_t first = text.find_first_not_of(kWhiteSpace);
    if (first == std::string_view::npos) return "";
    return std::string(text.substr(first, text.find_last_not_of(kWhiteSpace) - first + 1));
  }

  const AcceptanceView& view_;
  std::map<MemoryId, const ShownObservation*> shown_;
  std::unordered_map<std::string, MemoryId> by_text_;  // of observations shown, and of updates
  std::set<MemoryId> deleted_;
  std::map<MemoryId, size_t> target_places_;
  std::vector<Target> targets_;  // in the order in which they are named first
  Accepted accepted_;
};

}  // namespace

std::string_view to_string(RejectedKind kind) {
  switch (kind) {
    case RejectedKind::kMalformed:
      return "malformed";
    case RejectedKind::kNoSource:
      return "no_source";
    case RejectedKind::kUnknownTarget:
      return "unknown_target";
    case RejectedKind::kNotRecalled:
      return "not_recalled";
    case RejectedKind::kEmptyText:
      return "empty_text";
    case RejectedKind::kTargetDeleted:
      return "target_deleted";
    case RejectedKind::kScopeFull:
      return "scope_full";
  }
  return "unknown";
}

Accepted accept(const ModelActions& actions, const AcceptanceView& view) {
  return Judge(view).judge(actions);
}

std::string normalised(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  bool blank = false;
  for (const char character : text) {
    if (kWhiteSpace.find(character) != std::string_view::npos) {
      blank = !result.empty();
      continue;
    }
    if (blank) result += ' ';
    blank = false;
    result += character;
  }
  return result;
}

}  // namespace windrow::memory
