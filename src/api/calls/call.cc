#include "api/calls/call.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <new>
#include <utility>
#include <variant>

#include "api/calls/body_memory_budget.h"
#include "api/pages/model_control.h"
#include "api/wire/messages_reply.h"
#include "api/wire/ollama_reply.h"
#include "api/wire/own_form.h"
#include "api/wire/refusals.h"
#include "api/wire/stream_text.h"
#include "http/gunzip.h"
#include "json/weight.h"

namespace windrow::api {
namespace {

// Reading a larger body may take a worker so long that others notice.
constexpr size_t kLongBodyBytes = size_t{64} * 1024;

// Answers up to this are written on the loop's thread: it takes less time than to hand them on.
constexpr size_t kWrittenAtOnceBytes = size_t{32} << 10;

// How long an answer becomes as the body of a reply: a number of an embedding, of four bytes, has
// about twelve there.
size_t text_bytes_about(const llm::Answer& answer) {
  size_t bytes = llm::bytes_of(answer);
  for (const std::vector<float>& embedding : answer.embeddings)
    bytes += 2 * embedding.size() * sizeof(float);
  return bytes + bytes / 4;
}

// When to try again: the queue will have moved when those in front have gone, and the oldest one
// says how long that took.
llm::Failure overloaded(const dispatch::Dispatcher& dispatcher) {
  const dispatch::QueueReading queue = dispatcher.queue();
  const Duration oldest = *std::max_element(queue.oldest_age.begin(), queue.oldest_age.end());
  return {.failure_class = llm::FailureClass::kTransient,
          .status = 429,
          .code = "server_overloaded",
          .message = "as many requests wait here as may; try again later",
          .overloaded = true,
          .retry_after_ms = std::clamp<int64_t>(milliseconds(oldest), 1000, 60'000)};
}

Duration milliseconds_of(int64_t count) {
  return std::chrono::milliseconds(count);
}

StreamShape shape_of(const CallPlan& plan, const ReplyFacts& facts) {
  const llm::Request& request = plan.request;
  return {.endpoint = facts.endpoint,
          .id = facts.id,
          .model = facts.model,
          .created_unix_s = facts.created_unix_s,
          .service_tier = facts.service_tier,
          .system_fingerprint = facts.system_fingerprint,
          .usage = plan.envelope.stream_usage,
          .logprobs = request.logprobs_top.has_value(),
          .structured = request.structured.has_value() || !request.chat.tools.empty()};
}

std::unique_ptr<AnswerStream> make_stream(const CallPlan& plan, const ReplyFacts& facts,
                                          KeepResponse keep) {
  if (facts.dialect != Dialect::kOwn) return stream_in_dialect(facts, std::move(keep));
  return std::make_unique<StreamText>(shape_of(plan, facts));
}

}  // namespace

Call::Call(CallHost& host, CallBirth birth)
    : host_(host),
      loop_(host.loop()),
      id_(std::move(birth.id)),
      request_id_(birth.admitted.record().id),
      arrived_at_(birth.input.arrived_at),
      body_bytes_(birth.input.body.size()),
      exchange_(std::move(birth.exchange)),
      flow_(birth.input.arrived_at, birth.input.dialect, request_id_),
      input_(std::move(birth.input)),
      share_(std::make_shared<llm::AnswerShare>(host.answer_room())),
      admitted_(std::move(birth.admitted)) {}

void Call::begin() {
  exchange_.on_disconnect([call = weak_from_this()] {
    if (const auto self = call.lock()) self->carry_out(self->flow_.leave());
  });
  const auto length = input_.gzip || body_bytes_ > kLongBodyBytes ? async::Executor::Length::kLong
                                                                  : async::Executor::Length::kShort;
  const uint64_t lane = lane_id(input_.key, input_.headers.get(kLaneHeader).value_or(""));
  host_.lane_reads().post(lane, [self = shared_from_this()] { self->read(); }, length);
}

// --- a worker ---

// A body may be such that there is not memory enough for what it says, and what one body does to
// the server must not be done to the others.
void Call::read() {
  try {
    read_and_offer();
  } catch (const std::bad_alloc&) {
    put([](Inbox& inbox) { inbox.outcome = unreadable_body(); });
  } catch (const std::exception&) {
    put([](Inbox& inbox) { inbox.outcome = unexpected("read this request"); });
  }
}

// A body that came packed has room for what it unpacks to, and no more than others may have.
std::optional<llm::Failure> Call::unpack_body() {
  if (!input_.gzip) return std::nullopt;
  Result<std::string> body = http::gunzip(input_.body, host_.rules().body_bytes_max);
  if (!body) return unpackable_body(body.error());
  if (!host_.grow(body->size())) return no_room_for_body();
  parsed_bytes_ += body->size();
  input_.body = *std::move(body);
  const std::scoped_lock lock(mutex_);
  if (admitted_ && admitted_->logs_answers()) admitted_->record().body = shown_in_log(input_.body);
  return std::nullopt;
}

// What the body becomes when it is parsed has to have room, too.
std::optional<llm::Failure> Call::admit_body() {
  const size_t values = count_json_values(input_.body);
  if (values > kJsonValuesMax) return too_many_values(values);
  const size_t bytes = json_weight(values, input_.body.size());
  if (!host_.grow(bytes)) return no_room_for_body();
  parsed_bytes_ += bytes;
  return std::nullopt;
}

void Call::read_and_offer() {
  const bool unwanted = [&] {
    const std::scoped_lock lock(mutex_);
    return unwanted_;
  }();
  if (unwanted) return put([](Inbox& inbox) { inbox.outcome = client_left(); });
  auto refusal = unpack_body();
  if (!refusal) refusal = admit_body();
  if (refusal) return put([&](Inbox& inbox) { inbox.outcome = *std::move(refusal); });
  const KeyedResponses earlier(host_.responses(), input_.key);
  auto read = read_call(input_, host_.rules(), host_.catalogue(), &earlier);
  if (auto* failure = std::get_if<llm::Failure>(&read))
    return put([&](Inbox& inbox) { inbox.outcome = std::move(*failure); });
  input_.body = {};
  // Earlier turns need room like those that were sent.
  if (!host_.grow(earlier.bytes())) return put([](Inbox& in) { in.outcome = no_room_for_body(); });
  parsed_bytes_ += earlier.bytes();
  auto& plan = std::get<CallPlan>(read);
  origins_ = std::move(plan.origins);
  kept_ = std::move(plan.kept);
  if (auto failure = host_.refusal_of(*plan.model))
    return put([&](Inbox& inbox) { inbox.outcome = *std::move(failure); });
  if (input_.counts_only) return count_tokens(plan);
  if (plan.wish != ModelWish::kAnswer) return order_model(plan);
  offer(std::move(plan));
}

// No model is asked, so it takes no turn among those that are.
void Call::count_tokens(const CallPlan& plan) {
  auto counted = plan.model->dispatcher->count_prompt(plan.request);
  if (auto* failure = std::get_if<llm::Failure>(&counted)) {
    return put([&](Inbox& inbox) { inbox.outcome = origins_.to_client(std::move(*failure)); });
  }
  http::ServerReply reply{.body = token_count_of(std::get<int64_t>(counted))};
  put([&](Inbox& inbox) {
    inbox.understood =
        Understood{.model = plan.model->name, .ignored_fields = header_list(plan.ignored_fields)};
    inbox.reply = std::move(reply);
  });
}

// An order to load is answered when the model is there, one to unload at once.
void Call::order_model(const CallPlan& plan) {
  const bool unload = plan.wish == ModelWish::kUnload;
  if (unload) {
    const auto ordered =
        give_order(host_.catalogue(), plan.model->name, ModelOrder::kUnload, input_.is_admin);
    if (const auto* failure = std::get_if<llm::Failure>(&ordered))
      return put([&](Inbox& inbox) { inbox.outcome = *failure; });
  }
  http::ServerReply reply{.body = ollama_order_reply(input_.dialect, plan.model_name,
                                                     loop_.clock().unix_seconds(), plan.wish)};
  std::optional<OrderedLoad> ordered_load;
  if (!unload && plan.model->residence) {
    const Duration most = host_.rules().load_wait;
    const auto until = most > Duration{} ? std::optional(arrived_at_ + most) : std::nullopt;
    ordered_load = OrderedLoad{AwaitedLoad(*plan.model, until), std::move(reply)};
  }
  put([&](Inbox& inbox) {
    inbox.understood = Understood{.model = plan.model->name, .deadline = plan.item.deadline};
    inbox.ordered_load = std::move(ordered_load);
    if (!inbox.ordered_load) inbox.reply = std::move(reply);
  });
}

void Call::offer(CallPlan plan) {
  model_ = plan.model;
  dispatcher_ = model_->dispatcher;
  // Who may not order it away asks as everybody does: the model stays.
  unloads_after_ = plan.unloads_after && input_.is_admin && model_->residence;
  facts_ = {
      .endpoint = plan.endpoint,
      .dialect = input_.dialect,
      .id = id_,
      .model = plan.model_name,
      .created_unix_s = loop_.clock().unix_seconds(),
      .service_tier = std::string(plan.envelope.names_tier ? tier_name(plan.item.priority) : ""),
      .system_fingerprint = plan.model->fingerprint,
      .tei = plan.tei,
      .raw_scores = plan.raw_scores,
      .unit_scores = input_.unit_scores,
      .request_id = request_id_,
      .logprobs = plan.lists_logprobs,
      .clock = &loop_.clock(),
      .arrived_at = arrived_at_,
      .echo = std::move(plan.echo)};
  Understood understood{.model = plan.model->name,
                        .priority = plan.item.priority,
                        .deadline = plan.item.deadline,
                        .raw = plan.model->raw,
                        .ignored_tokens = plan.ignored_tokens,
                        .ignored_fields = header_list(plan.ignored_fields)};
  if (plan.envelope.stream) {
    understood.stream = make_stream(
        plan, facts_,
        [call = weak_from_this()](std::string_view body, std::vector<std::string> item_ids) {
          if (const auto self = call.lock()) self->keep_response(body, std::move(item_ids));
        });
  }
  auto ticket = host_.live().add({.id = input_.call_id,
                                  .key = input_.key,
                                  .endpoint = input_.endpoint,
                                  .dialect = input_.dialect,
                                  .model = plan.model->name,
                                  .priority = plan.item.priority,
                                  .lane = plan.envelope.lane,
                                  .stream = plan.envelope.stream,
                                  .body_bytes = body_bytes_,
                                  .arrived_at = arrived_at_,
                                  .load_wait = plan.load_wait});
  ticket->sent(loop_.clock().now());
  std::optional<llm::Failure> failure;
  {
    const std::scoped_lock lock(mutex_);
    inbox_.understood = std::move(understood);
    failure = admitted_->take_tokens(plan.item.tokens);
    if (!failure) ticket_ = std::move(ticket);
  }
  if (failure) return put([&](Inbox& inbox) { inbox.outcome = std::move(*failure); });
  // Where something may be due before the answer.
  if (plan.envelope.stream || plan.item.deadline) put([](Inbox&) {});
  dispatch::Delivery delivery{.answer_share = share_, .load_wait = std::move(plan.load_wait)};
  if (plan.envelope.stream) delivery.listener = shared_from_this();
  const std::optional<dispatch::ItemId> item = dispatcher_->offer(
      std::move(plan.request), plan.item, 0,
      [self = shared_from_this()](dispatch::DispatchResult result) {
        self->done(std::move(result));
      },
      std::move(delivery));
  if (!item) return put([&](Inbox& inbox) { inbox.outcome = overloaded(*dispatcher_); });
  const bool unwanted = [&] {
    const std::scoped_lock lock(mutex_);
    item_ = item;
    return unwanted_;
  }();
  if (unwanted) dispatcher_->cancel(*item);
}

const ServedModel* Call::offered() const {
  const std::scoped_lock lock(mutex_);
  return item_ ? model_ : nullptr;
}

// --- a thread of the backend's, or of the dispatcher's ---

void Call::on_delta(llm::Delta piece) {
  const TimePoint now = loop_.clock().now();
  const auto choice = static_cast<size_t>(piece.choice);
  if (said_at_.size() <= choice) said_at_.resize(choice + 1);
  const TimePoint before = std::exchange(said_at_[choice], now);
  const size_t bytes = llm::bytes_of(piece);
  if (has_no_room_) return;
  has_no_room_ = !share_->grow(bytes);
  if (has_no_room_) return put([](Inbox& inbox) { inbox.no_room = true; });
  put([&](Inbox& inbox) {
    if (before != TimePoint{}) inbox.gaps.push_back(now - before);
    if (!inbox.first_piece_at) inbox.first_piece_at = now;
    inbox.pieces.push_back(std::move(piece));
    inbox.pieces_bytes += bytes;
  });
}

void Call::done(dispatch::DispatchResult result) {
  if (unloads_after_) model_->residence->unload_when_unused();
  llm::Outcome outcome = bounded(std::move(result.outcome));
  put([&](Inbox& inbox) {
    inbox.outcome = std::move(outcome);
    inbox.was_sent = result.attempts > 0;
  });
}

// An answer that no engine here has counted while it was made: of a server elsewhere, or another's
// that is shared.
llm::Outcome Call::bounded(llm::Outcome outcome) {
  const auto* answer = std::get_if<llm::Answer>(&outcome);
  const llm::Usage usage = answer != nullptr ? answer->usage : llm::Usage{};
  llm::Failure failure;
  try {
    if (answer == nullptr || share_->grow_to(llm::bytes_of(*answer))) {
      if (input_.dialect == Dialect::kOwn) return outcome;
      return in_own_form(facts_.endpoint, origins_, std::move(outcome));
    }
    failure = llm::no_room_for_answer();
  } catch (const std::bad_alloc&) {
    failure = no_memory("to read this answer");
  }
  failure.usage = usage;
  return failure;
}

template <class Write>
void Call::put(Write write) {
  {
    const std::scoped_lock lock(mutex_);
    write(inbox_);
    if (std::exchange(inbox_.fetching, true)) return;
  }
  loop_.post([self = shared_from_this()] { self->fetch(); });
}

// --- the loop's thread ---

// What memory ends for here is the answer to one client, and of no other.
void Call::fetch() {
  bool ends = false;
  try {
    fetch_news(ends);
  } catch (const std::bad_alloc&) {
    const llm::Failure why = no_memory("to send this answer");
    carry_out(ends ? flow_.end(llm::Outcome(why)) : flow_.give_up(why));
  }
}

// `ends`: the request has ended, whatever becomes of its answer.
void Call::fetch_news(bool& ends) {
  Inbox inbox;
  {
    const std::scoped_lock lock(mutex_);
    std::swap(inbox, inbox_);
    if (!admitted_) return;  // it is over, and somebody still spoke
    ends = inbox.outcome || inbox.reply;
    if (inbox.understood) note(std::move(*inbox.understood));
    note(inbox.pieces);
    if (inbox.outcome) note(*inbox.outcome);
    was_sent_ = was_sent_ || inbox.was_sent;
    RequestRecord& record = admitted_->record();
    if (inbox.first_piece_at && !record.ttft) record.ttft = *inbox.first_piece_at - arrived_at_;
    for (const Duration gap : inbox.gaps)
      host_.metrics().token_gap(record.priority, gap);
  }
  const TimePoint now = loop_.clock().now();
  if (!inbox.pieces.empty()) say(std::move(inbox.pieces), inbox.pieces_bytes, now);
  if (inbox.no_room) carry_out(flow_.give_up(llm::no_room_for_answer()));
  if (inbox.ordered_load) {
    ordered_load_ = std::move(inbox.ordered_load);
    return look_at_load(now);
  }
  if (inbox.reply) return end_written(std::move(*inbox.reply), answer_usage_);
  if (!inbox.outcome) return;
  const auto* answer = std::get_if<llm::Answer>(&*inbox.outcome);
  if (answer == nullptr || flow_.is_stream())
    return carry_out(flow_.end(std::move(*inbox.outcome)));
  answer_usage_ = answer->usage;
  if (llm::bytes_of(*answer) <= kWrittenAtOnceBytes)
    return end_written(written(*answer), answer_usage_);
  host_.workers().post([self = shared_from_this(),
                        outcome = std::make_shared<llm::Outcome>(std::move(*inbox.outcome))] {
    auto written = self->written(std::get<llm::Answer>(*outcome));
    self->put([&](Inbox& news) {
      if (auto* failure = std::get_if<llm::Failure>(&written)) {
        news.outcome = std::move(*failure);
      } else {
        news.reply = std::move(std::get<http::ServerReply>(written));
      }
    });
  });
}

// What the reader does not take, or the server has no room for, waits in the flow.
void Call::say(std::vector<llm::Delta> pieces, size_t pieces_bytes, TimePoint now) {
  ticket_->said(now, static_cast<int64_t>(pieces.size()));
  pending_bytes_ += pieces_bytes;
  carry_out(flow_.say(std::move(pieces), reader_waits(), now));
  wait_for_reader();
}

// As events pieces are about twice as long.
bool Call::reader_waits() const {
  return exchange_.unsent_bytes() > 0 || !exchange_.make_room(2 * pending_bytes_);
}

// A whole answer, once it is written or could not be. Of one for which there is no room the client
// is told so in the words of its API.
void Call::end_written(std::variant<http::ServerReply, llm::Failure> written,
                       const llm::Usage& usage) {
  if (auto* reply = std::get_if<http::ServerReply>(&written)) {
    if (exchange_.make_room(reply->body.size())) return carry_out(flow_.end(std::move(*reply)));
    written = llm::no_room_for_answer();
    std::get<llm::Failure>(written).usage = usage;
  }
  carry_out(flow_.end(llm::Outcome(std::move(std::get<llm::Failure>(written)))));
}

void Call::tick(TimePoint now) {
  look_at_load(now);
  carry_out(flow_.tick(now));
  wait_for_reader();
}

// Its end is that of the request: who left does not wait for it.
void Call::look_at_load(TimePoint now) {
  if (!ordered_load_) return;
  const bool unwanted = [&] {
    const std::scoped_lock lock(mutex_);
    return unwanted_;
  }();
  const auto end = unwanted ? AwaitedLoad::End{client_left()} : ordered_load_->load.look(now);
  if (!end) return;
  http::ServerReply reply = std::move(ordered_load_->reply);
  ordered_load_.reset();
  if (end->failure) return carry_out(flow_.end(llm::Outcome(*end->failure)));
  carry_out(flow_.end(std::move(reply)));
}

// Any thread. What one answer does to the server must not be done to the others.
std::variant<http::ServerReply, llm::Failure> Call::written(const llm::Answer& answer) {
  llm::Failure failure;
  try {
    // Until it is written both are there.
    if (!share_->grow(text_bytes_about(answer))) {
      failure = llm::no_room_for_answer();
      failure.usage = answer.usage;
      return failure;
    }
    http::ServerReply reply{.body = reply_body(facts_, answer)};
    share_->shrink_to(reply.body.size());
    if (kept_) keep_response(reply.body, output_ids(facts_, answer));
    return reply;
  } catch (const std::bad_alloc&) {
    failure = no_memory("to write this answer");
  } catch (const std::exception&) {
    failure = unexpected("write this answer");
  }
  failure.usage = answer.usage;
  return failure;
}

// Any thread, once. A response that cannot be kept is answered all the same.
void Call::keep_response(std::string_view body, std::vector<std::string> item_ids) {
  if (!kept_) return;
  try {
    kept_->body = body;
    kept_->output_ids = std::move(item_ids);
    host_.responses().keep(input_.key, std::move(*kept_));
  } catch (const std::exception&) {
    return;
  }
}

void Call::note(Understood understood) {
  RequestRecord& record = admitted_->record();
  record.model = std::move(understood.model);
  record.priority = understood.priority;
  record.stream = understood.stream != nullptr;
  if (understood.stream) flow_.set_stream(std::move(understood.stream));
  if (understood.deadline) flow_.set_deadline(*understood.deadline);
  raw_ = understood.raw;
  ignored_tokens_ = understood.ignored_tokens;
  ignored_fields_ = std::move(understood.ignored_fields);
}

void Call::note(const std::vector<llm::Delta>& pieces) {
  pieces_said_ += static_cast<int32_t>(pieces.size());
  if (!admitted_->logs_answers()) return;
  for (const llm::Delta& piece : pieces) {
    const std::string& text = piece.raw.empty() ? piece.text : piece.raw;
    add_answer(admitted_->record(), static_cast<size_t>(piece.choice), text);
  }
}

void Call::note(const llm::Outcome& outcome) {
  RequestRecord& record = admitted_->record();
  const auto* answer = std::get_if<llm::Answer>(&outcome);
  record.usage = answer != nullptr ? answer->usage : std::get<llm::Failure>(outcome).usage;
  if (answer == nullptr) return;
  if (admitted_->logs_answers()) set_answers(record, *answer);
  if (!answer->raw.empty()) return;  // what a server elsewhere did when is not known
  const llm::Timings& timings = answer->timings;
  const Duration all = loop_.clock().now() - arrived_at_;
  const Duration before_decode = std::max(all - milliseconds_of(timings.decode_ms), Duration{});
  // Most of it is the dispatcher's queue, which a backend does not see.
  record.queue = std::max(before_decode - milliseconds_of(timings.prefill_ms), Duration{});
  if (record.ttft || answer->choices.empty()) return;
  record.ttft = before_decode;
}

void Call::carry_out(CallSteps steps) {
  if (steps.cancel) cancel();
  if (steps.reply) {
    add_headers(steps.reply->headers);
    exchange_.send(std::move(*steps.reply));
  }
  if (steps.start) {
    http::Headers headers{{"Content-Type", std::string(flow_.content_type())},
                          {"Cache-Control", "no-cache"},
                          {"X-Accel-Buffering", "no"}};
    add_headers(headers);
    exchange_.start(200, std::move(headers));
  }
  if (!steps.bytes.empty()) exchange_.write(std::move(steps.bytes));
  if (steps.finish) exchange_.finish();
  if (steps.over) settle();
}

// What is held back is said when the reader has taken what it was sent, or at a later tick when the
// server has room again.
void Call::wait_for_reader() {
  if (!flow_.holds_back()) return share_->shrink(std::exchange(pending_bytes_, 0));
  if (waits_for_reader_) return;
  waits_for_reader_ = true;
  exchange_.on_drained(0, [call = weak_from_this()] {
    const auto self = call.lock();
    if (!self) return;
    self->waits_for_reader_ = false;
    if (self->reader_waits()) return;
    self->carry_out(self->flow_.drained(self->loop_.clock().now()));
    self->wait_for_reader();
  });
}

void Call::add_headers(http::Headers& headers) {
  const std::scoped_lock lock(mutex_);
  if (admitted_) admitted_->add_headers(headers);
  const int64_t taken_ms = milliseconds(loop_.clock().now() - arrived_at_);
  headers.add("openai-processing-ms", fmt::format_int(taken_ms).c_str());
  if (ignored_tokens_ > 0)
    headers.add("X-Windrow-Ignored-Tokens", fmt::format_int(ignored_tokens_).c_str());
  if (!ignored_fields_.empty()) headers.add("X-Windrow-Ignored-Fields", ignored_fields_);
}

void Call::settle() {
  {
    const std::scoped_lock lock(mutex_);
    RequestRecord& record = admitted_->record();
    record.status = flow_.status();
    record.code = flow_.code();
    // A piece has a token, or more. What was cut off elsewhere cost nobody knows what.
    record.usage.completion_tokens = std::max(record.usage.completion_tokens, pieces_said_);
    const bool is_told = record.usage.prompt_tokens > 0;
    record.cut_off = raw_ && unwanted_ && (was_sent_ || pieces_said_ > 0) && !is_told;
    admitted_.reset();
    ticket_.reset();
  }
  share_->shrink_to(0);
  host_.over(*this);
}

// Not here: what a dispatcher does then may take longer than the loop has time.
void Call::cancel() {
  const std::scoped_lock lock(mutex_);
  unwanted_ = true;
  if (!item_) return;  // whoever offers it sees to it
  host_.workers().post([dispatcher = dispatcher_, item = *item_] { dispatcher->cancel(item); });
}

}  // namespace windrow::api
