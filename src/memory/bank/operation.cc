#include "memory/bank/operation.h"

namespace windrow::memory {

std::string_view to_string(OperationType type) {
  switch (type) {
    case OperationType::kRetain:
      return "retain";
    case OperationType::kConsolidation:
      return "consolidation";
  }
  return "unknown";
}

std::string_view to_string(OperationStatus status) {
  switch (status) {
    case OperationStatus::kPending:
      return "pending";
    case OperationStatus::kProcessing:
      return "processing";
    case OperationStatus::kCompleted:
      return "completed";
    case OperationStatus::kFailed:
      return "failed";
    case OperationStatus::kCancelled:
      return "cancelled";
  }
  return "unknown";
}

std::optional<OperationType> operation_type_named(std::string_view name) {
  for (const OperationType type : {OperationType::kRetain, OperationType::kConsolidation})
    if (to_string(type) == name) return type;
  return std::nullopt;
}

std::optional<OperationStatus> operation_status_named(std::string_view name) {
  for (const OperationStatus status :
       {OperationStatus::kPending, OperationStatus::kProcessing, OperationStatus::kCompleted,
        OperationStatus::kFailed, OperationStatus::kCancelled})
    if (to_string(status) == name) return status;
  return std::nullopt;
}

}  // namespace windrow::memory
