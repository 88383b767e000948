#include "session/service/session_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <exception>
#include <new>
#include <utility>

#include "base/crypto.h"
#include "base/hash.h"
#include "json/parse.h"
#include "json/values.h"
#include "session/service/chat_body.h"
#include "session/service/chat_reply.h"
#include "session/service/collect_samples.h"
#include "session/service/new_turn.h"
#include "session/service/session_config_reader.h"
#include "session/service/session_metadata.h"
#include "session/service/turn_prompt.h"

namespace windrow::session {

namespace json = boost::json;

namespace {

constexpr int32_t kCommitThreads = 2;
constexpr size_t kIdBytes = 16;
constexpr size_t kKeyBytes = 24;
constexpr std::string_view kReplyId = "chatcmpl-";

template <class T>
const llm::Failure* failure_of(const Reply<T>& reply) {
  return std::get_if<llm::Failure>(&reply);
}

llm::Failure starting() {
  return {.failure_class = llm::FailureClass::kTransient,
          .status = 503,
          .code = "loading",
          .message = "the server is starting or stopping; try again later",
          .retry_after_ms = 1000};
}

llm::Failure not_yours() {
  return {.status = 401,
          .code = "invalid_api_key",
          .message =
              "a session is used with the key that came with it, or with the API key that "
              "created it"};
}

llm::Failure not_for_agents() {
  return {.status = 401,
          .code = "invalid_api_key",
          .message =
              "the key of a session opens its own paths and /v1/models; other paths of the model's "
              "server need an API key"};
}

llm::Failure no_memory_for_turn() {
  return {.status = 507,
          .code = "sessions_full",
          .message = "the server has no memory for this turn; delete sessions that are done with"};
}

llm::Failure defect() {
  return {.status = 500,
          .code = "internal_error",
          .message =
              "a defect of this server ended this turn, and the session is as it was before; "
              "report it with the X-Request-Id of this reply"};
}

std::string hex_of(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    text += kDigits[value >> 4U];
    text += kDigits[value & 15U];
  }
  return text;
}

WantedRows wanted_rows(RowKind kind, const TurnPath& path, size_t kept_tokens,
                       const SessionConfig& config) {
  const bool routed = kind == RowKind::kRoutedExperts;
  WantedRows rows{.wanted = routed ? config.routed_experts : config.indexer_topk};
  if (!rows.wanted || config.keeps_last_rows) return rows;
  rows.first_row = std::min(path.rows_covered(kind), kept_tokens);
  rows.values_per_row = rows.first_row == 0 ? 0 : path.values_per_row(kind);
  if (routed && config.asks_new_rows) rows.reply_begins_at = rows.first_row;
  return rows;
}

// What a delta of the engine has that its client did not ask for. True: nothing is left.
bool strip(const ChatBody& body, llm::Delta& piece) {
  if (!body.asks_logprobs) piece.tokens.clear();
  if (!body.asks_token_ids) {
    piece.token_ids.clear();
    piece.prompt_token_ids.clear();
  }
  llm::Delta empty;
  empty.choice = piece.choice;
  empty.text_begin = piece.text_begin;
  return piece == empty;
}

}  // namespace

// A turn from its request to its end.
struct SessionService::RunningTurn {
  TurnRequest request;
  std::function<void(TurnEnd)> done;
  SessionPtr session;
  SessionModel model;
  ChatBody body;
  Session::Begun begun;
  TurnPrompt prompt;
  double asked_at_unix_s = 0;
  StreamBegin stream;
  std::atomic<bool> streamed = false;
  std::atomic<bool> ended = false;

  // Where its client leaves.
  struct Leave {
    SessionPtr session;
    uint64_t call = 0;
    void operator()() const { session->stop(call); }
  };
  std::unique_ptr<std::stop_callback<Leave>> leave;
};

// Begins the client's stream with the first delta: until then a failure is a reply of its own.
class SessionService::StreamOfTurn final : public llm::StreamSink {
 public:
  explicit StreamOfTurn(std::shared_ptr<RunningTurn> turn) : turn_(std::move(turn)) {}

  void on_delta(llm::Delta piece) override {
    if (strip(turn_->body, piece)) return;
    if (!turn_->streamed) {
      sink_ = turn_->request.begin_stream(turn_->stream);
      turn_->streamed = true;
    }
    if (sink_) sink_->on_delta(std::move(piece));
  }

