#include "engine/generate/answer_reader.h"

#include <limits>
#include <utility>

#include "base/ensure.h"

namespace windrow::engine {

// What the row has emitted since the last call.
class RowReader::Deltas final : public llm::StreamSink {
 public:
  void on_delta(llm::Delta delta) override { deltas_.push_back(std::move(delta)); }
  std::vector<llm::Delta> take() { return std::exchange(deltas_, {}); }

 private:
  std::vector<llm::Delta> deltas_;
};

namespace {

// An end token that the model goes on behind has no text, and no stop token is one: which of them
// ends an answer is for the server to say.
EngineRequest row_of(const Vocabulary& vocabulary, AnswerReading reading,
                     llm::ReadingOptions options, uint64_t call_seed) {
  std::erase_if(options.stop_tokens, [&](Token token) {
    return token < 0 || token >= vocabulary.size() || vocabulary.ends_answer(token);
  });
  EngineRequest row;
  row.output_tokens_max = std::numeric_limits<int32_t>::max();
  row.stop = std::move(options.stop);
  row.stop_tokens = std::move(options.stop_tokens);
  row.ignore_eos = true;
  row.shown_tokens = std::move(reading.shown_tokens);
  row.reasoning = std::move(reading.reasoning);
  row.tools = std::move(reading.tools);
  row.call_seed = call_seed;
  return row;
}

}  // namespace

RowReader::RowReader(const Vocabulary& vocabulary, AnswerReading reading,
                     llm::ReadingOptions options, uint64_t call_seed)
    : vocabulary_(vocabulary),
      deltas_(std::make_shared<Deltas>()),
      row_(
          [&] {
            EngineRequest row =
                row_of(vocabulary, std::move(reading), std::move(options), call_seed);
            row.listener = deltas_;
            return row;
          }(),
          vocabulary) {
  row_.begin();
}

std::vector<llm::Delta> RowReader::take(std::span<const int32_t> tokens) {
  for (const Token token : tokens) {
    if (ended_) break;
    // Models have room for more tokens than their vocabulary names.
    if (token >= 0 && token < vocabulary_.size()) ended_ = row_.append(token).ended;
  }
  row_.emit();
  return deltas_->take();
}

llm::AnswerReader::End RowReader::end(llm::FinishReason reason) {
  llm::Answer answer = row_.finish(ended_.value_or(reason), {}, 0);
  std::vector<llm::Delta> deltas = deltas_->take();
  ENSURE(deltas.size() == 1, "the end of an answer came as {} deltas", deltas.size());
  return {.last = std::move(deltas.front()),
          .choice = std::move(answer.choices.front()),
          .reasoning_tokens = answer.usage.reasoning_tokens};
}

}  // namespace windrow::engine
