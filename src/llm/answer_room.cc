#include "llm/answer_room.h"

#include <algorithm>

namespace windrow::llm {

bool AnswerRoom::take(size_t bytes) {
  const std::scoped_lock lock(mutex_);
  if (bytes > bytes_max_ - bytes_) {
    ++refused_;
    return false;
  }
  bytes_ += bytes;
  return true;
}

void AnswerRoom::give_back(size_t bytes) {
  const std::scoped_lock lock(mutex_);
  bytes_ -= bytes;
}

size_t AnswerRoom::bytes() const {
  const std::scoped_lock lock(mutex_);
  return bytes_;
}

int64_t AnswerRoom::refused() const {
  const std::scoped_lock lock(mutex_);
  return refused_;
}

AnswerShare::~AnswerShare() {
  room_->give_back(taken_);
}

bool AnswerShare::grow(size_t bytes) {
  const std::scoped_lock lock(mutex_);
  return hold(bytes_ + bytes);
}

bool AnswerShare::grow_to(size_t bytes) {
  const std::scoped_lock lock(mutex_);
  return hold(std::max(bytes_, bytes));
}

void AnswerShare::shrink(size_t bytes) {
  const std::scoped_lock lock(mutex_);
  (void)hold(bytes_ - std::min(bytes_, bytes));
}

void AnswerShare::shrink_to(size_t bytes) {
  const std::scoped_lock lock(mutex_);
  (void)hold(std::min(bytes_, bytes));
}

bool AnswerShare::hold(size_t bytes) {
  const size_t blocks = (bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
  if (blocks > taken_ && !room_->take(blocks - taken_)) return false;
  if (blocks < taken_) room_->give_back(taken_ - blocks);
  taken_ = blocks;
  bytes_ = bytes;
  return true;
}

Failure no_room_for_answer() {
  return {
      .failure_class = FailureClass::kRequest,
      .status = 503,
      .code = "server_overloaded",
      .message =
          "the answers that are being made and sent take all the memory there is for them; ask "
          "for less at once (fewer answers, tokens, log-probabilities or inputs), or again in a "
          "few seconds",
      .overloaded = true,
      .retry_after_ms = 2000};
}

}  // namespace windrow::llm