 private:
  const std::shared_ptr<RunningTurn> turn_;
  std::shared_ptr<llm::StreamSink> sink_;
};

SessionService::SessionService(const Clock& clock, SessionOptions options, std::string_view seed)
    : clock_(clock),
      options_(options),
      seed_(seed),
      instance_id_(next_secret(kIdBytes)),
      began_at_(clock.now()),
      began_at_unix_s_(clock.unix_seconds()),
      registry_(options_.limits),
      commits_(kCommitThreads, async::Executor::Start::kWithFirstTask) {}

SessionService::~SessionService() {
  stop();
}

void SessionService::start(SessionModels& models) {
  models_ = &models;
}

void SessionService::stop() {
  if (stopping_.exchange(true)) return;
  for (const SessionPtr& session : registry_.all())
    session->stop_all();
  running_.wait_for_none();
  commits_.stop();
}

// The n-th secret of this service, which cannot be guessed without the seed.
std::string SessionService::next_secret(size_t bytes) {
  Sha256 hash;
  hash.add(seed_);
  hash.add(fmt::format("/{}", secrets_.fetch_add(1)));
  return hex_of(hash.finish_bytes().substr(0, bytes));
}

double SessionService::unix_now() const {
  return static_cast<double>(began_at_unix_s_) + seconds(clock_.now() - began_at_);
}

// Agents name models as they like: a name that the server does not know stands for its only model,
// where it has one.
Reply<SessionModel> SessionService::model_for(std::string_view name) const {
  SessionModels& models = *models_.load();
  Reply<SessionModel> named = models.find(name);
  if (const auto* failure = failure_of(named);
      failure != nullptr && failure->code == "model_not_found" && !name.empty()) {
    Reply<SessionModel> only = models.find("");
    if (failure_of(only) == nullptr) return only;
  }
  return named;
}

std::optional<llm::Failure> SessionService::not_started() const {
  if (models_ != nullptr && !stopping_) return std::nullopt;
  return starting();
}

Reply<SessionService::SessionPtr> SessionService::open(const SessionViewer& viewer,
                                                       std::string_view id) const {
  Reply<SessionPtr> found = registry_.find(id, clock_.now());
  const auto* session = std::get_if<SessionPtr>(&found);
  if (session == nullptr || viewer.sees_all) return found;
  const Session::Identity& identity = (*session)->identity();
  if (!viewer.key.empty() && viewer.key == identity.owner) return found;
  if (same_secret(viewer.presented, identity.key)) return found;
  return not_yours();
}

// --- sessions ------------------------------------------------------------------------------------

Reply<CreatedSession> SessionService::create(const SessionViewer& viewer, std::string_view body) {
  auto config = read_session_config(body, options_.defaults, viewer.priority_max);
  if (auto* failure = std::get_if<llm::Failure>(&config)) return std::move(*failure);
  const CreatedSession created{.id = next_secret(kIdBytes), .key = "ws-" + next_secret(kKeyBytes)};
  auto added = registry_.add(
      {.id = created.id, .key = created.key, .owner = viewer.key, .created_at_unix_s = unix_now()},
      std::get<SessionConfig>(std::move(config)), clock_.now());
  const std::scoped_lock lock(mutex_);
  if (auto* failure = std::get_if<llm::Failure>(&added)) {
    ++counts_.refused_by_limits;
    return std::move(*failure);
  }
  ++counts_.created;
  return created;
}

Reply<std::vector<SessionView>> SessionService::list(const SessionViewer& viewer) const {
  const TimePoint now = clock_.now();
  const double unix_time = unix_now();
  std::vector<SessionView> views;
  for (const SessionPtr& session : registry_.all()) {
    const Session::Identity& identity = session->identity();
    if (!viewer.sees_all && (viewer.key.empty() || viewer.key != identity.owner)) continue;
    const Session::Reading reading = session->read(/*with_paths=*/false);
    views.push_back({.id = identity.id,
                     .model = reading.model,
                     .owner = identity.owner,
                     .history = session->config().history,
                     .turns = reading.turns,
                     .tokens = reading.latest.tokens(),
                     .rollbacks = reading.rollbacks,
                     .in_flight = reading.in_flight,
                     .bytes = reading.bytes,
                     .created_at_unix_s = identity.created_at_unix_s,
                     .used_at_unix_s = unix_time - seconds(now - reading.used_at)});
  }
  std::ranges::sort(views, {}, [](const SessionView& view) {
    return std::pair(view.created_at_unix_s, view.id);
  });
  return views;
}

