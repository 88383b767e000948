// DispatchedModels: the models of a server, or of a command, asked through dispatch: calls of banks
// take part in its batches and fair queueing.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "async/in_flight_counter.h"
#include "dispatch/models.h"
#include "dispatch/work_item.h"
#include "llm/request.h"
#include "llm/tokenizer.h"
#include "memory/models/memory_models.h"

namespace windrow::memory {

// The name of no model at all.
inline constexpr std::string_view kNoModel = "none";

struct DispatchedModelsOptions {
  // The defaults; empty: the only model that answers this kind of request; kNoModel: none.
  std::string chat_model;
  std::string embed_model;
  // Calls wait while the dispatcher is full, and block the thread that asks. False: only calls of
  // the lowest priority do; others are refused.
  bool waits = false;

  boost::json::object chat_defaults;  // members of each chat's body that lack them

  // WorkItem::weight of a key, and what its calls used; may be empty.
  std::function<int32_t(std::string_view key)> weight_of;
  std::function<void(std::string_view key, const llm::Usage& usage)> charge;

  // The tokenizer of a model; null: bytes are counted. May be empty.
  std::function<std::shared_ptr<const llm::Tokenizer>(std::string_view model)> tokenizer_of;
};

class DispatchedModels final : public MemoryModels {
 public:
  // `models` outlives it.
  DispatchedModels(dispatch::Models& models, DispatchedModelsOptions options);

  // Blocks until every Done has returned: stop what asks, by the tokens, before.
  ~DispatchedModels() override;
  DispatchedModels(const DispatchedModels&) = delete;
  DispatchedModels& operator=(const DispatchedModels&) = delete;

  void chat(ChatCall call, std::stop_token unwanted,
            std::function<void(ChatOutcome)> done) override;
  void embed(std::string_view model, std::vector<std::string> texts, const ModelCaller& caller,
             std::stop_token unwanted, std::function<void(EmbedOutcome)> done) override;
  std::optional<llm::Failure> chat_fault(std::string_view model) override;
  std::optional<llm::Failure> embed_fault(std::string_view model) override;
  std::string embed_model_name(std::string_view model) override;
  int64_t count_tokens(std::string_view text) override;

 private:
  using Answered = std::function<void(llm::Outcome)>;

  std::optional<llm::Failure> fault(llm::Endpoint endpoint, std::string_view name);
  void ask(llm::Endpoint endpoint, boost::json::object body, const ModelCaller& caller,
           const std::stop_token& unwanted, Answered done);

  dispatch::Models& models_;
  const DispatchedModelsOptions options_;
  async::InFlightCounter calls_;
};

// The body of a chat. Pure.
boost::json::object body_of(const ChatCall& call, const boost::json::object& defaults);

}  // namespace windrow::memory
