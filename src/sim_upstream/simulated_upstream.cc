#include "sim_upstream/simulated_upstream.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "base/ensure.h"
#include "sim_upstream/fault_replies.h"
#include "sim_upstream/token_reply.h"

namespace windrow::sim_upstream {
namespace {

std::optional<Endpoint> endpoint_of(std::string_view path) {
  if (path == "/v1/chat/completions") return Endpoint::kChat;
  if (path == "/v1/completions") return Endpoint::kCompletions;
  if (path == "/v1/embeddings") return Endpoint::kEmbeddings;
  if (path == "/generate") return Endpoint::kGenerate;
  return std::nullopt;
}

// Whether two calls have answers of one form, so that one can get the other's.
bool may_swap(const ActiveCall& a, const ActiveCall& b) {
  return a.request.wishes.form == TokenForm::kNone && b.request.wishes.form == TokenForm::kNone &&
         !b.swapped && !b.stream && a.request.endpoint == b.request.endpoint &&
         a.request.prompts.size() == b.request.prompts.size() &&
         a.request.choices == b.request.choices;
}

void count_answer(const ActiveCall& call, SimStats& stats) {
  stats.prompt_tokens += call.prompt_tokens;
  stats.cached_tokens += call.cached_tokens;
  stats.prefix_hits += call.cached_tokens > 0 ? 1 : 0;
  for (const int64_t tokens : call.answer_tokens)
    stats.answer_tokens += call.stream ? std::min(tokens, call.stream->made()) : tokens;
}

}  // namespace

void ReplyQueue::push(SimRequestId request, SimReply reply) {
  reply.request = request;
  requests_.insert(request);
  replies_.push_back(std::move(reply));
}

bool ReplyQueue::drop(SimRequestId request) {
  if (requests_.erase(request) == 0) return false;
  std::erase_if(replies_, [&](const SimReply& one) { return one.request == request; });
  return true;
}

std::vector<SimReply> ReplyQueue::take() {
  std::vector<SimReply> replies(std::make_move_iterator(replies_.begin()),
                                std::make_move_iterator(replies_.end()));
  replies_.clear();
  requests_.clear();
  return replies;
}

SimulatedUpstream::SimulatedUpstream(SimOptions options, int64_t start_unix_s)
    : options_(std::move(options)),
      start_unix_s_(start_unix_s),
      pages_(options_, start_unix_s),
      slots_(options_.slots, options_.knee),
      prefixes_(options_.prefix_blocks),
      dice_(options_.faults, options_.seed),
      random_(options_.seed + 1),
      quota_(options_),
      row_banks_(make_row_banks(options_)) {}

std::vector<std::pair<std::string_view, std::string_view>> SimulatedUpstream::paths() {
  return {{"POST", "/v1/chat/completions"},
          {"POST", "/v1/completions"},
          {"POST", "/v1/embeddings"},
          {"POST", "/generate"},
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

// Does everything up to `now`, each event at its own time: how often this is called does not
// matter.
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
  return ready_.take();
}

// --- a request comes, or goes -----------------------------------------------------------------

SimRequestId SimulatedUpstream::arrive(const SimRequest& request, TimePoint now) {
  move_to(now);
  const SimRequestId id(++last_request_);
  if (std::optional<SimReply> reply = monitoring_reply(request)) {
    ready_.push(id, *std::move(reply));
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
  const auto call = calls_.find(request);
  const bool unsent = ready_.drop(request);
  if (call == calls_.end() && !unsent) return;
  ++stats_.left;
  if (call == calls_.end()) return;
  leave_slot(call->second);
  calls_.erase(call);
  --in_flight_;
  std::erase(waiting_, request);
  std::erase_if(late_, [&](const Late& late) { return late.second == request; });
  slots_.cancel(request.value(), now);
  start_waiting();
}

// Monitoring may ask at any time, so these requests are not counted.
std::optional<SimReply> SimulatedUpstream::monitoring_reply(const SimRequest& asked) const {
  if (asked.path == "/health") return SimReply{.body = R"({"status":"ok"})"};
  if (asked.path != "/metrics") return std::nullopt;
  // As if each call in a slot had memory for all its tokens from its start. The rows of one request
  // can need more than a context.
  const auto cells = static_cast<double>(options_.slots) *
                     static_cast<double>(std::max<int64_t>(options_.context_tokens, 1));
  const LoadNow load{.busy = slots_.busy(),
                     .waiting = std::ssize(waiting_),
                     .kv_usage = std::min(static_cast<double>(tokens_in_slots_) / cells, 1.0)};
  return SimReply{.content_type = "text/plain; version=0.0.4",
                  .body = metrics_text(pages_.model(), stats_, load)};
}

void SimulatedUpstream::answer(SimRequestId request, const SimRequest& asked) {
  if (!options_.key.empty() && asked.authorization != "Bearer " + options_.key) {
    return push(request,
                error_reply(401, "Incorrect API key provided", kInvalidRequest, "invalid_api_key"));
  }
  if (const std::optional<Endpoint> endpoint = endpoint_of(asked.path))
    return call_model(request, *endpoint, asked.body);
  push(request, pages_.answer(asked.path, asked.body));
}

// --- a call of a model ------------------------------------------------------------------------

void SimulatedUpstream::call_model(SimRequestId request, Endpoint endpoint, std::string_view body) {
  Result<ModelCall> asked = read_call(endpoint, body);
  if (!asked) return push(request, error_reply(400, asked.error().message, kInvalidRequest));
  if (asked->model.empty()) asked->model = pages_.model();
  if (std::optional<SimReply> refusal = pages_.refuse_model(asked->model))
    return push(request, *std::move(refusal));
  Result<ActiveCall> call = begin_call(options_, *std::move(asked));
  if (!call) {
    return push(request,
                error_reply(400, call.error().message, kInvalidRequest, "context_length_exceeded"));
  }
  if (std::optional<SimReply> refusal = quota_.refusal(call->prompt_tokens, now_))
    return push(request, *std::move(refusal));
  call->strike = dice_.roll(now_);
  if (call->strike && is_never_streamed(call->strike->kind)) call->request.stream = false;
  if (call->strike) {
    if (std::optional<SimReply> reply = strike_at_arrival(*call->strike))
      return push(request, *std::move(reply));
  }
  if (slots_.full() && std::ssize(waiting_) >= options_.queue_max) {
    return push(request, error_reply(503, "server busy, please try again: the queue is full",
                                     "server_error", "overloaded"));
  }
  quota_.spend(call->prompt_tokens, now_);
  calls_.emplace(request, *std::move(call));
  waiting_.push_back(request);
  start_waiting();
  stats_.waiting_max = std::max(stats_.waiting_max, static_cast<int64_t>(waiting_.size()));
}

// The error that a fault gives instead of an answer; nullopt: it strikes later.
std::optional<SimReply> SimulatedUpstream::strike_at_arrival(const Strike& strike) {
  constexpr std::array<FaultKind, 3> kServerErrors = {FaultKind::kStatus500, FaultKind::kStatus502,
                                                      FaultKind::kStatus503};
  std::optional<SimReply> reply;
  if (strike.kind == FaultKind::kRateLimit || strike.kind == FaultKind::kText429) {
    reply = quota_.storm_reply(strike.duration.value_or(std::chrono::seconds(1)));
    if (strike.kind == FaultKind::kText429) make_plain(*reply);
  } else {
    reply = refusal_of(strike.kind == FaultKind::kServerError
                           ? kServerErrors.at(random_.below(kServerErrors.size()))
                           : strike.kind);
  }
  if (reply) count_fault(strike.kind);
  return reply;
}

void SimulatedUpstream::start_waiting() {
  while (!waiting_.empty() && !slots_.full()) {
    const SimRequestId request = waiting_.front();
    waiting_.pop_front();
    start(request);
  }
}

void SimulatedUpstream::start(SimRequestId request) {
  ActiveCall& call = calls_.at(request);
  if (call.request.endpoint != Endpoint::kEmbeddings) {
    for (const Prompt& prompt : call.request.prompts)
      call.cached_tokens += std::min(prefixes_.use(prompt.text), prompt.tokens);
    call.cached_tokens = std::min(call.cached_tokens, call.prompt_tokens);
  }
  // A stream's work is divided into steps, and each of them sends a part.
  const int64_t answer_tokens = call.request.stream
                                    ? std::min(call.longest_answer(), options_.event_tokens)
                                    : call.longest_answer();
  const Duration work = options_.request_time +
                        (call.prompt_tokens - call.cached_tokens) * options_.prompt_token_time +
                        answer_tokens * options_.token_time;
  slots_.start(request.value(), work, now_);
  call.in_slot = true;
  tokens_in_slots_ += call.tokens();
  stats_.busy_max = std::max(stats_.busy_max, int64_t{slots_.busy()});
}

void SimulatedUpstream::leave_slot(ActiveCall& call) {
  if (call.in_slot) tokens_in_slots_ -= call.tokens();
  call.in_slot = false;
}

void SimulatedUpstream::step_ended(SimRequestId request) {
  if (!calls_.at(request).request.stream) return finish(request);
  // It takes the slot again at the same time, before any other call can.
  if (advance_stream(request))
    slots_.start(request.value(), calls_.at(request).next_step(options_), now_);
}

// All tokens are made: the slot is free; a stalled reply comes later, or never.
void SimulatedUpstream::finish(SimRequestId request) {
  ActiveCall& call = calls_.at(request);
  leave_slot(call);
  if (!call.is_struck_by(FaultKind::kStall)) return reply_to(request);
  count_fault(FaultKind::kStall);
  if (call.strike->duration) late_.emplace(now_ + *call.strike->duration, request);
}

// Sends the whole answer, or what is left of a stream.
void SimulatedUpstream::reply_to(SimRequestId request) {
  ActiveCall& call = calls_.at(request);
  SimReply reply;
  if (call.stream) {
    LongBody rest = call.stream->take_rest();
    if (!call.is_struck_by(FaultKind::kSlowBody))
      return send_part(request, std::move(rest), Delivery::kLast);
    reply = {.content_type = "text/event-stream"};
    set_body(std::move(rest), reply);
  } else {
    note_shape(request);
    if (call.request.wishes.form == TokenForm::kNone) {
      reply = {.body = reply_body(options_, call, facts_of(request))};
    } else {
      set_body(token_body(token_reply(options_, row_banks_, call, facts_of(request))), reply);
    }
  }
  quota_.add_headers(now_, reply.headers);
  if (call.strike && strike_reply(*call.strike, reply)) count_fault(call.strike->kind);
  end_call(request, std::move(reply));
}

// Before the answer is made: whether it is another call's, or breaks its schema.
void SimulatedUpstream::note_shape(SimRequestId request) {
  ActiveCall& call = calls_.at(request);
  if (call.is_struck_by(FaultKind::kSwapped) && !call.swapped) swap_answer(request);
  if (call.swapped) count_fault(FaultKind::kSwapped);
  if (call.breaks_schema()) count_fault(FaultKind::kSchema);
  if (spoils_answer(row_banks_, call)) count_fault(call.strike->kind);
}

// Swaps the answers of this call and of another that is not answered yet. Without one nothing
// happens.
void SimulatedUpstream::swap_answer(SimRequestId request) {
  ActiveCall& call = calls_.at(request);
  for (auto& [other_request, other] : calls_) {
    if (other_request == request || !may_swap(call, other)) continue;
    std::swap(call.request.prompts, other.request.prompts);
    std::swap(call.request.question, other.request.question);
    call.swapped = true;
    other.swapped = true;
    return;
  }
}

ReplyFacts SimulatedUpstream::facts_of(SimRequestId request) const {
  const int64_t created_s = start_unix_s_ + now_.time_since_epoch() / std::chrono::seconds(1);
  return {.number = request.value(),
          .created_s = created_s,
          .model = {},
          .usage = {},
          .null_content = calls_.at(request).is_struck_by(FaultKind::kNullContent)};
}

// --- streams ------------------------------------------------------------------------------------

// A step of a stream has ended: sends its tokens. Returns whether the stream goes on; otherwise it
// has left its slot.
bool SimulatedUpstream::advance_stream(SimRequestId request) {
  ActiveCall& call = calls_.at(request);
  if (!call.stream) {
    note_shape(request);
    const ReplyFacts facts = facts_of(request);
    call.stream.emplace(call.request.wishes.form == TokenForm::kNone
                            ? stream_body(options_, call, facts)
                            : token_stream(token_reply(options_, row_banks_, call, facts)),
                        call.longest_answer(),
                        call.strike ? std::optional(call.strike->kind) : std::nullopt);
  }
  StreamRun::Step step = call.stream->step(options_.event_tokens);
  if (step.struck) count_fault(*step.struck);
  if (!step.held_back) send_part(request, LongBody(std::move(step.events)), step.delivery);
  if (step.then == StreamRun::Step::Then::kMade) finish(request);
  return step.then == StreamRun::Step::Then::kGoesOn;
}

void SimulatedUpstream::send_part(SimRequestId request, LongBody events, Delivery delivery) {
  ActiveCall& call = calls_.at(request);
  SimReply reply{.content_type = "text/event-stream", .delivery = delivery};
  set_body(std::move(events), reply);
  if (!call.head_sent) quota_.add_headers(now_, reply.headers);
  call.head_sent = true;
  if (delivery != Delivery::kPart) return end_call(request, std::move(reply));
  if (!reply.body.empty()) ready_.push(request, std::move(reply));
}

void SimulatedUpstream::end_call(SimRequestId request, SimReply reply) {
  ActiveCall& call = calls_.at(request);
  count_answer(call, stats_);
  leave_slot(call);
  calls_.erase(request);
  push(request, std::move(reply));
}

void SimulatedUpstream::push(SimRequestId request, SimReply reply) {
  ++stats_.answered[reply.status];
  --in_flight_;
  ready_.push(request, std::move(reply));
}

}  // namespace windrow::sim_upstream
