// RequestGuard: what happens to each request before its handler, and when it is over: whether its
// key may ask and how much, which pages may read the answer, the line in the log, the counters.
//
//   auto admitted = front.admit(request, Access::kCall);
//   if (auto* refusal = std::get_if<http::ServerReply>(&admitted)) return exchange.send(*refusal);
//   // ... who answers keeps the RequestContext until the answer is complete, and fills its
//   record()
//
// Every reply of a route, also an error, gets RequestContext::add_headers.
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

// What a path asks of those who come.
enum class Access : uint8_t {
  kOpen,     // nothing: /health, /ready
  kMetrics,  // a key, unless FrontOptions::open_metrics
  kKey,      // a key, where the server demands them
  kCall,     // the same, and the limits of the key: calls of a model
};

struct FrontOptions {
  CorsPolicy cors;
  bool open_metrics = false;
  bool log_prompts = false;
  uint64_t id_seed = 0;  // ids of two servers differ by it
  std::function<void(std::string line)> log;
};

// A request that may go on. It is in flight, for the limits of its key, until this is destroyed;
// then its record goes to log and counters. Used by one thread at a time; must not outlive the
// Front.
class RequestContext {
 public:
  RequestContext(RequestContext&& other) noexcept;
  RequestContext& operator=(RequestContext&&) = delete;
  ~RequestContext();

  // Filled on the way; `status` is set to what was answered.
  RequestRecord& record() { return open_->record; }
  const RequestRecord& record() const { return open_->record; }

  // A client may bring an id of its own, X-Request-Id, to find its request by.
  void take_id(const http::Headers& headers);

  // Whether it may see the requests of others: an admin's key, or no keys are demanded.
  bool sees_all() const { return open_->sees_all; }

  // At most so urgent; Priority's smaller values are more urgent.
  dispatch::Priority priority_max() const { return open_->priority_max; }

  // Of its key.
  int32_t weight() const { return open_->weight; }

  // Whether what was said belongs into the record (RequestRecord::answers).
  bool logs_answers() const;

  // kCall: about so many tokens, of prompt and answer. A failure, 429: it may not go now, and does
  // not count. At most once.
  std::optional<llm::Failure> take_tokens(int64_t expected);

  // X-Request-Id, CORS, and what is left of the key's limits.
  void add_headers(http::Headers& headers) const;

 private:
  friend class RequestGuard;

  struct Open {
    RequestRecord record;
    bool sees_all = false;
    bool counted = false;  // it is in flight of `key`, and took `tokens_taken`
    dispatch::Priority priority_max = dispatch::Priority::kInteractive;
    int32_t weight = 1;
    KeyAccounts::AccountPtr key;
    int64_t tokens_taken = 0;
    http::Headers cors;
  };
  RequestContext(RequestGuard& front, std::unique_ptr<Open> open);

  RequestGuard* front_;
  std::unique_ptr<Open> open_;  // null: moved from
};

// Ends it with this answer. `code` is the failure's, for the log; empty: it is none.
void send_reply(RequestContext admitted, http::ServerReply reply, std::string code,
                http::Exchange exchange);

// Thread-safe. `clock` and `metrics` outlive it.
class RequestGuard {
 public:
  RequestGuard(const Clock& clock, std::shared_ptr<KeyAccounts> accounts, ServeMetrics& metrics,
               FrontOptions options);
  ~RequestGuard();
  RequestGuard(const RequestGuard&) = delete;
  RequestGuard& operator=(const RequestGuard&) = delete;

  // On the loop's thread, when the head of a request is there and a long body would follow: a reply
  // when its key is none (401), whatever it asks; nothing: its body may come, and admit() decides.
  std::optional<http::ServerReply> refuse_at_head(const http::ServerRequest& head);

  // On the loop's thread, when a request is complete. A reply: it ends here (401, 429).
  std::variant<RequestContext, http::ServerReply> admit(const http::ServerRequest& request,
                                                        Access access);

  // The answer to what has no route, or is no request: counted and logged like any other.
  http::ServerReply refuse(const http::Refusal& refusal);

  // The answer to OPTIONS of a path that has these methods ("GET, POST"); needs no key.
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
  const FrontOptions options_;
  std::atomic<uint64_t> requests_ = 0;
};

}  // namespace windrow::api
