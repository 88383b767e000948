#include "upstream/upstream_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <condition_variable>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>

#include "base/ensure.h"
#include "llm/raw_body.h"
#include "llm/request_json.h"
#include "llm/stream_sink.h"
#include "upstream/answer_format_check.h"
#include "upstream/failure_reports.h"
#include "upstream/read_reply.h"
#include "upstream/stream_reply.h"
#include "upstream/verbatim_call.h"

namespace windrow::upstream {
namespace {

// The least weight of one answer in the mean latency.
constexpr double kLatencyWeight = 0.02;

void hide(std::string_view key, std::string& text) {
  for (size_t at = text.find(key); at != std::string::npos; at = text.find(key, at))
    text.replace(at, key.size(), "***");
}

// Hides the key: servers and proxies repeat it in messages.
void hide(std::string_view key, llm::Outcome& outcome) {
  constexpr int32_t kFirstError = 400;
  if (key.empty()) return;
  if (auto* failure = std::get_if<llm::Failure>(&outcome)) {
    hide(key, failure->message);
    hide(key, failure->raw);
  } else if (auto& reply = std::get<llm::Answer>(outcome).verbatim;
             reply && reply->status >= kFirstError) {
    hide(key, reply->body);
  }
}

std::vector<std::pair<std::string, int64_t>> most_frequent_first(
    const std::map<std::string, int64_t, std::less<>>& counts) {
  std::vector<std::pair<std::string, int64_t>> list(counts.begin(), counts.end());
  std::ranges::sort(list, [](const auto& one, const auto& other) {
    return std::tie(other.second, one.first) < std::tie(one.second, other.first);
  });
  return list;
}

bool has_failed(const llm::Outcome& outcome) {
  const auto* failure = std::get_if<llm::Failure>(&outcome);
  return failure != nullptr && failure->failure_class != llm::FailureClass::kCancelled;
}

llm::Failure cancelled() {
  return {.failure_class = llm::FailureClass::kCancelled,
          .status = 499,
          .code = "cancelled",
          .message = "cancelled before it was sent",
          .param = {}};
}

// An answer without the requested form may have it at the next attempt.
llm::Outcome with_structure(const Asked& asked, const WantedStructure& wanted,
                            llm::Outcome outcome) {
  auto* answer = std::get_if<llm::Answer>(&outcome);
  if (answer == nullptr || answer->raw.empty()) return outcome;
  const StructureFinding finding = judge_structure(wanted, answer->raw);
  answer->truncated = finding.truncated;
  if (!finding.fault) return outcome;
  return llm::Failure{.failure_class = llm::FailureClass::kTransient,
                      .status = 502,
                      .code = "invalid_structured_output",
                      .message = fmt::format("{}: {}", asked.server, *finding.fault),
                      .param = std::string(wanted.field),
                      .overloaded = false,
                      .retry_after_ms = {},
                      .answered = true,
                      .raw = answer->raw,
                      .usage = answer->usage};
}

// Only these endpoints have streams.
bool may_stream(llm::Endpoint endpoint) {
  return endpoint == llm::Endpoint::kChatCompletions || endpoint == llm::Endpoint::kCompletions;
}

int64_t choices_of(const llm::Request& request) {
  const bool one_prompt = request.endpoint == llm::Endpoint::kChatCompletions;
  const int64_t prompts = one_prompt ? 1 : std::max<int64_t>(std::ssize(request.inputs), 1);
  return prompts * request.choices;
}

constexpr std::string_view kVersion = "/v1";

}  // namespace

FailureKind kind_of(const llm::Failure& failure) {
  constexpr int32_t kRequestTimeout = 408;
  constexpr int32_t kGatewayTimeout = 504;
  if (failure.short_of_files) return FailureKind::kFiles;
  if (failure.unreached) return FailureKind::kUnreached;
  if (failure.status == kRequestTimeout || failure.status == kGatewayTimeout)
    return FailureKind::kTimeout;
  if (failure.overloaded) return FailureKind::kOverloaded;
  const bool broken = failure.failure_class != llm::FailureClass::kRequest || failure.status >= 500;
  return broken ? FailureKind::kBroken : FailureKind::kRequest;
}

std::string_view to_string(FailureKind kind) {
  switch (kind) {
    case FailureKind::kUnreached:
      return "unreached";
    case FailureKind::kFiles:
      return "files";
    case FailureKind::kOverloaded:
      return "overloaded";
    case FailureKind::kTimeout:
      return "timeout";
    case FailureKind::kBroken:
      return "broken";
    case FailureKind::kRequest:
      break;
  }
  return "request";
}

// The calls in flight, by numbers of our own: a call may end before send has returned its id.
struct UpstreamBackend::Calls {
  std::mutex mutex;
  std::condition_variable changed;
  uint64_t begun = 0;

