// Operation: a unit of work of a bank that outlives its request: a retain in the background, a
// consolidation. Plain values; bank_store.h keeps them.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "memory/bank/memory.h"

namespace windrow::memory {

struct OperationId {
  std::string text;  // a UUID
  friend auto operator<=>(const OperationId&, const OperationId&) = default;
};

enum class OperationType : uint8_t { kRetain, kConsolidation };
enum class OperationStatus : uint8_t { kPending, kProcessing, kCompleted, kFailed, kCancelled };

std::string_view to_string(OperationType type);      // "retain", "consolidation"
std::string_view to_string(OperationStatus status);  // "pending"
std::optional<OperationType> operation_type_named(std::string_view name);
std::optional<OperationStatus> operation_status_named(std::string_view name);

struct Operation {
  OperationId id;
  OperationType type = OperationType::kConsolidation;
  OperationStatus status = OperationStatus::kPending;
  boost::json::object payload;  // what is to be done
  boost::json::object result;   // result_metadata; "progress" while it runs
  std::string error;
  int32_t retries = 0;
  std::optional<UnixMs> next_retry;  // kPending: not before
  UnixMs created = 0;
  UnixMs updated = 0;
  std::optional<UnixMs> completed;

  // kProcessing: who works at it, and until when it is taken to be alive. A worker renews its lease
  // while it works; after that anybody may take the operation over.
  std::string worker;
  std::optional<UnixMs> lease_until;
  bool taken_over = false;  // BankStore::claim: its worker's lease was over
};

}  // namespace windrow::memory
