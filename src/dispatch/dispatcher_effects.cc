// What a dispatcher does about a decision: with the lock it becomes deeds, which are done without.
#include <algorithm>
#include <iterator>
#include <utility>

#include "base/ensure.h"
#include "dispatch/dispatcher.h"
#include "dispatch/outcome_facts.h"
#include "llm/packed_inputs.h"

namespace windrow::dispatch {
namespace {

const llm::Usage& usage_of(const llm::Outcome& outcome) {
  const auto* answer = std::get_if<llm::Answer>(&outcome);
  return answer ? answer->usage : std::get<llm::Failure>(outcome).usage;
}

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
  if (last != nullptr) {
    return {.failure_class = llm::FailureClass::kRequest,
            .status = 408,
            .code = "deadline_exceeded",
            .message = "its deadline passed before it could be tried again; the last try failed: " +
                       last->message};
  }

  return {.failure_class = llm::FailureClass::kRequest,
          .status = 408,
          .code = "deadline_exceeded",
          .message =
              "its deadline passed before it could be sent; give it more time, or send less "
              "beside it"};
}

}  // namespace

// The deeds that a thread does for a dispatcher. A backend may answer while a request is handed to
// it, which leads to more: they join the list instead of nesting, so that the stack does not grow
// with what waits.
struct Dispatcher::Running {
  Dispatcher* dispatcher;
  std::vector<Effect> deeds;
  Running* outer;
};

thread_local Dispatcher::Running* Dispatcher::running_ = nullptr;

// --- decisions, with the lock -------------------------------------------------------------------

TimePoint Dispatcher::begin_event() {
  tell_limits();
  return clock_.now();
}

Dispatcher::Effects Dispatcher::end_event(const Actions& actions) {
  waker_.wake_at(policy_.wake_at());
  notify_waiters();  // a limit may have grown
  Effects deeds = deeds_of(actions);
  if (policy_.budget_is_spent() && !std::exchange(told_of_budget_, true))
    deeds.emplace_back(BudgetSpent{});
  if (policy_.is_at_calls_max() && !std::exchange(told_of_calls_max_, true))
    deeds.emplace_back(AtCallsMax{});
  return deeds;
}

Dispatcher::Effects Dispatcher::deeds_of(const Actions& actions) {
  Effects deeds;
  deeds.reserve(actions.size());
  const SharedOutcomes shared = shared_outcomes(actions);
  for (const Action& action : actions) {
    if (const auto* send = std::get_if<Send>(&action)) {
      deeds.emplace_back(hand(*send));
    } else if (const auto* ended = std::get_if<Ended>(&action)) {
      deeds.emplace_back(finish(*ended, shared));
    } else if (const auto* stop = std::get_if<Stop>(&action)) {
      deeds.emplace_back(StopCall{calls_.at(stop->call).unwanted});
    } else if (const auto* joined = std::get_if<Follow>(&action)) {
      follow(*joined);
    } else {
      inherit(std::get<PromoteFollower>(action));
    }
  }
  return deeds;
}

// Of those whose outcome others get too: one copy, however many they are.
Dispatcher::SharedOutcomes Dispatcher::shared_outcomes(const Actions& actions) {
  SharedOutcomes shared;
  for (const Action& action : actions) {
    const auto* ended = std::get_if<Ended>(&action);
    if (ended == nullptr || ended->outcome_of == ended->item) continue;
    const auto leader = entries_.find(ended->outcome_of);
    ENSURE(leader != entries_.end() && leader->second.outcome, "item {} has no outcome to share",
           ended->outcome_of.value());
    std::shared_ptr<const llm::Outcome>& outcome = shared[ended->outcome_of];
    if (!outcome) outcome = std::make_shared<const llm::Outcome>(*leader->second.outcome);
  }
  return shared;
}

