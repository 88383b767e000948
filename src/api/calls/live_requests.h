// LiveRequests: what runs and waits in the server at this moment, for /v1/windrow/requests. It
// knows sizes, names and times, and never what was asked.
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
  std::string id;   // "chatcmpl-..." as the reply has it
  std::string key;  // the name of its key; empty: none
  llm::Endpoint endpoint = llm::Endpoint::kChatCompletions;
  Dialect dialect = Dialect::kOwn;
  std::string model;
  dispatch::Priority priority = dispatch::Priority::kNormal;
  std::string lane;
  bool stream = false;
  size_t body_bytes = 0;
  TimePoint arrived_at{};
  std::shared_ptr<const llm::LoadWait> load_wait = nullptr;  // of a model that comes and goes
};

// Thread-safe. Outlives its tickets.
class LiveRequests {
  struct Entry {
    LiveRequest request;
    std::atomic<int64_t> sent_ns = 0;  // since it arrived; 0: not yet
    std::atomic<int64_t> first_token_ns = 0;
    std::atomic<int64_t> tokens = 0;
  };

 public:
  // Stands for one of them; it is live as long as this is there. Its methods may be called from any
  // thread.
  class Ticket {
   public:
    ~Ticket();
    Ticket(const Ticket&) = delete;
    Ticket& operator=(const Ticket&) = delete;

    // It is with the dispatcher.
    void sent(TimePoint now);

    // The first tokens, and further ones.
    void said(TimePoint now, int64_t tokens);

   private:
    friend class LiveRequests;
    Ticket(LiveRequests& all, std::list<Entry>::iterator place) : all_(all), place_(place) {}

    LiveRequests& all_;
    const std::list<Entry>::iterator place_;
  };

  std::unique_ptr<Ticket> add(LiveRequest request);

  int64_t count() const;

  // Of one whose answer is not streamed nobody hears when it begins to run: its state is "inside".
  // {"object":"list","total":N,"data":[...]}, the oldest first, at most `count_max` of them; with
  // `key` only those of that key.
  boost::json::object to_json(TimePoint now, size_t count_max,
                              std::optional<std::string_view> key = std::nullopt) const;

 private:
  mutable std::mutex mutex_;
  std::list<Entry> entries_;
};

}  // namespace windrow::api
