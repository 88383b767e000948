#include "sim_upstream/simulated_upstream.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <boost/json/value_to.hpp>
#include <iterator>

#include "base/ensure.h"
#include "json/depth.h"
#include "sim_upstream/limit_headers.h"
#include "sim_upstream/reply_body.h"

namespace windrow::sim_upstream {
namespace {

constexpr std::string_view kAnyModel = "sim";
constexpr std::string_view kInvalidRequest = "invalid_request_error";

std::optional<Endpoint> endpoint_of(std::string_view path) {
  if (path == "/v1/chat/completions") return Endpoint::kChat;
  if (path == "/v1/completions") return Endpoint::kCompletions;
  if (path == "/v1/embeddings") return Endpoint::kEmbeddings;
  return std::nullopt;
}

// {"model": NAME} of Ollama's requests; older clients write {"name": NAME}.
std::string model_named_in(std::string_view body) {
  boost::system::error_code error;
  const boost::json::value parsed =
      boost::json::parse(body, error, {}, {.max_depth = kJsonDepthMax});
  if (error) return {};
  for (const std::string_view pointer : {"/model", "/name"}) {
    const boost::json::value* name = parsed.find_pointer(pointer, error);
    if (name != nullptr && name->is_string()) return boost::json::value_to<std::string>(*name);
  }
  return {};
}

}  // namespace

SimulatedUpstream::SimulatedUpstream(SimOptions options, int64_t start_unix_s)
    : options_(std::move(options)),
      start_unix_s_(start_unix_s),
      model_names_(options_.models),
      slots_(options_.slots, options_.knee),
      prefixes_(options_.prefix_blocks),
      dice_(options_.faults, options_.seed),
      random_(options_.seed + 1),
      request_limit_(options_.requests_per_minute),
      token_limit_(options_.tokens_per_minute) {
  if (model_names_.empty()) model_names_.emplace_back(kAnyModel);
}

std::vector<std::pair<std::string_view, std::string_view>> SimulatedUpstream::paths() {
  return {{"POST", "/v1/chat/completions"},
          {"POST", "/v1/completions"},
          {"POST", "/v1/embeddings"},
          {"GET", "/v1/models"},
          {"GET", "/metrics"},
          {"GET", "/health"},
          {"GET", "/api/version"},
          {"POST", "/api/generate"},
          {"POST", "/api/embed"},
          {"GET", "/api/tags"},
          {"GET", "/api/ps"},
          {"POST", "/api/show"}};
}

// --- time -------------------------------------------------------------------------------------

// What happens until `now`, each thing at its own time: it does not matter how often anyone looks.
void SimulatedUpstream::move_to(TimePoint now) {
  ENSURE(now >= now_, "time went back");
  for (;;) {
    const TimePoint slot_at = slots_.next_end().value_or(TimePoint::max());
    const TimePoint late_at = late_.empty() ? TimePoint::max() : late_.begin()->first;
    if (std::min(slot_at, late_at) > now) break;
    now_ = std::min(slot_at, late_at);
    if (slot_at <= late_at) {
      step_ended(SimRequestId(slots_.take_end()));
      start_waiting();
    } else {
      const SimRequestId request = late_.begin()->second;
      late_.erase(late_.begin());
      reply_to(request);
    }
  }
  now_ = now;
}

std::optional<TimePoint> SimulatedUpstream::next_event() const {
  if (!ready_.empty()) return now_;
  std::optional<TimePoint> next = slots_.next_end();
  if (!late_.empty()) next = std::min(next.value_or(TimePoint::max()), late_.begin()->first);
  return next;
}

std::vector<SimReply> SimulatedUpstream::advance(TimePoint now) {
  move_to(now);
  std::vector<SimReply> replies(std::make_move_iterator(ready_.begin()),
                                std::make_move_iterator(ready_.end()));
  ready_.clear();
  ready_requests_.clear();
  return replies;
}

int64_t SimulatedUpstream::unix_seconds() const {
  return start_unix_s_ + now_.time_since_epoch() / std::chrono::seconds(1);
}

// --- a request comes, or goes -----------------------------------------------------------------

SimRequestId SimulatedUpstream::arrive(const SimRequest& request, TimePoint now) {
  move_to(now);
  const SimRequestId id(++last_request_);
  if (std::optional<SimReply> reply = watching_reply(request)) {
    reply->request = id;
    ready_requests_.insert(id);
    ready_.push_back(*std::move(reply));
    return id;
  }
  ++stats_.requests;
  ++in_flight_;
  stats_.in_flight_max = std::max(stats_.in_flight_max, in_flight_);
  answer(id, request);
  return id;
}

void SimulatedUpstream::leave(SimRequestId request, TimePoint now) {
  move_to(now);
  const auto job = jobs_.find(request);
  const bool untold = ready_requests_.erase(request) > 0;
  if (untold) std::erase_if(ready_, [&](const SimReply& one) { return one.request == request; });
  if (job == jobs_.end() && !untold) return;
  ++stats_.left;
  if (job == jobs_.end()) return;
  leave_slot(job->second);
  jobs_.erase(job);
  --in_flight_;
  std::erase(waiting_, request);
  std::erase_if(late_, [&](const Late& late) { return late.second == request; });
  slots_.cancel(request.value(), now);
  start_waiting();
}

// Of those who only look on. They ask when they like, so nothing counts them.
std::optional<SimReply> SimulatedUpstream::watching_reply(const SimRequest& asked) const {
  if (asked.path == "/health") return SimReply{.body = R"({"status":"ok"})"};
  if (asked.path == "/metrics")
    return SimReply{.content_type = "text/plain; version=0.0.4", .body = metrics_text()};
  return std::nullopt;
}

void SimulatedUpstream::answer(SimRequestId request, const SimRequest& asked) {
  if (!options_.key.empty() && asked.authorization != "Bearer " + options_.key) {
    return push(request,
                error_reply(401, "Incorrect API key provided", kInvalidRequest, "invalid_api_key"));
  }
  if (const std::optional<Endpoint> endpoint = endpoint_of(asked.path))
    return call_model(request, *endpoint, asked.body);
  if (asked.path == "/v1/models") {
    return push(request,
                {.body = models_body(model_names_, start_unix_s_, options_.context_tokens)});
  }
  if (options_.ollama && asked.path == "/api/version")
    return push(request, {.body = R"({"version":"0.12.0"})"});
  if (options_.ollama && asked.path == "/api/tags")
    return push(request, {.body = ollama_tags_body(model_names_)});
  if (options_.ollama && asked.path == "/api/ps")
    return push(request, {.body = ollama_ps_body(model_names_, options_.context_tokens)});
  if (options_.ollama && (asked.path == "/api/generate" || asked.path == "/api/embed")) {
    // Without a prompt both only load the model, and no more of them is simulated.
    if (std::optional<SimReply> refusal = refuse_model(model_named_in(asked.body)))
      return push(request, *std::move(refusal));
    return push(request, {.body = R"({"response":"","embeddings":[],"done":true})"});
  }
  if (options_.ollama && asked.path == "/api/show") {
    const std::string name = model_named_in(asked.body);
    if (std::optional<SimReply> refusal = refuse_model(name))
      return push(request, *std::move(refusal));
    return push(request, {.body = ollama_show_body(options_.context_tokens)});
  }
  push(request,
       error_reply(404, fmt::format("there is nothing at {}", asked.path), kInvalidRequest));
}

std::optional<SimReply> SimulatedUpstream::refuse_model(std::string_view model) const {
  if (options_.models.empty() || std::ranges::find(options_.models, model) != options_.models.end())
    return std::nullopt;
  return error_reply(404,
                     fmt::format("The model `{}` does not exist; there are: {}", model,
                                 fmt::join(options_.models, ", ")),
                     kInvalidRequest, "model_not_found");
}

// --- a call of a model ------------------------------------------------------------------------

void SimulatedUpstream::call_model(SimRequestId request, Endpoint endpoint, std::string_view body) {
  Result<ModelCall> call = read_call(endpoint, body);
  if (!call) return push(request, error_reply(400, call.error().message, kInvalidRequest));
  if (std::optional<SimReply> refusal = refuse_model(call->model))
    return push(request, *std::move(refusal));
  Result<Job> job = make_job(options_, *std::move(call));
  if (!job) {
    return push(request,
                error_reply(400, job.error().message, kInvalidRequest, "context_length_exceeded"));
  }
  if (std::optional<SimReply> refusal = refuse_by_quota(job->prompt_tokens))
    return push(request, *std::move(refusal));
  job->strike = dice_.roll(now_);
  // A web page, which is no stream.
  if (job->is_struck_by(FaultKind::kContentType)) job->call.stream = false;
  if (job->strike && job->strike->kind == FaultKind::kRateLimit) {
    count_fault(FaultKind::kRateLimit);
    return push(request,
                limit_reply(job->strike->duration.value_or(std::chrono::seconds(1)), "requests"));
  }
  if (const std::optional<int> status =
          job->strike ? error_status(job->strike->kind) : std::nullopt) {
    count_fault(job->strike->kind);
    return push(request, error_reply(*status, "something went wrong inside", "server_error"));
  }
  if (slots_.full() && std::ssize(waiting_) >= options_.queue_max) {
    return push(request, error_reply(503, "server busy, please try again: the queue is full",
                                     "server_error", "overloaded"));
  }
  request_limit_.spend(1, now_);
  token_limit_.spend(job->prompt_tokens, now_);
  jobs_.emplace(request, *std::move(job));
  waiting_.push_back(request);
  start_waiting();
  stats_.waiting_max = std::max(stats_.waiting_max, static_cast<int64_t>(waiting_.size()));
}

// Nothing: it is not struck with a server's error.
std::optional<int> SimulatedUpstream::error_status(FaultKind kind) {
  constexpr std::array<int, 3> kStatus = {500, 502, 503};
  switch (kind) {
    case FaultKind::kServerError:
      return kStatus.at(random_.below(kStatus.size()));
    case FaultKind::kStatus500:
      return 500;
    case FaultKind::kStatus502:
      return 502;
    case FaultKind::kStatus503:
      return 503;
    default:
      return std::nullopt;
  }
}

std::optional<SimReply> SimulatedUpstream::refuse_by_quota(int64_t tokens) const {
  if (!request_limit_.has(1, now_)) return limit_reply(request_limit_.until(1, now_), "requests");
  if (!token_limit_.has(tokens, now_))
    return limit_reply(token_limit_.until(tokens, now_), "tokens");
  return std::nullopt;
}

void SimulatedUpstream::start_waiting() {
  while (!waiting_.empty() && !slots_.full()) {
    const SimRequestId request = waiting_.front();
    waiting_.pop_front();
    start(request);
  }
}

void SimulatedUpstream::start(SimRequestId request) {
  Job& job = jobs_.at(request);
  if (job.call.endpoint != Endpoint::kEmbeddings) {
    for (const Prompt& prompt : job.call.prompts)
      job.cached_tokens += std::min(prefixes_.use(prompt.text), prompt.tokens);
    job.cached_tokens = std::min(job.cached_tokens, job.prompt_tokens);
  }
  // A stream's work is divided into steps, at each of which some of it is told.
  const int64_t answer_tokens = job.call.stream
                                    ? std::min(job.longest_answer(), options_.event_tokens)
                                    : job.longest_answer();
  const Duration work = options_.request_time +
                        (job.prompt_tokens - job.cached_tokens) * options_.prompt_token_time +
                        answer_tokens * options_.token_time;
  slots_.start(request.value(), work, now_);
  job.in_slot = true;
  tokens_in_slots_ += job.tokens();
  stats_.busy_max = std::max(stats_.busy_max, int64_t{slots_.busy()});
}

void SimulatedUpstream::leave_slot(Job& job) {
  if (job.in_slot) tokens_in_slots_ -= job.tokens();
  job.in_slot = false;
}

void SimulatedUpstream::step_ended(SimRequestId request) {
  if (!jobs_.at(request).call.stream) return finish(request);
  // The same slot again: nobody else came in between.
  if (stream_on(request))
    slots_.start(request.value(), jobs_.at(request).next_step(options_), now_);
}

// The slot is free; the reply may come later.
void SimulatedUpstream::finish(SimRequestId request) {
  Job& job = jobs_.at(request);
  leave_slot(job);
  if (!job.is_struck_by(FaultKind::kStall)) return reply_to(request);
  count_fault(FaultKind::kStall);
  if (job.strike->duration) late_.emplace(now_ + *job.strike->duration, request);
}

void SimulatedUpstream::reply_to(SimRequestId request) {
  Job& job = jobs_.at(request);
  if (job.stream) return tell_held_back(request, job);
  if (job.is_struck_by(FaultKind::kSwapped) && !job.answer_of_another) swap_answer(request);
  SimReply reply{.body = reply_body(options_, job, facts_of(request))};
  add_limit_headers(reply);
  if (job.answer_of_another) count_fault(FaultKind::kSwapped);
  if (job.strike) strike_reply(*job.strike, reply);
  if (job.breaks_schema()) count_fault(FaultKind::kSchema);
  count_answer(job);
  jobs_.erase(request);
  push(request, std::move(reply));
}

ReplyFacts SimulatedUpstream::facts_of(SimRequestId request) const {
  return {.number = request.value(), .created_s = unix_seconds(), .model = {}, .usage = {}};
}

void SimulatedUpstream::count_answer(const Job& job) {
  stats_.prompt_tokens += job.prompt_tokens;
  stats_.cached_tokens += job.cached_tokens;
  stats_.prefix_hits += job.cached_tokens > 0 ? 1 : 0;
  for (const int64_t tokens : job.answer_tokens)
    stats_.answer_tokens += job.call.stream ? std::min(tokens, job.tokens_made) : tokens;
}

// Gives the answer of some other request that is not answered yet, and that one the answer of this.
// Nothing happens when there is none.
void SimulatedUpstream::swap_answer(SimRequestId request) {
  Job& job = jobs_.at(request);
  for (auto& [other_request, other] : jobs_) {
    if (other_request == request || other.answer_of_another || other.stream ||
        other.call.endpoint != job.call.endpoint ||
        other.call.prompts.size() != job.call.prompts.size() ||
        other.call.choices != job.call.choices) {
      continue;
    }
    std::swap(job.call.prompts, other.call.prompts);
    std::swap(job.call.question, other.call.question);
    job.answer_of_another = true;
    other.answer_of_another = true;
    return;
  }
}

// --- faults -----------------------------------------------------------------------------------

void SimulatedUpstream::strike_reply(const Strike& strike, SimReply& reply) {
  switch (strike.kind) {
    case FaultKind::kReset:
      reply.delivery = Delivery::kReset;
      break;
    case FaultKind::kSlowBody:
      reply.delivery = Delivery::kSlow;
      reply.body_time = strike.duration.value_or(std::chrono::seconds(1));
      break;
    case FaultKind::kTruncated:
      reply.body.resize(reply.body.size() / 2);
      break;
    case FaultKind::kContentType:
      reply.content_type = "text/html";
      reply.body = "<html><body><h1>Welcome</h1><p>Please sign in to go on.</p></body></html>";
      break;
    case FaultKind::kRateLimit:
    case FaultKind::kServerError:
    case FaultKind::kStatus500:
    case FaultKind::kStatus502:
    case FaultKind::kStatus503:
    case FaultKind::kStall:
    case FaultKind::kSwapped:
    case FaultKind::kSchema:
    case FaultKind::kStreamError:
    case FaultKind::kStreamGarbage:
    case FaultKind::kNoDone:
      return;  // done, or impossible, before there was a reply
  }
  count_fault(strike.kind);
}

SimReply SimulatedUpstream::limit_reply(Duration wait, std::string_view what) const {
  return sim_upstream::limit_reply(options_.limit_headers, what,
                                   what == "tokens" ? token_limit_ : request_limit_, wait);
}

void SimulatedUpstream::add_limit_headers(SimReply& reply) const {
  sim_upstream::add_limit_headers("requests", request_limit_, now_, reply.headers);
  sim_upstream::add_limit_headers("tokens", token_limit_, now_, reply.headers);
}

// --- what it says of itself -------------------------------------------------------------------

// The names are vLLM's, so that what reads them there reads them here.
// Of the memory for all slots' contexts, as if each had it for all its tokens from its start. The
// rows of one request can be more than a context.
double SimulatedUpstream::cache_used() const {
  const auto all = static_cast<double>(options_.slots) *
                   static_cast<double>(std::max<int64_t>(options_.context_tokens, 1));
  return std::min(static_cast<double>(tokens_in_slots_) / all, 1.0);
}

std::string SimulatedUpstream::metrics_text() const {
  std::string text;
  const auto add = [&](std::string_view name, std::string_view type, auto value) {
    text += fmt::format("# TYPE vllm:{0} {1}\nvllm:{0}{{model_name=\"{2}\"}} {3}\n", name, type,
                        model_names_.front(), value);
  };
  add("num_requests_running", "gauge", slots_.busy());
  add("num_requests_waiting", "gauge", static_cast<int64_t>(waiting_.size()));
  add("kv_cache_usage_perc", "gauge", cache_used());
  add("prompt_tokens_total", "counter", stats_.prompt_tokens);
  add("generation_tokens_total", "counter", stats_.answer_tokens);
  add("prefix_cache_queries_total", "counter", stats_.prompt_tokens);
  add("prefix_cache_hits_total", "counter", stats_.cached_tokens);
  return text;
}

void SimulatedUpstream::push(SimRequestId request, SimReply reply) {
  ++stats_.answered[reply.status];
  --in_flight_;
  push_part(request, std::move(reply));
}

void SimulatedUpstream::push_part(SimRequestId request, SimReply reply) {
  reply.request = request;
  ready_requests_.insert(request);
  ready_.push_back(std::move(reply));
}

}  // namespace windrow::sim_upstream
