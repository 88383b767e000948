#include "session/models/dispatched_session_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <new>
#include <utility>

#include "base/hash.h"
#include "dispatch/dispatcher.h"
#include "json/parse.h"
#include "llm/answer_json.h"
#include "session/models/turn_body.h"
#include "session/models/turn_sink.h"
#include "session/replies/reply_fields.h"

namespace windrow::session {

namespace json = boost::json;

namespace {

constexpr std::string_view kRoutingKey = "X-SMG-Routing-Key";
constexpr int32_t kReaderThreads = 2;
constexpr int32_t kBadGateway = 502;
constexpr int32_t kStatusClass = 100;

llm::Failure cancelled() {
  return {.failure_class = llm::FailureClass::kCancelled,
          .status = 499,
          .code = "cancelled",
          .message = "cancelled before it was answered"};
}

llm::Failure full() {
  return {.failure_class = llm::FailureClass::kTransient,
          .status = 503,
          .code = "overloaded",
          .message = "too many requests wait for the model; try again later",
          .overloaded = true};
}

// What stops a call that is wanted no more. Its name is known only after it was offered, when it
// may have ended already.
struct Offered {
  struct Cancel {
    dispatch::Dispatcher* dispatcher = nullptr;
    dispatch::ItemId item;
    void operator()() const { dispatcher->cancel(item); }
  };
  std::mutex mutex;
  bool ended = false;
  std::unique_ptr<std::stop_callback<Cancel>> cancel;

