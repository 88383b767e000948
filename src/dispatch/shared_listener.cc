#include "dispatch/shared_listener.h"

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
  if (keeps_) llm::append(deltas_, piece);
  for (auto next = listeners_.begin(); next != listeners_.end();) {
    const Member member = next->first;
    const bool is_current = std::exchange(next->second.is_current, true);
    emit(lock, member, is_current ? std::vector<llm::Delta>(1, piece) : deltas_);
    next = listeners_.upper_bound(member);
  }
}

void SharedListener::emit(Lock& lock, Member member, std::vector<llm::Delta> pieces) {
  std::shared_ptr<llm::StreamSink> listener = listeners_.at(member).listener;
  called_ = member;
  lock.unlock();
  for (llm::Delta& piece : pieces)
    listener->on_delta(std::move(piece));
  lock.lock();
  called_.reset();
  if (const std::function<void()> then = std::exchange(then_, nullptr)) {
    lock.unlock();
    listener = nullptr;  // perhaps the last reference: destroyed without the lock, as it is called
    then();
    lock.lock();
  }
}

void SharedListener::leave(Member member, std::function<void()> then) {
  decltype(listeners_)::node_type left;  // destroyed without the lock
  {
    const Lock lock(mutex_);
    left = listeners_.extract(member);
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
