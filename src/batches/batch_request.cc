#include "batches/batch_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/value.hpp>
#include <charconv>
#include <utility>

#include "llm/field_values.h"
#include "llm/request_json.h"

namespace windrow::batches {

namespace json = boost::json;

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

}  // namespace windrow::batches
