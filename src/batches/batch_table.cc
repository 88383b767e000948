#include "batches/batch_table.h"

#include <fmt/format.h>

#include <span>

namespace windrow::batches {
namespace {

constexpr std::string_view kColumns = "number, id, owner, COALESCE(idempotency_key, ''), record";

Result<BatchRecord> record_of(const store::DatabaseRow& row) {
  BatchRecord record;
  record.number = row.number(0);
  record.id = row.text(1);
  record.owner = row.text(2);
  record.idempotency_key = row.text(3);
  if (Result<void> read = read_record(row.text(4), record); !read) return read.error();
  return record;
}

}  // namespace

Result<void> BatchTable::insert(BatchRecord& record) {
  store::Value key;
  if (!record.idempotency_key.empty()) key = record.idempotency_key;
  const Result<int64_t> inserted = database_.change(
      "INSERT INTO batches (id, owner, idempotency_key, input_file_id, status, record) "
      "VALUES (?, ?, ?, ?, ?, ?)",
      {record.id, record.owner, key, record.request.input_file_id,
       std::string(to_string(record.state.status)), record_text(record)});
  if (!inserted) return inserted.error();
  return database_.ask("SELECT number FROM batches WHERE id = ?", {record.id},
                       [&](const store::DatabaseRow& row) { record.number = row.number(0); });
}

Result<void> BatchTable::update(const BatchRecord& record) {
  const Result<int64_t> changed = database_.change(
      "UPDATE batches SET status = ?, record = ? WHERE id = ?",
      {std::string(to_string(record.state.status)), record_text(record), record.id});
  if (!changed) return changed.error();
  return {};
}

Result<std::optional<BatchRecord>> BatchTable::find(std::string_view id) {
  std::optional<Result<BatchRecord>> found;
  const Result<void> asked =
      database_.ask(fmt::format("SELECT {} FROM batches WHERE id = ?", kColumns), {std::string(id)},
                    [&](const store::DatabaseRow& row) { found = record_of(row); });
  if (!asked) return asked.error();
  if (!found) return std::optional<BatchRecord>();
  if (!*found) return found->error();
  return std::optional(**std::move(found));
}

Result<std::optional<BatchRecord>> BatchTable::find_by_key(const std::string& owner,
                                                           const std::string& idempotency_key) {
  std::optional<Result<BatchRecord>> found;
  const Result<void> asked = database_.ask(
      fmt::format("SELECT {} FROM batches WHERE owner = ? AND idempotency_key = ?", kColumns),
      {owner, idempotency_key}, [&](const store::DatabaseRow& row) { found = record_of(row); });
  if (!asked) return asked.error();
  if (!found) return std::optional<BatchRecord>();
  if (!*found) return found->error();
  return std::optional(**std::move(found));
}

Result<std::optional<std::vector<BatchRecord>>> BatchTable::list(const Viewer& viewer,
                                                                 const BatchQuery& query) {
  std::string sql = fmt::format("SELECT {} FROM batches WHERE 1", kColumns);
  std::vector<store::Value> values;
  if (!viewer.sees_all) {
    sql += " AND owner = ?";
    values.emplace_back(viewer.key);
  }
  if (!query.after.empty()) {
    std::optional<int64_t> number;
    const Result<void> asked = database_.ask("SELECT number, owner FROM batches WHERE id = ?",
                                             {query.after}, [&](const store::DatabaseRow& row) {
                                               if (viewer.sees(row.text(1))) number = row.number(0);
                                             });
    if (!asked) return asked.error();
    if (!number) return std::optional<std::vector<BatchRecord>>();
    sql += " AND number < ?";
    values.emplace_back(*number);
  }
  sql += " ORDER BY number DESC LIMIT ?";
  values.emplace_back(query.limit + 1);
  std::vector<BatchRecord> records;
  const Result<void> asked =
      database_.ask(sql, std::span<const store::Value>(values), [&](const store::DatabaseRow& row) {
        if (Result<BatchRecord> record = record_of(row)) records.push_back(*std::move(record));
      });
  if (!asked) return asked.error();
  return std::optional(std::move(records));
}

Result<std::vector<BatchRecord>> BatchTable::unfinished(int64_t now_unix_s,
                                                        std::vector<std::string>& warnings) {
  std::vector<BatchRecord> records;
  std::vector<BatchRecord> damaged;
  const Result<void> asked = database_.ask(
      fmt::format("SELECT {} FROM batches WHERE status IN ('validating', 'in_progress', "
                  "'finalizing', 'cancelling') ORDER BY number",
                  kColumns),
      {}, [&](const store::DatabaseRow& row) {
        Result<BatchRecord> record = record_of(row);
        if (record) {
          records.push_back(*std::move(record));
          return;
        }
        warnings.push_back(record.error().message + "; it is called failed");
        damaged.push_back({.number = row.number(0),
                           .id = row.text(1),
                           .owner = row.text(2),
                           .state = {.status = BatchStatus::kFailed, .failed_at = now_unix_s},
                           .faults = {{.code = "record_damaged",
                                       .message = "what the server kept of this batch is damaged; "
                                                  "create it again"}}});
      });
  if (!asked) return asked.error();
  for (const BatchRecord& record : damaged) {
    if (Result<void> updated = update(record); !updated) return updated.error();
  }
  return records;
}

Result<std::vector<std::pair<BatchStatus, int64_t>>> BatchTable::counts() {
  std::vector<std::pair<BatchStatus, int64_t>> counts;
  const Result<void> asked = database_.ask("SELECT status, COUNT(*) FROM batches GROUP BY status",
                                           {}, [&](const store::DatabaseRow& row) {
                                             if (const auto status = batch_status_of(row.text(0)))
                                               counts.emplace_back(*status, row.number(1));
                                           });
  if (!asked) return asked.error();
  return counts;
}

}  // namespace windrow::batches
