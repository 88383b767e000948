// SessionTurn: one turn of a session, from its body to its answer. The service makes the answer;
// this writes it for the client, whole or as a stream, no faster than the client reads.
//
// Deltas come on threads of a backend, which must not wait, and the end on any thread. They are
// written on `replies`, one piece at a time: deltas that arrive while the client has not taken the
// last piece are merged. Calls of the exchange are made there, not on the loop's thread, where they
// could find within the call that the client has left.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/session/session_request.h"
#include "api/session/turn_format.h"
#include "api/wire/answer_stream.h"
#include "async/executor.h"
#include "llm/stream_sink.h"
#include "session/service/session_service.h"

namespace windrow::api {

class SessionTurn final : public std::enable_shared_from_this<SessionTurn> {
 public:
  // Begins to watch for the client's disconnect; on the loop's thread. `service` and `replies`
  // outlive the request.
  static std::shared_ptr<SessionTurn> begin(std::shared_ptr<SessionRequest> request,
                                            std::unique_ptr<TurnFormat> format,
                                            session::SessionService& service,
                                            async::Executor& replies);

  // For begin().
  SessionTurn(std::shared_ptr<SessionRequest> request, std::unique_ptr<TurnFormat> format,
              session::SessionService& service, async::Executor& replies);

  // Asks the service; on a worker.
  void ask();

 private:
  class Listener;

  void ask_service();
  std::shared_ptr<llm::StreamSink> begin_stream(const session::StreamBegin& begin);
  void on_delta(llm::Delta piece);  // on any thread
  void end(session::TurnEnd end);   // on any thread

  // On `replies`:
  void send_deltas();
  void send_pending();
  void send_end(session::TurnEnd end);
  http::ServerReply reply_of(session::TurnEnd end, RequestRecord& record) const;
  void append_end(const session::TurnEnd& end, RequestRecord& record, std::string& events);
  void start_once(SessionRequest& request);

  const std::shared_ptr<WaitingRequest> waiting_;
  const std::unique_ptr<TurnFormat> format_;
  session::SessionService& service_;
  async::Executor& replies_;

  // Used within waiting_->use(), or by the one who took the request.
  std::unique_ptr<AnswerStream> stream_;  // null: the answer is not streamed
  std::vector<llm::Delta> pending_;
  bool sending_ = false;  // a piece is made, or the client has not taken the last one
  bool started_ = false;  // the head was sent
};

}  // namespace windrow::api
