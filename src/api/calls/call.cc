#include "api/calls/call.h"

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include "api/calls/model_orders.h"
#include "api/wire/messages_reply.h"
#include "api/wire/ollama_reply.h"
#include "api/wire/refusals.h"

namespace windrow::api {
namespace {

// A larger body may keep a worker busy for so long that other calls notice.
constexpr size_t kLongBodyBytes = size_t{64} * 1024;

// Answers up to this size are written on the loop's thread: handing them to a worker takes longer.
constexpr size_t kWrittenAtOnceBytes = size_t{32} << 10;

// The age of the oldest queued item says how long the queue takes to move.
llm::Failure overloaded(const dispatch::Dispatcher& dispatcher) {
  const dispatch::QueueReading queue = dispatcher.queue();
  const Duration oldest = *std::max_element(queue.oldest_age.begin(), queue.oldest_age.end());
  return {.failure_class = llm::FailureClass::kTransient,
          .status = 429,
          .code = "server_overloaded",
          .message = "the request queue is full; retry after the seconds in Retry-After",
          .overloaded = true,
          .retry_after_ms = std::clamp<int64_t>(milliseconds(oldest), 1000, 60'000)};
}

CallFacts facts_of(const CallPlan& plan) {
  return {.model = plan.model->name,
          .priority = plan.item.priority,
          .stream = plan.envelope.stream,
          .raw = plan.model->raw,
          .ignored_tokens = plan.ignored_tokens,
          .ignored_fields = header_list(plan.ignored_fields)};
}

}  // namespace

Call::Call(const CallServices& services, NewCall call)
    : services_(services),
      loop_(services.loop),
      id_(std::move(call.id)),
      request_id_(call.context.record().id),
      arrived_at_(call.input.arrived_at),
      body_bytes_(call.input.body.size()),
      answer_(
          std::make_shared<CallAnswer>(services.responses, call.input.key, services.answer_room)),
      record_(std::move(call.context), services.loop.clock()),
      delivery_(std::move(call.exchange), CallFlow(arrived_at_, call.input.dialect, request_id_),
                record_, answer_->share(), services.loop.clock(),
                {.cancel = [this] { cancel(); }, .over = [this] { close(); }}),
      input_(std::move(call.input)) {}

void Call::begin() {
  delivery_.begin(std::shared_ptr<CallDelivery>(shared_from_this(), &delivery_));
  const auto length = input_.gzip || body_bytes_ > kLongBodyBytes ? async::Executor::Length::kLong
                                                                  : async::Executor::Length::kShort;
  const uint64_t lane = lane_id(input_.key, input_.headers.get(kLaneHeader).value_or(""));
  services_.lanes.post(lane, [self = shared_from_this()] { self->read(); }, length);
}

// --- a worker ----------------------------------------------------------------------------------

// A body that the server has no memory for fails alone.
void Call::read() {
  try {
    read_and_offer();
  } catch (const std::bad_alloc&) {
    fail(unreadable_body());
  } catch (const std::exception&) {
    fail(unexpected("read this request"));
  }
}

void Call::read_and_offer() {
  if (is_cancelled()) return fail(client_left());
  if (auto refusal = admit_body()) return fail(*std::move(refusal));
  const KeyedResponses earlier(services_.responses, input_.key);
  auto read = read_call(input_, services_.rules, services_.models, &earlier);
  if (auto* failure = std::get_if<llm::Failure>(&read)) return fail(std::move(*failure));
  input_.body = {};
  // Earlier turns of the conversation count like those that were sent.
  if (!services_.body_memory.grow(earlier.bytes())) return fail(no_room_for_body());
  parsed_bytes_ += earlier.bytes();
  auto& plan = std::get<CallPlan>(read);
  if (auto failure = services_.gate.refusal_of(*plan.model)) return fail(*std::move(failure));
  if (input_.counts_only) return count_tokens(std::move(plan));
  if (plan.action != ModelAction::kAnswer) return order_model(plan);
  offer(std::move(plan));
}

std::optional<llm::Failure> Call::admit_body() {
  auto refusal = api::admit_body(services_.body_memory, input_.gzip, services_.rules.body_bytes_max,
                                 input_.body, parsed_bytes_);
  if (input_.gzip && !refusal) record_.log_body(input_.body);
  return refusal;
}

// Not a request to a model, so it does not wait for its turn among those.
void Call::count_tokens(CallPlan plan) {
  auto counted = plan.model->dispatcher->count_prompt(plan.request);
  if (auto* failure = std::get_if<llm::Failure>(&counted))
    return fail(plan.origins.to_client(std::move(*failure)));
  http::ServerReply reply{.body = token_count_of(std::get<int64_t>(counted))};
  put([&](Inbox& inbox) {
    inbox.understood = Understood{
        .facts = {.model = plan.model->name, .ignored_fields = header_list(plan.ignored_fields)}};
    inbox.reply = std::move(reply);
  });
}

// An order to load is answered when the model is loaded, one to unload at once.
void Call::order_model(const CallPlan& plan) {
  const bool unload = plan.action == ModelAction::kUnload;
  if (unload) {
    const auto ordered =
        give_order(services_.models, plan.model->name, ModelOrder::kUnload, input_.is_admin);
    if (const auto* failure = std::get_if<llm::Failure>(&ordered)) return fail(*failure);
  }
  http::ServerReply reply{.body = ollama_order_reply(input_.dialect, plan.model_name,
                                                     loop_.clock().unix_seconds(), plan.action)};
  std::optional<OrderedLoad> ordered_load;
  if (!unload && plan.model->residence) {
    const Duration most = services_.rules.load_wait;
    const auto until = most > Duration{} ? std::optional(arrived_at_ + most) : std::nullopt;
    ordered_load = OrderedLoad{AwaitedLoad(*plan.model, until), std::move(reply)};
  }
  put([&](Inbox& inbox) {
    inbox.understood =
        Understood{.facts = {.model = plan.model->name}, .deadline = plan.item.deadline};
    inbox.ordered_load = std::move(ordered_load);
    if (!inbox.ordered_load) inbox.reply = std::move(reply);
  });
}

ReplyFacts Call::reply_facts(const CallPlan& plan) const {
  return {
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
      .echo = plan.echo};
}

void Call::offer(CallPlan plan) {
  model_ = plan.model;
  dispatcher_ = model_->dispatcher;
  // Without an admin's key the model stays, as it does for everyone else.
  unloads_after_ = plan.unloads_after && input_.is_admin && model_->residence;
  answer_->prepare(reply_facts(plan), plan);
  auto ticket = services_.live.add({.id = input_.call_id,
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
  {
    Understood understood{.facts = facts_of(plan), .deadline = plan.item.deadline};
    if (plan.envelope.stream) understood.stream = answer_->make_stream(plan);
    const std::scoped_lock lock(mutex_);
    inbox_.understood = std::move(understood);
  }
  if (auto failure = record_.admit(plan.item.tokens, std::move(ticket)))
    return fail(*std::move(failure));
  // The loop may have something to do before the answer: comments of a stream, the deadline.
  if (plan.envelope.stream || plan.item.deadline) put([](Inbox&) {});
  dispatch::Delivery delivery{.answer_share = answer_->share(),
                              .load_wait = std::move(plan.load_wait)};
  if (plan.envelope.stream) delivery.listener = shared_from_this();
  const std::optional<dispatch::ItemId> item = dispatcher_->offer(
      std::move(plan.request), plan.item, 0,
      [self = shared_from_this()](dispatch::DispatchResult result) {
        self->done(std::move(result));
      },
      std::move(delivery));
  if (!item) return fail(overloaded(*dispatcher_));
  {
    const std::scoped_lock lock(mutex_);
    item_ = item;
    if (!cancelled_) return;
  }
  dispatcher_->cancel(*item);
}

const ServedModel* Call::offered() const {
  const std::scoped_lock lock(mutex_);
  return item_ ? model_ : nullptr;
}

// --- a thread of the backend or of the dispatcher ----------------------------------------------

void Call::on_delta(llm::Delta delta) {
  const TimePoint now = loop_.clock().now();
  const auto choice = static_cast<size_t>(delta.choice);
  if (last_delta_at_.size() <= choice) last_delta_at_.resize(choice + 1);
  const TimePoint before = std::exchange(last_delta_at_[choice], now);
  const size_t bytes = llm::bytes_of(delta);
  if (is_out_of_room_) return;
  is_out_of_room_ = !answer_->share()->grow(bytes);
  if (is_out_of_room_) return put([](Inbox& inbox) { inbox.no_room = true; });
  put([&](Inbox& inbox) {
    if (before != TimePoint{}) inbox.gaps.push_back(now - before);
    if (!inbox.first_delta_at) inbox.first_delta_at = now;
    inbox.deltas.push_back(std::move(delta));
    inbox.deltas_bytes += bytes;
  });
}

void Call::done(dispatch::DispatchResult result) {
  if (unloads_after_) model_->residence->unload_when_unused();
  llm::Outcome outcome = answer_->accept(std::move(result.outcome));
  put([&](Inbox& inbox) {
    inbox.outcome = std::move(outcome);
    inbox.was_sent = result.attempts > 0;
  });
}

// --- any thread --------------------------------------------------------------------------------

template <class Write>
void Call::put(Write write) {
  {
    const std::scoped_lock lock(mutex_);
    write(inbox_);
    if (std::exchange(inbox_.fetching, true)) return;
  }
  loop_.post([self = shared_from_this()] { self->fetch(); });
}

void Call::fail(llm::Failure failure) {
  put([&](Inbox& inbox) { inbox.outcome = std::move(failure); });
}

bool Call::is_cancelled() const {
  const std::scoped_lock lock(mutex_);
  return cancelled_;
}

// --- the loop's thread -------------------------------------------------------------------------

// If memory runs out here, this client's answer fails and no other.
void Call::fetch() {
  Inbox inbox;
  {
    const std::scoped_lock lock(mutex_);
    std::swap(inbox, inbox_);
  }
  if (record_.is_closed()) return;  // a delta that came too late
  const bool ends = inbox.outcome || inbox.reply;
  try {
    handle(std::move(inbox));
  } catch (const std::bad_alloc&) {
    const llm::Failure why = no_memory("to send this answer");
    if (ends) {
      delivery_.end(llm::Outcome(why));
    } else {
      delivery_.give_up(why);
    }
  }
}

void Call::handle(Inbox inbox) {
  if (inbox.understood) {
    Understood& understood = *inbox.understood;
    if (understood.stream) delivery_.set_stream(std::move(understood.stream));
    if (understood.deadline) delivery_.set_deadline(*understood.deadline);
    record_.note_facts(std::move(understood.facts));
  }
  record_.note_deltas(inbox.deltas, inbox.first_delta_at);
  if (inbox.outcome) record_.note_outcome(*inbox.outcome, inbox.was_sent);
  for (const Duration gap : inbox.gaps)
    services_.metrics.token_gap(record_.priority(), gap);

  const TimePoint now = loop_.clock().now();
  if (!inbox.deltas.empty()) delivery_.emit(std::move(inbox.deltas), inbox.deltas_bytes, now);
  if (inbox.no_room) delivery_.give_up(llm::no_room_for_answer());
  if (inbox.ordered_load) {
    ordered_load_ = std::move(inbox.ordered_load);
    return poll_load(now);
  }
  if (inbox.reply) return delivery_.end(std::move(*inbox.reply), answer_usage_);
  if (!inbox.outcome) return;
  if (std::holds_alternative<llm::Failure>(*inbox.outcome) || delivery_.is_stream())
    return delivery_.end(std::move(*inbox.outcome));
  write_answer(std::move(*inbox.outcome));
}

// A short answer at once, a long one on a worker.
void Call::write_answer(llm::Outcome outcome) {
  const auto& answer = std::get<llm::Answer>(outcome);
  answer_usage_ = answer.usage;
  if (llm::bytes_of(answer) <= kWrittenAtOnceBytes)
    return delivery_.end(answer_->write(answer), answer_usage_);
  services_.workers.post([self = shared_from_this(),
                          shared = std::make_shared<llm::Outcome>(std::move(outcome))] {
    auto written = self->answer_->write(std::get<llm::Answer>(*shared));
    if (auto* failure = std::get_if<llm::Failure>(&written)) return self->fail(std::move(*failure));
    self->put([&](Inbox& inbox) { inbox.reply = std::move(std::get<http::ServerReply>(written)); });
  });
}

void Call::tick(TimePoint now) {
  poll_load(now);
  delivery_.tick(now);
}

// A client that has left ends the wait, as the end of a request does.
void Call::poll_load(TimePoint now) {
  if (!ordered_load_) return;
  const auto end = is_cancelled() ? AwaitedLoad::End{client_left()} : ordered_load_->load.look(now);
  if (!end) return;
  http::ServerReply reply = std::move(ordered_load_->reply);
  ordered_load_.reset();
  if (end->failure) return delivery_.end(llm::Outcome(*end->failure));
  delivery_.end(std::move(reply), {});
}

// On a worker, because the dispatcher may take longer for it than the loop has time.
void Call::cancel() {
  const std::scoped_lock lock(mutex_);
  cancelled_ = true;
  if (!item_) return;  // offer() cancels it
  services_.workers.post([dispatcher = dispatcher_, item = *item_] { dispatcher->cancel(item); });
}

void Call::close() {
  record_.close(delivery_.status(), delivery_.code(), is_cancelled());
  answer_->share()->shrink_to(0);
  services_.over(*this);
}

}  // namespace windrow::api
