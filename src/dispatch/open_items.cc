#include "dispatch/open_items.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/ensure.h"
#include "llm/packed_inputs.h"

namespace windrow::dispatch {
namespace {

// A prompt token costs a server about so much of what an answer's token does.
constexpr double kPromptWork = 1.0 / 16;

constexpr int32_t kRequestTimeout = 408;
constexpr int32_t kGatewayTimeout = 504;
constexpr int32_t kTooLarge = 413;

int32_t prefilled(const llm::Usage& usage) {
  return std::max(usage.prompt_tokens - usage.cached_tokens, 0);
}

double work_of(const llm::Usage& usage) {
  return std::max(usage.completion_tokens + kPromptWork * prefilled(usage), 1.0);
}

// A server elsewhere may say nothing.
std::optional<int64_t> computed_by(const llm::Usage& usage) {
  if (usage.prompt_tokens == 0 && usage.completion_tokens == 0) return std::nullopt;
  return int64_t{usage.completion_tokens} + prefilled(usage);
}

bool timed_out(const llm::Failure& failure) {
  return failure.status == kRequestTimeout || failure.status == kGatewayTimeout;
}

Fault fault_of(const llm::Failure& failure) {
  switch (failure.failure_class) {
    case llm::FailureClass::kTransient:
      if (failure.short_of_files) return Fault::kShortOfFiles;
      if (failure.unreached) return Fault::kUnreached;
      // Late answers are a sign of load too, but a row that is always late must end.
      return failure.overloaded && !timed_out(failure) ? Fault::kOverloaded : Fault::kTransient;
    case llm::FailureClass::kCancelled:
      return Fault::kCancelled;
    case llm::FailureClass::kBackend:
      return Fault::kBackend;
    case llm::FailureClass::kRequest:
      break;
  }
  return Fault::kRequest;
}

// To the item an error is an answer, to its upstream it is what it is elsewhere. A refused key may
// have been the client's.
std::optional<Fault> fault_of(const llm::VerbatimReply& reply) {
  constexpr int32_t kTooManyRequests = 429;
  constexpr int32_t kUnavailable = 503;
  constexpr int32_t kOverloaded = 529;
  if (reply.status == kTooManyRequests || reply.status == kUnavailable ||
      reply.status == kOverloaded)
    return Fault::kOverloaded;
  if (reply.status >= 500) return Fault::kTransient;
  if (reply.status >= 400) return Fault::kRequest;
  return std::nullopt;
}

}  // namespace

CallEnd call_end_of(const llm::Outcome& outcome) {
  if (const auto* failure = std::get_if<llm::Failure>(&outcome)) {
    CallEnd end{.fault = fault_of(*failure),
                .timed_out = timed_out(*failure),
                .too_large = failure->status == kTooLarge};
    if (failure->retry_after_ms) {
      end.retry_after = std::chrono::milliseconds(*failure->retry_after_ms);
    }
    end.tokens = int64_t{failure->usage.prompt_tokens} + failure->usage.completion_tokens;
    end.computed = computed_by(failure->usage);
    end.replied = failure->replied && !end.timed_out;
    end.answered = failure->answered && end.fault == Fault::kTransient;
    if (end.answered) end.work = work_of(failure->usage);
    return end;
  }
  const auto& answer = std::get<llm::Answer>(outcome);
  if (answer.verbatim) {
    const std::optional<Fault> fault = fault_of(*answer.verbatim);
    return {.fault = fault,
            .timed_out = answer.verbatim->status == kGatewayTimeout,
            .replied = answer.verbatim->status != kGatewayTimeout,
            .passed_on = true};
  }
  const llm::Usage& usage = answer.usage;
  return {.tokens = int64_t{usage.prompt_tokens} + usage.completion_tokens,
          .computed = computed_by(usage),
          .work = work_of(usage)};
}

const llm::Usage& usage_of(const llm::Outcome& outcome) {
  const auto* answer = std::get_if<llm::Answer>(&outcome);
  return answer ? answer->usage : std::get<llm::Failure>(outcome).usage;
}

std::shared_ptr<const llm::Request> OpenCall::pack() {
  if (requests.size() == 1) return requests.front();
  std::vector<const llm::Request*> all;
  all.reserve(requests.size());
  for (const auto& request : requests)
    all.push_back(request.get());
  llm::PackedRequest packed = llm::pack_requests(all);
  sizes = std::move(packed.sizes);
  return std::make_shared<const llm::Request>(std::move(packed.request));
}

std::vector<llm::Outcome> OpenCall::unpack(llm::Outcome outcome, CallEnd& end) const {
  std::vector<llm::Outcome> outcomes;
  if (requests.size() == 1) {
    outcomes.push_back(std::move(outcome));
    return outcomes;
  }
  outcomes = llm::unpack_outcome(std::move(outcome), sizes);
  if (!end.fault && std::holds_alternative<llm::Failure>(outcomes.front())) {
    end.fault = Fault::kRequest;
    end.unmatched = true;
  }
  return outcomes;
}

namespace {

int64_t tokens_of(const llm::Outcome& outcome) {
  const llm::Usage& usage = usage_of(outcome);
  return int64_t{usage.prompt_tokens} + usage.completion_tokens;
}

llm::Failure cancelled_failure() {
  return {.failure_class = llm::FailureClass::kCancelled,
          .status = 499,
          .code = "cancelled",
          .message = "cancelled before it was sent"};
}

// `tried`: what its last call ended with, where there was one.
llm::Failure expired_failure(const std::optional<llm::Outcome>& tried) {
  const auto* last = tried ? std::get_if<llm::Failure>(&*tried) : nullptr;
  return {.failure_class = llm::FailureClass::kRequest,
          .status = 408,
          .code = "deadline_exceeded",
          .message =
              last != nullptr
                  ? "its deadline passed before it could be tried again; the last try failed: " +
                        last->message
                  : "its deadline passed before it could be sent; give it more time, or send less "
                    "beside it"};
}

}  // namespace

void OpenItems::add(ItemId id, OpenItem item) {
  items_.emplace(id, std::move(item));
}

bool OpenItems::waits_for_load(ItemId id) const {
  const auto found = items_.find(id);
  if (found == items_.end()) return false;
  const llm::LoadWait* wait = found->second.delivery.load_wait.get();
  return wait != nullptr && wait->waits;
}

PreparedCall OpenItems::prepare(const Send& send, const CallStops& stops) const {
  PreparedCall prepared{.call = {.id = send.call}};
  prepared.call.requests.reserve(send.items.size());
  for (const ItemId item : send.items)
    prepared.call.requests.push_back(items_.at(item).request);
  const OpenItem& first = items_.at(send.items.front());
  prepared.to_backend = {.priority = first.priority,
                         .withdrawn = stops.withdrawn.get_token(),
                         .unwanted = stops.unwanted.get_token()};
  if (send.items.size() > 1) return prepared;
  prepared.call.listener = first.shared_listener;
  prepared.call.reply_sink = first.reply_sink;
  prepared.to_backend.reply_sink = first.reply_sink;
  prepared.to_backend.listener = first.shared_listener;
  prepared.to_backend.read_ahead = first.read_ahead;
  prepared.to_backend.answer_share = first.delivery.answer_share;
  prepared.to_backend.load_wait = first.delivery.load_wait;
  prepared.to_backend.trace_tag = first.delivery.trace_tag;
  return prepared;
}

void OpenItems::follow(const Follow& follow) {
  const OpenItem& leader = items_.at(follow.leader);
  OpenItem& item = items_.at(follow.item);
  // All that a call is made of: where the leader leaves, the next one is made of the same.
  item.request = leader.request;
  item.read_ahead = leader.read_ahead;
  item.priority = leader.priority;
  item.delivery.answer_share = leader.delivery.answer_share;
  item.delivery.load_wait = leader.delivery.load_wait;
  if (!leader.shared_listener) return;
  item.shared_listener = leader.shared_listener;
  item.member = item.shared_listener->join(item.delivery.listener);
}

void OpenItems::promote(const PromoteFollower& promoted) {
  OpenItem& from = items_.at(promoted.from);
  OpenItem& heir = items_.at(promoted.heir);
  heir.outcome = std::exchange(from.outcome, std::nullopt);
  heir.tokens = std::exchange(from.tokens, 0);
  heir.cost = std::exchange(from.cost, 0);
  heir.earlier_failure = std::exchange(from.earlier_failure, {});
}

void OpenItems::record(std::span<const ItemId> items, std::vector<llm::Outcome> outcomes,
                       std::span<const Cost> costs) {
  for (size_t i = 0; i < items.size(); ++i) {
    OpenItem& item = items_.at(items[i]);
    item.tokens += tokens_of(outcomes[i]);
    item.cost += costs[i];
    if (const auto* before = item.outcome ? std::get_if<llm::Failure>(&*item.outcome) : nullptr)
      item.earlier_failure = before->message;
    item.outcome = std::move(outcomes[i]);
  }
}

std::vector<std::optional<Hash128>> OpenItems::cache_keys(std::span<const ItemId> items) const {
  std::vector<std::optional<Hash128>> keys;
  keys.reserve(items.size());
  for (const ItemId item : items)
    keys.push_back(items_.at(item).cache_key);
  return keys;
}

OpenItems::SharedOutcomes OpenItems::shared_outcomes(const Actions& actions) const {
  SharedOutcomes shared;
  for (const Action& action : actions) {
    const auto* ended = std::get_if<Ended>(&action);
    if (ended == nullptr || ended->outcome_of == ended->item) continue;
    const auto leader = items_.find(ended->outcome_of);
    ENSURE(leader != items_.end() && leader->second.outcome, "item {} has no outcome to share",
           ended->outcome_of.value());
    std::shared_ptr<const llm::Outcome>& outcome = shared[ended->outcome_of];
    if (!outcome) outcome = std::make_shared<const llm::Outcome>(*leader->second.outcome);
  }
  return shared;
}

CompletedItem OpenItems::complete(const Ended& ended, const SharedOutcomes& shared) {
  const auto found = items_.find(ended.item);
  OpenItem item = std::move(found->second);
  items_.erase(found);
  const bool has_own = ended.outcome_of == ended.item;
  CompletedItem completed{
      .done = std::move(item.done),
      .result = {.outcome = {},
                 .attempts = ended.attempts.used + ended.attempts.refused,
                 .tokens = item.tokens,
                 .cost = item.cost,
                 .earlier_failure = std::move(item.earlier_failure),
                 .source = has_own ? OutcomeSource::kAsked : OutcomeSource::kShared},
      .shared_listener = std::move(item.shared_listener),
      .member = item.member,
      .reply_sink = std::move(item.reply_sink)};
  llm::Outcome& outcome = completed.result.outcome;
  switch (ended.how) {
    case ItemEnd::kAnswered:
    case ItemEnd::kFailed:
      completed.gets_rest = true;
      if (has_own) {
        outcome = *std::move(item.outcome);
      } else {
        completed.shared_outcome = shared.at(ended.outcome_of);
      }
      break;
    case ItemEnd::kCancelled:
      outcome = item.outcome ? *std::move(item.outcome) : cancelled_failure();
      std::get<llm::Failure>(outcome).failure_class = llm::FailureClass::kCancelled;
      break;
    case ItemEnd::kExpired:
      outcome = expired_failure(item.outcome);
      break;
  }
  return completed;
}

}  // namespace windrow::dispatch
