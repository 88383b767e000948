#include "simulate/dispatch_simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <thread>
#include <utility>
#include <variant>

#include "dispatch/waker.h"
#include "simulate/draw.h"
#include "simulate/report.h"
#include "upstream/upstream_backend.h"

namespace windrow::simulate {
namespace {

using dispatch::Priority;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

// From the decision to send to the sending: other threads may be drawn in between.
constexpr Duration kHandTimeMax = seconds(10);
constexpr int32_t kUnluckyMax = 24;

Task draw_task(Random& random, int64_t number) {
  Task task{.word = fmt::format("word-{}", 1000 + number)};
  task.item.tokens = random.between(1, 100);
  task.item.group = random.below(4);
  task.item.priority = static_cast<Priority>(random.below(3));
  if (random.chance(0.1)) task.time_left = Duration(any_size(random, Duration(minutes(1)).count()));
  if (random.chance(0.2)) task.pause = Duration(any_size(random, Duration(seconds(2)).count()));
  if (random.chance(0.2)) task.stays = Duration(any_size(random, Duration(seconds(30)).count()));
  return task;
}

llm::Request request_of(const Task& task) {
  llm::Request request;
  request.endpoint = llm::Endpoint::kCompletions;
  request.model = "m";
  request.raw =
      fmt::format(R"({{"model":"m","prompt":"{}","max_tokens":64,"temperature":0}})", task.word);
  return request;
}

}  // namespace

DispatchPlan draw_dispatch_plan(uint64_t seed) {
  Random random(seed);
  DispatchPlan plan;
  plan.seed = random.next();
  plan.threads = {.seed = random.next(),
                  .interleaving = static_cast<Interleaving>(random.below(3)),
                  .spurious_wake = random.chance(0.3) ? 0.02 : 0,
                  .hiccup = random.chance(0.2) ? 0.002 : 0};
  const bool faults = random.chance(0.7);
  for (uint64_t count = 1 + random.below(3); count > 0; --count) {
    plan.servers.push_back(draw_server(random));
    if (!faults) continue;
    plan.servers.back().options.faults = draw_server_faults(random);
    plan.servers.back().outage = draw_outage(random);
  }
  plan.request_timeout = between(random, seconds(1), minutes(1));
  dispatch::DispatchOptions& options = plan.dispatch;
  options.in_flight_max = static_cast<int32_t>(random.between(1, 8));
  options.attempts_max = static_cast<int32_t>(random.between(1, 5));
  options.waiting_max = static_cast<int32_t>(random.below(64));
  options.backoff_base = random.chance(0.3) ? Duration{} : between(random, {}, seconds(2));
  options.queue.bypass = {static_cast<int32_t>(random.between(1, 8)),
                          static_cast<int32_t>(random.between(1, 16))};
  if (random.chance(0.3)) options.reserve = queueing::kServerReserve;
  options.seed = random.next();
  if (random.chance(0.5)) plan.concurrency = dispatch::ConcurrencyOptions{.limit_max = 16};

  const uint64_t lanes = random.below(6);
  int64_t number = 0;
  for (uint64_t threads = 1 + random.below(4); threads > 0; --threads) {
    std::vector<Task>& tasks = plan.submitters.emplace_back();
    for (int64_t count = any_size(random, 64); count > 0; --count) {
      tasks.push_back(draw_task(random, number++));
      // A lane belongs to one thread: what came first is only known there.
      if (lanes > 0 && random.chance(0.4))
        tasks.back().item.lane = 10 * threads + 1 + random.below(lanes);
    }
  }
  plan.cancel = static_cast<DispatchPlan::Cancel>(random.below(4));
  plan.cancel_at = Duration(any_size(random, Duration(minutes(1)).count()));
  return plan;
}

DispatchSimulation::DispatchSimulation(uint64_t seed, Canary canary, Trace& trace)
    : canary_(canary),
      plan_(draw_dispatch_plan(seed)),
      trace_(trace),
      threads_(plan_.threads, trace) {}

void DispatchSimulation::run() {
  report_moment("requests of all kinds, one dispatcher");
  servers_ = start_servers(plan_.servers, threads_.now(), canary_);
  const RunEnd end = threads_.run(
      [&] { be_a_process(); }, {},
      [&] {
        const int32_t limit =
            plan_.concurrency ? plan_.concurrency->limit_max : plan_.dispatch.in_flight_max;
        for (const SimServer& server : servers_) {
          INVARIANT(server.in_flight <= limit, "no server has more calls than it may have",
                    "{} of {}", server.in_flight, limit);
        }
      });
  INVARIANT(end == RunEnd::kEnded, "every process ends", "it {}\n{}", to_string(end),
            threads_.standing());
  check_ends();
  check_lanes();
  check_cancel();
  check_leavers();
  check_priorities();
}

void DispatchSimulation::be_a_process() {
  SimClient client(servers_, ledger_, trace_, clock_, {.seed = plan_.seed, .canary = canary_});
  std::vector<std::unique_ptr<upstream::UpstreamBackend>> backends;
  std::vector<dispatch::DispatchUpstream> upstreams;
  for (size_t i = 0; i < servers_.size(); ++i) {
    upstream::UpstreamOptions options{.request_timeout = plan_.request_timeout};
    options.base = *http::parse_url(fmt::format("http://server-{}/v1", i));
    backends.push_back(std::make_unique<upstream::UpstreamBackend>(client, clock_, options));
    upstreams.push_back({.backend = backends.back().get(), .concurrency = plan_.concurrency});
  }
  dispatch::ThreadWaker waker(clock_);
  dispatch::Dispatcher dispatcher(upstreams, plan_.dispatch, clock_, waker);
  std::vector<std::thread> threads;
  threads.reserve(plan_.submitters.size() + 1);
  for (std::vector<Task>& tasks : plan_.submitters)
    threads.emplace_back([&] { submit_all(dispatcher, tasks); });
  threads.emplace_back([&] { cancel(dispatcher); });
  for (std::thread& thread : threads)
    thread.join();
  dispatcher.wait_idle();
}

void DispatchSimulation::submit_all(dispatch::Dispatcher& dispatcher, std::vector<Task>& tasks) {
  struct Leaver {
    Task* task;
    dispatch::ItemId id;
  };
  std::multimap<TimePoint, Leaver> leavers;
  const auto leave = [&](const Leaver& leaver) {
    trace_.event(threads_.now(), VirtualThreads::this_thread(),
                 fmt::format("{} leaves", leaver.task->word));
    dispatcher.cancel(leaver.id);
    leaver.task->left_number = ledger_.next_number();
  };
  for (Task& task : tasks) {
    if (task.pause > Duration{}) threads_.rest_until(threads_.now() + task.pause);
    if (task.time_left) task.item.deadline = clock_.now() + *task.time_left;
    const std::optional<dispatch::ItemId> id = submit(dispatcher, task);
    if (id && task.stays) leavers.emplace(threads_.now() + *task.stays, Leaver{&task, *id});
    for (; !leavers.empty() && leavers.begin()->first <= threads_.now();
         leavers.erase(leavers.begin()))
      leave(leavers.begin()->second);
  }
  for (const auto& [at, leaver] : leavers) {
    threads_.rest_until(at);
    leave(leaver);
  }
}

// A task that will leave is offered, not submitted: offer returns the id that cancels it.
std::optional<dispatch::ItemId> DispatchSimulation::submit(dispatch::Dispatcher& dispatcher,
                                                           Task& task) {
  const auto done = [this, &task](dispatch::DispatchResult result) {
    ++task.ends;
    task.ended_number = ledger_.next_number();
    trace_.event(threads_.now(), VirtualThreads::this_thread(), fmt::format("{} ends", task.word));
    task.result = std::move(result);
  };
  std::optional<dispatch::ItemId> id;
  if (task.stays) {
    id = dispatcher.offer(request_of(task), task.item, 0, done);
    task.accepted = id.has_value();
  } else {
    task.accepted = dispatcher.submit(request_of(task), task.item, 0, done);
  }
  if (*task.accepted) task.accepted_number = ledger_.next_number();
  return id;
}

void DispatchSimulation::cancel(dispatch::Dispatcher& dispatcher) {
  if (plan_.cancel == DispatchPlan::Cancel::kNone) return;
  threads_.rest_until(threads_.now() + plan_.cancel_at);
  trace_.event(threads_.now(), VirtualThreads::this_thread(), "cancel");
  if (plan_.cancel == DispatchPlan::Cancel::kStop) dispatcher.stop_admitting();
  cancels_ = ledger_.next_number();
  if (plan_.cancel == DispatchPlan::Cancel::kWaiting) {
    dispatcher.cancel_waiting();
  } else {
    dispatcher.cancel_all();
  }
  cancelled_ = ledger_.next_number();
  cancelled_at_ = threads_.now();
}

// --- what has to be true ----------------------------------------------------------------------

std::vector<const Sending*> DispatchSimulation::sendings_of(const Task& task) const {
  std::vector<const Sending*> sendings;
  for (const Sending& sending : ledger_.sendings()) {
    if (sending.word == task.word) sendings.push_back(&sending);
  }
  return sendings;
}

void DispatchSimulation::check_ends() const {
  for (const std::vector<Task>& tasks : plan_.submitters) {
    for (const Task& task : tasks) {
      const std::vector<const Sending*> sendings = sendings_of(task);
      const bool accepted = task.accepted.value_or(false);
      INVARIANT(task.accepted && task.ends == (accepted ? 1 : 0),
                "what is accepted ends once, and nothing else does", "{} ended {} times", task.word,
                task.ends);
      INVARIANT(accepted || sendings.empty(), "what is not accepted is not sent", "{} was",
                task.word);
      if (!accepted) continue;
      if (const auto* answer = std::get_if<llm::Answer>(&task.result->outcome)) {
        INVARIANT(answer_in(answer->raw) == task.word, "every answer belongs to its row",
                  "{} got \"{}\"", task.word, answer_in(answer->raw));
        const auto asked = ledger_.asked().find(task.word);
        INVARIANT(asked->second.answered == 1, "no row is billed twice", "{} was answered {} times",
                  task.word, asked->second.answered);
      }
      // A call that is cancelled between the decision to send it and the sending is not sent.
      const int64_t attempts = task.result->attempts;
      const auto* failure = std::get_if<llm::Failure>(&task.result->outcome);
      const bool cancelled =
          failure != nullptr && failure->failure_class == llm::FailureClass::kCancelled;
      INVARIANT(
          attempts == std::ssize(sendings) || (cancelled && attempts == std::ssize(sendings) + 1),
          "attempts are counted", "{} was sent {} times, {} counted", task.word, sendings.size(),
          attempts);
      if (task.item.deadline && !sendings.empty()) {
        INVARIANT(sendings.front()->at <= *task.item.deadline + kHandTimeMax,
                  "what is too late is not sent", "{} was, {:.1f} s too late", task.word,
                  windrow::seconds(sendings.front()->at - *task.item.deadline));
      }
    }
  }
}

// One request of a lane is in flight at a time, in the order of arrival.
void DispatchSimulation::check_lanes() const {
  std::map<uint64_t, std::pair<std::string, uint64_t>> last;  // lane -> its last word and its end
  for (const std::vector<Task>& tasks : plan_.submitters) {
    for (const Task& task : tasks) {
      if (task.item.lane == 0) continue;
      for (const Sending* sending : sendings_of(task)) {
        const auto [before, first] = last.try_emplace(task.item.lane);
        INVARIANT(first || before->second.second < sending->begun, "a lane keeps its order",
                  "{} was sent before {} had ended", task.word, before->second.first);
        before->second = {task.word, sending->ended};
      }
    }
  }
}

// Nothing is tried again: what is submitted later, or handed over at that moment, is sent once.
// When all is cancelled, what is out ends soon; and when nothing more is let in, all there is.
void DispatchSimulation::check_cancel() const {
  if (!cancelled_) return;
  const Duration soon = seconds(plan_.threads.hiccup > 0 ? 60 : 2);
  std::map<std::string, int> sent;
  for (const Sending& sending : ledger_.sendings()) {
    INVARIANT(sending.begun < *cancelled_ || ++sent[sending.word] <= 1,
              "what is cancelled is not tried again", "{} was", sending.word);
    const bool ends_soon = plan_.cancel == DispatchPlan::Cancel::kStop ||
                           (plan_.cancel == DispatchPlan::Cancel::kAll && sending.begun < cancels_);
    INVARIANT(!ends_soon || sending.ended_at <= cancelled_at_ + soon, "what is cancelled ends",
              "{} was out for {:.1f} s more", sending.word,
              windrow::seconds(sending.ended_at - cancelled_at_));
  }
}

// Nothing is sent after its end. A task that leaves is not sent again, unless it is being handed
// over at that moment, and no other task is cancelled.
void DispatchSimulation::check_leavers() const {
  for (const std::vector<Task>& tasks : plan_.submitters) {
    for (const Task& task : tasks) {
      if (!task.result) continue;
      int after = 0;
      for (const Sending* sending : sendings_of(task)) {
        INVARIANT(sending->begun < task.ended_number, "what has ended is not sent", "{} was",
                  task.word);
        after += sending->begun > task.left_number ? 1 : 0;
      }
      INVARIANT(after <= 1, "who has left is not tried again", "{} was", task.word);
      const auto* failure = std::get_if<llm::Failure>(&task.result->outcome);
      const bool cancelled =
          failure != nullptr && failure->failure_class == llm::FailureClass::kCancelled;
      INVARIANT(!cancelled || task.stays || plan_.cancel != DispatchPlan::Cancel::kNone,
                "who stays is not cancelled", "{} was", task.word);
    }
  }
}

// While something of a lower priority could go, so many of higher ones go before it, and no more.
void DispatchSimulation::check_priorities() const {
  if (plan_.servers.size() > 1 || plan_.threads.interleaving != Interleaving::kAny) return;
  // At places that are kept from it, anything may go before it.
  if (plan_.dispatch.reserve.from_batch > 0) return;
  std::map<std::string, const Task*> tasks;
  for (const std::vector<Task>& of_thread : plan_.submitters) {
    for (const Task& task : of_thread)
      tasks[task.word] = &task;
  }
  for (const Priority lower : {Priority::kNormal, Priority::kBatch}) {
    std::vector<std::pair<uint64_t, uint64_t>> could_go;  // from, to
    for (const auto& [word, task] : tasks) {
      const bool plain = task->item.lane == 0 && !task->item.deadline;
      const std::vector<const Sending*> sendings = sendings_of(*task);
      if (task->item.priority == lower && plain && !sendings.empty())
        could_go.emplace_back(task->accepted_number, sendings.front()->begun);
    }
    const int32_t bound = plan_.dispatch.queue.bypass.of(lower);
    int32_t overtaken = 0;
    for (const Sending& sending : ledger_.sendings()) {
      const Priority priority = tasks.at(sending.word)->item.priority;
      const bool waits = std::ranges::any_of(could_go, [&](const auto& time) {
        return time.first < sending.begun && sending.begun < time.second;
      });
      if (priority == lower || !waits) overtaken = 0;
      if (priority < lower && waits) ++overtaken;
      INVARIANT(overtaken <= bound + kUnluckyMax, "overtaking is bounded",
                "{} went before one of urgency {}", overtaken, static_cast<int>(lower));
    }
  }
}

}  // namespace windrow::simulate