  // Breaks the call off when it is wanted no more.
  struct Unwanted {
    http::Client* client = nullptr;
    http::CallId id;
    void operator()() const { client->cancel(id); }
  };
  struct InFlight {
    std::optional<http::CallId> id;
    std::optional<std::stop_callback<Unwanted>> unwanted;
    bool resumed = false;  // before its id was known
  };
  std::map<uint64_t, InFlight> in_flight;
  llm::BackendStats stats;

  // Cancelled calls are not counted.
  int64_t answers = 0;
  int64_t failures = 0;
  std::map<std::string, int64_t, std::less<>> failures_by_code;
  std::array<int64_t, kFailureKinds> failures_by_kind = {};
  double latency_s = 0;  // a moving average

  void count(const llm::Outcome& outcome);

  // The sink of a call takes more. No effect on one that has ended, so the client is still there.
  void resume(http::Client& client, uint64_t number);
};

void UpstreamBackend::Calls::resume(http::Client& client, uint64_t number) {
  const std::scoped_lock lock(mutex);
  const auto call = in_flight.find(number);
  if (call == in_flight.end()) return;
  call->second.resumed = true;
  if (call->second.id) client.resume(*call->second.id);
}

void UpstreamBackend::Calls::count(const llm::Outcome& outcome) {
  const std::scoped_lock lock(mutex);
  if (const auto* failure = std::get_if<llm::Failure>(&outcome)) {
    if (failure->failure_class == llm::FailureClass::kCancelled) return;
    ++failures;
    ++failures_by_code[failure->code];
    ++failures_by_kind.at(static_cast<size_t>(kind_of(*failure)));
    return;
  }
  const auto& answer = std::get<llm::Answer>(outcome);
  stats.prompt_tokens += answer.usage.prompt_tokens - answer.usage.cached_tokens;
  stats.cached_tokens += answer.usage.cached_tokens;
  stats.generated_tokens += answer.usage.completion_tokens;
  ++stats.steps;
  const auto took_ms = answer.timings.prefill_ms + answer.timings.decode_ms;
  const double took_s = static_cast<double>(took_ms) / 1000;
  const double weight = std::max(kLatencyWeight, 1.0 / static_cast<double>(++answers));
  latency_s += weight * (took_s - latency_s);
}

// One call. After it was sent only the client's loop uses it.
struct UpstreamBackend::Call {
  std::shared_ptr<Calls> calls;
  const Clock* clock = nullptr;
  const UpstreamOptions* options = nullptr;
  uint64_t number = 0;
  Asked asked;
  WantedStructure wanted;
  Done done;

  // For a verbatim request.
  bool is_verbatim = false;
  std::optional<SinkFlow> sink;

  // For a stream.
  std::shared_ptr<llm::StreamSink> listener;
  std::optional<StreamReply> stream;
  TimePoint start{};
  std::optional<TimePoint> first_event;
  bool has_ended = false;  // its Done was called, though bytes may still come