Reply<bool> SessionService::remove(const SessionViewer& viewer, std::string_view id) {
  if (auto opened = open(viewer, id); const auto* failure = failure_of(opened)) return *failure;
  auto removed = registry_.remove(id, clock_.now());
  if (auto* failure = std::get_if<llm::Failure>(&removed)) return std::move(*failure);
  const std::scoped_lock lock(mutex_);
  ++counts_.deleted;
  return true;
}

void SessionService::expire() {
  const size_t expired = registry_.expire(clock_.now());
  const std::scoped_lock lock(mutex_);
  counts_.expired += static_cast<int64_t>(expired);
}

SessionCounts SessionService::counts() const {
  SessionCounts counts;
  {
    const std::scoped_lock lock(mutex_);
    counts = counts_;
  }
  counts.sessions = static_cast<int64_t>(registry_.size());
  counts.bytes = registry_.bytes();
  return counts;
}

// --- turns ---------------------------------------------------------------------------------------

void SessionService::turn(TurnRequest request, std::stop_token unwanted,
                          std::function<void(TurnEnd)> done) {
  auto turn = std::make_shared<RunningTurn>();
  turn->request = std::move(request);
  turn->done = std::move(done);
  // Before it is asked whether the service stops, because stop() waits for those that have entered.
  running_.enter();
  if (auto failure = not_started()) return finish(turn, *std::move(failure));
  // A turn that the server cannot take fails alone.
  try {
    prepare(turn, std::move(unwanted));
  } catch (const std::bad_alloc&) {
    finish(turn, no_memory_for_turn());
  } catch (const std::exception&) {
    finish(turn, defect());
  }
}

void SessionService::prepare(const std::shared_ptr<RunningTurn>& turn, std::stop_token unwanted) {
  auto opened = open(turn->request.viewer, turn->request.session);
  if (const auto* failure = failure_of(opened)) return finish(turn, *failure);
  turn->session = std::get<SessionPtr>(std::move(opened));
  Session& session = *turn->session;

  auto body = read_chat_body(turn->request.body, session.config());
  if (auto* failure = std::get_if<llm::Failure>(&body)) return finish(turn, std::move(*failure));
  turn->body = std::get<ChatBody>(std::move(body));
  turn->request.body = {};
  if (auto room = registry_.room(); auto* failure = std::get_if<llm::Failure>(&room))
    return finish(turn, std::move(*failure));

  std::string name(text_in(turn->body.members, "model"));
  if (name.empty()) name = session.model();
  auto model = model_for(name);
  if (auto* failure = std::get_if<llm::Failure>(&model)) return finish(turn, std::move(*failure));
  turn->model = std::get<SessionModel>(std::move(model));

  auto begun = session.begin(turn->body.keys, turn->model.name, clock_.now());
  if (auto* failure = std::get_if<llm::Failure>(&begun)) return finish(turn, std::move(*failure));
  turn->begun = std::get<Session::Begun>(std::move(begun));
  {
    const std::scoped_lock lock(mutex_);
    ++counts_.in_flight;
  }
  if (session.config().orphans == OrphanRule::kStop) {
    turn->leave = std::make_unique<std::stop_callback<RunningTurn::Leave>>(
        unwanted, RunningTurn::Leave{.session = turn->session, .call = turn->begun.call});
  }
  // A service that stops may have passed this session by.
  if (stopping_) session.stop(turn->begun.call);

  auto prompt = make_turn_prompt(turn->begun.path, turn->begun.attachment.parent_messages,
                                 turn->body.chat, *turn->model.tokenizer);
  if (auto* failure = std::get_if<llm::Failure>(&prompt)) return finish(turn, std::move(*failure));
  turn->prompt = std::get<TurnPrompt>(std::move(prompt));
  ask(turn);
}