Dispatcher::SendCall Dispatcher::hand(const Send& send) {
  ++submitting_;
  const CallStops& stops = calls_[send.call];
  SendCall hand{.call = {.id = send.call},
                .upstream = send.upstream,
                .tokens = send.tokens,
                .reason = send.reason};
  hand.call.requests.reserve(send.items.size());
  for (const ItemId item : send.items)
    hand.call.requests.push_back(entries_.at(item).request);
  const Entry& first = entries_.at(send.items.front());
  hand.to_backend = {.priority = first.priority,
                     .withdrawn = stops.withdrawn.get_token(),
                     .unwanted = stops.unwanted.get_token()};
  if (send.items.size() > 1) return hand;
  hand.call.heard = first.heard;
  hand.to_backend.request = first.request;
  hand.to_backend.listener = first.heard;
  hand.to_backend.read_ahead = first.read_ahead;
  hand.to_backend.answer_share = first.delivery.answer_share;
  hand.to_backend.load_wait = first.delivery.load_wait;
  return hand;
}

// Items that wait for one answer hold what its leader is sent with, and hear it together. So where
// the leader leaves, the call goes on for them.
void Dispatcher::follow(const Follow& follow) {
  const Entry& leader = entries_.at(follow.leader);
  Entry& entry = entries_.at(follow.item);
  entry.request = leader.request;
  entry.read_ahead = leader.read_ahead;
  entry.priority = leader.priority;
  entry.delivery.answer_share = leader.delivery.answer_share;
  entry.delivery.load_wait = leader.delivery.load_wait;
  if (!leader.heard) return;
  entry.heard = leader.heard;
  entry.member = entry.heard->join(entry.delivery.listener);
}

void Dispatcher::inherit(const PromoteFollower& inherit) {
  Entry& from = entries_.at(inherit.from);
  Entry& heir = entries_.at(inherit.heir);
  heir.outcome = std::exchange(from.outcome, std::nullopt);
  heir.tokens = std::exchange(from.tokens, 0);
  heir.cost = std::exchange(from.cost, 0);
  heir.earlier_failure = std::exchange(from.earlier_failure, {});
}

Dispatcher::CompleteItem Dispatcher::finish(const Ended& ended, const SharedOutcomes& shared) {
  const auto found = entries_.find(ended.item);
  Entry entry = std::move(found->second);
  entries_.erase(found);
  CompleteItem finish{.done = std::move(entry.done),
                      .result = {.outcome = {},
                                 .attempts = ended.attempts.used + ended.attempts.refused,
                                 .tokens = entry.tokens,
                                 .cost = entry.cost,
                                 .earlier_failure = std::move(entry.earlier_failure),
                                 .source = ended.outcome_of == ended.item ? OutcomeSource::kAsked
                                                                          : OutcomeSource::kShared},
                      .heard = std::move(entry.heard),
                      .member = entry.member};
  llm::Outcome& outcome = finish.result.outcome;
  switch (ended.how) {
    case ItemEnd::kAnswered:
    case ItemEnd::kFailed:
      finish.hears_all = true;
      if (ended.outcome_of == ended.item) {
        outcome = *std::move(entry.outcome);
      } else {
        finish.shared = shared.at(ended.outcome_of);
      }
      break;
    case ItemEnd::kCancelled:
      outcome = entry.outcome ? *std::move(entry.outcome) : cancelled_failure();
      std::get<llm::Failure>(outcome).failure_class = llm::FailureClass::kCancelled;
      break;
    case ItemEnd::kExpired:
      outcome = expired_failure(entry.outcome);
      break;
  }
  return finish;
}

// --- deeds, without it --------------------------------------------------------------------------

void Dispatcher::run(Effects deeds) {
  for (Running* running = running_; running != nullptr; running = running->outer) {
    if (running->dispatcher != this) continue;
    std::ranges::move(deeds, std::back_inserter(running->deeds));
    return;
  }
  Running running{.dispatcher = this, .deeds = std::move(deeds), .outer = running_};
  running_ = &running;
  while (!running.deeds.empty()) {
    Effects now = std::exchange(running.deeds, {});
    for (Effect& deed : now)
      std::visit([this](auto& it) { apply(std::move(it)); }, deed);
  }
  running_ = running.outer;
}

