// SessionModels: the models that sessions ask, and what a turn is to them: tokens in, tokens out.
// DispatchedSessionModels asks those of the server, in this process or elsewhere.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "llm/answer.h"
#include "llm/priority.h"
#include "llm/request.h"
#include "llm/stream_sink.h"
#include "llm/tokenizer.h"
#include "session/replies/turn_reply.h"

namespace windrow::session {

// How a model is asked.
enum class ModelKind : uint8_t {
  kEmbedded,    // the engine of this process
  kSglangChat,  // replies/turn_reader.h
  kSglangGenerate,
  kVllmCompletions,
};
std::string_view to_string(ModelKind kind);  // "embedded", "sglang-chat", "sglang", "vllm"

struct SessionModel {
  std::string name;  // as in answers
  ModelKind kind = ModelKind::kEmbedded;
  std::shared_ptr<const llm::Tokenizer> tokenizer;  // never null
};

// The client that asks, for queues and for what is charged.
struct TurnCaller {
  std::string key;  // the name of the API key; empty: none
  llm::Priority priority = llm::Priority::kInteractive;
};

struct TurnQuestion {
  std::string session;  // its id: keeps its turns at one server
  TurnCaller caller;

  // The members of the client's body, without those that the session answers for (messages are
  // there; `stream` and `n` are not).
  boost::json::object body;

  // The whole conversation, and its tokens. The chat says how the
  // answer is read: its tools, and whether it reasons.
  llm::Chat chat;
  std::vector<int32_t> prompt;

  WantedRows rows[kRowKinds];
  std::vector<llm::RequestHeader> headers;  // of the client, for a server elsewhere
};

// An answer as the session keeps it and the client gets it.
struct TurnAnswer {
  TurnReply reply;

  // The answer in parts; absent for kSglangChat, where reply.chat has it.
  std::optional<llm::Choice> choice;

  // The assistant's message, as it is stored: role, content, reasoning_content, tool_calls.
  boost::json::object message;

  // The members of the request that was sent, without messages and tokens.
  boost::json::object sent;
};

// What a server answered with another status than 200, byte for byte.
struct PassedReply {
  int32_t status = 502;
  std::string content_type;
  std::string body;
};

using TurnOutcome = std::variant<TurnAnswer, PassedReply, llm::Failure>;

// Thread-safe. Done is called exactly once per call, on any thread, perhaps before the method has
// returned; it must not block.
class SessionModels {
 public:
  virtual ~SessionModels() = default;

  // The model that answers chats under this name; "" for the only one. Fails with
  //   404 model_not_found        there is no such model, or a name is needed
  //   400 unsupported_by_model   it does not answer chats
  //   400 no_tokenizer           its server is elsewhere, and no --tokenizer names a file for it
  //   400 unknown_upstream_api   its server is elsewhere, and how to ask it is not known
  //   503                        it cannot be asked now
  // May block while a tokenizer is loaded.
  virtual std::variant<SessionModel, llm::Failure> find(std::string_view name) = 0;

  // With a listener the answer comes as deltas, too, as it is made; without tokens or rows. Not for
  // kSglangChat. A stopped token ends the call with kCancelled, soon.
  virtual void ask(const SessionModel& model, TurnQuestion question,
                   std::shared_ptr<llm::StreamSink> listener, std::stop_token unwanted,
                   std::function<void(TurnOutcome)> done) = 0;

  // Passes a request on to the server of the model as it is: any method and path, the reply of any
  // status. 404 `no_upstream` where the model is in this process.
  virtual void pass(std::string_view model, std::string_view session, const TurnCaller& caller,
                    llm::Verbatim verbatim, std::string body,
                    std::vector<llm::RequestHeader> headers, std::stop_token unwanted,
                    std::function<void(std::variant<PassedReply, llm::Failure>)> done) = 0;
};

}  // namespace windrow::session
