// AnswerRoom: how much memory the answers of a server may take together while they are made, and
// until their clients have been sent them. AnswerShare: what one answer takes of it. So an answer
// that becomes larger than there is room for ends with a failure of its own.
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

  // False, and nothing changes but that it is counted, when there is no room for so many bytes.
  [[nodiscard]] bool take(size_t bytes);
  void give_back(size_t bytes);

  size_t bytes() const;
  size_t bytes_max() const { return bytes_max_; }
  int64_t refused() const;  // calls of take that were false

 private:
  const size_t bytes_max_;
  mutable std::mutex mutex_;
  size_t bytes_ = 0;
  int64_t refused_ = 0;
};

// Thread-safe. Takes room in blocks of kBlockBytes, so that it may be asked for each token. Gives
// all back when it is destroyed.
class AnswerShare {
 public:
  static constexpr size_t kBlockBytes = size_t{16} << 10;

  explicit AnswerShare(std::shared_ptr<AnswerRoom> room) : room_(std::move(room)) {}
  ~AnswerShare();
  AnswerShare(const AnswerShare&) = delete;
  AnswerShare& operator=(const AnswerShare&) = delete;

  // The answer takes so many bytes more, or so many in all if it has taken fewer. False, and
  // nothing changes, when there is no room.
  [[nodiscard]] bool grow(size_t bytes);
  [[nodiscard]] bool grow_to(size_t bytes);

  // So many fewer, but never fewer than none; or so many in all, and no more.
  void shrink(size_t bytes);
  void shrink_to(size_t bytes);

 private:
  bool hold(size_t bytes);

  const std::shared_ptr<AnswerRoom> room_;
  std::mutex mutex_;
  size_t bytes_ = 0;
  size_t taken_ = 0;  // of the room: whole blocks
};

// How an answer ends for which there is no room.
Failure no_room_for_answer();

}  // namespace windrow::llm
