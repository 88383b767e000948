#include "batches/batch_state.h"

#include <algorithm>
#include <array>
#include <utility>

namespace windrow::batches {
namespace {

constexpr std::array<std::pair<BatchStatus, std::string_view>, kBatchStatuses> kNames = {{
    {BatchStatus::kValidating, "validating"},
    {BatchStatus::kFailed, "failed"},
    {BatchStatus::kInProgress, "in_progress"},
    {BatchStatus::kFinalizing, "finalizing"},
    {BatchStatus::kCompleted, "completed"},
    {BatchStatus::kExpired, "expired"},
    {BatchStatus::kCancelling, "cancelling"},
    {BatchStatus::kCancelled, "cancelled"},
}};

std::optional<int64_t>& moment_of(BatchState& state) {
  switch (state.status) {
    case BatchStatus::kFailed:
      return state.failed_at;
    case BatchStatus::kFinalizing:
      return state.finalizing_at;
    case BatchStatus::kCompleted:
      return state.completed_at;
    case BatchStatus::kExpired:
      return state.expired_at;
    case BatchStatus::kCancelling:
      return state.cancelling_at;
    case BatchStatus::kCancelled:
      return state.cancelled_at;
    case BatchStatus::kValidating:
    case BatchStatus::kInProgress:
      break;
  }
  return state.in_progress_at;
}

std::optional<BatchStatus> next(const BatchState& state, BatchEvent event) {
  using enum BatchStatus;
  switch (state.status) {
    case kValidating:
      // kTimeOver changes nothing here: the batch expires once its rows are known.
      if (event == BatchEvent::kChecked) return kInProgress;
      if (event == BatchEvent::kFaulty) return kFailed;
      if (event == BatchEvent::kCancel) return kCancelling;
      break;
    case kInProgress:
      if (event == BatchEvent::kRowsEnded || event == BatchEvent::kTimeOver) return kFinalizing;
      if (event == BatchEvent::kCancel) return kCancelling;
      break;
    case kFinalizing:
      if (event == BatchEvent::kFilesMade) return state.time_over ? kExpired : kCompleted;
      break;
    case kCancelling:
      if (event == BatchEvent::kFilesMade) return kCancelled;
      break;
    case kFailed:
    case kCompleted:
    case kExpired:
    case kCancelled:
      break;
  }
  return std::nullopt;
}

}  // namespace

std::string_view to_string(BatchStatus status) {
  return kNames.at(static_cast<size_t>(status)).second;
}

std::optional<BatchStatus> batch_status_of(std::string_view text) {
  const auto found =
      std::ranges::find(kNames, text, &std::pair<BatchStatus, std::string_view>::second);
  return found == kNames.end() ? std::nullopt : std::optional(found->first);
}

bool is_final(BatchStatus status) {
  return status == BatchStatus::kFailed || status == BatchStatus::kCompleted ||
         status == BatchStatus::kExpired || status == BatchStatus::kCancelled;
}

std::optional<BatchState> after(const BatchState& state, BatchEvent event, int64_t now_unix_s) {
  const std::optional<BatchStatus> status = next(state, event);
  if (!status) return std::nullopt;
  BatchState changed = state;
  changed.status = *status;
  if (event == BatchEvent::kTimeOver) changed.time_over = true;
  moment_of(changed) = now_unix_s;
  return changed;
}

}  // namespace windrow::batches