  // What a stop runs may end the call and so come here: the callback is destroyed without the lock.
  void end() {
    std::unique_ptr<std::stop_callback<Cancel>> last;
    const std::scoped_lock lock(mutex);
    ended = true;
    last = std::move(cancel);
  }
  void keep(std::unique_ptr<std::stop_callback<Cancel>> callback) {
    const std::scoped_lock lock(mutex);
    if (!ended) cancel = std::move(callback);
  }
};

// A failure of a call to a server elsewhere, as the reference server words it.
llm::Failure of_transport(llm::Failure failure, size_t reply_bytes_max) {
  if (failure.failure_class == llm::FailureClass::kCancelled) return failure;
  if (failure.code == "reply_too_large") {
    failure.status = kBadGateway;
    failure.message = fmt::format(
        "the model's server sent a reply of more than {} MiB, which is the limit of a "
        "session's turn; --session-reply-mb raises it",
        reply_bytes_max >> 20U);
  } else if (failure.unreached || failure.failure_class == llm::FailureClass::kTransient) {
    // To a client of sessions a timeout is no request to come back later.
    if (failure.code == "upstream_timeout") failure.overloaded = false;
    if (!failure.overloaded) failure.status = kBadGateway;
    failure.message = "backend transport error: " + failure.message;
  }
  return failure;
}

// A server that samples what the tokenizer does not have has another model than its file is of.
std::optional<llm::Failure> foreign_token(const std::vector<int32_t>& tokens,
                                          const SessionModel& model) {
  const int32_t size = model.tokenizer->vocabulary_size();
  const auto found =
      std::ranges::find_if(tokens, [size](int32_t token) { return token < 0 || token >= size; });
  if (found == tokens.end()) return std::nullopt;
  return llm::Failure{.status = kBadGateway,
                      .code = "token_not_in_vocabulary",
                      .message = fmt::format(
                          "the server of {} sampled token {}, but the tokenizer of the model has "
                          "{} tokens: --tokenizer names the file of another model",
                          model.name, *found, size)};
}

std::string finish_text(const llm::Choice& choice, std::string_view of_server) {
  if (choice.finish_reason == llm::FinishReason::kToolCalls) return "tool_calls";
  return of_server.empty() ? std::string(llm::to_string(choice.finish_reason))
                           : std::string(of_server);
}

}  // namespace

json::object message_of(const llm::Choice& choice) {
  llm::Answer answer;
  llm::Choice said = choice;
  said.tokens.clear();
  said.token_ids.clear();
  answer.choices.push_back(std::move(said));
  const std::string text = llm::answer_to_json(llm::Endpoint::kChatCompletions, "", "", 0, answer);
  json::value reply = parse_written_json(text);
  return std::move(
      reply.as_object().at("choices").as_array().at(0).as_object().at("message").as_object());
}

// A turn on its way.
struct DispatchedSessionModels::Asked {
  SessionModel model;
  json::object sent;
  size_t prompt_tokens = 0;
  std::string key;
  bool lists_logprobs = false;
  std::shared_ptr<StreamedTokens> streamed;  // null: the answer is read elsewhere
  std::shared_ptr<TurnSink> sink;            // null: the engine answers
};

DispatchedSessionModels::DispatchedSessionModels(dispatch::Models& models, const Clock& clock,
                                                 DispatchedSessionModelsOptions options)
    : models_(models),
      clock_(clock),
      options_(std::move(options)),
      readers_(kReaderThreads, async::Executor::Start::kWithFirstTask) {}

DispatchedSessionModels::~DispatchedSessionModels() {
  calls_.wait_for_none();
}

std::variant<SessionModel, llm::Failure> DispatchedSessionModels::find(std::string_view name) {
  auto found = models_.find(llm::Endpoint::kChatCompletions, name);
  if (auto* failure = std::get_if<llm::Failure>(&found)) return std::move(*failure);
  const auto& model = std::get<dispatch::Model>(found);
  Result<std::shared_ptr<const llm::Tokenizer>> tokenizer = options_.tokenizer_of(model.name);
  if (!tokenizer || *tokenizer == nullptr) {
    return llm::Failure{
        .code = "no_tokenizer",
        .message = tokenizer
                       ? fmt::format("sessions need the tokenizer of {}, because they send its "
                                     "server tokens: start this server with --tokenizer "
                                     "{}=FILE.gguf (a file with the vocabulary is enough)",
                                     model.name, model.name)
                       : fmt::format("the tokenizer of {} cannot be used: {}", model.name,
                                     tokenizer.error().message),
        .param = "model"};
  }
  const std::optional<ModelKind> kind =
      model.raw ? options_.kind_of(model.name) : std::optional(ModelKind::kEmbedded);
  if (!kind) {
    return llm::Failure{
        .code = "unknown_upstream_api",
        .message = fmt::format("the server of {} does not tell that it is SGLang or vLLM, or it is "
                               "several that differ, so sessions cannot ask it: start this server "
                               "with --session-upstream sglang, sglang-chat or vllm",
                               model.name),
        .param = "model"};
  }
  return SessionModel{.name = model.name, .kind = *kind, .tokenizer = *std::move(tokenizer)};
}

void DispatchedSessionModels::offer(std::string_view name, llm::Request request, size_t body_bytes,
                                    std::string_view session, const TurnCaller& caller,
                                    dispatch::Delivery delivery, const std::stop_token& unwanted,
                                    Ended ended) {
  if (unwanted.stop_requested()) return ended(cancelled());
  auto found = models_.find(llm::Endpoint::kChatCompletions, name);
  if (auto* failure = std::get_if<llm::Failure>(&found)) return ended(std::move(*failure));
  const auto& model = std::get<dispatch::Model>(found);
  dispatch::WorkItem item = dispatch::request_item(request, body_bytes);
  item.priority = caller.priority;
  item.group = hash64(session) | 1U;
  item.part = item.group;
  item.upstreams = models_.upstreams_of(name);
  item.attempts_max = options_.attempts_max;
  item.same_answer.reset();
  item.pack = 0;
  if (!caller.key.empty()) {
    item.tenant = dispatch::tenant_id(caller.key);
    if (options_.weight_of) item.weight = options_.weight_of(caller.key);
  }
  auto offered = std::make_shared<Offered>();
  calls_.enter();
  const std::optional<dispatch::ItemId> id = model.dispatcher->offer(
      std::move(request), item, 0,
      [this, offered, ended](dispatch::DispatchResult result) {
        offered->end();
        readers_.post(
            [this, ended, outcome = std::make_shared<llm::Outcome>(std::move(result.outcome))] {
              ended(std::move(*outcome));
              calls_.leave();
            });
      },
      std::move(delivery));
  if (!id) {
    ended(full());
    return calls_.leave();
  }
  if (!unwanted.stop_possible()) return;
  offered->keep(std::make_unique<std::stop_callback<Offered::Cancel>>(
      unwanted, Offered::Cancel{.dispatcher = model.dispatcher, .item = *id}));
}

void DispatchedSessionModels::ask(const SessionModel& model, TurnQuestion question,
                                  std::shared_ptr<llm::StreamSink> listener,
                                  std::stop_token unwanted, std::function<void(TurnOutcome)> done) {
  const bool elsewhere = model.kind != ModelKind::kEmbedded;
  // vLLM's events have no rows.
  const bool rows_in_events =
      model.kind != ModelKind::kVllmCompletions ||
      std::ranges::none_of(question.rows, [](const WantedRows& rows) { return rows.wanted; });
  const bool streams =
      listener != nullptr && elsewhere && model.kind != ModelKind::kSglangChat && rows_in_events;
  auto made = make_turn_body(model, question,
                             {.body = options_.body,
                              .output_tokens_default = options_.output_tokens_default,
                              .streams = streams});
  if (auto* failure = std::get_if<llm::Failure>(&made)) return done(std::move(*failure));
  auto& body = std::get<TurnBody>(made);

  auto asked = std::make_shared<Asked>();
  asked->model = model;
  asked->sent = std::move(body.sent);
  asked->prompt_tokens = question.prompt.size();
  asked->key = question.caller.key;
  asked->lists_logprobs = body.request.logprobs_top.has_value();

  llm::Request request;
  dispatch::Delivery delivery;
  size_t body_bytes = body.text.size();
  if (!elsewhere) {
    request = std::move(body.request);
    body_bytes = question.prompt.size();
    delivery.listener = std::move(listener);
  } else {
    TurnReaderOptions reading{.streamed = streams,
                              .prompt_tokens = question.prompt.size(),
                              .rows = {question.rows[0], question.rows[1]},
                              .on_tokens = {}};
    ServerApi api = ServerApi::kSglangChat;
    if (model.kind != ModelKind::kSglangChat) {
      api = model.kind == ModelKind::kVllmCompletions ? ServerApi::kVllmCompletions
                                                      : ServerApi::kSglangGenerate;
      auto reader = model.tokenizer->read_answer(question.chat, question.prompt,
                                                 {.stop = body.request.stop,
                                                  .stop_tokens = body.request.stop_tokens,
                                                  .structured = body.request.structured.has_value(),
                                                  .seed = hash64(question.session)});
      asked->streamed = std::make_shared<StreamedTokens>(std::move(reader), std::move(listener));
      if (streams) {
        reading.on_tokens = [streamed = asked->streamed](std::span<const int32_t> tokens) {
          streamed->take(tokens);
        };
      }
    }
    asked->sink = std::make_shared<TurnSink>(make_turn_reader(api, std::move(reading)),
                                             options_.reply_bytes_max);
    delivery.reply_sink = asked->sink;
    request.endpoint = api == ServerApi::kVllmCompletions ? llm::Endpoint::kCompletions
                                                          : llm::Endpoint::kChatCompletions;
    // /generate has no model.
    if (api != ServerApi::kSglangGenerate) request.model = model.name;
    request.raw = std::move(body.text);
    request.verbatim = llm::Verbatim{.method = llm::HttpMethod::kPost, .target = body.target};
    request.headers = std::move(question.headers);
    request.headers.push_back({std::string(kRoutingKey), question.session});
    request.headers.push_back({"Content-Type", "application/json"});
  }
  const std::string name = model.name;
  offer(name, std::move(request), body_bytes, question.session, question.caller,
        std::move(delivery), unwanted, [this, asked, done = std::move(done)](llm::Outcome outcome) {
          TurnOutcome ended = outcome_or_failure(*asked, std::move(outcome));
          const auto* answer = std::get_if<TurnAnswer>(&ended);
          if (answer != nullptr && options_.charge && !asked->key.empty()) {
            const TurnReply& reply = answer->reply;
            options_.charge(asked->key,
                            {.prompt_tokens = static_cast<int32_t>(asked->prompt_tokens),
                             .completion_tokens = static_cast<int32_t>(reply.tokens.size()),
                             .cached_tokens = static_cast<int32_t>(reply.figures.cached_tokens)});
          }
          done(std::move(ended));
        });
}

// A reply that cannot be read, whatever is odd about it, fails its turn alone.
TurnOutcome DispatchedSessionModels::outcome_or_failure(Asked& asked, llm::Outcome outcome) const {
  try {
    return outcome_of(asked, std::move(outcome));
  } catch (const std::bad_alloc&) {
    return llm::Failure{
        .status = 507,
        .code = "sessions_full",
        .message =
            "the server has no memory for the reply of the model's server; delete sessions "
            "that are done with"};
  } catch (const std::exception& problem) {
    return unusable_reply(
        fmt::format("the reply of the model's server cannot be read: {}", problem.what()));
  }
}

TurnOutcome DispatchedSessionModels::outcome_of(Asked& asked, llm::Outcome outcome) const {
  // A sink that stops a reply which it cannot use ends the call as cancelled.
  if (asked.sink && !asked.sink->is_usable()) {
    auto read = asked.sink->reader().end();
    if (auto* failure = std::get_if<llm::Failure>(&read)) return std::move(*failure);
  }
  if (auto* failure = std::get_if<llm::Failure>(&outcome)) {
    return asked.sink ? of_transport(std::move(*failure), options_.reply_bytes_max)
                      : std::move(*failure);
  }
  auto& answer = std::get<llm::Answer>(outcome);
  TurnAnswer turn{.sent = std::move(asked.sent)};
  TurnReply& reply = turn.reply;

  if (!asked.sink) {
    llm::Choice choice = std::move(answer.choices.at(0));
    reply.tokens = choice.token_ids;
    reply.logprobs.reserve(choice.tokens.size());
    for (const llm::ScoredToken& token : choice.tokens)
      reply.logprobs.push_back(token.chosen.logprob);
    reply.finish_reason = llm::to_string(choice.finish_reason);
    reply.figures.prompt_tokens = answer.usage.prompt_tokens;
    reply.figures.cached_tokens = answer.usage.cached_tokens;
    reply.members["created"] = clock_.unix_seconds();
    turn.message = message_of(choice);
    turn.choice = std::move(choice);
    return turn;
  }

  if (!answer.verbatim || answer.verbatim->status / kStatusClass != 2) {
    if (!answer.verbatim) return full();
    return PassedReply{.status = answer.verbatim->status,
                       .content_type = std::move(answer.verbatim->content_type),
                       .body = std::move(answer.verbatim->body)};
  }
  auto read = asked.sink->reader().end();
  if (auto* failure = std::get_if<llm::Failure>(&read)) return std::move(*failure);
  reply = std::get<TurnReply>(std::move(read));
  if (auto foreign = foreign_token(reply.tokens, asked.model)) return *std::move(foreign);
  if (asked.model.kind == ModelKind::kSglangChat) {
    const json::object& first = reply.chat.at("choices").as_array().at(0).as_object();
    turn.message = first.at("message").as_object();
    return turn;
  }
  asked.streamed->take_rest(reply.tokens);
  llm::Choice choice = asked.streamed->end(
      reply.finish_reason == "length" ? llm::FinishReason::kLength : llm::FinishReason::kStop);
  reply.finish_reason = finish_text(choice, reply.finish_reason);
  turn.message = message_of(choice);
  if (asked.lists_logprobs) {
    for (size_t i = 0; i < reply.tokens.size(); ++i) {
      llm::ScoredToken token;
      token.chosen.token = reply.tokens[i];
      asked.model.tokenizer->append_piece(reply.tokens[i], token.chosen.bytes);
      token.chosen.logprob = static_cast<float>(reply.logprobs[i]);
      choice.tokens.push_back(std::move(token));
    }
  }
  turn.choice = std::move(choice);
  return turn;
}

void DispatchedSessionModels::pass(
    std::string_view model, std::string_view session, const TurnCaller& caller,
    llm::Verbatim verbatim, std::string body, std::vector<llm::RequestHeader> headers,
    std::stop_token unwanted, std::function<void(std::variant<PassedReply, llm::Failure>)> done) {
  auto found = models_.find(llm::Endpoint::kChatCompletions, model);
  if (auto* failure = std::get_if<llm::Failure>(&found)) return done(std::move(*failure));
  const auto& served = std::get<dispatch::Model>(found);
  if (!served.raw) {
    return done(llm::Failure{
        .status = 404,
        .code = "no_upstream",
        .message = fmt::format("{} is not a path of sessions, and there is no server to pass it "
                               "on to: {} is in this process; ask this server without "
                               "/sessions/<id>",
                               verbatim.target, served.name)});
  }
  llm::Request request;
  const size_t body_bytes = body.size();
  request.raw = std::move(body);
  request.verbatim = std::move(verbatim);
  request.headers = std::move(headers);
  request.headers.push_back({std::string(kRoutingKey), std::string(session)});
  offer(served.name, std::move(request), body_bytes, session, caller, {}, unwanted,
        [this, done = std::move(done)](llm::Outcome outcome) {
          if (auto* failure = std::get_if<llm::Failure>(&outcome))
            return done(of_transport(std::move(*failure), options_.reply_bytes_max));
          auto& answer = std::get<llm::Answer>(outcome);
          if (!answer.verbatim) return done(full());
          done(PassedReply{.status = answer.verbatim->status,
                           .content_type = std::move(answer.verbatim->content_type),
                           .body = std::move(answer.verbatim->body)});
        });
}

}  // namespace windrow::session
