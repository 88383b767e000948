// TurnSink: feeds the reply of a model's server to a TurnReader while it arrives, and where the
// answer is streamed, passes on what it says.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "llm/reply_sink.h"
#include "llm/stream_sink.h"
#include "llm/tokenizer.h"
#include "session/replies/turn_reader.h"

namespace windrow::session {

// An answer that is read token by token. Used by one thread at a time.
class StreamedTokens {
 public:
  // `listener` may be null: then the answer is only read.
  StreamedTokens(std::unique_ptr<llm::AnswerReader> reader,
                 std::shared_ptr<llm::StreamSink> listener)
      : reader_(std::move(reader)), listener_(std::move(listener)) {}

  // The answer goes on.
  void take(std::span<const int32_t> tokens);

  // `tokens` are those of the whole answer: takes what was not taken yet.
  void take_rest(std::span<const int32_t> tokens) { take(tokens.subspan(taken_)); }

  // The answer is over; the listener gets the rest of it.
  llm::Choice end(llm::FinishReason reason);

 private:
  std::unique_ptr<llm::AnswerReader> reader_;
  std::shared_ptr<llm::StreamSink> listener_;
  size_t taken_ = 0;
};

// Used by the thread that llm::ReplySink says; then, when the call has ended, by the one that takes
// the reader.
class TurnSink final : public llm::ReplySink {
 public:
  TurnSink(std::unique_ptr<TurnReader> reader, size_t bytes_max)
      : reader_(std::move(reader)), bytes_max_(bytes_max) {}

  size_t bytes_max() const override { return bytes_max_; }

  // kStop where the reply turns out to be unusable; the reader says why.
  Take on_bytes(std::string_view bytes) override {
    usable_ = usable_ && reader_->take(bytes);
    return usable_ ? Take::kMore : Take::kStop;
  }

  bool is_usable() const { return usable_; }
  TurnReader& reader() { return *reader_; }

 private:
  const std::unique_ptr<TurnReader> reader_;
  const size_t bytes_max_;
  bool usable_ = true;
};

}  // namespace windrow::session
