// ScriptedModels: models whose answers a test decides, call by call, with a tokenizer for tests.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "program/models/program_models.h"

namespace windrow::program::testing {

// Thread-safe. Calls wait until the test answers them, unless `answer_at_once` is set. A call whose
// token is stopped ends with kCancelled at once.
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

  // Answers every generate call with this text at once, on the thread that asks; absent members of
  // the reply are filled in (tokens of the text, an end token, usage). Nothing: the call waits.
  std::function<std::optional<std::string>(const Call&)> answer_at_once;

  // The calls that wait, in the order in which they came.
  std::vector<Call> waiting() const;

  // All calls so far.
  std::vector<Call> calls() const;

  // Ends a waiting call: with a text (`finish` kLength: cut), scores by `score_of` for each
  // continuation, or a failure. On the caller's thread.
  void answer(uint64_t number, std::string text,
              llm::FinishReason finish = llm::FinishReason::kStop);
  void answer(uint64_t number, llm::Choice choice);
  void score(uint64_t number, const std::vector<double>& logprobs);
  void fail(uint64_t number, llm::Failure failure);

  // Holds that exist, and tokens that they hold: 0 once all contexts were released.
  size_t holds() const;

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
