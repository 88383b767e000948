#include "dispatch/shared_listener.h"

#include <algorithm>
#include <utility>

namespace windrow::dispatch {

SharedListener::Member SharedListener::join(std::shared_ptr<llm::StreamSink> listener) {
  const Lock lock(mutex_);
  hearers_.emplace(++joined_, Hearer{.listener = std::move(listener), .has_heard = !has_begun_});
  return joined_;
}

void SharedListener::on_delta(llm::Delta piece) {
  Lock lock(mutex_);
  has_begun_ = true;
  if (keeps_) keep(piece);
  for (auto next = hearers_.begin(); next != hearers_.end();) {
    const Member member = next->first;
    const bool has_heard = std::exchange(next->second.has_heard, true);
    tell(lock, member, has_heard ? std::vector<llm::Delta>(1, piece) : said_);
    next = hearers_.upper_bound(member);
  }
}

// Pieces of one choice become one, as far as they can.
void SharedListener::keep(const llm::Delta& piece) {
  const auto last = std::find_if(said_.rbegin(), said_.rend(), [&](const llm::Delta& said) {
    return said.choice == piece.choice;
  });
  if (last == said_.rend() || !last->raw.empty() || !piece.raw.empty() || last->finish_reason) {
    said_.push_back(piece);
    return;
  }
  last->text += piece.text;
  last->reasoning += piece.reasoning;
  llm::join(last->tool_calls, piece.tool_calls);
  last->tokens.insert(last->tokens.end(), piece.tokens.begin(), piece.tokens.end());
  last->finish_reason = piece.finish_reason;
}

void SharedListener::tell(Lock& lock, Member member, std::vector<llm::Delta> pieces) {
  const std::shared_ptr<llm::StreamSink> listener = hearers_.at(member).listener;
  told_ = member;
  lock.unlock();
  for (llm::Delta& piece : pieces)
    listener->on_delta(std::move(piece));
  lock.lock();
  told_.reset();
  if (const std::function<void()> then = std::exchange(then_, nullptr)) {
    lock.unlock();
    then();
    lock.lock();
  }
}

void SharedListener::leave(Member member, std::function<void()> then) {
  {
    const Lock lock(mutex_);
    hearers_.erase(member);
    if (told_ == member) {
      then_ = std::move(then);
      return;
    }
  }
  then();
}

void SharedListener::finish(Member member, std::function<void()> then) {
  Lock lock(mutex_);
  const auto found = hearers_.find(member);
  if (found != hearers_.end() && !std::exchange(found->second.has_heard, true))
    tell(lock, member, said_);
  lock.unlock();
  leave(member, std::move(then));
}

bool SharedListener::has_begun() const {
  const Lock lock(mutex_);
  return has_begun_;
}

}  // namespace windrow::dispatch