void SessionService::ask(const std::shared_ptr<RunningTurn>& turn) {
  const Session& session = *turn->session;
  turn->asked_at_unix_s = unix_now();
  turn->stream = {.id = std::string(kReplyId) + next_secret(kIdBytes),
                  .model = turn->model.name,
                  .created_unix_s = clock_.unix_seconds(),
                  .with_usage = turn->body.stream_usage};
  TurnQuestion question{
      .session = session.identity().id,
      .caller = {.key = session.identity().owner, .priority = session.config().priority},
      .body = turn->body.members,
      .chat = turn->body.chat,
      .prompt = turn->prompt.tokens,
      .headers = std::move(turn->request.headers)};
  for (const RowKind kind : {RowKind::kRoutedExperts, RowKind::kIndexerTopk})
    question.rows[static_cast<size_t>(kind)] =
        wanted_rows(kind, turn->begun.path, turn->prompt.kept_tokens, session.config());
  std::shared_ptr<llm::StreamSink> listener;
  if (turn->body.stream && turn->request.begin_stream && turn->model.kind != ModelKind::kSglangChat)
    listener = std::make_shared<StreamOfTurn>(turn);
  models_.load()->ask(turn->model, std::move(question), std::move(listener), turn->begun.stop,
                      [this, turn](TurnOutcome outcome) { answered(turn, std::move(outcome)); });
}

// On a thread of the model's, which waits: the rest is a worker's.
void SessionService::answered(const std::shared_ptr<RunningTurn>& turn, TurnOutcome outcome) {
  auto held = std::make_shared<TurnOutcome>(std::move(outcome));
  commits_.post([this, turn, held] {
    if (auto* answer = std::get_if<TurnAnswer>(held.get())) {
      finish(turn, commit_or_fail(*turn, std::move(*answer)));
    } else if (auto* passed = std::get_if<PassedReply>(held.get())) {
      finish(turn, std::move(*passed));
    } else {
      finish(turn, std::move(std::get<llm::Failure>(*held)));
    }
  });
}

TurnEnd SessionService::commit_or_fail(RunningTurn& turn, TurnAnswer answer) {
  try {
    return commit(turn, std::move(answer));
  } catch (const std::bad_alloc&) {
    return no_memory_for_turn();
  } catch (const std::exception&) {
    return defect();
  }
}

TurnEnd SessionService::commit(RunningTurn& turn, TurnAnswer answer) {
  Session& session = *turn.session;
  if (answer.reply.tokens.empty()) {
    return llm::Failure{.failure_class = llm::FailureClass::kTransient,
                        .status = 502,
                        .code = "unusable_reply",
                        .message =
                            "the model sampled no token, so the session keeps no turn; send the "
                            "request again, and look at its max_tokens if that does not help"};
  }
  TurnResult result{.wants_stream = turn.body.stream && !turn.streamed,
                    .streamed = turn.streamed,
                    .stream = turn.stream,
                    .usage = usage_of(answer.reply, turn.prompt.tokens.size())};
  if (!turn.streamed) {
    result.body = chat_reply(answer, turn.body, turn.prompt.tokens,
                             {.id = std::string_view(turn.stream.id).substr(kReplyId.size()),
                              .model = turn.stream.model,
                              .created_unix_s = turn.stream.created_unix_s});
  }
  if (answer.choice) answer.reply.members.emplace("id", turn.stream.id);
  NewTurn made = new_turn(turn.begun.path, turn.begun.attachment.parent_messages, turn.body,
                          turn.prompt, answer, session.config());
  made.turn->asked_at_unix_s = turn.asked_at_unix_s;
  made.turn->answered_at_unix_s = unix_now();
  const Session::Committed committed =
      session.commit(turn.begun.attachment, std::move(made), turn.model.name, clock_.now());
  registry_.add_bytes(committed.bytes_more);
  const std::scoped_lock lock(mutex_);
  if (committed.how == Session::Commit::kDone) {
    ++counts_.turns_committed;
    counts_.rollbacks += committed.rolled_back ? 1 : 0;
  } else {
    ++counts_.turns_overtaken;
  }
  return result;
}

void SessionService::finish(const std::shared_ptr<RunningTurn>& turn, TurnEnd end) {
  // A call of a model that goes on although it could not be asked properly ends a second time.
  if (turn->ended.exchange(true)) return;
  turn->leave.reset();
  if (turn->begun.call != 0) turn->session->end(turn->begun.call, clock_.now());
  auto* failure = std::get_if<llm::Failure>(&end);
  // A session that was deleted meanwhile has stopped the call.
  if (failure != nullptr && failure->failure_class == llm::FailureClass::kCancelled &&
      turn->session) {
    auto found = registry_.find(turn->request.session, clock_.now());
    if (const auto* gone = failure_of(found)) *failure = *gone;
  }
  {
    const std::scoped_lock lock(mutex_);
    if (turn->begun.call != 0) --counts_.in_flight;
    if (!std::holds_alternative<TurnResult>(end)) ++counts_.turns_failed;
  }
  const std::function<void(TurnEnd)> done = std::move(turn->done);
  done(std::move(end));
  running_.leave();
}

