// DispatchedProgramModels: the models of a job or a server, asked by programs through dispatch:
// their calls take part in its batches, its fair queueing and its retries.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "dispatch/budget.h"
#include "dispatch/models.h"
#include "llm/answer.h"
#include "llm/prefix_hold.h"
#include "llm/request.h"
#include "llm/tokenizer.h"
#include "program/models/dispatched_calls.h"
#include "program/models/program_models.h"

namespace windrow::program {

struct DispatchedProgramModelsOptions {
  // The tokenizer of a model in this process. May block while it is read; an error says why it
  // cannot be. Models elsewhere are asked with messages.
  std::function<Result<std::shared_ptr<const llm::Tokenizer>>(std::string_view model)> tokenizer_of;

  // The model of embed() without a name; empty: the only one that embeds texts.
  std::string embed_model;

  // Of answers whose program does not say.
  int32_t output_tokens_default = 4096;

  // The highest cost of a request, where costs are limited; may be empty.
  std::function<std::variant<dispatch::Cost, llm::Failure>(const llm::Request&)> expected_cost;

  // WorkItem::weight of a key, and what its calls used; may be empty.
  std::function<int32_t(std::string_view key)> weight_of;
  std::function<void(std::string_view key, const llm::Usage& usage)> charge;
};

// A call that finds its dispatcher full waits here (dispatched_calls.h); it never blocks the thread
// that asks.
class DispatchedProgramModels final : public ProgramModels {
 public:
  // `models` outlives it.
  DispatchedProgramModels(dispatch::Models& models, DispatchedProgramModelsOptions options);

  // Blocks until every Done has returned: stop what asks, by the tokens, before.
  ~DispatchedProgramModels() override = default;
  DispatchedProgramModels(const DispatchedProgramModels&) = delete;
  DispatchedProgramModels& operator=(const DispatchedProgramModels&) = delete;

  std::variant<std::shared_ptr<const ContextModel>, llm::Failure> find(
      std::string_view name) override;
  void generate(std::shared_ptr<const ContextModel> model, Prompt prompt, GenerateOptions options,
                CallOwner owner, std::stop_token unwanted, CallDone<GenerateReply> done) override;
  void score(std::shared_ptr<const ContextModel> model, Prompt prompt,
             std::vector<std::vector<int32_t>> continuations, CallOwner owner,
             std::stop_token unwanted, CallDone<ScoreReply> done) override;
  void embed(std::string_view model, std::vector<std::string> texts, CallOwner owner,
             std::stop_token unwanted, CallDone<EmbedReply> done) override;
  std::unique_ptr<llm::PrefixHold> hold(const ContextModel& model,
                                        std::vector<int32_t> tokens) override;

  // Calls that wait because the dispatcher is full; for tests and figures.
  size_t waiting() const;

 private:
  using Answered = std::function<void(llm::Outcome)>;

  std::variant<dispatch::Model, llm::Failure> served(const ContextModel& model);
  void send(const dispatch::Model& model, llm::Request request, size_t prompt_bytes,
            const CallOwner& owner, std::stop_token unwanted, Answered done);

  dispatch::Models& models_;
  const DispatchedProgramModelsOptions options_;

  std::mutex mutex_;  // of what is found
  std::map<std::string, std::shared_ptr<const ContextModel>, std::less<>> found_;

  DispatchedCalls calls_;
};

}  // namespace windrow::program
