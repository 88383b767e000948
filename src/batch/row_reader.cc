#include "batch/row_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/monotonic_resource.hpp>
#include <boost/json/value.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "base/ensure.h"
#include "base/format.h"
#include "base/utf8.h"
#include "batch/row.h"
#include "json/limits.h"
#include "json/members.h"
#include "json/parse.h"
#include "llm/body_reader.h"
#include "llm/field_values.h"
#include "llm/raw_body.h"
#include "llm/request_json.h"

namespace windrow::batch {

namespace json = boost::json;

namespace {

// How much of a foreign text a message repeats.
constexpr size_t kQuoteBytesMax = 80;

llm::Failure failure(int32_t status, std::string code, std::string message, std::string param) {
  return llm::Failure{.failure_class = llm::FailureClass::kRequest,
                      .status = status,
                      .code = std::move(code),
                      .message = std::move(message),
                      .param = std::move(param)};
}

RowFault fault_of_line(const Line& line, std::string code, std::string message, std::string param) {
  const uint64_t fingerprint = line_fingerprint(line.bytes, line.length);
  return RowFault{.key = {.line = line.number,
                          .custom_id = {},
                          .identity = line_identity(line.number, fingerprint),
                          .fingerprint = fingerprint},
                  .failure = failure(400, std::move(code), std::move(message), std::move(param)),
                  .of_line = true};
}

std::string in_quotes(std::string_view text) {
  if (text.size() <= kQuoteBytesMax) return fmt::format("\"{}\"", text);
  return fmt::format("\"{}...\"", utf8_repair(text.substr(0, kQuoteBytesMax)));
}

// A row that only passes through is looked at once and let go: so its tree lies in memory that is
// let go as a whole. Small enough for the allocator to have it at hand.
constexpr size_t kTreeBytes = 960;

json::storage_ptr memory_of_tree(bool raw) {
  return raw ? json::make_shared_resource<json::monotonic_resource>(kTreeBytes)
             : json::storage_ptr();
}

std::variant<json::value, RowFault> parse(const Line& line, bool inputs, json::storage_ptr memory) {
  if (line.problem != nullptr)
    return fault_of_line(line, line.problem->code, line.problem->message, line.problem->param);
  if (line.too_long) {
    return fault_of_line(
        line, "line_too_long",
        fmt::format("line {} is {} bytes long, above the limit of {} for one line; "
                    "split the request",
                    line.number, line.length, human_bytes(LineLimits{}.line_bytes_max)),
        "");
  }
  auto parsed = parse_json(line.bytes, std::move(memory));
  if (auto* value = std::get_if<json::value>(&parsed)) return std::move(*value);
  const auto& fault = std::get<JsonFault>(parsed);
  const auto not_json = [&](std::string message) {
    return fault_of_line(line, "invalid_json_line", std::move(message), "");
  };
  switch (fault.kind) {
    case JsonFault::Kind::kNotUtf8:
      return not_json(
          fmt::format("line {} is not UTF-8 (near byte {}); save the file as UTF-8, or "
                      "write what is not ASCII as \\u escapes",
                      line.number, fault.byte));
    case JsonFault::Kind::kTooDeep:
      return not_json(fmt::format("line {} is nested more than {} deep; flatten its {}",
                                  line.number, kJsonDepthMax, inputs ? "input" : "body"));
    case JsonFault::Kind::kSyntax:
      break;
  }
  return not_json(
      fmt::format("line {} is not one JSON value: {} near byte {}; write one {} per line",
                  line.number, fault.reason, fault.byte, inputs ? "row" : "request"));
}

std::string models_text(const std::vector<std::string>& models) {
  return fmt::format("{} {}", models.size() == 1 ? "the only model is" : "the models are",
                     fmt::join(models, ", "));
}

// The format of a row: an endpoint's own, or a dialect that is translated to one.
struct RowAsked {
  llm::Endpoint endpoint = llm::Endpoint::kChatCompletions;
  const RowApi* api = nullptr;
};

// The url as what is asked, and method and body as they must be.
std::optional<llm::Failure> check_envelope(const json::object& line, const RowApis& apis,
                                           RowAsked& asked) {
  const json::value* method = line.if_contains("method");
  if (method != nullptr && !(method->is_string() && method->get_string() == "POST")) {
    return failure(400, "invalid_method", "method must be \"POST\"", "method");
  }
  const json::value* url = line.if_contains("url");
  if (url == nullptr && !line.contains("body") && line.contains("input")) {
    return failure(400, "missing_url",
                   "the line has an input and neither url nor body: it is a row for windrow exec, "
                   "which runs a program for each row",
                   "url");
  }
  if (url == nullptr || !url->is_string()) {
    return failure(400, "missing_url",
                   fmt::format("the line has no url; it must be {}", row_urls(apis)), "url");
  }
  asked.api = find_api(apis, url->get_string());
  const std::optional<llm::Endpoint> known = llm::endpoint_of(url->get_string());
  if (asked.api == nullptr && !known) {
    return failure(
        404, "unknown_url",
        fmt::format("url is {}; it must be {}", in_quotes(url->get_string()), row_urls(apis)),
        "url");
  }
  asked.endpoint = asked.api != nullptr ? asked.api->endpoint() : *known;
  const json::value* body = line.if_contains("body");
  if (body == nullptr || !body->is_object()) {
    return failure(400, "missing_body", "the line has no body; it must be an object", "body");
  }
  return std::nullopt;
}

}  // namespace

RowReader::RowReader(RowRules rules) : rules_(std::move(rules)) {
  ENSURE(!rules_.models.empty(), "rows need at least one model to go to");
}

std::variant<Envelope, RowFault> RowReader::open(const Line& line) const {
  const bool inputs = rules_.form == RowForm::kInputs;
  auto parsed = parse(line, inputs, memory_of_tree(rules_.raw || inputs));
  if (auto* fault = std::get_if<RowFault>(&parsed)) return std::move(*fault);
  auto& value = std::get<json::value>(parsed);
  if (!value.is_object()) {
    return fault_of_line(line, "invalid_json_line",
                         fmt::format("line {} is not a JSON object; {}", line.number,
                                     inputs ? "a row is {\"custom_id\", \"input\"}"
                                            : "a request is {\"custom_id\", \"method\", \"url\", "
                                              "\"body\"}"),
                         "");
  }
  const json::value* custom_id = value.get_object().if_contains("custom_id");
  if (custom_id == nullptr) {
    return fault_of_line(
        line, "missing_custom_id",
        fmt::format("line {} has no custom_id; give each line one of its own", line.number),
        "custom_id");
  }
  if (!custom_id->is_string() || custom_id->get_string().empty()) {
    return fault_of_line(
        line, "invalid_custom_id",
        fmt::format("the custom_id of line {} must be a string that is not empty", line.number),
        "custom_id");
  }
  std::string id(custom_id->get_string());
  const Hash128 identity = row_identity(id);
  std::vector<JsonMember> members = json_members(line.bytes);
  const uint64_t fingerprint =
      inputs ? input_fingerprint(members, id) : row_fingerprint(members, id);
  return Envelope{.key = {.line = line.number,
                          .custom_id = std::move(id),
                          .identity = identity,
                          .fingerprint = fingerprint},
                  .line = std::move(value.get_object()),
                  .members = std::move(members),
                  .bytes = line.bytes.size()};
}

// Whether a body's model is one of those there are.
std::optional<llm::Failure> RowReader::check_model(const json::value* model) const {
  if (rules_.any_model) return std::nullopt;
  if (model == nullptr || model->is_null()) {
    return failure(400, "missing_required_parameter",
                   fmt::format("the body has no model; {}", models_text(rules_.models)), "model");
  }
  if (!model->is_string() ||
      std::find(rules_.models.begin(), rules_.models.end(),
                std::string_view(model->get_string())) != rules_.models.end()) {
    return std::nullopt;  // other kinds are refused with the other fields
  }
  return failure(404, "model_not_found",
                 fmt::format("there is no model {}; {}", in_quotes(model->get_string()),
                             models_text(rules_.models)),
                 "model");
}

RowOrFault RowReader::finish_input(Envelope envelope) const {
  const auto fault = [&](llm::Failure reason) {
    return RowFault{.key = std::move(envelope.key), .failure = std::move(reason)};
  };
  if (!envelope.line.contains("input")) {
    const std::string_view hint =
        envelope.line.contains("body")
            ? "; it has a body, so it is a row for windrow run, which needs no program"
            : "";
    return fault(failure(400, "missing_input",
                         fmt::format("the line has no input; a row is {{\"custom_id\": \"a\", "
                                     "\"input\": ...}} with any JSON as its input{}",
                                     hint),
                         "input"));
  }
  llm::Request request;
  request.model = envelope.key.custom_id;
  request.raw = json_member(envelope.members, "input");
  request.sampling.seed = hash64(envelope.key.custom_id, envelope.key.fingerprint);
  const json::value* seed = envelope.line.if_contains("seed");
  if (seed != nullptr && !seed->is_null()) {
    if (llm::Problem problem = llm::read_bits64(*seed, "seed", request.sampling.seed))
      return fault(*std::move(problem));
  }
  return Row{.key = std::move(envelope.key),
             .request = std::move(request),
             .bytes = envelope.bytes,
             .question = std::nullopt,
             .ignored_fields = {},
             .form = RowForm::kInputs};
}

RowOrFault RowReader::finish(Envelope envelope) const {
  if (rules_.form == RowForm::kInputs) return finish_input(std::move(envelope));
  const auto fault = [&](llm::Failure reason) {
    return RowFault{.key = std::move(envelope.key), .failure = std::move(reason)};
  };
  RowAsked asked;
  if (auto problem = check_envelope(envelope.line, rules_.apis, asked))
    return fault(*std::move(problem));
  const llm::Endpoint endpoint = asked.endpoint;

  json::object& body = envelope.line["body"].get_object();
  std::string_view text = json_member(envelope.members, "body");
  RowApi::Translated translated;
  if (asked.api != nullptr) {
    auto made = asked.api->translate(std::move(body), rules_.body.defaults,
                                     rules_.body.unknown_fields, rules_.raw);
    if (auto* problem = std::get_if<llm::Failure>(&made)) return fault(std::move(*problem));
    translated = std::move(std::get<RowApi::Translated>(made));
    body = std::move(translated.body);
    text = translated.text;
  }
  const std::shared_ptr<const RowDialect>& dialect = translated.dialect;
  const auto refused = [&](llm::Failure reason) {
    if (!dialect) return fault(std::move(reason));
    return fault(std::get<llm::Failure>(dialect->to_client(std::move(reason))));
  };
  if (rules_.raw) {
    llm::Request request = llm::raw_request(endpoint, text, body, rules_.body.defaults);
    const std::optional<Hash128> question = llm::question_of(request, request.raw, false);
    return Row{.key = std::move(envelope.key),
               .request = std::move(request),
               .bytes = envelope.bytes,
               .question = question,
               .ignored_fields = std::move(translated.ignored_fields),
               .dialect = dialect};
  }
  // A translated body has only fields that this endpoint knows.
  std::vector<std::string> ignored_fields = llm::complete_body(endpoint, rules_.body, body);
  if (dialect) ignored_fields = std::move(translated.ignored_fields);
  if (auto problem = check_model(body.if_contains("model"))) return refused(*std::move(problem));

  // A row without a seed gets one that is its own, so that a job repeats itself.
  const uint64_t own_seed = hash64(envelope.key.custom_id, envelope.key.fingerprint);
  auto read = llm::read_body(endpoint, rules_.body, body, own_seed);
  if (auto* problem = std::get_if<llm::Failure>(&read)) return refused(std::move(*problem));
  auto& [request, seeded] = std::get<llm::ReadBody>(read);
  if (dialect) request.chat.wishes = std::move(translated.wishes);
  if (request.model.empty()) request.model = rules_.models.front();
  const std::optional<Hash128> question = llm::question_of(request, text, seeded);
  return Row{.key = std::move(envelope.key),
             .request = std::move(request),
             .bytes = envelope.bytes,
             .question = question,
             .ignored_fields = std::move(ignored_fields),
             .dialect = dialect};
}

RowOrFault RowReader::read(const Line& line) const {
  auto opened = open(line);
  if (auto* fault = std::get_if<RowFault>(&opened)) return std::move(*fault);
  return finish(std::move(std::get<Envelope>(opened)));
}

RowFault duplicate_fault(const RowKey& key, const Line& line) {
  RowFault fault = fault_of_line(
      line, "duplicate_custom_id",
      fmt::format("line {} has the custom_id {}, which an earlier line has; that one is answered",
                  line.number, in_quotes(key.custom_id)),
      "custom_id");
  fault.key.custom_id = key.custom_id;
  return fault;
}

}  // namespace windrow::batch
