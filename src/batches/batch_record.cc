#include "batches/batch_record.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <boost/system/system_error.hpp>
#include <exception>
#include <span>
#include <stdexcept>
#include <utility>

#include "json/limits.h"
#include "json/values.h"
#include "llm/request_json.h"

namespace windrow::batches {

namespace json = boost::json;

namespace {

std::optional<int64_t> number_or_none(const json::value& value) {
  return value.is_null() ? std::nullopt : std::optional(value.as_int64());
}

std::optional<std::string> text_or_none(const json::value& value) {
  return value.is_null() ? std::nullopt : std::optional(std::string(value.as_string()));
}

std::string text_of(const json::value& value) {
  return std::string(value.as_string());
}

json::object state_json(const BatchState& state) {
  return {{"status", to_string(state.status)},
          {"time_over", state.time_over},
          {"created_at", state.created_at},
          {"expires_at", state.expires_at},
          {"in_progress_at", json_or_null(state.in_progress_at)},
          {"finalizing_at", json_or_null(state.finalizing_at)},
          {"completed_at", json_or_null(state.completed_at)},
          {"failed_at", json_or_null(state.failed_at)},
          {"expired_at", json_or_null(state.expired_at)},
          {"cancelling_at", json_or_null(state.cancelling_at)},
          {"cancelled_at", json_or_null(state.cancelled_at)}};
}

BatchState read_state(const json::object& object) {
  const std::optional<BatchStatus> status = batch_status_of(object.at("status").as_string());
  if (!status) throw std::invalid_argument("an unknown status");
  return {.status = *status,
          .time_over = object.at("time_over").as_bool(),
          .created_at = object.at("created_at").as_int64(),
          .expires_at = object.at("expires_at").as_int64(),
          .in_progress_at = number_or_none(object.at("in_progress_at")),
          .finalizing_at = number_or_none(object.at("finalizing_at")),
          .completed_at = number_or_none(object.at("completed_at")),
          .failed_at = number_or_none(object.at("failed_at")),
          .expired_at = number_or_none(object.at("expired_at")),
          .cancelling_at = number_or_none(object.at("cancelling_at")),
          .cancelled_at = number_or_none(object.at("cancelled_at"))};
}

json::object request_json(const BatchRequest& request) {
  json::object object{{"input_file_id", request.input_file_id},
                      {"endpoint", llm::url_of(request.endpoint)},
                      {"window_s", request.window_s},
                      {"metadata", request.metadata},
                      {"output_expires_after_s", json_or_null(request.output_expires_after_s)}};
  if (!request.api_url.empty()) object["api_url"] = request.api_url;
  return object;
}

BatchRequest read_request(const json::object& object) {
  const std::optional<llm::Endpoint> endpoint = llm::endpoint_of(object.at("endpoint").as_string());
  if (!endpoint) throw std::invalid_argument("an unknown endpoint");
  const json::value* api_url = object.if_contains("api_url");  // records of before have none
  return {.input_file_id = text_of(object.at("input_file_id")),
          .endpoint = *endpoint,
          .api_url = api_url == nullptr ? "" : text_of(*api_url),
          .window_s = object.at("window_s").as_int64(),
          .metadata = object.at("metadata").as_object(),
          .output_expires_after_s = number_or_none(object.at("output_expires_after_s"))};
}

json::array faults_json(const std::vector<BatchFault>& faults) {
  json::array list;
  for (const BatchFault& fault : faults) {
    list.push_back(json::object{{"code", fault.code},
                                {"message", fault.message},
                                {"param", fault.param},
                                {"line", fault.line}});
  }
  return list;
}

json::value record_usage_json(const std::optional<BatchUsage>& usage) {
  if (!usage) return nullptr;
  return json::object{{"input", usage->input_tokens},
                      {"cached", usage->cached_tokens},
                      {"output", usage->output_tokens},
                      {"reasoning", usage->reasoning_tokens}};
}

void read_outcome(const json::object& object, BatchRecord& record) {
  for (const json::value& fault : object.at("faults").as_array()) {
    const json::object& members = fault.as_object();
    record.faults.push_back({.code = text_of(members.at("code")),
                             .message = text_of(members.at("message")),
                             .param = text_of(members.at("param")),
                             .line = members.at("line").as_int64()});
  }
  const json::object& counts = object.at("counts").as_object();
  record.counts = {.total = counts.at("total").as_int64(),
                   .completed = counts.at("completed").as_int64(),
                   .failed = counts.at("failed").as_int64()};
  if (const json::object* usage = object.at("usage").if_object()) {
    record.usage = BatchUsage{.input_tokens = usage->at("input").as_int64(),
                              .cached_tokens = usage->at("cached").as_int64(),
                              .output_tokens = usage->at("output").as_int64(),
                              .reasoning_tokens = usage->at("reasoning").as_int64()};
  }
  record.output_file_id = text_or_none(object.at("output_file_id"));
  record.error_file_id = text_or_none(object.at("error_file_id"));
}

}  // namespace

std::string_view url_of(const BatchRequest& request) {
  return request.api_url.empty() ? llm::url_of(request.endpoint) : request.api_url;
}

std::string record_text(const BatchRecord& record) {
  json::array models;
  for (const std::string& model : record.models)
    models.emplace_back(model);
  return json::serialize(json::object{{"request", request_json(record.request)},
                                      {"state", state_json(record.state)},
                                      {"body_defaults", record.body_defaults},
                                      {"models", std::move(models)},
                                      {"faults", faults_json(record.faults)},
                                      {"counts",
                                       {{"total", record.counts.total},
                                        {"completed", record.counts.completed},
                                        {"failed", record.counts.failed}}},
                                      {"usage", record_usage_json(record.usage)},
                                      {"output_file_id", json_or_null(record.output_file_id)},
                                      {"error_file_id", json_or_null(record.error_file_id)}});
}

Result<void> read_record(std::string_view text, BatchRecord& record) {
  // Ours and whole, or damaged: which of its members is missing is of no use.
  try {
    const json::value value = json::parse(text, {}, {.max_depth = kWrittenJsonDepthMax});
    const json::object& object = value.as_object();
    record.request = read_request(object.at("request").as_object());
    record.state = read_state(object.at("state").as_object());
    record.body_defaults = object.at("body_defaults").as_object();
    for (const json::value& model : object.at("models").as_array())
      record.models.push_back(text_of(model));
    read_outcome(object, record);
  } catch (const std::exception& error) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("the record of {} is damaged: {}", record.id, error.what())};
  }
  return {};
}

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
