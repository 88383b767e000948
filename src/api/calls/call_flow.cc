#include "api/calls/call_flow.h"

#include <utility>
#include <variant>

#include "api/wire/error_reply.h"

namespace windrow::api {
namespace {

// Proxies close connections that are quiet for a minute or less.
constexpr Duration kQuietMax = std::chrono::seconds(10);

llm::Failure too_late() {
  return {.failure_class = llm::FailureClass::kRequest,
          .status = 408,
          .code = "deadline_exceeded",
          .message =
              "the answer was not ready by the deadline of the request; allow more time "
              "(X-Windrow-Deadline-Ms), or send fewer requests at a time"};
}

}  // namespace

CallSteps CallFlow::emit(std::vector<llm::Delta> deltas, bool unsent, TimePoint now) {
  CallSteps steps;
  if (!listens() || !stream_ || ended_) return steps;
  for (llm::Delta& delta : deltas)
    llm::append(pending_, std::move(delta));
  if (unsent || pending_.empty()) return steps;
  quiet_since_ = now;
  emit_pending(steps);
  return steps;
}

CallSteps CallFlow::drained(TimePoint now) {
  return emit({}, false, now);
}

CallSteps CallFlow::end(http::ServerReply reply) {
  CallSteps steps;
  if (listens()) answer(std::move(reply), steps);
  return ended(std::move(steps));
}

CallSteps CallFlow::end(llm::Outcome outcome) {
  CallSteps steps;
  if (listens()) {
    if (const auto* failure = std::get_if<llm::Failure>(&outcome)) {
      emit_pending(steps);
      fail(*failure, steps);
    } else {
      emit_pending(steps);
      start(steps);
      stream_->end(std::get<llm::Answer>(outcome), steps.bytes);
      steps.finish = true;
      client_ = Client::kAnswered;
    }
  }
  return ended(std::move(steps));
}

CallSteps CallFlow::leave() {
  CallSteps steps;
  if (!listens()) return steps;
  client_ = Client::kGone;
  status_ = 499;
  code_ = "client_left";
  pending_.clear();
  steps.cancel = !ended_;
  return steps;
}

CallSteps CallFlow::give_up(const llm::Failure& reason) {
  CallSteps steps;
  if (!listens()) return steps;
  steps.cancel = !ended_;
  emit_pending(steps);
  fail(reason, steps);
  return steps;
}

CallSteps CallFlow::tick(TimePoint now) {
  if (!listens() || ended_) return {};
  if (deadline_ && now >= *deadline_) return give_up(too_late());
  CallSteps steps;
  if (!stream_ || !pending_.empty() || now - quiet_since_ < kQuietMax) return steps;
  quiet_since_ = now;
  start(steps);
  stream_->keep_alive(steps.bytes);
  return steps;
}

// --- what follows ---

void CallFlow::start(CallSteps& steps) {
  if (client_ != Client::kWaits) return;
  client_ = Client::kReads;
  status_ = 200;
  steps.start = true;
}

void CallFlow::emit_pending(CallSteps& steps) {
  if (pending_.empty()) return;
  start(steps);
  for (const llm::Delta& delta : pending_)
    stream_->emit(delta, steps.bytes);
  pending_.clear();
}

void CallFlow::answer(http::ServerReply reply, CallSteps& steps) {
  client_ = Client::kAnswered;
  status_ = reply.status;
  steps.reply = std::move(reply);
}

void CallFlow::fail(const llm::Failure& failure, CallSteps& steps) {
  code_ = failure.code;
  if (client_ == Client::kWaits) return answer(error_reply(failure, dialect_, request_id_), steps);
  stream_->fail(failure, steps.bytes);
  steps.finish = true;
  client_ = Client::kAnswered;
}

CallSteps CallFlow::ended(CallSteps steps) {
  steps.over = !ended_;
  ended_ = true;
  return steps;
}

}  // namespace windrow::api
