#include "batches/batch_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <charconv>
#include <utility>

#include "json/values.h"
#include "llm/field_values.h"
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

json::object usage_json(const BatchUsage& usage) {
  return {{"input_tokens", usage.input_tokens},
          {"input_tokens_details", {{"cached_tokens", usage.cached_tokens}}},
          {"output_tokens", usage.output_tokens},
          {"output_tokens_details", {{"reasoning_tokens", usage.reasoning_tokens}}},
          {"total_tokens", usage.input_tokens + usage.output_tokens}};
}

json::object counts_json(const RequestCounts& counts) {
  return {{"total", counts.total}, {"completed", counts.completed}, {"failed", counts.failed}};
}

}  // namespace

json::object progress_json(const BatchProgress& progress) {
  json::array failures;
  for (const batch::FailureKind& kind : progress.failures) {
    failures.push_back(
        json::object{{"status", kind.status == 0 ? json::value(nullptr) : json::value(kind.status)},
                     {"code", kind.code},
                     {"rows", kind.rows}});
  }
  return {{"rows_per_s", progress.rows_per_s},
          {"output_tokens_per_s", progress.output_tokens_per_s},
          {"elapsed_s", seconds(progress.elapsed)},
          {"left_s", progress.left ? json::value(seconds(*progress.left)) : json::value(nullptr)},
          {"failures", std::move(failures)}};
}

json::object running_json(const RunningBatch& batch) {
  json::array models;
  for (const std::string& model : batch.models)
    models.emplace_back(model);
  json::object object{{"id", batch.id},
                      {"object", "windrow.batch"},
                      {"endpoint", batch.url},
                      {"models", std::move(models)},
                      {"request_counts", counts_json(batch.counts)},
                      {"usage", usage_json(batch.progress.usage)},
                      {"progress", progress_json(batch.progress)}};
  if (!batch.owner.empty()) object["key"] = batch.owner;
  return object;
}

json::object batch_json(const BatchRecord& record, std::string_view note,
                        const std::optional<BatchProgress>& progress) {
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
      {"request_counts", counts_json(record.counts)},
      {"usage", usage_json(record.usage.value_or(BatchUsage{}))},
      {"metadata", record.request.metadata.empty() ? json::value(nullptr)
                                                   : json::value(record.request.metadata)}};
  json::object more;
  if (!note.empty()) more["note"] = note;
  if (progress) more["progress"] = progress_json(*progress);
  if (!more.empty()) object["windrow"] = std::move(more);
  return object;
}

namespace {

constexpr int64_t kHourS = 3600;
constexpr int64_t kWindowHoursMax = 8760;

constexpr size_t kPairsMax = 16;
constexpr size_t kKeyCharactersMax = 64;
constexpr size_t kValueCharactersMax = 512;

constexpr auto kFields = std::to_array<std::string_view>(
    {"input_file_id", "endpoint", "completion_window", "metadata", "output_expires_after"});

llm::Failure wrong(std::string message, std::string param) {
  return {.failure_class = llm::FailureClass::kRequest,
          .status = 400,
          .code = "invalid_value",
          .message = std::move(message),
          .param = std::move(param)};
}

// The text is well-formed: it comes from JSON.
size_t characters(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(
      text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; }));
}

std::optional<llm::Failure> read_metadata(const json::value& value, json::object& metadata) {
  const json::object* object = value.if_object();
  if (object == nullptr) return llm::wrong_kind("metadata", "an object", value);
  if (object->size() > kPairsMax) {
    return wrong(
        fmt::format("metadata has {} pairs; at most {} are kept", object->size(), kPairsMax),
        "metadata");
  }
  for (const auto& [key, text] : *object) {
    const std::string param = fmt::format("metadata.{}", llm::shown(key));
    if (characters(key) > kKeyCharactersMax) {
      return wrong(fmt::format("a key of metadata is longer than {} characters", kKeyCharactersMax),
                   param);
    }
    if (!text.is_string()) return llm::wrong_kind(param, "a string", text);
    if (characters(text.get_string()) > kValueCharactersMax) {
      return wrong(
          fmt::format("a value of metadata is longer than {} characters", kValueCharactersMax),
          param);
    }
  }
  metadata = *object;
  return std::nullopt;
}

