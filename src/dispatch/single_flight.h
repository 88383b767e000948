// SingleFlight: equal items, which are certain to get the same answer, share one call. The first is
// the leader and is sent; the others follow and get its outcome, each under its own id. Pure; used
// by one thread at a time.
//
// Invariant: each item that joined ends exactly once: a leader by its caller, a follower as one of
// those that leader_ended or leave returned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/ensure.h"
#include "dispatch/work_item.h"

namespace windrow::dispatch {

class SingleFlight {
 public:
  // Nothing: the item leads and has to be sent. Otherwise the leader that it follows.
  std::optional<ItemId> join(const Hash128& question, ItemId item) {
    const auto [found, fresh] = questions_.try_emplace(question);
    if (fresh) {
      found->second.leader = item;
      return std::nullopt;
    }
    found->second.followers.emplace(++joined_, item);
    numbers_.emplace(item, joined_);
    return found->second.leader;
  }

  // The leader has an outcome that its followers share. Returns them in order of arrival.
  std::vector<ItemId> leader_ended(const Hash128& question, ItemId leader) {
    const auto found = questions_.find(question);
    ENSURE(found != questions_.end() && found->second.leader == leader, "item {} does not lead",
           leader.value());
    std::vector<ItemId> followers;
    followers.reserve(found->second.followers.size());
    for (const auto& [number, follower] : found->second.followers) {
      followers.push_back(follower);
      numbers_.erase(follower);
    }
    questions_.erase(found);
    return followers;
  }

  // An item ends by itself, leader or follower. Returns the first follower of a leader, which leads
  // from now on: what ended was the item, not the question.
  std::optional<ItemId> leave(const Hash128& question, ItemId item) {
    const auto found = questions_.find(question);
    ENSURE(found != questions_.end(), "item {} left a question that was not asked", item.value());
    std::map<uint64_t, ItemId>& followers = found->second.followers;
    if (found->second.leader != item) {
      const auto number = numbers_.find(item);
      ENSURE(number != numbers_.end(), "item {} left without having joined", item.value());
      followers.erase(number->second);
      numbers_.erase(number);
      return std::nullopt;
    }
    if (followers.empty()) {
      questions_.erase(found);
      return std::nullopt;
    }
    found->second.leader = followers.begin()->second;
    followers.erase(followers.begin());
    numbers_.erase(found->second.leader);
    return found->second.leader;
  }

  bool is_asked(const Hash128& question) const { return questions_.contains(question); }

  // The question must be asked.
  ItemId leader_of(const Hash128& question) const { return questions_.at(question).leader; }
  bool has_followers(const Hash128& question) const {
    return !questions_.at(question).followers.empty();
  }

  size_t followers() const { return numbers_.size(); }

 private:
  struct Question {
    ItemId leader;
    std::map<uint64_t, ItemId> followers;  // by the order they came
  };

  std::unordered_map<Hash128, Question> questions_;
  std::unordered_map<ItemId, uint64_t> numbers_;  // of the followers
  uint64_t joined_ = 0;
};

}  // namespace windrow::dispatch
