// The states of a batch, as in the OpenAI API, and what each event does in each of them. Pure.
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

// The API's name: "in_progress".
std::string_view to_string(BatchStatus status);
std::optional<BatchStatus> batch_status_of(std::string_view text);

// True if no event changes it any more.
bool is_final(BatchStatus status);

enum class BatchEvent : uint8_t {
  kChecked,    // every line of the input is a request
  kFaulty,     // some lines are not, or there are none
  kCancel,     // a client cancels the batch
  kTimeOver,   // BatchState::expires_at has passed
  kRowsEnded,  // every row has a result
  kFilesMade,  // the output files exist
};

// Times are seconds since 1970.
struct BatchState {
  BatchStatus status = BatchStatus::kValidating;

  // kFinalizing: rows without a result get the error batch_expired, and the batch ends as kExpired.
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

// The state after the event; nullopt if the event changes nothing in this state.
std::optional<BatchState> after(const BatchState& state, BatchEvent event, int64_t now_unix_s);

}  // namespace windrow::batches
