#include "memory/models/dispatched_models.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <variant>

#include "dispatch/dispatcher.h"
#include "llm/body_reader.h"
#include "llm/raw_body.h"

namespace windrow::memory {
namespace {

namespace json = boost::json;

constexpr int32_t kUnavailable = 503;

llm::Failure cancelled() {
  return {.failure_class = llm::FailureClass::kCancelled,
          .status = 499,
          .code = "cancelled",
          .message = "cancelled before it was asked",
          .param = {}};
}

llm::Failure unusable(std::string message) {
  return {.failure_class = llm::FailureClass::kTransient,
          .status = 502,
          .code = "unusable_answer",
          .message = std::move(message),
          .param = {}};
}

// A call on its way: what stops it when it is wanted no more. The item's name is known only after
// the call was offered, when it may have ended already.
struct Offered {
  std::mutex mutex;
  bool ended = false;
  struct Cancel {
    dispatch::Dispatcher* dispatcher = nullptr;
    dispatch::ItemId item;
    void operator()() const { dispatcher->cancel(item); }
  };
  std::unique_ptr<std::stop_callback<Cancel>> cancel;

  // What a stop runs may end the call and so come here: neither is done under the lock.
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

ChatOutcome chat_outcome(llm::Outcome outcome) {
  if (auto* failure = std::get_if<llm::Failure>(&outcome)) return std::move(*failure);
  auto& answer = std::get<llm::Answer>(outcome);
  const llm::Usage usage = answer.usage;
  if (!answer.raw.empty()) {
    std::optional<llm::Answer> read = llm::read_raw_answer(answer.raw);
    if (!read) return unusable("the server's reply is no answer to a chat");
    answer.choices = std::move(read->choices);
  }
  if (answer.choices.empty()) return unusable("the answer has no choice");
  llm::Choice& choice = answer.choices.front();
  if (choice.refusal) {
    return llm::Failure{.failure_class = llm::FailureClass::kRequest,
                        .status = 422,
                        .code = "refused_by_model",
                        .message = fmt::format("the model refused: {}", *choice.refusal),
                        .param = {}};
  }
  return ChatReply{
      .text = std::move(choice.text),
      .truncated = answer.truncated || choice.finish_reason == llm::FinishReason::kLength,
      .usage = usage};
}

EmbedOutcome embed_outcome(llm::Outcome outcome, size_t texts) {
  if (auto* failure = std::get_if<llm::Failure>(&outcome)) return std::move(*failure);
  auto& answer = std::get<llm::Answer>(outcome);
  if (!answer.raw.empty()) {
    std::optional<llm::Answer> read = llm::read_raw_embeddings(answer.raw);
    if (!read) return unusable("the server's reply has no embeddings");
    answer.embeddings = std::move(read->embeddings);
  }
  if (answer.embeddings.size() != texts) {
    return unusable(
        fmt::format("{} embeddings came back for {} texts", answer.embeddings.size(), texts));
  }
  for (std::vector<float>& vector : answer.embeddings) {
    if (vector.empty() || vector.size() != answer.embeddings.front().size())
      return unusable("the embeddings of one reply have different lengths");
    double squares = 0;
    for (const float number : vector)
      squares += static_cast<double>(number) * number;
    // Also false for NaN.
    if (!(squares > 0) || std::isinf(squares))
      return unusable(
          "an embedding is no direction: its numbers are all 0, or not finite; "
          "does this model embed texts? --memory-embed names it");
    const auto length = static_cast<float>(std::sqrt(squares));
    for (float& number : vector)
      number /= length;
  }
  return std::move(answer.embeddings);
}

}  // namespace

json::object body_of(const ChatCall& call, const json::object& defaults) {
  json::array messages;
  if (!call.system.empty()) messages.push_back({{"role", "system"}, {"content", call.system}});
  messages.push_back({{"role", "user"}, {"content", call.user}});
  json::object body = defaults;
  body["messages"] = std::move(messages);
  body["temperature"] = call.temperature;
  if (call.completion_tokens_max) body["max_tokens"] = *call.completion_tokens_max;
  if (!call.schema.empty()) {
    body["response_format"] = {
        {"type", "json_schema"},
        {"json_schema", {{"name", call.schema_name}, {"strict", true}, {"schema", call.schema}}}};
  }
  for (const auto& [name, value] : call.extra_body)
    body[name] = value;
  return body;
}

DispatchedModels::DispatchedModels(dispatch::Models& models, DispatchedModelsOptions options)
    : models_(models), options_(std::move(options)) {}

DispatchedModels::~DispatchedModels() {
  calls_.wait_for_none();
}

void DispatchedModels::ask(llm::Endpoint endpoint, json::object body, const ModelCaller& caller,
                           const std::stop_token& unwanted, Answered done) {
  if (unwanted.stop_requested()) return done(cancelled());
  const std::string name(body["model"].as_string());
  auto found = models_.find(endpoint, name);
  if (auto* failure = std::get_if<llm::Failure>(&found)) return done(std::move(*failure));
  const auto& model = std::get<dispatch::Model>(found);
  body["model"] = model.name;
  const std::string text = json::serialize(body);
  llm::Request request;
  if (model.raw) {
    request = llm::raw_request(endpoint, text, body, {});
  } else {
    // A member that an embedded model does not know is for other servers.
    const llm::BodyRules rules{
        .defaults = {}, .seed = 1, .unknown_fields = llm::UnknownFields::kIgnore};
    llm::complete_body(endpoint, rules, body);
    auto read = llm::read_body(endpoint, rules, body, 1);
    if (auto* failure = std::get_if<llm::Failure>(&read)) return done(std::move(*failure));
    request = std::get<llm::ReadBody>(std::move(read)).request;
  }
  dispatch::WorkItem item = dispatch::request_item(request, text.size());
  item.priority = caller.priority;
  item.part = caller.part;
  item.upstreams = models_.upstreams_of(name);
  if (!caller.key.empty()) {
    item.tenant = dispatch::tenant_id(caller.key);
    if (options_.weight_of) item.weight = options_.weight_of(caller.key);
  }
  auto offered = std::make_shared<Offered>();
  calls_.enter();
  dispatch::Submitter::Done ended = [this, offered, key = caller.key,
                                     done](dispatch::DispatchResult result) {
    offered->end();
    if (options_.charge && !key.empty()) {
      const auto* answer = std::get_if<llm::Answer>(&result.outcome);
      if (answer != nullptr) options_.charge(key, answer->usage);
    }
    done(std::move(result.outcome));
    calls_.leave();
  };
  // What runs in the background waits for room; clients are told that there is none.
  const bool waits = options_.waits || caller.priority == llm::Priority::kBatch;
  const std::optional<dispatch::ItemId> id =
      waits ? model.dispatcher->submit(std::move(request), item, 0, std::move(ended), unwanted)
            : model.dispatcher->offer(std::move(request), item, 0, std::move(ended));
  if (!id) {
    calls_.leave();
    if (unwanted.stop_requested()) return done(cancelled());
    return done(llm::Failure{.failure_class = llm::FailureClass::kTransient,
                             .status = kUnavailable,
                             .code = "overloaded",
                             .message = "too many requests wait for the model; try again later",
                             .param = {},
                             .overloaded = true});
  }
  if (!unwanted.stop_possible()) return;
  offered->keep(std::make_unique<std::stop_callback<Offered::Cancel>>(
      unwanted, Offered::Cancel{.dispatcher = model.dispatcher, .item = *id}));
}

void DispatchedModels::chat(ChatCall call, std::stop_token unwanted,
                            std::function<void(ChatOutcome)> done) {
  const std::string& model = call.model.empty() ? options_.chat_model : call.model;
  json::object body = body_of(call, options_.chat_defaults);
  body["model"] = model;
  ask(llm::Endpoint::kChatCompletions, std::move(body), call.caller, unwanted,
      [done = std::move(done)](llm::Outcome outcome) { done(chat_outcome(std::move(outcome))); });
}

void DispatchedModels::embed(std::string_view model, std::vector<std::string> texts,
                             const ModelCaller& caller, std::stop_token unwanted,
                             std::function<void(EmbedOutcome)> done) {
  const size_t count = texts.size();
  json::object body{{"model", model.empty() ? std::string_view(options_.embed_model) : model},
                    {"input", json::array(texts.begin(), texts.end())}};
  ask(llm::Endpoint::kEmbeddings, std::move(body), caller, unwanted,
      [done = std::move(done), count](llm::Outcome outcome) {
        done(embed_outcome(std::move(outcome), count));
      });
}

std::optional<llm::Failure> DispatchedModels::fault(llm::Endpoint endpoint, std::string_view name) {
  auto found = models_.find(endpoint, name == kNoModel ? "" : name);
  auto* failure = std::get_if<llm::Failure>(&found);
  if (failure == nullptr && name != kNoModel) return std::nullopt;
  if (!name.empty() && name != kNoModel) return std::move(*failure);
  const bool chat = endpoint == llm::Endpoint::kChatCompletions;
  return llm::Failure{
      .failure_class = llm::FailureClass::kRequest,
      .status = 400,
      .code = chat ? "no_memory_model" : "no_memory_embed_model",
      .message = chat
                     ? "no model is set for memory banks, and there is none or more than one that "
                       "answers chats, so nothing is extracted or consolidated; name one with "
                       "--memory-model, or as chat_model in the bank's configuration"
                     : "no embedding model is set for memory banks, and there is none or more than "
                       "one; name one with --memory-embed, or as embed_model in the bank's "
                       "configuration",
      .param = chat ? "chat_model" : "embed_model"};
}

std::optional<llm::Failure> DispatchedModels::chat_fault(std::string_view model) {
  return fault(llm::Endpoint::kChatCompletions,
               model.empty() ? std::string_view(options_.chat_model) : model);
}

std::optional<llm::Failure> DispatchedModels::embed_fault(std::string_view model) {
  return fault(llm::Endpoint::kEmbeddings,
               model.empty() ? std::string_view(options_.embed_model) : model);
}

std::string DispatchedModels::embed_model_name(std::string_view model) {
  auto found = models_.find(llm::Endpoint::kEmbeddings,
                            model.empty() ? std::string_view(options_.embed_model) : model);
  const auto* served = std::get_if<dispatch::Model>(&found);
  return served == nullptr ? "" : served->name;
}

int64_t DispatchedModels::count_tokens(std::string_view text) {
  constexpr int64_t kBytesOfToken = 4;
  if (options_.tokenizer_of) {
    if (const std::shared_ptr<const llm::Tokenizer> tokenizer =
            options_.tokenizer_of(options_.chat_model))
      return std::ssize(tokenizer->encode(text, /*control=*/false, llm::SpecialTokens::kNone));
  }
  return (std::ssize(text) + kBytesOfToken - 1) / kBytesOfToken;
}

}  // namespace windrow::memory
