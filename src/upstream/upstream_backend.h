// UpstreamBackend: a Backend that is a server elsewhere, reached over HTTP in the OpenAI API. Every
// request given to it goes out at once; who submits decides how many that are.
//
// A chat or completion with a listener is asked for as a stream, with its usage at the end. Each
// event of the server's is a Delta::raw, as the server wrote it, on one line; so what nobody here
// knows of it survives. The event that tells only the usage is one of them; it comes whether the
// client wanted it or not. The Answer then has usage, timings and whether it is truncated, and
// neither choices nor raw. A server that answers as a whole all the same gives no piece, and the
// Answer is that of a request without a listener. What becomes of a stream that breaks is in
// stream_reply.h.
//
// A call starts when it is submitted, so BackendCall::withdrawn ends it only before that.
// BackendCall::unwanted breaks it off, however far it has come; the connection is closed, from
// which servers see that they may stop.
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
#include "llm/backend.h"
#include "llm/upstream_status.h"
#include "upstream/answer_format_check.h"

namespace windrow::upstream {

struct UpstreamOptions {
  http::Url base;       // as with_version gives it
  std::string api_key;  // sent as a bearer token; empty: none
  http::Headers headers;

  // What a model is called there, by the name that rows use.
  std::map<std::string, std::string, std::less<>> aliases;

  // Of one request, from sending to the end of its reply.
  Duration request_timeout = std::chrono::minutes(10);

  // What it has, as models_text says it; empty: it does not tell.
  std::string models;

  // What in_flight_target says.
  int32_t in_flight = 1;

  // What answers are held to beyond being JSON; outlives the backend. Null: nothing.
  AnswerSchemas* schemas = nullptr;

  // What those who asked are told instead of where it is (redact_for_client.h); empty: that.
  std::string client_name;

  // Told of each call that failed, in words for who runs this, on the client's loop, before its
  // Done. May be empty.
  std::function<void(const llm::Failure&)> on_failure;
};

// Kinds of failures, few and fixed where codes are the servers' own.
enum class FailureKind : uint8_t {
  kUnreached,   // nobody was there
  kFiles,       // this process could open no connection
  kOverloaded,  // it had too much to do
  kTimeout,     // it took too long
  kBroken,      // it failed, broke off, or said what cannot be used
  kRequest,     // it would not take the request
};
constexpr size_t kFailureKinds = 6;

FailureKind kind_of(const llm::Failure& failure);

// "unreached"
std::string_view to_string(FailureKind kind);

// Takes requests with a raw body (llm/raw_request.h). What it says of failures is in read_reply.h.
// Answers come on the loop's thread of the client.
class UpstreamBackend final : public llm::Backend {
 public:
  // `client` and `clock` outlive it; `clock` tells the time of day to which servers refer.
  UpstreamBackend(http::Client& client, const Clock& clock, UpstreamOptions options);
  ~UpstreamBackend() override;
  UpstreamBackend(const UpstreamBackend&) = delete;
  UpstreamBackend& operator=(const UpstreamBackend&) = delete;

  void submit(llm::BackendCall call, Done done) override;
  int32_t in_flight_target() const override { return options_.in_flight; }
  llm::BackendStats stats() const override;

  // What is known here: name, answers, failures, tokens and latency. Any thread.
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
  void watch(uint64_t number, http::CallId id, const std::stop_token& unwanted);

  http::Client& client_;
  const Clock& clock_;
  const UpstreamOptions options_;
  const std::string name_;
  const http::Headers headers_;  // of every request

  // Shared with what waits for replies.
  std::shared_ptr<Calls> calls_;
};

}  // namespace windrow::upstream
