// The states of a batch, as the OpenAI API has them, and what each event does in each. Pure.
//
//   validating --> failed
//       |  `-----> in_progress --> finalizing --> completed
//       |              |  `(time over)-> finalizing --> expired
//       `-----> cancelling <-' -----> cancelled
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace windrow::batches {

enum class BatchStatus : uint8_t {
  kValidating,
  kFailed,
  kInProgress,
  kFinalizing,
  kCompleted,
  kExpired,
  kCancelling,
  kCancelled,
};

inline constexpr size_t kBatchStatuses = 8;

// As the API says it: "in_progress".
std::string_view to_string(BatchStatus status);
std::optional<BatchStatus> batch_status_of(std::string_view text);

// Nothing happens in it any more.
bool is_final(BatchStatus status);

enum class BatchEvent : uint8_t {
  kChecked,    // every line of the input is a request
  kFaulty,     // some are not, or there is none
  kCancel,     // somebody asks for it
  kTimeOver,   // BatchState::expires_at has come
  kRowsEnded,  // every row has a result
  kFilesMade,  // what came of the rows can be fetched
};

// Moments are seconds since 1970.
struct BatchState {
  BatchStatus status = BatchStatus::kValidating;

  // Of kFinalizing: rows without a result get one that says so, and the batch ends as kExpired.
  bool time_over = false;

  int64_t created_at = 0;
  int64_t expires_at = 0;
  std::optional<int64_t> in_progress_at;
  std::optional<int64_t> finalizing_at;
  std::optional<int64_t> completed_at;
  std::optional<int64_t> failed_at;
  std::optional<int64_t> expired_at;
  std::optional<int64_t> cancelling_at;
  std::optional<int64_t> cancelled_at;

  friend bool operator==(const BatchState&, const BatchState&) = default;
};

// What it is afterwards; nothing: the event changes nothing in this state.
std::optional<BatchState> after(const BatchState& state, BatchEvent event, int64_t now_unix_s);

}  // namespace windrow::batches
