// SessionRequest: a request for sessions, from its head until its answer is complete. Used by one
// thread at a time: the event loop, then a worker of SessionCalls.
//
// WaitingRequest: one that waits for a model. The code that answers it takes it; if its client
// leaves before, it ends unanswered. What refers to the server ends with it, so a turn that goes on
// without its client keeps no server from stopping.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/calls/admission.h"
#include "api/server_part.h"
#include "http/server.h"
#include "llm/answer.h"
#include "llm/request.h"
#include "session/models/session_models.h"
#include "session/service/session_service.h"

namespace windrow::api {

// Memory of one body, and of what it becomes when it is parsed, until this is destroyed. `budget`
// outlives it.
class BodyMemory {
 public:
  // Null: the budget has no room for that.
  static std::unique_ptr<BodyMemory> take(BodyMemoryBudget& budget, size_t bytes);

  BodyMemory(BodyMemoryBudget& budget, size_t bytes) : budget_(budget), bytes_(bytes) {}
  ~BodyMemory() { budget_.release(bytes_); }
  BodyMemory(const BodyMemory&) = delete;
  BodyMemory& operator=(const BodyMemory&) = delete;

  // Takes what parsing the body needs, too. A failure: it has too many values, or the budget has no
  // room for them.
  std::optional<llm::Failure> take_for_parsing(std::string& body) {
    return admit_body(budget_, /*gzip=*/false, body.size(), body, bytes_);
  }

 private:
  BodyMemoryBudget& budget_;
  size_t bytes_;
};

struct SessionRequest : PartRequest {
  SessionRequest(PartRequest admitted, const http::ServerRequest& request);

  // As PartRequest's, after release_body().
  void answer(PartAnswer answer);

  // Gives the body and its memory back. Called before a reply's last byte is sent: a client that
  // sends its next request at once is not refused because of this one.
  void release_body();

  // Notes a failure for the log and answers it as these endpoints do.
  void refuse(const llm::Failure& failure);

  session::SessionViewer viewer;
  std::string id;  // of the session, where the path has one
  std::string query;
  std::vector<llm::RequestHeader> headers;  // those that may be sent to a model's server
  std::string body;
  bool head_only = false;  // HEAD
  std::unique_ptr<BodyMemory> memory;
};

// Thread-safe.
class WaitingRequest : public std::enable_shared_from_this<WaitingRequest> {
 public:
  explicit WaitingRequest(std::shared_ptr<SessionRequest> request) : request_(std::move(request)) {}

  // Begins to watch for the client's disconnect. Once, on the loop's thread.
  void watch();

  // Stopped when the client leaves.
  std::stop_token unwanted() const { return unwanted_.get_token(); }

  // The request, for the one who answers it. Null: it was taken, or the client has left.
  std::shared_ptr<SessionRequest> take();

  // Calls `use(SessionRequest&)` unless it was taken, and keeps it from being taken meanwhile. Not
  // for calls of its exchange on the loop's thread, which may find that the client has left.
  template <class Use>
  bool use(Use use) {
    const std::scoped_lock lock(mutex_);
    if (request_) use(*request_);
    return request_ != nullptr;
  }

 private:
  void client_left();

  std::stop_source unwanted_;
  std::mutex mutex_;
  std::shared_ptr<SessionRequest> request_;  // null: it was taken
};

// The bodies of replies: of a new session, and of the list.
boost::json::object created_json(const session::CreatedSession& created);
boost::json::object list_json(std::span<const session::SessionView> sessions);

// {"error": "..."} with the failure's status; that of a body that makes no samples is plain text.
http::ServerReply session_error(const llm::Failure& failure);
http::ServerReply samples_error(const llm::Failure& failure);

// A model server's reply, byte for byte.
http::ServerReply passed_reply(session::PassedReply reply);

}  // namespace windrow::api