std::optional<llm::Failure> read_expiry(const json::value& value, std::optional<int64_t>& seconds) {
  const json::object* object = value.if_object();
  if (object == nullptr) return llm::wrong_kind("output_expires_after", "an object", value);
  for (const auto& [name, member] : *object) {
    if (name != "anchor" && name != "seconds") {
      const std::string param = fmt::format("output_expires_after.{}", llm::shown(name));
      return wrong(fmt::format("{} is not known; it has anchor and seconds", param), param);
    }
  }
  const json::value* anchor = object->if_contains("anchor");
  if (anchor == nullptr || !anchor->is_string() || anchor->get_string() != "created_at") {
    return wrong("output_expires_after.anchor must be \"created_at\"",
                 "output_expires_after.anchor");
  }
  const json::value* after = object->if_contains("seconds");
  if (after == nullptr || !after->is_int64() || after->get_int64() < kKeptSecondsMin ||
      after->get_int64() > kKeptSecondsMax) {
    return wrong(fmt::format("output_expires_after.seconds must be a number from {} to {}",
                             kKeptSecondsMin, kKeptSecondsMax),
                 "output_expires_after.seconds");
  }
  seconds = after->get_int64();
  return std::nullopt;
}

std::optional<llm::Failure> read_endpoint(const json::object& body, const batch::RowApis& apis,
                                          BatchRequest& request) {
  const json::value* url = body.if_contains("endpoint");
  if (url == nullptr || url->is_null()) {
    return llm::missing_parameter(
        "endpoint", fmt::format("the body has no endpoint; it must be {}", batch::row_urls(apis)));
  }
  if (!url->is_string()) return llm::wrong_kind("endpoint", "a string", *url);
  if (const batch::RowApi* api = batch::find_api(apis, url->get_string())) {
    request.endpoint = api->endpoint();
    request.api_url = api->url();
    return std::nullopt;
  }
  const std::optional<llm::Endpoint> known = llm::endpoint_of(url->get_string());
  if (!known) {
    return wrong(fmt::format("endpoint is \"{}\"; it must be {}", llm::shown(url->get_string()),
                             batch::row_urls(apis)),
                 "endpoint");
  }
  request.endpoint = *known;
  return std::nullopt;
}

}  // namespace

std::variant<BatchRequest, llm::Failure> read_batch_request(const json::object& body,
                                                            const batch::RowApis& apis) {
  for (const auto& [name, value] : body) {
    if (std::ranges::find(kFields, std::string_view(name)) != kFields.end()) continue;
    return llm::Failure{.failure_class = llm::FailureClass::kRequest,
                        .status = 400,
                        .code = "unknown_parameter",
                        .message = fmt::format("a batch has no field \"{}\"", llm::shown(name)),
                        .param = std::string(name)};
  }
  const auto given = [&](std::string_view name) -> const json::value* {
    const json::value* value = body.if_contains(name);
    return value == nullptr || value->is_null() ? nullptr : value;
  };
  BatchRequest request;
  const json::value* input = given("input_file_id");
  if (input == nullptr) {
    return llm::missing_parameter("input_file_id",
                                  "the body has no input_file_id; upload the requests to /v1/files "
                                  "with purpose \"batch\" first");
  }
  if (!input->is_string()) return llm::wrong_kind("input_file_id", "a string", *input);
  request.input_file_id = input->get_string();
  if (auto problem = read_endpoint(body, apis, request)) return *std::move(problem);
  if (const json::value* window = given("completion_window")) {
    const std::optional<int64_t> seconds =
        window->is_string() ? window_of(window->get_string()) : std::nullopt;
    if (!seconds) {
      return wrong("completion_window must be \"24h\", or another number of hours up to \"8760h\"",
                   "completion_window");
    }
    request.window_s = *seconds;
  }
  if (const json::value* metadata = given("metadata")) {
    if (auto problem = read_metadata(*metadata, request.metadata)) return *std::move(problem);
  }
  if (const json::value* expiry = given("output_expires_after")) {
    if (auto problem = read_expiry(*expiry, request.output_expires_after_s))
      return *std::move(problem);
  }
  return request;
}

std::optional<int64_t> window_of(std::string_view text) {
  if (!text.ends_with('h')) return std::nullopt;
  text.remove_suffix(1);
  int64_t hours = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), hours);
  if (error != std::errc() || end != text.data() + text.size() || hours < 1 ||
      hours > kWindowHoursMax)
    return std::nullopt;
  return hours * kHourS;
}

std::string window_text(int64_t window_s) {
  return fmt::format("{}h", window_s / kHourS);
}

json::object file_json(const StoredFile& file) {
  return {{"id", file.id},
          {"object", "file"},
          {"bytes", file.bytes},
          {"created_at", file.created_at},
          {"expires_at", file.expires_at ? json::value(*file.expires_at) : json::value(nullptr)},
          {"filename", file.filename},
          {"purpose", file.purpose},
          {"status", "processed"}};
}

}  // namespace windrow::batches
