// Coalescer: items that are the same question, and certain to get the same answer, are asked once.
// The first is the leader and goes out; the others follow and get what it got, each under its own
// id. Pure.
//
// Invariant: each item that joined is named exactly once as ended: as a leader by the caller, as a
// follower by what leader_ended or leave returned.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ensure.h"
#include "dispatch/work_item.h"

namespace windrow::dispatch {

class Coalescer {
 public:
  // True: it leads and has to be asked. False: it follows.
  bool join(const Hash128& question, ItemId item) {
    const auto [found, fresh] = questions_.try_emplace(question);
    if (fresh) {
      found->second.leader = item;
    } else {
      found->second.followers.push_back(item);
      ++followers_;
    }
    return fresh;
  }

  // The leader has its answer, or a failure that is any other's too: the followers share it, in the
  // order in which they came.
  std::vector<ItemId> leader_ended(const Hash128& question, ItemId leader) {
    const auto found = questions_.find(question);
    ENSURE(found != questions_.end() && found->second.leader == leader, "item {} does not lead",
           leader.value());
    std::vector<ItemId> followers = std::move(found->second.followers);
    followers_ -= followers.size();
    questions_.erase(found);
    return followers;
  }

  // One that is wanted no more, leader or follower. A leader's place is taken by its first
  // follower, which is returned and has to be asked now: what ended was the item, not the question.
  std::optional<ItemId> leave(const Hash128& question, ItemId item) {
    const auto found = questions_.find(question);
    ENSURE(found != questions_.end(), "item {} left a question nobody asked", item.value());
    std::vector<ItemId>& followers = found->second.followers;
    if (found->second.leader != item) {
      const auto place = std::find(followers.begin(), followers.end(), item);
      ENSURE(place != followers.end(), "item {} left without having joined", item.value());
      followers.erase(place);
      --followers_;
      return std::nullopt;
    }
    if (followers.empty()) {
      questions_.erase(found);
      return std::nullopt;
    }
    found->second.leader = followers.front();
    followers.erase(followers.begin());
    --followers_;
    return found->second.leader;
  }

  size_t followers() const { return followers_; }

 private:
  struct Question {
    ItemId leader;
    std::vector<ItemId> followers;
  };

  std::unordered_map<Hash128, Question> questions_;
  size_t followers_ = 0;
};

}  // namespace windrow::dispatch