void SessionService::pass(const SessionViewer& viewer, std::string_view id, llm::Verbatim verbatim,
                          std::string body, std::vector<llm::RequestHeader> headers,
                          std::stop_token unwanted,
                          std::function<void(std::variant<PassedReply, llm::Failure>)> done) {
  running_.enter();
  const auto finish = [this, done = std::move(done)](std::variant<PassedReply, llm::Failure> got) {
    done(std::move(got));
    running_.leave();
  };
  if (auto failure = not_started()) return finish(*std::move(failure));
  auto opened = open(viewer, id);
  std::string model;
  TurnCaller caller{.key = viewer.key};
  if (const auto* session = std::get_if<SessionPtr>(&opened)) {
    model = (*session)->model();
    caller = {.key = (*session)->identity().owner, .priority = (*session)->config().priority};
    // Other paths of that server may change it or delay all of its clients.
    const bool lists_models =
        verbatim.method == llm::HttpMethod::kGet && verbatim.target == "/v1/models";
    if (!viewer.sees_all && viewer.key.empty() && !lists_models) return finish(not_for_agents());
  } else if (const auto& failure = std::get<llm::Failure>(opened);
             failure.status == 401 || (!viewer.sees_all && viewer.key.empty())) {
    return finish(failure);
  }
  models_.load()->pass(model, id, caller, std::move(verbatim), std::move(body), std::move(headers),
                       std::move(unwanted), finish);
}

// --- what a session has --------------------------------------------------------------------------

Reply<std::unique_ptr<BodySource>> SessionService::show(const SessionViewer& viewer,
                                                        std::string_view id, RecordsShown records) {
  auto opened = open(viewer, id);
  if (const auto* failure = failure_of(opened)) return *failure;
  const SessionPtr& session = std::get<SessionPtr>(opened);
  const Session::Reading reading = session->read(/*with_paths=*/true);
  std::optional<SessionModel> model;
  if (SessionModels* models = models_; models != nullptr && !reading.model.empty()) {
    auto found = models->find(reading.model);
    if (auto* one = std::get_if<SessionModel>(&found)) model = std::move(*one);
  }
  json::object metadata = session_metadata(*session, reading, model).json;
  // For people, also of a line.
  if (!metadata.contains("tree")) metadata["tree"] = tree_of(*session, reading);
  // Of a tree, too, those of the latest conversation; the metadata tell of the others.
  return make_records_body(
      reading.latest.turns(),
      {.shown = records, .session_id = std::string(id), .metadata = std::move(metadata)});
}

Reply<std::unique_ptr<BodySource>> SessionService::samples(const SessionViewer& viewer,
                                                           std::string_view id,
                                                           std::string_view body) {
  auto opened = open(viewer, id);
  if (const auto* failure = failure_of(opened)) return *failure;
  if (auto failure = not_started()) return *std::move(failure);
  auto request = read_samples_request(body);
  if (auto* failure = std::get_if<llm::Failure>(&request)) return std::move(*failure);
  const SessionPtr& session = std::get<SessionPtr>(opened);
  std::optional<SessionModel> model;
  if (const std::string name = session->model(); !name.empty()) {
    auto found = models_.load()->find(name);
    if (auto* failure = std::get_if<llm::Failure>(&found)) return std::move(*failure);
    model = std::get<SessionModel>(std::move(found));
  }
  auto made = collect_samples(*session, model, std::get<SamplesRequest>(std::move(request)));
  if (auto* failure = std::get_if<llm::Failure>(&made)) return std::move(*failure);
  auto& collected = std::get<CollectedSamples>(made);
  const std::scoped_lock lock(mutex_);
  for (const Mismatch& mismatch : collected.mismatches)
    ++counts_.mismatches[static_cast<size_t>(mismatch.kind)];
  return std::move(collected.body);
}

}  // namespace windrow::session
