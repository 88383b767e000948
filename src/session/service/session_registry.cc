#include "session/service/session_registry.h"

#include <fmt/format.h>

#include <utility>

#include "base/format.h"

namespace windrow::session {
namespace {

// How many removed sessions are remembered, and how long.
constexpr size_t kGoneMax = 4096;
constexpr Duration kGoneTime = std::chrono::hours(1);
constexpr int64_t kAgainMs = 5000;

}  // namespace

std::variant<std::monostate, llm::Failure> SessionRegistry::room() const {
  if (bytes_ < static_cast<int64_t>(limits_.bytes_max)) return std::monostate{};
  return llm::Failure{
      .status = 507,
      .code = "sessions_full",
      .message = fmt::format("the sessions of this server take {} MiB of memory, and may take {}; "
                             "delete sessions that are done with, or raise --sessions-mb-max",
                             bytes_.load() >> 20, limits_.bytes_max >> 20U),
      .retry_after_ms = kAgainMs};
}

std::variant<std::shared_ptr<Session>, llm::Failure> SessionRegistry::add(
    Session::Identity identity, SessionConfig config, TimePoint now) {
  if (auto full = room(); auto* failure = std::get_if<llm::Failure>(&full))
    return std::move(*failure);
  auto session = std::make_shared<Session>(std::move(identity), config, limits_, now);
  const std::scoped_lock lock(mutex_);
  if (sessions_.size() >= limits_.sessions_max) {
    return llm::Failure{
        .status = 429,
        .code = "too_many_sessions",
        .message = fmt::format("there are {} sessions, which is this server's limit; delete "
                               "sessions that are done with, or raise --sessions-max",
                               sessions_.size()),
        .retry_after_ms = kAgainMs};
  }
  sessions_[session->identity().id] = session;
  bytes_ += static_cast<int64_t>(session->read(/*with_paths=*/false).bytes);
  return session;
}

llm::Failure SessionRegistry::absent(std::string_view id, TimePoint now) const {
  const auto found = gone_.find(id);
  if (found == gone_.end() || now - found->second.at > kGoneTime) return no_session(id);
  if (!found->second.expired) {
    llm::Failure failure = no_session(id);
    failure.message = fmt::format("session not found (deleted): session_id={}", id);
    return failure;
  }
  return {.status = 410,
          .code = "session_expired",
          .message = fmt::format("session reclaimed: session_id={} (it was not used for {}; "
                                 "--session-idle-s keeps sessions longer)",
                                 id, human_duration(limits_.idle))};
}

std::variant<std::shared_ptr<Session>, llm::Failure> SessionRegistry::find(std::string_view id,
                                                                           TimePoint now) const {
  const std::scoped_lock lock(mutex_);
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return absent(id, now);
  return found->second;
}

std::variant<std::shared_ptr<Session>, llm::Failure> SessionRegistry::remove(std::string_view id,
                                                                             TimePoint now) {
  std::shared_ptr<Session> session;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = sessions_.find(id);
    if (found == sessions_.end()) return absent(id, now);
    session = std::move(found->second);
    sessions_.erase(found);
    remember(session->identity().id, {.expired = false, .at = now});
  }
  // It stops turns, whose ends look for their session.
  session->close();
  bytes_ -= static_cast<int64_t>(session->read(/*with_paths=*/false).bytes);
  return session;
}

size_t SessionRegistry::expire(TimePoint now) {
  std::vector<std::shared_ptr<Session>> idle;
  {
    const std::scoped_lock lock(mutex_);
    for (auto place = sessions_.begin(); place != sessions_.end();) {
      if (!place->second->is_idle_since(now - limits_.idle)) {
        ++place;
        continue;
      }
      remember(place->first, {.expired = true, .at = now});
      idle.push_back(std::move(place->second));
      place = sessions_.erase(place);
    }
  }
  for (const std::shared_ptr<Session>& session : idle) {
    session->close();
    bytes_ -= static_cast<int64_t>(session->read(/*with_paths=*/false).bytes);
  }
  return idle.size();
}

void SessionRegistry::remember(const std::string& id, Gone gone) {
  gone_[id] = gone;
  gone_order_.push_back(id);
  if (gone_order_.size() <= kGoneMax) return;
  gone_.erase(gone_order_.front());
  gone_order_.pop_front();
}

std::vector<std::shared_ptr<Session>> SessionRegistry::all() const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::shared_ptr<Session>> sessions;
  sessions.reserve(sessions_.size());
  for (const auto& [id, session] : sessions_)
    sessions.push_back(session);
  return sessions;
}

size_t SessionRegistry::size() const {
  const std::scoped_lock lock(mutex_);
  return sessions_.size();
}

}  // namespace windrow::session
