#include "memory/bank/sqlite/operation_rows.h"

#include <fmt/format.h>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <string>
#include <utility>
#include <variant>

#include "json/parse.h"

namespace windrow::memory {
namespace {

constexpr std::string_view kOperationColumns =
    "SELECT id, type, status, payload, result, error, retries, next_retry, created, updated, "
    "completed, worker, lease_until FROM operations ";

Result<boost::json::object> object_column(std::string_view text) {
  std::variant<boost::json::value, JsonFault> parsed = parse_json(text);
  auto* const value = std::get_if<boost::json::value>(&parsed);
  if (value == nullptr || !value->is_object())
    return Error{ErrorKind::kInvalid, "a column that is a JSON object is damaged"};
  return std::move(value->get_object());
}

Result<Operation> operation_from(const store::DatabaseRow& row) {
  Operation operation;
  operation.id = OperationId{row.text(0)};
  const std::optional<OperationType> type = operation_type_named(row.text(1));
  const std::optional<OperationStatus> status = operation_status_named(row.text(2));
  if (!type || !status) return Error{ErrorKind::kInvalid, "its type or its status is damaged"};
  operation.type = *type;
  operation.status = *status;
  Result<boost::json::object> payload = object_column(row.bytes(3));
  if (!payload) return payload.error();
  operation.payload = *std::move(payload);
  Result<boost::json::object> result = object_column(row.bytes(4));
  if (!result) return result.error();
  operation.result = *std::move(result);
  operation.error = row.text(5);
  operation.retries = static_cast<int32_t>(row.number(6));
  operation.next_retry = row.number_or_none(7);
  operation.created = row.number(8);
  operation.updated = row.number(9);
  operation.completed = row.number_or_none(10);
  operation.worker = row.text(11);
  operation.lease_until = row.number_or_none(12);
  return operation;
}

Result<std::vector<Operation>> operations_where(const Queries& queries, std::string_view condition,
                                                Queries::Values values) {
  std::vector<Operation> operations;
  Result<void> read;
  const Result<void> asked =
      queries.ask(fmt::format("{}{}", kOperationColumns, condition), values,
                  [&](const store::DatabaseRow& row) {
                    if (!read) return;
                    Result<Operation> operation = operation_from(row);
                    if (operation)
                      operations.push_back(*std::move(operation));
                    else
                      read = operation.error().in(fmt::format("operation {}", row.text(0)));
                  });
  if (!asked) return asked.error();
  if (!read) return read.error();
  return operations;
}

Error no_operation(const OperationId& id) {
  return {ErrorKind::kNotFound, fmt::format("there is no operation \"{}\"", id.text)};
}

// The result of a statement that is to change an operation that exists: kConflict, with the status
// and `wanted`, if it changed none.
Result<void> changed_one(BankChange& change, const OperationId& id, const Result<int64_t>& changed,
                         std::string_view wanted) {
  if (!changed) return changed.error();
  if (*changed > 0) return {};
  const Result<Operation> operation = read_operation(change.queries(), id);
  if (!operation) return operation.error();
  return Error{ErrorKind::kConflict, fmt::format("the operation \"{}\" is {}; {}", id.text,
                                                 to_string(operation->status), wanted)};
}

// What a worker is told whose operation is not its own any more.
Result<void> still_owned(BankChange& change, const OperationId& id, std::string_view worker,
                         const Result<int64_t>& changed) {
  if (!changed) return changed.error();
  if (*changed > 0) return {};
  const Result<Operation> operation = read_operation(change.queries(), id);
  std::string now = "was deleted";
  if (operation) {
    now = operation->status != OperationStatus::kProcessing
              ? fmt::format("is {}", to_string(operation->status))
              : fmt::format("was taken over by \"{}\"", operation->worker);
  } else if (operation.error().kind != ErrorKind::kNotFound) {
    return operation.error();
  }
  return Error{ErrorKind::kConflict, fmt::format("the operation \"{}\" {}; the worker \"{}\" stops",
                                                 id.text, now, worker)};
}

}  // namespace

Result<void> insert_operation(BankChange& change, const Operation& operation) {
  Result<void> added = change.run(
      "INSERT INTO operations (id, type, status, payload, result, error, retries, next_retry, "
      "created, updated, completed, worker, lease_until) "
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      {operation.id.text, std::string(to_string(operation.type)),
       std::string(to_string(operation.status)), boost::json::serialize(operation.payload),
       boost::json::serialize(operation.result), operation.error, int64_t{operation.retries},
       store::value_of(operation.next_retry), operation.created, operation.updated,
       store::value_of(operation.completed), operation.worker,
       store::value_of(operation.lease_until)});
  if (!added && added.error().kind == ErrorKind::kConflict) {
    return Error{ErrorKind::kConflict,
                 fmt::format("there is an operation \"{}\"; use another id", operation.id.text)};
  }
  return added;
}

Result<BankStore::Submitted> add_consolidation(BankChange& change, const OperationId& id) {
  std::optional<OperationId> pending;
  const Result<void> asked = change.queries().ask(
      "SELECT id FROM operations WHERE status = 'pending' AND type = 'consolidation' "
      "AND payload = '{}' ORDER BY created, number LIMIT 1",
      {}, [&](const store::DatabaseRow& row) { pending = OperationId{row.text(0)}; });
  if (!asked) return asked.error();
  if (pending) return BankStore::Submitted{.id = *std::move(pending), .deduplicated = true};
  const Result<void> added = insert_operation(change, {.id = id,
                                                       .type = OperationType::kConsolidation,
                                                       .status = OperationStatus::kPending,
                                                       .created = change.now(),
                                                       .updated = change.now()});
  if (!added) return added.error();
  return BankStore::Submitted{.id = id, .deduplicated = false};
}

Result<Operation> read_operation(const Queries& queries, const OperationId& id) {
  Result<std::vector<Operation>> found = operations_where(queries, "WHERE id = ?", {id.text});
  if (!found) return found.error();
  if (found->empty()) return no_operation(id);
  return std::move(found->front());
}

Result<std::vector<Operation>> read_operations(const Queries& queries,
                                               std::optional<OperationStatus> status,
                                               std::optional<OperationType> type, int64_t limit,
                                               int64_t offset, int64_t* total) {
  const std::string wanted_status(status ? to_string(*status) : "");
  const std::string wanted_type(type ? to_string(*type) : "");
  constexpr std::string_view kWanted = "WHERE (?1 = '' OR status = ?1) AND (?2 = '' OR type = ?2)";
  if (total != nullptr) {
    const Result<std::optional<int64_t>> count = queries.number(
        fmt::format("SELECT count(*) FROM operations {}", kWanted), {wanted_status, wanted_type});
    if (!count) return count.error();
    *total = count->value_or(0);
  }
  return operations_where(
      queries, fmt::format("{} ORDER BY created DESC, number DESC LIMIT ?3 OFFSET ?4", kWanted),
      {wanted_status, wanted_type, limit, offset});
}

Result<std::optional<Operation>> claim_operation(BankChange& change, OperationType type,
                                                 std::string_view worker, int64_t lease_ms) {
  Result<std::vector<Operation>> due = operations_where(
      change.queries(),
      "WHERE type = ?2 AND ((status = 'pending' AND (next_retry IS NULL OR next_retry <= ?1)) OR "
      "(status = 'processing' AND (lease_until IS NULL OR lease_until <= ?1))) "
      "AND NOT EXISTS (SELECT 1 FROM operations AS other WHERE other.status = 'processing' "
      "AND other.type = ?2 AND other.lease_until > ?1) ORDER BY created, number LIMIT 1",
      {change.now(), std::string(to_string(type))});
  if (!due) return due.error();
  if (due->empty()) return std::optional<Operation>();
  Operation& operation = due->front();
  operation.taken_over = operation.status == OperationStatus::kProcessing;
  operation.status = OperationStatus::kProcessing;
  operation.worker = worker;
  operation.updated = change.now();
  operation.lease_until = change.now() + lease_ms;
  operation.next_retry.reset();
  const Result<void> claimed = change.run(
      "UPDATE operations SET status = 'processing', worker = ?, updated = ?, lease_until = ?, "
      "next_retry = NULL WHERE id = ?",
      {operation.worker, operation.updated, store::value_of(operation.lease_until),
       operation.id.text});
  if (!claimed) return claimed.error();
  return std::optional(std::move(operation));
}

Result<void> end_leases_of_others(BankChange& change, std::string_view worker) {
  return change.run(
      "UPDATE operations SET lease_until = ? WHERE status = 'processing' AND worker <> ?",
      {change.now(), std::string(worker)});
}

// While one of the type is worked at, the others wait for its end.
Result<std::optional<UnixMs>> next_operation_due(const Queries& queries, OperationType type) {
  return queries.number(
      "SELECT coalesce((SELECT min(lease_until) FROM operations WHERE status = 'processing' "
      "AND type = ?1), (SELECT min(coalesce(next_retry, 0)) FROM operations "
      "WHERE status = 'pending' AND type = ?1))",
      {std::string(to_string(type))});
}

Result<void> renew_operation(BankChange& change, const OperationId& id, std::string_view worker,
                             const boost::json::object& progress, int64_t lease_ms) {
  return still_owned(
      change, id, worker,
      change.change("UPDATE operations SET lease_until = ?1, updated = ?2, "
                    "result = iif(?3 = '{}', result, json_set(result, '$.progress', json(?3))) "
                    "WHERE id = ?4 AND worker = ?5 AND status = 'processing'",
                    {change.now() + lease_ms, change.now(), boost::json::serialize(progress),
                     id.text, std::string(worker)}));
}

Result<void> finish_operation(BankChange& change, const Operation& operation,
                              std::string_view worker) {
  if (operation.status == OperationStatus::kProcessing)
    return Error{ErrorKind::kInvalid, "an operation does not end as processing"};
  const bool has_ended = operation.status != OperationStatus::kPending;
  return still_owned(
      change, operation.id, worker,
      change.change(
          "UPDATE operations SET status = ?, payload = ?, result = ?, error = ?, "
          "retries = ?, next_retry = ?, updated = ?, completed = ?, worker = '', "
          "lease_until = NULL WHERE id = ? AND worker = ? AND status = 'processing'",
          {std::string(to_string(operation.status)), boost::json::serialize(operation.payload),
           boost::json::serialize(operation.result), operation.error, int64_t{operation.retries},
           has_ended ? store::Value() : store::value_of(operation.next_retry), change.now(),
           has_ended ? store::Value(change.now()) : store::Value(), operation.id.text,
           std::string(worker)}));
}

Result<void> complete_operation(BankChange& change, const OperationId& id, std::string_view worker,
                                const boost::json::object& result) {
  return still_owned(
      change, id, worker,
      change.change("UPDATE operations SET status = 'completed', result = ?, error = '', "
                    "next_retry = NULL, updated = ?, completed = ?, worker = '', "
                    "lease_until = NULL WHERE id = ? AND worker = ? AND status = 'processing'",
                    {boost::json::serialize(result), change.now(), change.now(), id.text,
                     std::string(worker)}));
}

Result<void> cancel_operation_row(BankChange& change, const OperationId& id) {
  return changed_one(
      change, id,
      change.change("UPDATE operations SET status = 'cancelled', updated = ?, completed = ?, "
                    "next_retry = NULL, worker = '', lease_until = NULL "
                    "WHERE id = ? AND status IN ('pending', 'processing')",
                    {change.now(), change.now(), id.text}),
      "only pending and processing ones can be cancelled");
}

Result<void> retry_operation_row(BankChange& change, const OperationId& id) {
  return changed_one(
      change, id,
      change.change("UPDATE operations SET status = 'pending', updated = ?, completed = NULL, "
                    "error = '', retries = 0, next_retry = NULL, worker = '', lease_until = NULL "
                    "WHERE id = ? AND status IN ('failed', 'cancelled')",
                    {change.now(), id.text}),
      "only failed and cancelled ones can be tried again");
}

Result<void> delete_operation_row(BankChange& change, const OperationId& id) {
  return changed_one(change, id,
                     change.change("DELETE FROM operations WHERE id = ? AND status NOT IN "
                                   "('pending', 'processing')",
                                   {id.text}),
                     "cancel it before you delete it");
}

}  // namespace windrow::memory
