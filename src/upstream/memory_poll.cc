#include "upstream/memory_poll.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <variant>

#include "upstream/target.h"

namespace windrow::upstream {
namespace {

constexpr Duration kFirstInterval = std::chrono::seconds(1);
constexpr Duration kLongestInterval = std::chrono::seconds(10);
constexpr Duration kPollAnswerTimeout = std::chrono::seconds(10);

// A metrics page has some hundred kilobytes.
constexpr size_t kPollReplyBytesMax = size_t{4} << 20;

constexpr int kUselessMax = 3;

// Neither of these two has metrics, and the first answers one request at a time: the question would
// queue behind the rows.
bool can_tell(ServerKind kind) {
  return kind != ServerKind::kMlx && kind != ServerKind::kLmStudio;
}

// Absent: there was no answer.
std::optional<MemoryReading> reading_in(ServerKind kind, const http::ClientResult& result) {
  const auto* reply = std::get_if<http::ClientReply>(&result);
  if (reply == nullptr || reply->head.status != 200) return std::nullopt;
  return kind == ServerKind::kOllama ? memory_in_models(reply->body)
                                     : memory_in_metrics(reply->body);
}

}  // namespace

struct MemoryPoll::State {
  mutable std::mutex mutex;
  Reading reading;
  bool is_asking = false;
  bool has_reading = false;
  int useless = 0;  // answers before the first reading
  TimePoint due{};
  Duration interval = kFirstInterval;

  void take(const std::optional<MemoryReading>& now) {
    const std::scoped_lock lock(mutex);
    is_asking = false;
    has_reading = has_reading || (now && now->is_known());
    if (!has_reading) ++useless;
    if (!now) return;  // the last reading stays
    reading.now = *now;
    reading.most.device_bytes = std::max(reading.most.device_bytes, now->device_bytes);
    // An absent number is less than any.
    reading.most.cache_used = std::max(reading.most.cache_used, now->cache_used);
  }
};

MemoryPoll::MemoryPoll(http::Client& client, const Clock& clock, const UpstreamOptions& options,
                       ServerKind kind)
    : client_(client), clock_(clock), kind_(kind), state_(std::make_shared<State>()) {
  request_.url = kind == ServerKind::kOllama ? at_root(options.base, "/api/ps")
                                             : beside_version(options.base, "/metrics");
  request_.headers = options.headers;
  if (!options.api_key.empty())
    request_.headers.set("Authorization", fmt::format("Bearer {}", options.api_key));
  request_.limits.total = kPollAnswerTimeout;
  request_.limits.reply_bytes_max = kPollReplyBytesMax;
}

void MemoryPoll::ask_when_due() {
  if (!can_tell(kind_)) return;
  {
    const std::scoped_lock lock(state_->mutex);
    const TimePoint now = clock_.now();
    if (state_->is_asking || state_->useless >= kUselessMax || now < state_->due) return;
    state_->is_asking = true;
    state_->due = now + state_->interval;
    state_->interval = std::min(state_->interval * 2, kLongestInterval);
  }
  client_.send(request_, [kind = kind_, state = state_](const http::ClientResult& result) {
    state->take(reading_in(kind, result));
  });
}

MemoryPoll::Reading MemoryPoll::reading() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->reading;
}

}  // namespace windrow::upstream
