#include "session/models/turn_sink.h"

#include <utility>
#include <vector>

namespace windrow::session {

void StreamedTokens::take(std::span<const int32_t> tokens) {
  taken_ += tokens.size();
  std::vector<llm::Delta> deltas = reader_->take(tokens);
  if (!listener_) return;
  for (llm::Delta& delta : deltas)
    listener_->on_delta(std::move(delta));
}

llm::Choice StreamedTokens::end(llm::FinishReason reason) {
  llm::AnswerReader::End end = reader_->end(reason);
  if (listener_) listener_->on_delta(std::move(end.last));
  return std::move(end.choice);
}

}  // namespace windrow::session
