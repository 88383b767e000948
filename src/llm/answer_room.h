// AnswerRoom: the memory budget of all answers of a server, from their first token until they have
// been sent. AnswerShare: the part that one answer uses. An answer that exceeds the budget ends
// with a failure; others are not affected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "llm/answer.h"

namespace windrow::llm {

// Thread-safe.
class AnswerRoom {
 public:
  explicit AnswerRoom(size_t bytes_max) : bytes_max_(bytes_max) {}

  // Takes bytes from the budget. False, and only refused() changes, if there are too few left.
  [[nodiscard]] bool take(size_t bytes);
  void give_back(size_t bytes);

  size_t bytes() const;
  size_t bytes_max() const { return bytes_max_; }
  int64_t refused() const;  // calls of take that returned false

 private:
  const size_t bytes_max_;
  mutable std::mutex mutex_;
  size_t bytes_ = 0;
  int64_t refused_ = 0;
};

// Thread-safe. Takes the budget in blocks of kBlockBytes, so that a call for each token is cheap.
// Returns all of it when it is destroyed.
class AnswerShare {
 public:
  static constexpr size_t kBlockBytes = size_t{16} << 10;

  explicit AnswerShare(std::shared_ptr<AnswerRoom> room) : room_(std::move(room)) {}
  ~AnswerShare();
  AnswerShare(const AnswerShare&) = delete;
  AnswerShare& operator=(const AnswerShare&) = delete;

  // Takes `bytes` more, or until it has `bytes` in total. False, and nothing changes, if there is
  // too little left.
  [[nodiscard]] bool grow(size_t bytes);
  [[nodiscard]] bool grow_to(size_t bytes);

  // Returns `bytes`, or all but `bytes`.
  void shrink(size_t bytes);
  void shrink_to(size_t bytes);

 private:
  bool hold(size_t bytes);

  const std::shared_ptr<AnswerRoom> room_;
  std::mutex mutex_;
  size_t bytes_ = 0;
  size_t taken_ = 0;  // from the budget: whole blocks
};

// The failure of an answer that exceeds the budget.
Failure no_room_for_answer();

}  // namespace windrow::llm
