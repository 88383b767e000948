#include "http/reply_budget.h"

#include <utility>

#include "base/ensure.h"

namespace windrow::http {

ReplyBudget::Part::Part(ReplyBudget& room, std::function<void()> resume)
    : room_(room), number_(++room.begun_), resume_(std::move(resume)) {
  room_.parts_.emplace(number_, this);
}

ReplyBudget::Part::~Part() {
  room_.bytes_ -= bytes_;
  room_.parts_.erase(number_);
  room_.wake();
}

bool ReplyBudget::Part::may_grow() {
  const bool is_oldest = room_.parts_.begin()->second == this;
  waits_ = !is_oldest && room_.bytes_ >= room_.bytes_max_;
  return !waits_;
}

void ReplyBudget::Part::hold(size_t bytes) {
  ENSURE(bytes >= bytes_, "a reply of {} bytes shrinks to {}", bytes_, bytes);
  room_.bytes_ += bytes - bytes_;
  bytes_ = bytes;
}

// The oldest, and where there is room all others. Those that find it used up again wait again.
void ReplyBudget::wake() {
  for (const auto& [number, part] : parts_) {
    if (part->waits_) {
      part->waits_ = false;
      part->resume_();
    }
    if (bytes_ >= bytes_max_) return;
  }
}

}  // namespace windrow::http
