// LiveRequests: the requests that are queued or running now, for /v1/windrow/requests. It has
// names, sizes and times, never contents.
#pragma once

#include <atomic>
#include <boost/json/object.hpp>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "api/wire/dialect.h"
#include "base/clock.h"
#include "dispatch/work_item.h"
#include "llm/backend.h"
#include "llm/request.h"

namespace windrow::api {

struct LiveRequest {
  std::string id;   // "chatcmpl-...", as in the reply
  std::string key;  // the name of the API key; empty: none
  llm::Endpoint endpoint = llm::Endpoint::kChatCompletions;
  Dialect dialect = Dialect::kOwn;
  std::string model;
  dispatch::Priority priority = dispatch::Priority::kNormal;
  std::string lane;
  bool stream = false;
  size_t body_bytes = 0;
  TimePoint arrived_at{};
  std::shared_ptr<const llm::LoadWait> load_wait = nullptr;  // for a model that may be unloaded
};

// Thread-safe. It outlives its tickets.
class LiveRequests {
  struct Entry {
    LiveRequest request;
    std::atomic<int64_t> sent_ns = 0;  // since the arrival; 0: not yet
    std::atomic<int64_t> first_token_ns = 0;
    std::atomic<int64_t> tokens = 0;
  };

 public:
  // One request, which is live as long as the ticket exists. Any thread.
  class Ticket {
   public:
    ~Ticket();
    Ticket(const Ticket&) = delete;
    Ticket& operator=(const Ticket&) = delete;

    // The request was offered to the dispatcher.
    void sent(TimePoint now);

    // Tokens of the answer have arrived.
    void received(TimePoint now, int64_t tokens);

   private:
    friend class LiveRequests;
    Ticket(LiveRequests& all, std::list<Entry>::iterator position)
        : all_(all), position_(position) {}

    LiveRequests& all_;
    const std::list<Entry>::iterator position_;
  };

  std::unique_ptr<Ticket> add(LiveRequest request);

  int64_t count() const;

  // {"object":"list","total":N,"data":[...]}, oldest first, at most `count_max` of them; with `key`
  // only that key's. Without streaming it is unknown whether a request runs or waits, and its state
  // is "inside".
  boost::json::object to_json(TimePoint now, size_t count_max,
                              std::optional<std::string_view> key = std::nullopt) const;

 private:
  mutable std::mutex mutex_;
  std::list<Entry> entries_;
};

}  // namespace windrow::api
