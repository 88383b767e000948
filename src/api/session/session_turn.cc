#include "api/session/session_turn.h"

#include <exception>
#include <new>
#include <optional>
#include <variant>

#include "api/wire/refusals.h"

namespace windrow::api {

class SessionTurn::Listener final : public llm::StreamSink {
 public:
  explicit Listener(std::shared_ptr<SessionTurn> turn) : turn_(std::move(turn)) {}

  void on_delta(llm::Delta piece) override { turn_->on_delta(std::move(piece)); }

 private:
  const std::shared_ptr<SessionTurn> turn_;
};

std::shared_ptr<SessionTurn> SessionTurn::begin(std::shared_ptr<SessionRequest> request,
                                                std::unique_ptr<TurnFormat> format,
                                                session::SessionService& service,
                                                async::Executor& replies) {
  auto turn =
      std::make_shared<SessionTurn>(std::move(request), std::move(format), service, replies);
  turn->waiting_->watch();
  return turn;
}

SessionTurn::SessionTurn(std::shared_ptr<SessionRequest> request,
                         std::unique_ptr<TurnFormat> format, session::SessionService& service,
                         async::Executor& replies)
    : waiting_(std::make_shared<WaitingRequest>(std::move(request))),
      format_(std::move(format)),
      service_(service),
      replies_(replies) {}

void SessionTurn::ask() {
  try {
    ask_service();
  } catch (const std::bad_alloc&) {
    end(no_memory("for this"));
  } catch (const std::exception&) {
    end(unexpected("take this turn"));
  }
}

void SessionTurn::ask_service() {
  session::TurnRequest asked;
  std::string body;
  std::optional<llm::Failure> too_large;
  const bool here = waiting_->use([&](SessionRequest& request) {
    asked.session = request.id;
    asked.viewer = request.viewer;
    asked.headers = std::move(request.headers);
    body = std::move(request.body);
    too_large = request.memory->take_for_parsing(body);
  });
  if (!here) return;
  if (too_large) return end(*std::move(too_large));
  auto translated = format_->translate(std::move(body));
  if (auto* failure = std::get_if<llm::Failure>(&translated)) return end(std::move(*failure));
  asked.body = std::move(std::get<std::string>(translated));
  asked.begin_stream = [self = shared_from_this()](const session::StreamBegin& begin) {
    return self->begin_stream(begin);
  };
  service_.turn(std::move(asked), waiting_->unwanted(),
                [self = shared_from_this()](session::TurnEnd end) { self->end(std::move(end)); });
}

// Null once the client has left: no client reads the deltas.
std::shared_ptr<llm::StreamSink> SessionTurn::begin_stream(const session::StreamBegin& begin) {
  const bool here = waiting_->use([&](SessionRequest&) { stream_ = format_->stream(begin); });
  return here ? std::make_shared<Listener>(shared_from_this()) : nullptr;
}

void SessionTurn::on_delta(llm::Delta piece) {
  waiting_->use([&](SessionRequest&) {
    llm::append(pending_, std::move(piece));
    if (std::exchange(sending_, true)) return;
    replies_.post([self = shared_from_this()] { self->send_deltas(); });
  });
}

// A stream that the server has no memory for is broken off.
void SessionTurn::send_deltas() {
  try {
    send_pending();
  } catch (const std::exception&) {
    const std::shared_ptr<SessionRequest> request = waiting_->take();
    if (!request) return;
    request->context.record().code = no_memory("to write this answer").code;
    request->exchange.reset();
  }
}

void SessionTurn::send_pending() {
  waiting_->use([&](SessionRequest& request) {
    std::string events;
    for (const llm::Delta& delta : std::exchange(pending_, {}))
      stream_->emit(delta, events);
    sending_ = !events.empty();
    if (!sending_) return;
    start_once(request);
    request.exchange.write(std::move(events));
    request.exchange.on_drained(0, [self = shared_from_this()] {
      self->waiting_->use(
          [&](SessionRequest&) { self->replies_.post([self] { self->send_deltas(); }); });
    });
  });
}

void SessionTurn::start_once(SessionRequest& request) {
  if (std::exchange(started_, true)) return;
  http::Headers headers = event_headers(stream_->content_type());
  request.context.add_headers(headers);
  request.exchange.start(200, std::move(headers));
}

// The executor is there as long as the request is.
void SessionTurn::end(session::TurnEnd end) {
  waiting_->use([&](SessionRequest&) {
    replies_.post([self = shared_from_this(), end = std::move(end)]() mutable {
      self->send_end(std::move(end));
    });
  });
}

void SessionTurn::send_end(session::TurnEnd end) {
  const std::shared_ptr<SessionRequest> request = waiting_->take();
  if (!request) return;
  RequestRecord& record = request->context.record();
  try {
    if (const auto* result = std::get_if<session::TurnResult>(&end)) record.usage = result->usage;
    // A failure before the first event has its own status.
    const bool failed = !std::holds_alternative<session::TurnResult>(end);
    if (!stream_ || (failed && !started_ && pending_.empty()))
      return request->answer(reply_of(std::move(end), record));
    std::string events;
    append_end(end, record, events);
    start_once(*request);
    record.status = 200;
    request->exchange.write(std::move(events));
    request->release_body();
    request->exchange.finish();
  } catch (const std::exception& problem) {
    const bool memory = dynamic_cast<const std::bad_alloc*>(&problem) != nullptr;
    const llm::Failure failure =
        memory ? no_memory("to write this answer") : unexpected("write this answer");
    if (!started_) return request->refuse(failure);
    record.code = failure.code;
    request->exchange.reset();
  }
}

http::ServerReply SessionTurn::reply_of(session::TurnEnd end, RequestRecord& record) const {
  if (auto* result = std::get_if<session::TurnResult>(&end))
    return format_->reply(std::move(*result));
  if (auto* passed = std::get_if<session::PassedReply>(&end))
    return format_->passed(std::move(*passed));
  const auto& failure = std::get<llm::Failure>(end);
  record.code = failure.code;
  record.usage = failure.usage;
  return format_->error(failure);
}

void SessionTurn::append_end(const session::TurnEnd& end, RequestRecord& record,
                             std::string& events) {
  for (const llm::Delta& delta : std::exchange(pending_, {}))
    stream_->emit(delta, events);
  const auto fail = [&](const llm::Failure& failure) {
    record.code = failure.code;
    stream_->fail(failure, events);
  };
  if (const auto* failure = std::get_if<llm::Failure>(&end)) return fail(*failure);
  if (const auto* passed = std::get_if<session::PassedReply>(&end)) {
    return fail({.failure_class = llm::FailureClass::kTransient,
                 .status = passed->status,
                 .code = "upstream_error",
                 .message = passed->body});
  }
  // Its deltas were the whole answer.
  stream_->end(llm::Answer{.usage = std::get<session::TurnResult>(end).usage}, events);
}

}  // namespace windrow::api
