#include "session/service/session.h"

#include <fmt/format.h>

#include <utility>

namespace windrow::session {
namespace {

// What a session takes besides its turns.
constexpr size_t kEmptyBytes = sizeof(Session) + 512;

llm::Failure other_model(std::string_view asked, std::string_view own) {
  return {.code = "other_model",
          .message = fmt::format("the turns of this session are of the model {}; another one, {}, "
                                 "needs a session of its own",
                                 own, asked),
          .param = "model"};
}

llm::Failure session_full(size_t bytes, size_t bytes_max) {
  return {.status = 507,
          .code = "session_full",
          .message = fmt::format("this session takes {} MiB of memory, and a session may take {}; "
                                 "collect its samples and go on in a new one, or raise "
                                 "--session-mb-max",
                                 bytes >> 20U, bytes_max >> 20U)};
}

}  // namespace

llm::Failure no_session(std::string_view id) {
  return {.status = 404,
          .code = "session_not_found",
          .message = fmt::format("session not found: session_id={}", id)};
}

Session::Session(Identity identity, SessionConfig config, const SessionLimits& limits,
                 TimePoint now)
    : identity_(std::move(identity)),
      config_(config),
      bytes_max_(limits.session_bytes_max),
      history_({.kind = config_.history, .turns_max = limits.turns_max}),
      used_at_(now) {}

size_t Session::bytes_locked() const {
  return kEmptyBytes + history_.bytes();
}

std::variant<Session::Begun, llm::Failure> Session::begin(std::span<const MessageKey> request,
                                                          std::string_view model, TimePoint now) {
  const std::scoped_lock lock(mutex_);
  if (closed_) return no_session(identity_.id);
  used_at_ = now;
  if (!model_.empty() && model != model_) return other_model(model, model_);
  if (bytes_locked() >= bytes_max_) return session_full(bytes_locked(), bytes_max_);
  auto found = history_.attach(request);
  if (auto* failure = std::get_if<llm::Failure>(&found)) return std::move(*failure);
  Begun begun{.call = next_call_++, .attachment = std::get<Attachment>(found)};
  begun.path = history_.path(begun.attachment.parent);
  begun.stop = calls_[begun.call].get_token();
  return begun;
}

Session::Committed Session::commit(const Attachment& attachment, NewTurn made,
                                   std::string_view model, TimePoint now) {
  const std::scoped_lock lock(mutex_);
  if (closed_) return {.how = Commit::kClosed};
  used_at_ = now;
  if (!model_.empty() && model != model_) return {.how = Commit::kOvertaken};
  const auto bytes_before = static_cast<int64_t>(bytes_locked());
  const int64_t rollbacks = history_.rollbacks();
  if (!history_.commit(attachment, std::move(made.turn))) return {.how = Commit::kOvertaken};
  for (const RowKind kind : {RowKind::kRoutedExperts, RowKind::kIndexerTopk}) {
    if (const auto& rows = made.earlier_rows[static_cast<size_t>(kind)])
      history_.replace_rows(attachment.parent, kind, *rows);
  }
  model_ = model;
  return {.how = Commit::kDone,
          .bytes_more = static_cast<int64_t>(bytes_locked()) - bytes_before,
          .rolled_back = history_.rollbacks() != rollbacks};
}

// What a stop calls may end the turn, and so take the lock.
void Session::stop(uint64_t call) {
  std::optional<std::stop_source> source;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = calls_.find(call);
    if (found == calls_.end()) return;
    source = found->second;
  }
  source->request_stop();
}

void Session::end(uint64_t call, TimePoint now) {
  const std::scoped_lock lock(mutex_);
  calls_.erase(call);
  used_at_ = now;
}

bool Session::close() {
  {
    const std::scoped_lock lock(mutex_);
    if (closed_) return false;
    closed_ = true;
  }
  if (config_.orphans == OrphanRule::kStop) stop_all();
  return true;
}

void Session::stop_all() {
  std::vector<std::stop_source> sources;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& [call, source] : calls_)
      sources.push_back(source);
  }
  for (std::stop_source& source : sources)
    source.request_stop();
}

Session::Reading Session::read(bool with_paths) const {
  const std::scoped_lock lock(mutex_);
  Reading reading{.model = model_,
                  .latest = history_.latest(),
                  .leaves = {},
                  .turns = history_.size(),
                  .rollbacks = history_.rollbacks(),
                  .in_flight = static_cast<int32_t>(calls_.size()),
                  .bytes = bytes_locked(),
                  .used_at = used_at_};
  if (!with_paths) return reading;
  if (config_.history == HistoryKind::kLinear) {
    if (!reading.latest.empty()) reading.leaves.push_back(reading.latest);
    return reading;
  }
  for (const TurnId leaf : history_.leaves())
    reading.leaves.push_back(history_.path(leaf));
  return reading;
}

std::vector<TurnPath> Session::all_paths() const {
  const std::scoped_lock lock(mutex_);
  std::vector<TurnPath> paths;
  for (const TurnPtr& turn : history_.turns())
    paths.push_back(history_.path(turn->id));
  return paths;
}

std::vector<TurnPath> Session::kept_paths() const {
  const std::scoped_lock lock(mutex_);
  std::vector<TurnPath> paths;
  if (config_.history == HistoryKind::kLinear) {
    if (TurnPath latest = history_.latest(); !latest.empty()) paths.push_back(std::move(latest));
    return paths;
  }
  for (const TurnId leaf : kept_leaves(history_.turns(), config_.retries))
    paths.push_back(history_.path(leaf));
  return paths;
}

bool Session::is_idle_since(TimePoint before) const {
  const std::scoped_lock lock(mutex_);
  return calls_.empty() && used_at_ < before;
}

std::string Session::model() const {
  const std::scoped_lock lock(mutex_);
  return model_;
}

}  // namespace windrow::session
