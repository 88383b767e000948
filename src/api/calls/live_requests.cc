#include "api/calls/live_requests.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <utility>

#include "api/calls/envelope.h"
#include "base/utf8.h"

namespace windrow::api {
namespace {

namespace json = boost::json;

// Once; 0 stands for never, so a time of none is a nanosecond.
void set_once(std::atomic<int64_t>& time_ns, Duration since_arrival) {
  int64_t never = 0;
  time_ns.compare_exchange_strong(never, std::max<int64_t>(1, since_arrival.count()));
}

std::string_view state_of(const LiveRequest& request, int64_t sent_ns, int64_t first_token_ns) {
  if (first_token_ns > 0) return "answering";
  if (sent_ns == 0) return "reading";
  if (request.load_wait && request.load_wait->waits) return "loading";
  return request.stream ? "waiting" : "inside";
}

}  // namespace

std::unique_ptr<LiveRequests::Ticket> LiveRequests::add(LiveRequest request) {
  std::list<Entry> one;
  one.emplace_back().request = std::move(request);
  const auto position = one.begin();
  const std::scoped_lock lock(mutex_);
  entries_.splice(entries_.end(), one);
  return std::unique_ptr<Ticket>(new Ticket(*this, position));
}

LiveRequests::Ticket::~Ticket() {
  std::list<Entry> one;  // destroyed when the lock is not held
  const std::scoped_lock lock(all_.mutex_);
  one.splice(one.begin(), all_.entries_, position_);
}

void LiveRequests::Ticket::sent(TimePoint now) {
  set_once(position_->sent_ns, now - position_->request.arrived_at);
}

void LiveRequests::Ticket::received(TimePoint now, int64_t tokens) {
  set_once(position_->first_token_ns, now - position_->request.arrived_at);
  position_->tokens.fetch_add(tokens);
}

int64_t LiveRequests::count() const {
  const std::scoped_lock lock(mutex_);
  return static_cast<int64_t>(entries_.size());
}

json::object LiveRequests::to_json(TimePoint now, size_t count_max,
                                   std::optional<std::string_view> key) const {
  json::array data;
  int64_t total = 0;
  const std::scoped_lock lock(mutex_);
  for (const Entry& entry : entries_) {
    const LiveRequest& request = entry.request;
    if (key && request.key != *key) continue;
    if (static_cast<size_t>(++total) > count_max) continue;
    const int64_t sent_ns = entry.sent_ns.load();
    const int64_t first_token_ns = entry.first_token_ns.load();
    json::object one{{"id", request.id},
                     {"object", "windrow.request"},
                     {"endpoint", url_of(request.endpoint, request.dialect)},
                     {"model", utf8_repair(request.model)},
                     {"state", state_of(entry.request, sent_ns, first_token_ns)},
                     {"priority", priority_text(request.priority)},
                     {"stream", request.stream},
                     {"body_bytes", request.body_bytes},
                     {"age_ms", milliseconds(now - request.arrived_at)},
                     {"tokens", entry.tokens.load()}};
    if (!request.key.empty()) one["key"] = request.key;
    if (!request.lane.empty()) one["lane"] = utf8_repair(request.lane);
    if (first_token_ns > 0) one["ttft_ms"] = milliseconds(Duration(first_token_ns));
    data.push_back(std::move(one));
  }
  return {{"object", "list"}, {"total", total}, {"data", std::move(data)}};
}

}  // namespace windrow::api