// Without the lock: the backend may answer at once.
void Dispatcher::apply(SendCall hand) {
  OpenCall& call = hand.call;
  if (on_batch_ && hand.reason != PackReason::kAlone) {
    on_batch_({.upstream = hand.upstream,
               .rows = static_cast<int32_t>(call.requests.size()),
               .tokens = hand.tokens,
               .reason = hand.reason});
  }
  if (call.requests.size() > 1) {
    std::vector<const llm::Request*> requests;
    requests.reserve(call.requests.size());
    for (const auto& request : call.requests)
      requests.push_back(request.get());
    llm::PackedRequest packed = llm::pack_requests(requests);
    hand.to_backend.request = std::make_shared<const llm::Request>(std::move(packed.request));
    call.sizes = std::move(packed.sizes);
  }
  upstreams_[hand.upstream.value()].backend->submit(
      std::move(hand.to_backend), [this, call = std::move(call)](llm::Outcome outcome) {
        call_ended(call, std::move(outcome));
      });
  const std::scoped_lock lock(mutex_);
  --submitting_;
  notify_waiters();
}

void Dispatcher::apply(CompleteItem finish) {
  if (finish.shared) finish.result.outcome = *finish.shared;
  if (!finish.heard) return end(finish);
  const std::shared_ptr<SharedListener> heard = std::move(finish.heard);
  const SharedListener::Member member = finish.member;
  const bool hears_all = finish.hears_all;
  auto then = [this, it = std::make_shared<CompleteItem>(std::move(finish))] { end(*it); };
  if (hears_all) {
    heard->finish(member, std::move(then));
  } else {
    heard->leave(member, std::move(then));
  }
}

void Dispatcher::end(CompleteItem& finish) {
  finish.done(std::move(finish.result));
  finish.done = nullptr;
  const std::scoped_lock lock(mutex_);
  --in_flight_;
  notify_waiters();
}

void Dispatcher::apply(StopCall stop) {
  stop.stops.request_stop();
}

void Dispatcher::apply(BudgetSpent) {
  if (on_budget_spent_) on_budget_spent_();
}

void Dispatcher::apply(AtCallsMax) {
  if (on_calls_max_) on_calls_max_();
}

// --- ends ---------------------------------------------------------------------------------------

void Dispatcher::call_ended(const OpenCall& call, llm::Outcome outcome) {
  CallEnd end = facts_of(outcome);
  if (cost_of_) end.cost = cost_of_(*call.requests.front(), usage_of(outcome));
  end.begun = call.heard && call.heard->has_begun();
  std::vector<llm::Outcome> outcomes;
  if (call.requests.size() == 1) {
    outcomes.push_back(std::move(outcome));
  } else {
    outcomes = llm::unpack_outcome(std::move(outcome), call.sizes);
    if (!end.fault && std::holds_alternative<llm::Failure>(outcomes.front())) {
      end.fault = Fault::kRequest;
      end.unmatched = true;
    }
  }
  std::vector<Cost> costs(call.requests.size(), end.cost);
  for (size_t i = 0; i < outcomes.size() && outcomes.size() > 1 && cost_of_; ++i)
    costs[i] = cost_of_(*call.requests[i], usage_of(outcomes[i]));
  // Before the item ends: an equal one that comes then is found there.
  if (cache_ != nullptr && !end.fault) keep(call, outcomes);
  Effects deeds;
  {
    const std::scoped_lock lock(mutex_);
    calls_.erase(call.id);
    const std::vector<ItemId>& items = policy_.items_of(call.id);
    for (size_t i = 0; i < items.size(); ++i) {
      Entry& entry = entries_.at(items[i]);
      entry.tokens += tokens_of(outcomes[i]);
      entry.cost += costs[i];
      if (const auto* before = entry.outcome ? std::get_if<llm::Failure>(&*entry.outcome) : nullptr)
        entry.earlier_failure = before->message;
      entry.outcome = std::move(outcomes[i]);
    }
    Actions actions;
    policy_.ended(begin_event(), call.id, end, actions);
    deeds = end_event(actions);
  }
  run(std::move(deeds));
}

void Dispatcher::keep(const OpenCall& call, const std::vector<llm::Outcome>& outcomes) {
  std::vector<std::optional<Hash128>> questions;
  {
    const std::scoped_lock lock(mutex_);
    for (const ItemId item : policy_.items_of(call.id))
      questions.push_back(entries_.at(item).cached_as);
  }
  for (size_t i = 0; i < questions.size(); ++i) {
    const auto* answer = std::get_if<llm::Answer>(&outcomes[i]);
    if (questions[i] && answer != nullptr) cache_->put(*questions[i], *answer);
  }
}

}  // namespace windrow::dispatch
