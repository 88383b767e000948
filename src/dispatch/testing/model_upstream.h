// ModelUpstream: a server as its users see it, on a fake clock: requests wait for a slot, busy
// slots share one machine, and time goes from event to event. The simulations of dispatch run
// against it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/random.h"

namespace windrow::dispatch::testing {

struct ModelUpstreamOptions {
  int32_t slots = 4;
  double second_per_work = 0.01;  // of a request alone on the machine
  double overhead_s = 0;          // of every request before its work, in its slot
  double batching_cost = 0;       // each further busy slot makes all slower by this part
  double noise = 0;               // of a request's pace, as a part of it, up or down
  int32_t queue_max = std::numeric_limits<int32_t>::max();  // more than these are refused
  double refused_by_chance = 0;  // of all requests, whatever else is there
};

struct ModelReply {
  uint64_t id = 0;
  bool refused = false;
};

class ModelUpstream {
 public:
  ModelUpstream(ModelUpstreamOptions options, uint64_t seed) : options_(options), random_(seed) {}

  void send(uint64_t id, double work) {
    const auto in_queue = static_cast<int64_t>(queue_.size());
    const bool slot_is_free = std::ssize(busy_) < options_.slots;
    const bool unlucky =
        options_.refused_by_chance > 0 && random_.chance(options_.refused_by_chance);
    if (unlucky || (!slot_is_free && in_queue >= options_.queue_max)) {
      refused_.push_back(id);
      return;
    }
    const double pace = 1 + options_.noise * (2 * random_.unit() - 1);
    queue_.push_back({id, options_.overhead_s / options_.second_per_work + work * pace});
    fill();
  }

  // How long until something is replied if nothing else is sent; nothing: never.
  std::optional<double> next_reply_s() const {
    if (!refused_.empty()) return 0;
    if (busy_.empty()) return std::nullopt;
    double least = std::numeric_limits<double>::max();
    for (const Job& job : busy_)
      least = std::min(least, job.left);
    return std::max(least, 0.0) / speed();
  }

  // Lets time pass, no more than next_reply_s, and says what was replied at its end.
  std::vector<ModelReply> advance(double by_s) {
    std::vector<ModelReply> replies;
    replies.reserve(refused_.size());
    for (const uint64_t id : refused_)
      replies.push_back({id, true});
    refused_.clear();
    const double done = by_s * speed();
    work_done_ += done * static_cast<double>(busy_.size());
    for (Job& job : busy_)
      job.left -= done;
    std::erase_if(busy_, [&](const Job& job) {
      if (job.left * options_.second_per_work > 1e-9) return false;
      replies.push_back({job.id, false});
      return true;
    });
    fill();
    return replies;
  }

  // By all slots so far, of requests that are not answered yet too: what it was used for, free of
  // the chance that a window of answers has.
  double work_done() const { return work_done_; }

  ModelUpstreamOptions& options() { return options_; }

 private:
  struct Job {
    uint64_t id;
    double left;
  };

  double speed() const {
    const auto others = static_cast<double>(std::max<int64_t>(std::ssize(busy_) - 1, 0));
    return 1 / (options_.second_per_work * (1 + options_.batching_cost * others));
  }

  void fill() {
    while (!queue_.empty() && std::ssize(busy_) < options_.slots) {
      busy_.push_back(queue_.front());
      queue_.pop_front();
    }
  }

  ModelUpstreamOptions options_;
  Random random_;
  std::deque<Job> queue_;
  std::vector<Job> busy_;
  std::vector<uint64_t> refused_;
  double work_done_ = 0;
};

}  // namespace windrow::dispatch::testing
