#include "program/models/dispatched_calls.h"

#include <condition_variable>
#include <cstdint>
#include <list>
#include <optional>
#include <thread>

#include "dispatch/dispatcher.h"

namespace windrow::program {
namespace {

enum class CallStage : uint8_t {
  kOnItsWay,  // neither in a line nor sent: the thread that moves it checks its token
  kInLine,
  kOut,  // the dispatcher has it, as Asked::item
  kEnded,
};

llm::Failure cancelled_call() {
  return {.failure_class = llm::FailureClass::kCancelled,
          .status = 499,
          .code = "cancelled",
          .message = "the call was cancelled before it was sent",
          .param = {}};
}

}  // namespace

// Called when a call's token is stopped.
struct DispatchedCalls::Stop {
  DispatchedCalls* calls;
  std::shared_ptr<Asked> asked;

  // What it is called on may be destroyed meanwhile.
  void operator()() const {
    const std::shared_ptr<Asked> kept = asked;
    calls->stop(kept);
  }
};

struct DispatchedCalls::Asked {
  DispatchedCall call;
  std::stop_token unwanted;
  Done done;

  // --- with the mutex ---
  CallStage stage = CallStage::kOnItsWay;
  std::list<std::shared_ptr<Asked>>::iterator place;  // kInLine
  dispatch::ItemId item;                              // kOut

  // Destroying it waits for a stop that another thread carries out, which may take part in other
  // ends of this dispatcher. So that no two threads wait for each other, the end of a call leaves
  // it to the stop in that case.
  std::unique_ptr<std::stop_callback<Stop>> on_stop;
  bool is_stopping = false;
};

struct DispatchedCalls::Line {
  std::list<std::shared_ptr<Asked>> calls;
  bool is_submitting = false;  // a call that was taken out
  std::condition_variable_any grew;
  std::jthread thread;

  size_t waiting() const { return calls.size() + (is_submitting ? 1 : 0); }
};

DispatchedCalls::DispatchedCalls() = default;

DispatchedCalls::~DispatchedCalls() {
  calls_.wait_for_none();
}

void DispatchedCalls::ask(DispatchedCall call, std::stop_token unwanted, Done done) {
  auto asked = std::make_shared<Asked>();
  asked->call = std::move(call);
  asked->unwanted = std::move(unwanted);
  asked->done = std::move(done);
  calls_.enter();
  if (asked->unwanted.stop_possible()) {
    auto on_stop = std::make_unique<std::stop_callback<Stop>>(asked->unwanted,
                                                              Stop{.calls = this, .asked = asked});
    const std::scoped_lock lock(mutex_);
    asked->on_stop = std::move(on_stop);
  }
  if (asked->unwanted.stop_requested()) return end(asked, cancelled_call());
  bool is_behind_others = false;
  {
    const std::scoped_lock lock(mutex_);
    is_behind_others = line_of(asked->call).waiting() > 0;
  }
  if (is_behind_others) return join(asked);
  // A copy of the request, because one that is turned away is lost.
  const std::optional<dispatch::ItemId> item =
      asked->call.dispatcher->offer(llm::Request(asked->call.request), asked->call.item,
                                    asked->call.expected, end_of(asked), asked->call.delivery);
  if (!item) return join(asked);
  sent(asked, item);
}

DispatchedCalls::Line& DispatchedCalls::line_of(const DispatchedCall& call) {
  std::unique_ptr<Line>& line = lines_[{call.dispatcher, call.item.priority}];
  if (!line) line = std::make_unique<Line>();
  return *line;
}

void DispatchedCalls::join(const std::shared_ptr<Asked>& asked) {
  {
    const std::scoped_lock lock(mutex_);
    if (!asked->unwanted.stop_requested()) {
      Line& line = line_of(asked->call);
      asked->place = line.calls.insert(line.calls.end(), asked);
      asked->stage = CallStage::kInLine;
      line.grew.notify_one();
      if (!line.thread.joinable()) {
        line.thread = std::jthread(
            [this, &line](const std::stop_token& ended) { submit_in_order(line, ended); });
      }
      return;
    }
  }
  end(asked, cancelled_call());
}

void DispatchedCalls::submit_in_order(Line& line, const std::stop_token& ended) {
  std::unique_lock lock(mutex_);
  while (line.grew.wait(lock, ended, [&] { return !line.calls.empty(); })) {
    const std::shared_ptr<Asked> asked = std::move(line.calls.front());
    line.calls.pop_front();
    asked->stage = CallStage::kOnItsWay;
    line.is_submitting = true;
    lock.unlock();
    DispatchedCall& call = asked->call;
    sent(asked, call.dispatcher->submit(std::move(call.request), call.item, call.expected,
                                        end_of(asked), asked->unwanted, std::move(call.delivery)));
    lock.lock();
    line.is_submitting = false;
  }
}

// Nothing: it was not accepted.
void DispatchedCalls::sent(const std::shared_ptr<Asked>& asked,
                           std::optional<dispatch::ItemId> item) {
  if (!item) return end(asked, cancelled_call());
  // Not needed any more, and prompts may be long.
  asked->call.request = {};
  {
    const std::scoped_lock lock(mutex_);
    if (asked->stage == CallStage::kEnded) return;
    asked->stage = CallStage::kOut;
    asked->item = *item;
  }
  // A stop that came before found nothing to stop.
  if (asked->unwanted.stop_requested()) asked->call.dispatcher->cancel(*item);
}

void DispatchedCalls::stop(const std::shared_ptr<Asked>& asked) {
  bool was_in_line = false;
  std::shared_ptr<Asked> out_of_line;
  {
    const std::scoped_lock lock(mutex_);
    was_in_line = asked->stage == CallStage::kInLine;
    if (!was_in_line && asked->stage != CallStage::kOut) return;
    if (was_in_line) {
      Line& line = line_of(asked->call);
      out_of_line = std::move(*asked->place);
      line.calls.erase(asked->place);
      asked->stage = CallStage::kOnItsWay;
    }
    asked->is_stopping = true;
    calls_.enter();
  }
  if (was_in_line) {
    end(asked, cancelled_call());
  } else {
    asked->call.dispatcher->cancel(asked->item);
  }
  std::unique_ptr<std::stop_callback<Stop>> last;
  {
    const std::scoped_lock lock(mutex_);
    last = std::move(asked->on_stop);
  }
  last.reset();
  calls_.leave();
}

void DispatchedCalls::end(const std::shared_ptr<Asked>& asked, llm::Outcome outcome) {
  std::unique_ptr<std::stop_callback<Stop>> last;
  {
    const std::scoped_lock lock(mutex_);
    asked->stage = CallStage::kEnded;
    if (!asked->is_stopping) last = std::move(asked->on_stop);
  }
  last.reset();
  asked->done(std::move(outcome));
  asked->done = nullptr;
  calls_.leave();
}

dispatch::Submitter::Done DispatchedCalls::end_of(const std::shared_ptr<Asked>& asked) {
  return [this, asked](dispatch::DispatchResult result) { end(asked, std::move(result.outcome)); };
}

size_t DispatchedCalls::waiting() const {
  const std::scoped_lock lock(mutex_);
  size_t waiting = 0;
  for (const auto& [key, line] : lines_)
    waiting += line->waiting();
  return waiting;
}

}  // namespace windrow::program
