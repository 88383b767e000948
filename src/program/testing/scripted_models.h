// ScriptedModels: models whose answers a test decides, call by call, with a tokenizer for tests.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "program/models/program_models.h"

namespace windrow::program::testing {

// Thread-safe. Calls wait until the test answers them, unless they are answered at once. A call
// whose token is stopped ends with kCancelled at once; so do those that wait at the end of this.
//
// Its models are "model" (also "") and "other", with the tokens of llm::testing::ChatmlTokenizer.
class ScriptedModels final : public ProgramModels {
 public:
  enum class Kind : uint8_t { kGenerate, kScore, kEmbed };

  // A call as it was made.
  struct Call {
    Kind kind = Kind::kGenerate;
    uint64_t number = 0;  // counted from 1
    std::string model;
    Prompt prompt;
    std::string prompt_text;  // of its tokens, control tokens by name; of messages as ChatML
    GenerateOptions options;
    std::vector<std::vector<int32_t>> continuations;
    std::vector<std::string> texts;
    CallOwner owner;
    bool is_stopped = false;
  };

  // `upstream`: its model has no tokenizer.
  explicit ScriptedModels(bool upstream = false);
  ~ScriptedModels() override;

  // Answers to calls, on the thread that asks; nothing: the call waits. To be set before the first
  // call. A text: as answer(); for each continuation its log-probability; for each text its vector.
  std::function<std::optional<std::string>(const Call&)> answer_at_once;
  std::function<std::optional<std::vector<double>>(const Call&)> score_at_once;
  std::function<std::optional<std::vector<std::vector<float>>>(const Call&)> embed_at_once;

  // The calls that wait, in the order in which they came; the second blocks until there are at
  // least so many.
  std::vector<Call> waiting() const;
  std::vector<Call> wait_for_waiting(size_t count) const;

  // All calls so far, also those that have ended.
  std::vector<Call> calls() const;

  // Ends a waiting call, on the caller's thread: with a text as the model said it (a beginning
  // <think>...</think> is its reasoning, options.stop cut it; kLength: it has no end token), a
  // choice (without token_ids: those of its text), a log-probability for each continuation, a
  // vector for each text, or a failure. False: the call does not wait, perhaps because it was
  // stopped. ENSUREs that the kind of the call is meant.
  bool answer(uint64_t number, std::string_view text,
              llm::FinishReason finish = llm::FinishReason::kStop);
  bool answer(uint64_t number, llm::Choice choice);
  bool score(uint64_t number, const std::vector<double>& logprobs);
  bool embed(uint64_t number, std::vector<std::vector<float>> vectors);
  bool fail(uint64_t number, llm::Failure failure);

  // From now on calls that are stopped wait all the same, until the test ends them.
  void keep_stopped_calls();

  // Holds that exist, and tokens that they hold: 0 once all contexts were released.
  size_t holds() const;
  size_t held_tokens() const;

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

 private:
  struct State;
  const std::shared_ptr<State> state_;
};

}  // namespace windrow::program::testing
