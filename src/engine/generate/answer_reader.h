// RowReader: an llm::AnswerReader. It reads as the engine does, by the same AnswerRow: tokens that
// another server has sampled take the place of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/generate/answer_reading.h"
#include "engine/generate/answer_row.h"
#include "engine/host/types.h"
#include "engine/host/vocabulary.h"
#include "llm/stream_sink.h"
#include "llm/tokenizer.h"

namespace windrow::engine {

class RowReader final : public llm::AnswerReader {
 public:
  // `vocabulary` must outlive it.
  RowReader(const Vocabulary& vocabulary, AnswerReading reading, llm::ReadingOptions options,
            uint64_t call_seed);

  std::vector<llm::Delta> take(std::span<const int32_t> tokens) override;
  End end(llm::FinishReason reason) override;

 private:
  class Deltas;

  const Vocabulary& vocabulary_;
  const std::shared_ptr<Deltas> deltas_;
  AnswerRow row_;
  std::optional<llm::FinishReason> ended_;  // the answer, whatever the server samples behind it
};

}  // namespace windrow::engine
