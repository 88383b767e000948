#include "api/keys/request_guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "api/wire/error_reply.h"
#include "base/hash.h"
#include "base/random.h"
#include "base/utf8.h"

namespace windrow::api {
namespace {

constexpr int kUnanswered = 500;

// Neither message says anything about existing keys, or repeats what was sent.
llm::Failure no_key() {
  return {.status = 401,
          .code = "invalid_api_key",
          .message =
              "this server demands an API key and the request has none; send it as "
              "\"Authorization: Bearer KEY\" (in OpenAI's clients: api_key)"};
}

llm::Failure wrong_key() {
  return {.status = 401,
          .code = "invalid_api_key",
          .message =
              "incorrect API key provided: this server does not know it; ask its operator, who "
              "makes keys with `windrow keys add`"};
}

// The index in the ring of the key in these headers, or why there is none.
std::variant<size_t, llm::Failure> holder(const KeyRing& keys, const http::Headers& headers) {
  const std::string_view presented = presented_key(headers);
  if (presented.empty()) return no_key();
  const std::optional<size_t> found = keys.find(presented);
  if (!found) return wrong_key();
  return *found;
}

constexpr int kTooLarge = 413;
constexpr std::string_view kUploads = "/v1/files";
constexpr std::string_view kVersionTwice = "/v1/v1/";

// The message for a path that begins with /v1/v1/: the client adds /v1 to a base URL that has it.
std::string doubled_base(const http::Refusal& refusal, Dialect dialect) {
  constexpr size_t kHostMax = 255;
  const std::string host =
      utf8_repair(refusal.headers.get("Host").value_or("HOST").substr(0, kHostMax));
  if (dialect == Dialect::kMessages) {
    return fmt::format(
        "{}: this client adds /v1 to its base URL, which has it already; use a base URL "
        "without it, such as http://{}",
        refusal.message, host);
  }
  return fmt::format(
      "{}: the client's base URL has /v1 twice, or the client adds it; use one with a "
      "single /v1, such as http://{}/v1",
      refusal.message, host);
}

}  // namespace

RequestContext::RequestContext(RequestGuard& guard, std::unique_ptr<Open> open)
    : guard_(&guard), open_(std::move(open)) {}

RequestContext::RequestContext(RequestContext&& other) noexcept = default;

RequestContext::~RequestContext() {
  if (open_) guard_->ended(*open_);
}

void RequestContext::take_id(const http::Headers& headers) {
  constexpr size_t kBytesMax = 128;
  constexpr std::string_view kMarks = "-_.:/+=@";
  const std::optional<std::string_view> id = headers.get("X-Request-Id");
  if (!id || id->empty() || id->size() > kBytesMax) return;
  const auto is_sane = [&](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') || kMarks.find(letter) != std::string_view::npos;
  };
  if (std::ranges::all_of(*id, is_sane)) open_->record.id = *id;
}

bool RequestContext::logs_answers() const {
  return guard_->options_.log_prompts;
}

std::optional<llm::Failure> RequestContext::take_tokens(int64_t expected) {
  if (!open_->counted) return std::nullopt;
  auto failure = guard_->accounts_->take_tokens(*open_->key, guard_->clock_.now(), expected);
  if (!failure) open_->tokens_taken = expected;
  return failure;
}

void RequestContext::add_headers(http::Headers& headers) const {
  headers.set("X-Request-Id", open_->record.id);
  // Anthropic's name for the same header.
  if (dialect_of_path(open_->record.path) == Dialect::kMessages)
    headers.set("request-id", open_->record.id);
  for (const http::Headers::Field field : open_->cors)
    headers.add(field.name, field.value);
  if (open_->key) guard_->accounts_->add_headers(*open_->key, guard_->clock_.now(), headers);
}

void send_reply(RequestContext context, http::ServerReply reply, std::string code,
                http::Exchange exchange) {
  context.record().status = reply.status;
  context.record().code = std::move(code);
  context.add_headers(reply.headers);
  exchange.send(std::move(reply));
}

RequestGuard::RequestGuard(const Clock& clock, std::shared_ptr<KeyAccounts> accounts,
                           ServeMetrics& metrics, GuardOptions options)
    : clock_(clock),
      accounts_(std::move(accounts)),
      metrics_(metrics),
      options_(std::move(options)) {}

RequestGuard::~RequestGuard() = default;

std::string RequestGuard::next_id() {
  // Mixing distinct numbers gives distinct ids.
  return "req_" + to_hex(Random(options_.id_seed + requests_.fetch_add(1)).next());
}

RequestContext RequestGuard::begin(const http::ServerRequest& request) {
  auto open = std::make_unique<RequestContext::Open>();
  RequestRecord& record = open->record;
  record.id = next_id();
  record.method = request.method;
  record.path = request.path;
  record.peer = request.peer;
  record.arrived_at = clock_.now();
  record.arrived_unix_s = clock_.unix_seconds();
  record.body_bytes = request.body.size();
  options_.cors.add_headers(request.headers, open->cors);
  return {*this, std::move(open)};
}

std::optional<http::ServerReply> RequestGuard::refuse_at_head(const http::ServerRequest& head) {
  const std::shared_ptr<const KeyRing> keys = accounts_->keys();
  if (!keys || !keys->demands_keys()) return std::nullopt;
  const auto held = holder(*keys, head.headers);
  if (const auto* failure = std::get_if<llm::Failure>(&held)) return refuse(begin(head), *failure);
  return std::nullopt;
}

std::variant<RequestContext, http::ServerReply> RequestGuard::admit(
    const http::ServerRequest& request, Access access) {
  RequestContext admitted = begin(request);
  if (options_.log_prompts && access == Access::kCall && !request.gzip)
    admitted.record().body = shown_in_log(request.body);

  const std::shared_ptr<const KeyRing> keys = accounts_->keys();
  if (!keys || !keys->demands_keys()) {
    admitted.open_->sees_all = true;
    return admitted;
  }
  if (access == Access::kOpen || (access == Access::kMetrics && options_.open_metrics)) {
    return admitted;
  }
  const auto held = holder(*keys, request.headers);
  if (const auto* failure = std::get_if<llm::Failure>(&held)) {
    if (access == Access::kChosen) return admitted;
    return refuse(std::move(admitted), *failure);
  }

  const Key& key = keys->keys()[std::get<size_t>(held)];
  admitted.open_->sees_all = key.admin;
  admitted.open_->priority_max = key.limits.priority_max;
  admitted.open_->weight = key.limits.weight;
  admitted.open_->record.key = key.name;
  if (access != Access::kCall) return admitted;

  auto [account, failure] = accounts_->enter(key, admitted.open_->record.arrived_at);
  admitted.open_->key = std::move(account);
  admitted.open_->counted = !failure;
  if (failure) return refuse(std::move(admitted), *failure);
  return admitted;
}

http::ServerReply RequestGuard::refuse(const http::Refusal& refusal) {
  const bool doubled = refusal.status == 404 && refusal.path.starts_with(kVersionTwice);
  const Dialect dialect =
      dialect_of_path(doubled ? refusal.path.substr(std::string_view("/v1").size()) : refusal.path);
  std::string message = doubled ? doubled_base(refusal, dialect) : std::string(refusal.message);
  if (refusal.status == kTooLarge) {
    message += refusal.path.starts_with(kUploads) ? "; --max-file-mb of the server is the limit"
                                                  : "; --max-body-mb of the server is the limit";
  }
  if (refusal.handled) {
    http::ServerReply reply = error_reply(refusal.status, message, dialect);
    options_.cors.add_headers(refusal.headers, reply.headers);
    return reply;  // its handler has the RequestContext
  }
  constexpr size_t kShownMax = 256;
  auto open = std::make_unique<RequestContext::Open>();
  RequestRecord& record = open->record;
  record.id = next_id();
  record.method = refusal.method.substr(0, kShownMax);
  record.path = refusal.path.substr(0, kShownMax);
  record.peer = refusal.peer;
  record.arrived_at = clock_.now();
  record.arrived_unix_s = clock_.unix_seconds();
  http::ServerReply reply = error_reply(refusal.status, message, dialect, record.id);
  record.status = reply.status;
  record.code = code_of(refusal.status);
  options_.cors.add_headers(refusal.headers, open->cors);
  RequestContext(*this, std::move(open)).add_headers(reply.headers);
  return reply;
}

http::ServerReply RequestGuard::refuse(RequestContext admitted, const llm::Failure& failure) {
  const RequestRecord& record = admitted.record();
  http::ServerReply reply = error_reply(failure, dialect_of_path(record.path), record.id);
  if (reply.status == 401) reply.headers.set("WWW-Authenticate", "Bearer realm=\"windrow\"");
  admitted.add_headers(reply.headers);
  admitted.record().status = reply.status;
  admitted.record().code = failure.code;
  return reply;
}

void RequestGuard::ended(RequestContext::Open& open) {
  RequestRecord& record = open.record;
  if (record.status == 0) {
    record.status = kUnanswered;
    record.code = "internal_error";
  }
  const TimePoint now = clock_.now();
  if (open.counted) {
    int64_t used = int64_t{record.usage.prompt_tokens} + record.usage.completion_tokens;
    // A client that disconnects after the last token it wants has used the tokens all the same.
    if (record.cut_off) used = std::max(used, open.tokens_taken);
    accounts_->leave(*open.key, now, open.tokens_taken, used);
  }
  accounts_->count(record);
  const Duration duration = now - record.arrived_at;
  metrics_.ended(record, duration);
  if (options_.log) options_.log(log_line(record, duration));
}

http::ServerReply RequestGuard::preflight(const http::ServerRequest& request,
                                          std::string_view methods) const {
  http::ServerReply reply{.status = 204, .content_type = ""};
  reply.headers.set("Allow", methods);
  options_.cors.add_preflight_headers(request.headers, methods, reply.headers);
  return reply;
}

}  // namespace windrow::api
