#include "batches/batch_json.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <utility>

#include "batches/batch_request.h"
#include "json/values.h"
#include "llm/request_json.h"

namespace windrow::batches {

namespace json = boost::json;

namespace {

json::value errors_json(const std::vector<BatchFault>& faults) {
  if (faults.empty()) return nullptr;
  json::array data;
  for (const BatchFault& fault : faults) {
    data.push_back(json::object{
        {"code", fault.code},
        {"message", fault.message},
        {"param", fault.param.empty() ? json::value(nullptr) : json::value(fault.param)},
        {"line", fault.line == 0 ? json::value(nullptr) : json::value(fault.line)}});
  }
  return json::object{{"object", "list"}, {"data", std::move(data)}};
}

// Until its rows have ended it is all zeros, as OpenAI has it.
json::object usage_json(const BatchUsage& usage) {
  return {{"input_tokens", usage.input_tokens},
          {"input_tokens_details", {{"cached_tokens", usage.cached_tokens}}},
          {"output_tokens", usage.output_tokens},
          {"output_tokens_details", {{"reasoning_tokens", usage.reasoning_tokens}}},
          {"total_tokens", usage.input_tokens + usage.output_tokens}};
}

}  // namespace

json::object batch_json(const BatchRecord& record, std::string_view note) {
  const BatchState& state = record.state;
  const bool one_model = record.models.size() == 1 && !record.models.front().empty();
  json::object object{
      {"id", record.id},
      {"object", "batch"},
      {"endpoint", url_of(record.request)},
      {"model", one_model ? json::value(record.models.front()) : json::value(nullptr)},
      {"errors", errors_json(record.faults)},
      {"input_file_id", record.request.input_file_id},
      {"completion_window", window_text(record.request.window_s)},
      {"status", to_string(state.status)},
      {"output_file_id", json_or_null(record.output_file_id)},
      {"error_file_id", json_or_null(record.error_file_id)},
      {"created_at", state.created_at},
      {"in_progress_at", json_or_null(state.in_progress_at)},
      {"expires_at", state.expires_at},
      {"finalizing_at", json_or_null(state.finalizing_at)},
      {"completed_at", json_or_null(state.completed_at)},
      {"failed_at", json_or_null(state.failed_at)},
      {"expired_at", json_or_null(state.expired_at)},
      {"cancelling_at", json_or_null(state.cancelling_at)},
      {"cancelled_at", json_or_null(state.cancelled_at)},
      {"request_counts",
       {{"total", record.counts.total},
        {"completed", record.counts.completed},
        {"failed", record.counts.failed}}},
      {"usage", usage_json(record.usage.value_or(BatchUsage{}))},
      {"metadata", record.request.metadata.empty() ? json::value(nullptr)
                                                   : json::value(record.request.metadata)}};
  if (!note.empty()) object["windrow"] = json::object{{"note", note}};
  return object;
}

}  // namespace windrow::batches
