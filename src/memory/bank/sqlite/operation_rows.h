// The operations of a bank: their queue, with leases. All functions as the methods of BankStore.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "memory/bank/bank_store.h"
#include "memory/bank/operation.h"
#include "memory/bank/sqlite/queries.h"

namespace windrow::memory {

Result<void> insert_operation(BankChange& change, const Operation& operation);
Result<BankStore::Submitted> add_consolidation(BankChange& change, const OperationId& id);
Result<Operation> read_operation(const Queries& queries, const OperationId& id);
Result<std::vector<Operation>> read_operations(const Queries& queries,
                                               std::optional<OperationStatus> status,
                                               std::optional<OperationType> type, int64_t limit,
                                               int64_t offset, int64_t* total);
Result<std::optional<Operation>> claim_operation(BankChange& change, OperationType type,
                                                 std::string_view worker, int64_t lease_ms);
Result<void> end_leases_of_others(BankChange& change, std::string_view worker);
Result<std::optional<UnixMs>> next_operation_due(const Queries& queries, OperationType type);
Result<void> renew_operation(BankChange& change, const OperationId& id, std::string_view worker,
                             const boost::json::object& progress, int64_t lease_ms);
Result<void> finish_operation(BankChange& change, const Operation& operation,
                              std::string_view worker);
// Ends an operation of the worker's as completed, with this result. kConflict as renew.
Result<void> complete_operation(BankChange& change, const OperationId& id, std::string_view worker,
                                const boost::json::object& result);
Result<void> cancel_operation_row(BankChange& change, const OperationId& id);
Result<void> retry_operation_row(BankChange& change, const OperationId& id);
Result<void> delete_operation_row(BankChange& change, const OperationId& id);

}  // namespace windrow::memory
