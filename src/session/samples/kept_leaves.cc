#include "session/samples/kept_leaves.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/hash.h"

namespace windrow::session {
namespace {

constexpr std::array<std::pair<RetryRule, std::string_view>, 3> kRetryRuleNames{{
    {RetryRule::kNone, "keep_all"},
    {RetryRule::kAnyLater, "drop_retries"},
    {RetryRule::kSamePrompt, "drop_retries_same_prompt"},
}};

// What makes two turns behind the same one retries of each other. Turns that keep different numbers
// of tokens are different: the prompts of equal messages keep as many.
struct Place {
  TurnId parent;
  size_t kept = 0;
  Hash128 prompt;

  friend auto operator<=>(const Place&, const Place&) = default;
};

Place place_of(const Turn& turn, RetryRule rule) {
  if (rule != RetryRule::kSamePrompt) return {turn.parent, 0, {}};
  const std::string_view bytes(reinterpret_cast<const char*>(turn.prompt.data()),
                               turn.prompt.size() * sizeof(int32_t));
  return {turn.parent, turn.kept_tokens, hash128(bytes)};
}

}  // namespace

std::string_view to_string(RetryRule rule) {
  for (const auto& [known, name] : kRetryRuleNames)
    if (known == rule) return name;
  return "";
}

std::optional<RetryRule> retry_rule_of(std::string_view name) {
  for (const auto& [rule, known] : kRetryRuleNames)
    if (known == name) return rule;
  return std::nullopt;
}

std::vector<TurnId> kept_leaves(std::span<const TurnPtr> turns, RetryRule rule) {
  std::unordered_map<TurnId, size_t> depths;
  std::unordered_set<TurnId> parents;
  std::map<Place, TurnId> latest;
  for (const TurnPtr& turn : turns) {
    const auto parent = depths.find(turn->parent);
    depths[turn->id] = parent == depths.end() ? 1 : parent->second + 1;
    parents.insert(turn->parent);
    if (rule != RetryRule::kNone) latest[place_of(*turn, rule)] = turn->id;
  }

  std::vector<TurnId> kept;
  for (const TurnPtr& turn : turns) {
    if (parents.contains(turn->id)) continue;
    const bool may_be_replaced = rule == RetryRule::kSamePrompt ||
                                 (rule == RetryRule::kAnyLater && turn->parent != TurnId());
    if (may_be_replaced && latest.at(place_of(*turn, rule)) != turn->id) continue;
    kept.push_back(turn->id);
  }
  std::ranges::sort(kept, [&](TurnId a, TurnId b) {
    return std::tuple(depths.at(a), a) > std::tuple(depths.at(b), b);
  });
  return kept;
}

}  // namespace windrow::session
