#include "batches/batch_record.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <boost/system/system_error.hpp>
#include <exception>
#include <stdexcept>
#include <utility>

#include "json/depth.h"
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
  // Ours and whole, or damaged: which of its members is missing is of no use to anybody.
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

}  // namespace windrow::batches
