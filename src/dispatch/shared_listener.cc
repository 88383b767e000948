#include "dispatch/shared_listener.h"

#include <algorithm>
#include <utility>

namespace windrow::dispatch {

SharedListener::Member SharedListener::join(std::shared_ptr<llm::StreamSink> listener) {
  const Lock lock(mutex_);
  listeners_.emplace(++joined_, Joined{.listener = std::move(listener), .is_current = !has_begun_});
  return joined_;
}

void SharedListener::on_delta(llm::Delta piece) {
  Lock lock(mutex_);
  has_begun_ = true;
  if (keeps_) keep(piece);
  for (auto next = listeners_.begin(); next != listeners_.end();) {
    const Member member = next->first;
    const bool is_current = std::exchange(next->second.is_current, true);
    emit(lock, member, is_current ? std::vector<llm::Delta>(1, piece) : deltas_);
    next = listeners_.upper_bound(member);
  }
}

// Pieces of one choice become one, as far as they can.
void SharedListener::keep(const llm::Delta& piece) {
  const auto last = std::find_if(deltas_.rbegin(), deltas_.rend(), [&](const llm::Delta& said) {
    return said.choice == piece.choice;
  });
  if (last == deltas_.rend() || !last->raw.empty() || !piece.raw.empty() || last->finish_reason) {
    deltas_.push_back(piece);
    return;
  }
  last->text += piece.text;
  last->reasoning += piece.reasoning;
  llm::join(last->tool_calls, piece.tool_calls);
  last->tokens.insert(last->tokens.end(), piece.tokens.begin(), piece.tokens.end());
  last->finish_reason = piece.finish_reason;
}

void SharedListener::emit(Lock& lock, Member member, std::vector<llm::Delta> pieces) {
  const std::shared_ptr<llm::StreamSink> listener = listeners_.at(member).listener;
  called_ = member;
  lock.unlock();
  for (llm::Delta& piece : pieces)
    listener->on_delta(std::move(piece));
  lock.lock();
  called_.reset();
  if (const std::function<void()> then = std::exchange(then_, nullptr)) {
    lock.unlock();
    then();
    lock.lock();
  }
}

void SharedListener::leave(Member member, std::function<void()> then) {
  {
    const Lock lock(mutex_);
    listeners_.erase(member);
    if (called_ == member) {
      then_ = std::move(then);
      return;
    }
  }
  then();
}

void SharedListener::finish(Member member, std::function<void()> then) {
  Lock lock(mutex_);
  const auto found = listeners_.find(member);
  if (found != listeners_.end() && !std::exchange(found->second.is_current, true))
    emit(lock, member, deltas_);
  lock.unlock();
  leave(member, std::move(then));
}

bool SharedListener::has_begun() const {
  const Lock lock(mutex_);
  return has_begun_;
}

}  // namespace windrow::dispatch
