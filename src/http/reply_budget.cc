#include "http/reply_budget.h"

#include <utility>

#include "base/ensure.h"

namespace windrow::http {

ReplyBudget::Part::Part(ReplyBudget& budget, std::function<void()> resume)
    : budget_(budget), number_(++budget.begun_), resume_(std::move(resume)) {
  budget_.parts_.emplace(number_, this);
}

ReplyBudget::Part::~Part() {
  budget_.bytes_ -= bytes_;
  budget_.parts_.erase(number_);
  budget_.wake();
}

bool ReplyBudget::Part::may_grow() {
  const bool is_oldest = budget_.parts_.begin()->second == this;
  waits_ = !is_oldest && budget_.bytes_ >= budget_.bytes_max_;
  return !waits_;
}

void ReplyBudget::Part::hold(size_t bytes) {
  ENSURE(bytes >= bytes_, "a reply of {} bytes shrinks to {}", bytes_, bytes);
  budget_.bytes_ += bytes - bytes_;
  bytes_ = bytes;
}

// Resumes the oldest, and while there is memory the others; each waits again if it is used up.
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
