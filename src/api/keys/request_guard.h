// RequestGuard: what happens to each request before its handler and at its end: its API key and
// limits, CORS, its line in the log, its counters.
//
//   auto admitted = guard.admit(request, Access::kCall);
//   if (auto* refusal = std::get_if<http::ServerReply>(&admitted)) return exchange.send(*refusal);
//   // The handler keeps the RequestContext until the answer is complete, and fills its record().
//
// Every reply of a route, errors included, gets RequestContext::add_headers.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "api/cors.h"
#include "api/keys/key_accounts.h"
#include "api/pages/request_log.h"
#include "api/pages/serve_metrics.h"
#include "base/clock.h"
#include "http/headers.h"
#include "http/server.h"
#include "llm/answer.h"

namespace windrow::api {

class RequestGuard;

// What a path demands.
enum class Access : uint8_t {
  kOpen,     // nothing: /health, /ready
  kMetrics,  // a key, unless GuardOptions::open_metrics
  kChosen,   // nothing; a key that is presented counts: what a path shows may depend on it
  kKey,      // a key, if the server demands keys
  kCall,     // a key within its limits: calls of a model
};

struct GuardOptions {
  CorsPolicy cors;
  bool open_metrics = false;
  bool log_prompts = false;
  uint64_t id_seed = 0;  // makes ids of different servers differ
  std::function<void(std::string line)> log;
};

// A request that was admitted. It counts as in flight until this is destroyed; then its record goes
// to the log and the counters. Used by one thread at a time; the RequestGuard outlives it.
class RequestContext {
 public:
  RequestContext(RequestContext&& other) noexcept;
  RequestContext& operator=(RequestContext&&) = delete;
  ~RequestContext();

  // Filled by the handler; `status` is that of the answer.
  RequestRecord& record() { return open_->record; }
  const RequestRecord& record() const { return open_->record; }

  // Takes the client's own id from X-Request-Id, if it is a sane one.
  void take_id(const http::Headers& headers);

  // True if the client may see the requests of all keys: with an admin's key, or without keys.
  bool sees_all() const { return open_->sees_all; }

  // The highest priority that the key may use.
  dispatch::Priority priority_max() const { return open_->priority_max; }

  // The key's weight in fair queueing.
  int32_t weight() const { return open_->weight; }

  // True if answers are to be logged (RequestRecord::answers).
  bool logs_answers() const;

  // kCall: takes the expected tokens of prompt and answer from the key's limit. A failure, 429: the
  // limit is exceeded, and the request does not count. At most once.
  std::optional<llm::Failure> take_tokens(int64_t expected);

  // Adds X-Request-Id, the CORS headers, and what is left of the key's limits.
  void add_headers(http::Headers& headers) const;

 private:
  friend class RequestGuard;

  struct Open {
    RequestRecord record;
    bool sees_all = false;
    bool counted = false;  // in flight for `key`, and took `tokens_taken`
    dispatch::Priority priority_max = dispatch::Priority::kInteractive;
    int32_t weight = 1;
    KeyAccounts::AccountPtr key;
    int64_t tokens_taken = 0;
    http::Headers cors;
  };
  RequestContext(RequestGuard& guard, std::unique_ptr<Open> open);

  RequestGuard* guard_;
  std::unique_ptr<Open> open_;  // null: moved from
};

// Answers and ends the request. `code` is the failure's, for the log; empty: no failure.
void send_reply(RequestContext context, http::ServerReply reply, std::string code,
                http::Exchange exchange);

// Thread-safe. `clock` and `metrics` outlive it.
class RequestGuard {
 public:
  RequestGuard(const Clock& clock, std::shared_ptr<KeyAccounts> accounts, ServeMetrics& metrics,
               GuardOptions options);
  ~RequestGuard();
  RequestGuard(const RequestGuard&) = delete;
  RequestGuard& operator=(const RequestGuard&) = delete;

  // On the loop's thread, when the head of a request has arrived and a long body would follow. A
  // reply, 401, without a valid key; nullopt: the body is read, and admit() decides.
  std::optional<http::ServerReply> refuse_at_head(const http::ServerRequest& head);

  // On the loop's thread, when a request is complete. A reply rejects it: 401 or 429.
  std::variant<RequestContext, http::ServerReply> admit(const http::ServerRequest& request,
                                                        Access access);

  // The answer to a request without a route, or that is not HTTP. It is counted and logged.
  http::ServerReply refuse(const http::Refusal& refusal);

  // The answer to OPTIONS for a path with these methods ("GET, POST"); needs no key.
  http::ServerReply preflight(const http::ServerRequest& request, std::string_view methods) const;

 private:
  friend class RequestContext;

  std::string next_id();
  RequestContext begin(const http::ServerRequest& request);
  http::ServerReply refuse(RequestContext admitted, const llm::Failure& failure);
  void ended(RequestContext::Open& open);

  const Clock& clock_;
  const std::shared_ptr<KeyAccounts> accounts_;
  ServeMetrics& metrics_;
  const GuardOptions options_;
  std::atomic<uint64_t> requests_ = 0;
};

}  // namespace windrow::api
