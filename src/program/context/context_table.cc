#include "program/context/context_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/ensure.h"
#include "program/limits.h"

namespace windrow::program {

ContextTable::ContextTable(size_t contexts_max, Hold hold)
    : contexts_max_(contexts_max), hold_(std::move(hold)) {}

std::variant<ContextId, llm::Failure> ContextTable::add(Context context, uint64_t seed,
                                                        ContextId parent) {
  if (std::optional<llm::Failure> failure = no_room(1)) return std::move(*failure);
  return put(std::move(context), seed, parent).first;
}

std::variant<std::vector<ContextId>, llm::Failure> ContextTable::fork(ContextId parent,
                                                                      size_t count, uint64_t seed) {
  HeldContext* from = find(parent);
  ENSURE(from != nullptr, "a context that was released is forked");
  if (std::optional<llm::Failure> failure = no_room(count)) return std::move(*failure);
  // A program that forks one by one does not ask for the same hold each time.
  if (count > 0 && from->held_changes != from->context.changes()) renew(*from);
  std::vector<ContextId> forks;
  forks.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const auto [id, fork] = put(from->context, SeedPath::part_of(seed, i), parent);
    fork->hold = from->hold;
    fork->held_changes = from->held_changes;
    forks.push_back(id);
  }
  return forks;
}

HeldContext* ContextTable::find(ContextId id) {
  const auto found = contexts_.find(id);
  return found == contexts_.end() ? nullptr : found->second.get();
}

void ContextTable::renew_hold(ContextId id) {
  if (HeldContext* const held = find(id)) renew(*held);
}

void ContextTable::release(ContextId id) {
  contexts_.erase(id);
}

void ContextTable::clear() {
  contexts_.clear();
}

std::optional<llm::Failure> ContextTable::no_room(size_t count) const {
  if (count <= contexts_max_ && contexts_.size() <= contexts_max_ - count) return std::nullopt;
  return llm::Failure{
      .code = std::string(kContextLimit),
      .message =
          fmt::format("the program has contexts: {}, asks for {} more, and may have {} at a "
                      "time; release those that are done (ctx:release(), local ctx <close>), or "
                      "raise --program-contexts",
                      contexts_.size(), count, contexts_max_)};
}

std::pair<ContextId, HeldContext*> ContextTable::put(Context context, uint64_t seed,
                                                     ContextId parent) {
  const ContextId id(++given_);
  auto held = std::make_unique<HeldContext>(
      HeldContext{.context = std::move(context), .seeds = SeedPath(seed), .parent = parent});
  HeldContext* const put = held.get();
  contexts_.emplace(id, std::move(held));
  peak_ = std::max(peak_, contexts_.size());
  return {id, put};
}

// The new hold is there before the old one goes: what they share is held all the time.
void ContextTable::renew(HeldContext& held) {
  std::shared_ptr<llm::PrefixHold> hold;
  if (hold_ && held.context.model().tokenizer) {
    std::variant<std::vector<int32_t>, llm::Failure> tokens = held.context.tokens();
    // A context whose messages the template refuses says so when it generates.
    auto* const prefix = std::get_if<std::vector<int32_t>>(&tokens);
    if (prefix != nullptr && !prefix->empty())
      hold = hold_(held.context.model(), std::move(*prefix));
  }
  held.hold = std::move(hold);
  // What could not be held yet may be held later, once the model is loaded.
  if (held.hold) held.held_changes = held.context.changes();
}

}  // namespace windrow::program
