// ProgramModels: the models that programs ask, in this process or elsewhere: answers, scores and
// vectors. DispatchedProgramModels asks through dispatch.
#pragma once

#include <boost/json/value.hpp>
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
#include "llm/prefix_hold.h"
#include "llm/priority.h"
#include "llm/structure.h"
#include "program/context/context.h"

namespace windrow::program {

// For whom a call is made: for queues, shares, affinity and traces.
struct CallOwner {
  std::string key;  // the name of the API key; empty: none
  llm::Priority priority = llm::Priority::kBatch;
  uint64_t part = 0;       // of the instance: WorkItem::part
  uint64_t group = 0;      // of contexts that share a prefix: WorkItem::group
  uint64_t trace_tag = 0;  // llm::BackendCall::trace_tag
};

// How an answer is sampled; absent members are the model's defaults.
struct GenerateOptions {
  std::optional<int32_t> output_tokens_max;
  std::optional<float> temperature;
  std::optional<float> top_p;
  std::optional<int32_t> top_k;
  std::optional<float> min_p;
  uint64_t seed = 0;
  std::vector<std::string> stop;

  // kJsonSchema, kRegex or kChoice; absent: any text.
  std::optional<llm::StructureSpec> structured;

  // The template argument enable_thinking, and a bound on thoughts, for this answer.
  std::optional<bool> thinking;
  std::optional<int32_t> thought_tokens_max;
};

struct GenerateReply {
  llm::Choice choice;  // with token_ids where the model has a tokenizer
  llm::Usage usage;
};

// How likely one text is as the continuation of a prompt.
struct TextScore {
  double logprob = 0;  // of all its tokens together
  int32_t tokens = 0;
};

struct ScoreReply {
  std::vector<TextScore> scores;  // in the order of the texts
  llm::Usage usage;
};

struct EmbedReply {
  std::vector<std::vector<float>> vectors;  // of length 1, in the order of the texts
  llm::Usage usage;
};

template <class Reply>
using CallOutcome = std::variant<Reply, llm::Failure>;
template <class Reply>
using CallDone = std::function<void(CallOutcome<Reply>)>;

// Thread-safe. Done is called exactly once per call, on any thread, perhaps before the method has
// returned; it must not block. A stopped token ends the call with kCancelled, soon: its rows leave
// the batch. No method blocks on a model.
class ProgramModels {
 public:
  virtual ~ProgramModels() = default;

  // The model that answers chats under this name; "" for the only one. Fails with
  //   404 model_not_found        there is no such model, or a name is needed
  //   400 unsupported_by_model   it does not answer chats
  //   400 no_tokenizer           its vocabulary could not be read
  virtual std::variant<std::shared_ptr<const ContextModel>, llm::Failure> find(
      std::string_view name) = 0;

  virtual void generate(std::shared_ptr<const ContextModel> model, Prompt prompt,
                        GenerateOptions options, CallOwner owner, std::stop_token unwanted,
                        CallDone<GenerateReply> done) = 0;

  // `prompt.tokens` and behind them the tokens of each text (not empty), which are scored. 400
  // not_for_upstream for a model without a tokenizer.
  virtual void score(std::shared_ptr<const ContextModel> model, Prompt prompt,
                     std::vector<std::vector<int32_t>> continuations, CallOwner owner,
                     std::stop_token unwanted, CallDone<ScoreReply> done) = 0;

  // `model`: as find(), of a model that embeds texts.
  virtual void embed(std::string_view model, std::vector<std::string> texts, CallOwner owner,
                     std::stop_token unwanted, CallDone<EmbedReply> done) = 0;

  // llm::Backend::hold at the model's backend; null where nothing can be held.
  virtual std::unique_ptr<llm::PrefixHold> hold(const ContextModel& model,
                                                std::vector<int32_t> tokens) = 0;
};

}  // namespace windrow::program
