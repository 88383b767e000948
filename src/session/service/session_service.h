// SessionService: the sessions of a server. An agent's conversation goes through chat completions
// of a session; the service keeps the exact tokens of it, and makes training samples of them. After
// the session server of miles (github.com/radixark/miles), whose API api/session speaks.
//
//   create -> turn, turn, ... -> samples -> remove
//
// A turn has three phases: prepare (under the session's lock: where the request belongs, the
// prompt's tokens), ask (no lock: the model works, other turns of the session may run), commit
// (under the lock: only if nothing has overtaken it). Nothing is destroyed before a commit.
//
// Thread-safe. What tokenises, renders or assembles (turn, samples, show) is for worker threads, as
// is said at each; nothing blocks on a model.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "async/executor.h"
#include "async/in_flight_counter.h"
#include "base/clock.h"
#include "llm/answer.h"
#include "llm/stream_sink.h"
#include "session/models/session_models.h"
#include "session/samples/body_source.h"
#include "session/samples/records_body.h"
#include "session/service/session.h"
#include "session/service/session_options.h"
#include "session/service/session_registry.h"

namespace windrow::session {

template <class T>
using Reply = std::variant<T, llm::Failure>;

// The client of a request. A session may be used with its own key, the key that created it, or
// an admin's.
struct SessionViewer {
  std::string key;        // the name of the API key that was presented; empty: none
  std::string presented;  // what was presented, to be compared with the session's own key
  bool sees_all = false;  // an admin, or a server without keys
  llm::Priority priority_max = llm::Priority::kInteractive;  // of sessions that it creates
};

struct CreatedSession {
  std::string id;   // 32 lower-case hexadecimal digits
  std::string key;  // for agents: opens this session and nothing else
};

struct StreamBegin {
  std::string id;  // "chatcmpl-..."
  std::string model;
  int64_t created_unix_s = 0;
  bool with_usage = false;  // stream_options.include_usage
};

// A turn as a client asks for it.
struct TurnRequest {
  std::string session;
  SessionViewer viewer;
  std::string body;  // JSON
  std::vector<llm::RequestHeader> headers;

  // Called once, on a thread of the model's, with the first delta of an answer that was asked for
  // as a stream and is streamed. The result gets the deltas. May be empty: nothing is streamed.
  std::function<std::shared_ptr<llm::StreamSink>(const StreamBegin& begin)> begin_stream;
};

// What the client gets.
struct TurnResult {
  std::string body;           // chat.completion, as JSON
  bool wants_stream = false;  // the request asked for events, and nothing was streamed
  bool streamed = false;      // all of it has gone to the sink; `body` is not needed
  StreamBegin stream;
  llm::Usage usage;
};
using TurnEnd = std::variant<TurnResult, PassedReply, llm::Failure>;

// A line of the list.
struct SessionView {
  std::string id;
  std::string model;  // empty: no turn yet
  std::string owner;  // the key that created it
  HistoryKind history = HistoryKind::kLinear;
  size_t turns = 0;
  size_t tokens = 0;  // of the latest conversation
  int64_t rollbacks = 0;
  int32_t in_flight = 0;
  size_t bytes = 0;
  double created_at_unix_s = 0;
  double used_at_unix_s = 0;
};

struct SessionCounts {
  int64_t sessions = 0;
  int64_t in_flight = 0;  // turns that a model works at
  int64_t bytes = 0;
  int64_t created = 0;  // since the start, as all below
  int64_t deleted = 0;
  int64_t expired = 0;
  int64_t turns_committed = 0;
  int64_t turns_overtaken = 0;  // answered, and not committed
  int64_t turns_failed = 0;
  int64_t rollbacks = 0;
  int64_t mismatches[4] = {};  // by MismatchKind, of samples that were collected
  int64_t refused_by_limits = 0;
};

class SessionService {
 public:
  // `clock` outlives it. `seed`: 32 secret bytes, for ids and keys.
  SessionService(const Clock& clock, SessionOptions options, std::string_view seed);

  // Call stop() before.
  ~SessionService();
  SessionService(const SessionService&) = delete;
  SessionService& operator=(const SessionService&) = delete;

  // Until then nothing that needs a model works (503). Once. `models` outlives stop().
  void start(SessionModels& models);

  // Stops all calls of models and waits for them. Blocks.
  void stop();

  // 32 hexadecimal digits: another one after each start.
  const std::string& instance_id() const { return instance_id_; }
  const SessionOptions& options() const { return options_; }

  // --- 404 if there is no such session, 401 if the viewer may not use it, 410 if it expired (as
  // long as that is remembered) ---

  // `body`: the options of one session (docs/sessions.md); empty or "{}" for the defaults. 400 for
  // what it may not have, 429 `too_many_sessions`, 507 `sessions_full`.
  Reply<CreatedSession> create(const SessionViewer& viewer, std::string_view body);

  // On a worker. `done` is called exactly once, on any thread, perhaps before this returns.
  // `unwanted` stopped: the client has left (OrphanRule).
  void turn(TurnRequest request, std::stop_token unwanted, std::function<void(TurnEnd)> done);

  Reply<std::vector<SessionView>> list(const SessionViewer& viewer) const;

  // On a worker: they render and tokenise. Their bodies are made while they are read.
  Reply<std::unique_ptr<BodySource>> show(const SessionViewer& viewer, std::string_view id,
                                          RecordsShown records);
  Reply<std::unique_ptr<BodySource>> samples(const SessionViewer& viewer, std::string_view id,
                                             std::string_view body);

  // True; or why not. A second DELETE finds nothing.
  Reply<bool> remove(const SessionViewer& viewer, std::string_view id);

  // Whether this viewer may ask the server of the session's model, for paths that are passed on;
  // and the model's name. A session that is not there may, too, as in the reference server.
  void pass(const SessionViewer& viewer, std::string_view id, llm::Verbatim verbatim,
            std::string body, std::vector<llm::RequestHeader> headers, std::stop_token unwanted,
            std::function<void(std::variant<PassedReply, llm::Failure>)> done);

  // Removes sessions that were not used for SessionLimits::idle. A few times a minute.
  void expire();

  SessionCounts counts() const;

 private:
  struct RunningTurn;
  class StreamOfTurn;
  using SessionPtr = std::shared_ptr<Session>;

  Reply<SessionPtr> open(const SessionViewer& viewer, std::string_view id) const;
  std::optional<llm::Failure> not_started() const;
  std::string next_secret(size_t bytes);
  double unix_now() const;  // with fractions of a second
  Reply<SessionModel> model_for(std::string_view name) const;
  void prepare(const std::shared_ptr<RunningTurn>& turn, std::stop_token unwanted);
  void ask(const std::shared_ptr<RunningTurn>& turn);
  void answered(const std::shared_ptr<RunningTurn>& turn, TurnOutcome outcome);
  TurnEnd commit_or_fail(RunningTurn& turn, TurnAnswer answer);
  TurnEnd commit(RunningTurn& turn, TurnAnswer answer);
  void finish(const std::shared_ptr<RunningTurn>& turn, TurnEnd end);

  const Clock& clock_;
  const SessionOptions options_;
  const std::string seed_;
  std::atomic<uint64_t> secrets_ = 0;
  const std::string instance_id_;
  const TimePoint began_at_;
  const int64_t began_at_unix_s_;
  SessionRegistry registry_;
  std::atomic<SessionModels*> models_ = nullptr;
  std::atomic<bool> stopping_ = false;

  mutable std::mutex mutex_;
  SessionCounts counts_;  // of what has happened

  async::InFlightCounter running_;  // turns and passed requests
  async::Executor commits_;
};

}  // namespace windrow::session
