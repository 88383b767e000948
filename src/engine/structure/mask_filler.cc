#include "engine/structure/mask_filler.h"

#include <algorithm>
#include <utility>

namespace windrow::engine {

MaskFiller::MaskFiller(const MaskFilling& filling) : filling_(filling) {}

MaskFiller::~MaskFiller() {
  {
    const std::scoped_lock lock(mutex_);
    closing_ = true;
  }
  wanted_.notify_all();
}

// An engine without structured requests has no threads for them.
void MaskFiller::start_threads() {
  while (threads_.size() < static_cast<size_t>(filling_.threads))
    threads_.emplace_back([this] { serve(); });
}

std::shared_ptr<WantedMask> MaskFiller::want(std::shared_ptr<AnswerGuide> guide) {
  auto wanted = std::make_shared<WantedMask>(std::move(guide));
  wanted->mask_ = wanted->guide_->mask_within(0);
  if (wanted->mask_) return wanted;
  start_threads();
  {
    const std::scoped_lock lock(mutex_);
    queue_.push_back(wanted);
  }
  wanted_.notify_one();
  return wanted;
}

std::shared_ptr<const grammar::TokenMask> MaskFiller::mask(const WantedMask& wanted) {
  const std::scoped_lock lock(mutex_);
  return wanted.mask_;
}

void MaskFiller::wait(std::span<const std::shared_ptr<WantedMask>> wanted) {
  std::unique_lock lock(mutex_);
  std::vector<int32_t> until;
  until.reserve(wanted.size());
  for (const auto& one : wanted)
    until.push_back(one->slices_ + filling_.slices_a_step);
  const auto settled = [&] {
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (!wanted[i]->mask_ && wanted[i]->slices_ < until[i]) return false;
    }
    return true;
  };
  while (!settled()) {
    if (queue_.empty()) {
      sliced_.wait(lock);
    } else {
      run_slice(lock);
    }
  }
}

void MaskFiller::drop(WantedMask& wanted) {
  const std::scoped_lock lock(mutex_);
  wanted.dropped_ = true;
}

// Computes a slice of the mask at the front of the queue. The lock is released for that.
void MaskFiller::run_slice(std::unique_lock<std::mutex>& lock) {
  const std::shared_ptr<WantedMask> wanted = std::move(queue_.front());
  queue_.pop_front();
  if (wanted->dropped_) return;
  lock.unlock();
  auto mask = wanted->guide_->mask_within(filling_.nodes_a_slice);
  lock.lock();
  ++wanted->slices_;
  wanted->mask_ = std::move(mask);
  if (!wanted->mask_) queue_.push_back(wanted);
  sliced_.notify_all();
}

void MaskFiller::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    wanted_.wait(lock, [&] { return closing_ || !queue_.empty(); });
    if (closing_) return;
    run_slice(lock);
  }
}

}  // namespace windrow::engine
