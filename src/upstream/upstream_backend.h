// UpstreamBackend: a Backend that sends requests to an upstream server over HTTP in the OpenAI API.
// Every request is sent at once; the dispatcher decides how many are in flight.
//
// A chat or completion with a stream sink is requested as a stream, with its usage at the end. Each
// event becomes a Delta::raw as the server wrote it, on one line, so that fields unknown to Windrow
// survive. The event with only the usage is one of them, whether the client wanted it or not. The
// Answer then has usage, timings and whether it is truncated, and neither choices nor raw. A server
// that answers as a whole all the same produces no delta, and the Answer is that of a request
// without a sink. stream_reply.h tells what happens when a stream breaks.
//
// The reply to a verbatim request (llm/verbatim.h) is the Answer, whatever its status; only where
// none came there is a Failure. With a ReplySink its body is passed on piece by piece, and while
// the sink pauses the server is not read; without one the body is an http::Limits::reply_bytes_max
// at most.
//
// A call starts when it is submitted, so BackendCall::withdrawn ends it only before that.
// BackendCall::unwanted breaks it off at any time; the connection is closed, from which servers see
// that they may stop.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "http/client.h"
#include "http/url.h"
#include "llm/backend.h"
#include "llm/reply_sink.h"
#include "llm/request.h"
#include "llm/upstream_status.h"
#include "upstream/answer_format_check.h"

namespace windrow::upstream {

struct UpstreamOptions {
  http::Url base;       // as with_version gives it
  std::string api_key;  // sent as a bearer token; empty: none
  http::Headers headers;

  // The server's name of a model, by the name that rows use.
  std::map<std::string, std::string, std::less<>> aliases;

  // For one request, from sending to the end of its reply.
  Duration request_timeout = std::chrono::minutes(10);

  // The models it has, as models_text writes them; empty: unknown.
  std::string models;

  // Backend::in_flight_target.
  int32_t in_flight = 1;

  // The schemas that answers have to fit; outlives the backend. Null: answers only have to be JSON.
  AnswerSchemas* schemas = nullptr;

  // The name of the server in failures that clients see (redact_for_client); empty: its address.
  std::string client_name;

  // Called for each failed call, in words for the owner, on the client's loop, before its Done. May
  // be empty.
  std::function<void(const llm::Failure&)> on_failure;
};

// Kinds of failures: few and fixed, where codes are the servers' own.
enum class FailureKind : uint8_t {
  kUnreached,   // no connection
  kFiles,       // this process has no file descriptor for a connection
  kOverloaded,  // the server is overloaded
  kTimeout,     // no answer in time
  kBroken,      // the server failed, or its reply broke off or cannot be used
  kRequest,     // the server refused the request
};
constexpr size_t kFailureKinds = 6;

FailureKind kind_of(const llm::Failure& failure);

// "unreached"
std::string_view to_string(FailureKind kind);

// Takes requests with a raw body (llm/raw_body.h) and verbatim ones. Failures are those of
// read_reply.h. Answers come on the event loop of the client.
class UpstreamBackend final : public llm::Backend {
 public:
  // `client` and `clock` outlive it; servers refer to the time of day of `clock`.
  UpstreamBackend(http::Client& client, const Clock& clock, UpstreamOptions options);
  ~UpstreamBackend() override;
  UpstreamBackend(const UpstreamBackend&) = delete;
  UpstreamBackend& operator=(const UpstreamBackend&) = delete;

  void submit(llm::BackendCall call, Done done) override;
  int32_t in_flight_target() const override { return options_.in_flight; }
  llm::BackendStats stats() const override;

  // Name, answers, failures, tokens and latency; the other members are not known here. Any thread.
  llm::UpstreamStatus status() const;

  // "http://gpu1:8000", for people.
  const std::string& name() const { return name_; }

 private:
  struct Calls;
  struct Call;

  static http::Headers headers_of(const UpstreamOptions& options);
  std::shared_ptr<const schema::Validator> validator_for(const llm::Request& request) const;
  http::ClientRequest request_for(const std::shared_ptr<const llm::Request>& request,
                                  bool streams) const;
  void take_pieces(const std::shared_ptr<Call>& call, std::shared_ptr<llm::ReplySink> sink,
                   http::ClientRequest& out);
  void watch(uint64_t number, http::CallId id, const std::stop_token& unwanted);

  http::Client& client_;
  const Clock& clock_;
  const UpstreamOptions options_;
  const std::string name_;
  const http::Headers headers_;  // of every request

  // Shared with the calls in flight.
  std::shared_ptr<Calls> calls_;
};

// --- the URLs of a server's routes; pure ---

// `base` is what clients of the OpenAI API call its base URL: "http://h:8000/v1". One without a
// path means that too; any other path stays as it is, with its query
// ("https://h/deploy/x?version=1").
http::Url with_version(http::Url base);

// The route of an endpoint; `base` as with_version returns it.
http::Url target_of(const http::Url& base, llm::Endpoint endpoint);

// The server itself, for routes that do not belong to the OpenAI API ("/api/ps").
http::Url at_root(const http::Url& base, std::string_view path);

// A route that servers have beside the OpenAI API ("/metrics"): above the "/v1" with which the base
// ends, or at the root where it ends with something else.
http::Url beside_version(const http::Url& base, std::string_view path);

}  // namespace windrow::upstream
