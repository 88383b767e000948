#include "upstream/upstream_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <condition_variable>
#include <optional>
#include <utility>
#include <variant>

#include "base/ensure.h"
#include "llm/raw_request.h"
#include "upstream/read_reply.h"
#include "upstream/structure.h"
#include "upstream/target.h"

namespace windrow::upstream {
namespace {

// Of one answer in the mean latency.
constexpr double kLatencyWeight = 0.02;

// Servers and proxies repeat the key they were sent.
void hide(std::string_view key, llm::Outcome& outcome) {
  auto* failure = std::get_if<llm::Failure>(&outcome);
  if (failure == nullptr || key.empty()) return;
  for (std::string* text : {&failure->message, &failure->raw}) {
    for (size_t at = text->find(key); at != std::string::npos; at = text->find(key, at))
      text->replace(at, key.size(), "***");
  }
}

bool has_failed(const llm::Outcome& outcome) {
  const auto* failure = std::get_if<llm::Failure>(&outcome);
  return failure != nullptr && failure->failure_class != llm::FailureClass::kCancelled;
}

// An answer in another form than asked for may come right when it is asked for again.
llm::Outcome with_structure(const Asked& asked, const WantedStructure& wanted,
                            llm::Outcome outcome) {
  const auto* answer = std::get_if<llm::Answer>(&outcome);
  if (answer == nullptr) return outcome;
  const std::optional<std::string> fault = structure_fault(wanted, answer->raw);
  if (!fault) return outcome;
  return llm::Failure{.failure_class = llm::FailureClass::kTransient,
                      .status = 502,
                      .code = "invalid_structured_output",
                      .message = fmt::format("{}: {}", asked.server, *fault),
                      .param = std::string(wanted.field),
                      .overloaded = false,
                      .retry_after_ms = {},
                      .answered = true,
                      .raw = answer->raw,
                      .usage = answer->usage};
}

}  // namespace

// The calls in flight, by numbers of our own: a call may end before send has told its id.
struct UpstreamBackend::Calls {
  std::mutex mutex;
  std::condition_variable changed;
  uint64_t begun = 0;
  boost::unordered_flat_map<uint64_t, std::optional<http::CallId>> in_flight;
  llm::BackendStats stats;
  CallCounts counts;

  void count(const llm::Outcome& outcome);
};

void UpstreamBackend::Calls::count(const llm::Outcome& outcome) {
  const std::scoped_lock lock(mutex);
  if (const auto* failure = std::get_if<llm::Failure>(&outcome)) {
    if (failure->failure_class == llm::FailureClass::kCancelled) return;
    ++counts.failures;
    ++counts.failures_by_code[failure->code];
    return;
  }
  const auto& answer = std::get<llm::Answer>(outcome);
  stats.prompt_tokens += answer.usage.prompt_tokens - answer.usage.cached_tokens;
  stats.cached_tokens += answer.usage.cached_tokens;
  stats.generated_tokens += answer.usage.completion_tokens;
  ++stats.steps;
  const auto took_ms = answer.timings.prefill_ms + answer.timings.decode_ms;
  const double took_s = static_cast<double>(took_ms) / 1000;
  const double weight = std::max(kLatencyWeight, 1.0 / static_cast<double>(++counts.answers));
  counts.latency_s += weight * (took_s - counts.latency_s);
}

UpstreamBackend::UpstreamBackend(http::Client& client, const Clock& clock, UpstreamOptions options)
    : client_(client),
      clock_(clock),
      options_(std::move(options)),
      name_(http::origin(options_.base)),
      headers_(headers_of(options_)),
      calls_(std::make_shared<Calls>()) {}

UpstreamBackend::~UpstreamBackend() {
  cancel_all();
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

http::ClientRequest UpstreamBackend::request_for(llm::Request& request) const {
  http::ClientRequest call;
  call.method = http::Method::kPost;
  call.url = target_of(options_.base, request.endpoint);
  call.headers = headers_;
  const auto alias = options_.aliases.find(request.model);
  call.body = std::make_shared<const std::string>(
      alias == options_.aliases.end()
          ? std::move(request.raw)
          : llm::with_member(request.raw, "model", boost::json::serialize(alias->second)));
  call.limits.total = options_.request_timeout;
  return call;
}

std::shared_ptr<const schema::Validator> UpstreamBackend::validator_for(
    const llm::Request& request) const {
  if (options_.schemas == nullptr || request.structure_schema.empty()) return nullptr;
  return options_.schemas->of(request.structure_schema);
}

void UpstreamBackend::submit(llm::Request request, Done done) {
  ENSURE(!request.raw.empty(), "a server elsewhere is given bodies as they were written");
  http::ClientRequest call = request_for(request);
  uint64_t number = 0;
  {
    const std::scoped_lock lock(calls_->mutex);
    number = ++calls_->begun;
    calls_->in_flight.emplace(number, std::nullopt);
  }
  Asked asked{.server = name_,
              .model = std::move(request.model),
              .endpoint = request.endpoint,
              .models = &options_.models};
  WantedStructure wanted{.form = request.structure,
                         .field = request.structure_field,
                         .validator = validator_for(request)};
  const http::CallId id =
      client_.send(std::move(call), [calls = calls_, clock = &clock_,
                                     on_failure = &options_.on_failure, api_key = &options_.api_key,
                                     number, asked = std::move(asked), wanted = std::move(wanted),
                                     done = std::move(done)](const http::ClientResult& result) {
        llm::Outcome outcome =
            with_structure(asked, wanted, read_reply(asked, result, clock->unix_seconds()));
        hide(*api_key, outcome);
        calls->count(outcome);
        if (*on_failure && has_failed(outcome)) (*on_failure)(std::get<llm::Failure>(outcome));
        done(std::move(outcome));
        const std::scoped_lock lock(calls->mutex);
        calls->in_flight.erase(number);
        if (calls->in_flight.empty()) calls->changed.notify_all();
      });
  const std::scoped_lock lock(calls_->mutex);
  if (const auto mine = calls_->in_flight.find(number); mine != calls_->in_flight.end())
    mine->second = id;
}

void UpstreamBackend::cancel_all() {
  std::vector<http::CallId> ids;
  {
    const std::scoped_lock lock(calls_->mutex);
    for (const auto& [number, id] : calls_->in_flight) {
      if (id) ids.push_back(*id);
    }
  }
  for (const http::CallId id : ids)
    client_.cancel(id);
}

CallCounts UpstreamBackend::counts() const {
  const std::scoped_lock lock(calls_->mutex);
  return calls_->counts;
}

llm::BackendStats UpstreamBackend::stats() const {
  const std::scoped_lock lock(calls_->mutex);
  llm::BackendStats stats = calls_->stats;
  stats.rows_running = static_cast<int32_t>(calls_->in_flight.size());
  return stats;
}

}  // namespace windrow::upstream