  bool take(const http::ReplyHead& head, std::string_view bytes);
  void finish(http::ClientResult result);
  void pass_on(std::vector<std::string> events);
  void end(llm::Outcome outcome);
};

// Takes bytes of a stream. False: no more of it is needed.
bool UpstreamBackend::Call::take(const http::ReplyHead& head, std::string_view bytes) {
  // After [DONE] there is nothing more, but the connection can be used again once it has ended.
  if (has_ended) return true;
  std::vector<std::string> events;
  std::optional<llm::Outcome> outcome = stream->add(head, bytes, events);
  pass_on(std::move(events));
  if (!outcome) return true;
  const bool answered = std::holds_alternative<llm::Answer>(*outcome);
  end(*std::move(outcome));
  return answered;
}

void UpstreamBackend::Call::finish(http::ClientResult result) {
  if (!has_ended) {
    std::vector<std::string> events;
    llm::Outcome outcome = is_verbatim ? read_verbatim(asked, std::move(result))
                           : stream ? stream->end(std::move(result), clock->unix_seconds(), events)
                                    : read_reply(asked, result, clock->unix_seconds());
    pass_on(std::move(events));
    end(with_structure(asked, wanted, std::move(outcome)));
  }
  // Its callback, if it runs at this moment, is waited for; it takes no lock of ours.
  const std::scoped_lock lock(calls->mutex);
  calls->in_flight.erase(number);
  if (calls->in_flight.empty()) calls->changed.notify_all();
}

void UpstreamBackend::Call::pass_on(std::vector<std::string> events) {
  if (!events.empty() && !first_event) first_event = clock->now();
  for (std::string& event : events) {
    llm::Delta piece;
    piece.raw = std::move(event);
    listener->on_delta(std::move(piece));
  }
}

void UpstreamBackend::Call::end(llm::Outcome outcome) {
  has_ended = true;
  if (auto* answer = std::get_if<llm::Answer>(&outcome); answer != nullptr && first_event) {
    answer->timings = {.queue_ms = 0,
                       .prefill_ms = milliseconds(*first_event - start),
                       .decode_ms = milliseconds(clock->now() - *first_event)};
  }
  hide(options->api_key, outcome);
  calls->count(outcome);
  if (options->on_failure && has_failed(outcome))
    options->on_failure(std::get<llm::Failure>(outcome));
  if (has_failed(outcome) && !options->client_name.empty()) {
    auto& failure = std::get<llm::Failure>(outcome);
    failure = for_clients(std::move(failure), asked.server, options->client_name);
  }
  // Releases what the call holds before the backend may be destroyed.
  const Done last = std::exchange(done, nullptr);
  listener = nullptr;
  sink.reset();
  last(std::move(outcome));
}

UpstreamBackend::UpstreamBackend(http::Client& client, const Clock& clock, UpstreamOptions options)
    : client_(client),
      clock_(clock),
      options_(std::move(options)),
      name_(http::origin(options_.base)),
      headers_(headers_of(options_)),
      calls_(std::make_shared<Calls>()) {}

UpstreamBackend::~UpstreamBackend() {
  std::vector<http::CallId> ids;
  {
    const std::scoped_lock lock(calls_->mutex);
    for (const auto& [number, call] : calls_->in_flight) {
      if (call.id) ids.push_back(*call.id);
    }
  }
  for (const http::CallId id : ids)
    client_.cancel(id);
  std::unique_lock lock(calls_->mutex);
  calls_->changed.wait(lock, [&] { return calls_->in_flight.empty(); });
}

http::Headers UpstreamBackend::headers_of(const UpstreamOptions& options) {
  http::Headers headers = options.headers;
  headers.set("Content-Type", "application/json");
  if (!options.api_key.empty())
    headers.set("Authorization", fmt::format("Bearer {}", options.api_key));
  return headers;
}

http::ClientRequest UpstreamBackend::request_for(const std::shared_ptr<const llm::Request>& request,
                                                 bool streams) const {
  http::ClientRequest call;
  call.method = request->verbatim ? method_of(request->verbatim->method) : http::Method::kPost;
  call.url = target_of(options_.base, *request);
  call.headers = request->headers.empty() ? headers_ : with_headers_of(*request, headers_);
  call.limits.total = options_.request_timeout;
  if (request->raw.empty()) return call;
  const auto alias = options_.aliases.find(request->model);
  const bool renamed = alias != options_.aliases.end();
  if (!renamed && !streams) {
    // As it was written: it is sent from the request, without a copy.
    call.body = std::shared_ptr<const std::string>(request, &request->raw);
    return call;
  }
  std::string body = request->raw;
  if (renamed) body = llm::with_member(body, "model", boost::json::serialize(alias->second));
  if (streams) {
    body = llm::with_member(body, "stream", "true");
    body = llm::with_member(body, "stream_options", R"({"include_usage":true})");
  }
  call.body = std::make_shared<const std::string>(std::move(body));
  return call;
}

std::shared_ptr<const schema::Validator> UpstreamBackend::validator_for(
    const llm::Request& request) const {
  if (options_.schemas == nullptr || request.structure_schema.empty()) return nullptr;
  return options_.schemas->of(request.structure_schema);
}

// `call` has its number.
void UpstreamBackend::take_pieces(const std::shared_ptr<Call>& call,
                                  std::shared_ptr<llm::ReplySink> sink, http::ClientRequest& out) {
  out.limits.taken_bytes_max = sink->bytes_max();
  out.limits.reply_bytes_max = kErrorBytesMax;
  call->sink.emplace(std::move(sink), [calls = calls_, client = &client_, number = call->number] {
    calls->resume(*client, number);
  });
  out.takes_more = [call] { return call->sink->takes_more(); };
  out.on_data = [call](const http::ReplyHead&, std::string_view bytes) {
    return call->sink->take(bytes);
  };
}

void UpstreamBackend::submit(llm::BackendCall asked, Done done) {
  const llm::Request& request = *asked.request;
  ENSURE(request.verbatim || !request.raw.empty(),
         "an upstream server is sent bodies as they were written");
  ENSURE(request.verbatim || !asked.reply_sink, "only the reply to a verbatim request has a sink");
  if (asked.is_cancelled()) return done(cancelled());
  const bool streams =
      asked.listener != nullptr && may_stream(request.endpoint) && !request.verbatim;
  http::ClientRequest out = request_for(asked.request, streams);
  auto call = std::make_shared<Call>();
  call->calls = calls_;
  call->clock = &clock_;
  call->options = &options_;
  call->asked = {.server = name_,
                 .model = request.model,
                 .endpoint = request.endpoint,
                 .models = &options_.models};
  call->wanted = {.form = request.structure,
                  .field = request.structure_field,
                  .validator = validator_for(request)};
  call->done = std::move(done);
  call->is_verbatim = request.verbatim.has_value();
  if (streams) {
    call->listener = std::move(asked.listener);
    call->stream.emplace(call->asked, call->wanted, choices_of(request));
    call->start = clock_.now();
    out.on_data = [call](const http::ReplyHead& head, std::string_view bytes) {
      return call->take(head, bytes);
    };
  }
  {
    const std::scoped_lock lock(calls_->mutex);
    call->number = ++calls_->begun;
    calls_->in_flight.try_emplace(call->number);
  }
  if (asked.reply_sink) take_pieces(call, std::move(asked.reply_sink), out);
  const uint64_t number = call->number;
  const http::CallId id = client_.send(
      std::move(out), [call](http::ClientResult result) { call->finish(std::move(result)); });
  watch(number, id, asked.unwanted);
}

// Unless the call has ended already.
void UpstreamBackend::watch(uint64_t number, http::CallId id, const std::stop_token& unwanted) {
  const std::scoped_lock lock(calls_->mutex);
  const auto mine = calls_->in_flight.find(number);
  if (mine == calls_->in_flight.end()) return;
  mine->second.id = id;
  if (mine->second.resumed) client_.resume(id);
  // Runs at once if it is unwanted by now.
  if (unwanted.stop_possible())
    mine->second.unwanted.emplace(unwanted, Calls::Unwanted{.client = &client_, .id = id});
}

llm::UpstreamStatus UpstreamBackend::status() const {
  const std::scoped_lock lock(calls_->mutex);
  llm::UpstreamStatus status{
      .name = name_,
      .answers = calls_->answers,
      .failures = calls_->failures,
      .failures_by_code = most_frequent_first(calls_->failures_by_code),
      .prompt_tokens = calls_->stats.prompt_tokens + calls_->stats.cached_tokens,
      .generated_tokens = calls_->stats.generated_tokens,
      .latency_s = calls_->latency_s};
  for (size_t kind = 0; kind < kFailureKinds; ++kind) {
    status.failures_by_kind.emplace_back(to_string(static_cast<FailureKind>(kind)),
                                         calls_->failures_by_kind.at(kind));
  }
  return status;
}

llm::BackendStats UpstreamBackend::stats() const {
  const std::scoped_lock lock(calls_->mutex);
  llm::BackendStats stats = calls_->stats;
  stats.rows_running = static_cast<int32_t>(calls_->in_flight.size());
  return stats;
}

http::Url with_version(http::Url base) {
  if (base.target.empty() || base.target == "/") base.target = kVersion;
  return base;
}

http::Url target_of(const http::Url& base, llm::Endpoint endpoint) {
  return http::below(base, llm::url_of(endpoint).substr(kVersion.size()));
}

http::Url at_root(const http::Url& base, std::string_view path) {
  http::Url url = base;
  url.target = path;
  return url;
}

http::Url beside_version(const http::Url& base, std::string_view path) {
  std::string_view above = base.target;
  above = above.substr(0, above.find('?'));
  while (above.ends_with('/'))
    above.remove_suffix(1);
  http::Url url = base;
  url.target = above.ends_with(kVersion) ? above.substr(0, above.size() - kVersion.size()) : "";
  url.target += path;
  return url;
}

}  // namespace windrow::upstream
