// MemoryModels: the models that a bank asks, each by one call. DispatchedModels asks those of the
// server; tests ask scripted ones.
//
// Thread-safe. Done is called exactly once per call, on any thread, perhaps before the method has
// returned; it must not block.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "llm/answer.h"
#include "llm/priority.h"

namespace windrow::memory {

// The caller of a model, and how urgent its call is.
struct ModelCaller {
  std::string key;    // is charged; empty: none
  uint64_t part = 0;  // WorkItem::part: the bank
  llm::Priority priority = llm::Priority::kNormal;
};

struct ChatCall {
  std::string model;  // empty: the default
  std::string system;
  std::string user;
  boost::json::object schema;  // the answer is held to it; empty: text
  std::string schema_name = "answer";
  double temperature = 0;
  std::optional<int32_t> completion_tokens_max;
  boost::json::object extra_body;  // members added to the body, last
  ModelCaller caller;
};

struct ChatReply {
  std::string text;
  bool truncated = false;  // it ended at a limit, before it was complete
  llm::Usage usage;
};

using ChatOutcome = std::variant<ChatReply, llm::Failure>;
using EmbedOutcome = std::variant<std::vector<std::vector<float>>, llm::Failure>;

class MemoryModels {
 public:
  virtual ~MemoryModels() = default;

  // A failure that is transient has been tried again as often as the dispatcher does. A stopped
  // token ends the call with kCancelled, soon.
  virtual void chat(ChatCall call, std::stop_token unwanted,
                    std::function<void(ChatOutcome)> done) = 0;

  // One vector of length 1 per text.
  virtual void embed(std::string_view model, std::vector<std::string> texts,
                     const ModelCaller& caller, std::stop_token unwanted,
                     std::function<void(EmbedOutcome)> done) = 0;

  // Whether there is such a model; "" is the default. Why not, and what to do, if there is none.
  virtual std::optional<llm::Failure> chat_fault(std::string_view model) = 0;
  virtual std::optional<llm::Failure> embed_fault(std::string_view model) = 0;

  // The name that the default, or this name, stands for; a bank remembers it with its vectors.
  virtual std::string embed_model_name(std::string_view model) = 0;

  // Tokens of a text by the chat model's tokenizer; without one a quarter of its bytes.
  virtual int64_t count_tokens(std::string_view text) = 0;
};

}  // namespace windrow::memory
