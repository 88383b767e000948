#include "batch/result_line.h"

#include <fmt/format.h>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <utility>

#include "base/hash.h"
#include "llm/answer_json.h"

namespace windrow::batch {

namespace json = boost::json;

namespace {

// The same row has the same ids whenever it runs; the API only wants them to differ between rows.
std::string row_id(const RowKey& key) {
  return to_hex(key.identity.low ^ key.fingerprint);
}
std::string request_id(const RowKey& key) {
  return to_hex(key.identity.high ^ key.fingerprint);
}

json::object about(const RowKey& key, const Tries& tries) {
  json::object object{
      {"line", key.line}, {"attempts", tries.attempts}, {"fingerprint", to_hex(key.fingerprint)}};
  // Of one attempt `usage` has the tokens.
  if (tries.attempts > 1) {
    object["tokens"] = tries.tokens;
    if (!tries.earlier_failure.empty()) object["earlier_failure"] = tries.earlier_failure;
  }
  return object;
}

json::value text_or_null(const std::string& text) {
  return text.empty() ? json::value(nullptr) : json::value(text);
}

// `response` is JSON already: an answer may be large.
std::string line_text(const RowKey& key, std::string_view response, const json::value& error,
                      const json::object& windrow) {
  return fmt::format(
      R"({{"id":"batch_req_{}","custom_id":{},"response":{},"error":{},"windrow":{}}})"
      "\n",
      row_id(key), json::serialize(text_or_null(key.custom_id)), response, json::serialize(error),
      json::serialize(windrow));
}

std::string response_of(const RowKey& key, int32_t status, std::string_view body) {
  return fmt::format(R"({{"status_code":{},"request_id":"req_{}","body":{}}})", status,
                     request_id(key), body);
}

}  // namespace

std::string result_line(const RowKey& key, llm::Endpoint endpoint, std::string_view model,
                        const llm::Answer& answer, const Tries& tries, int64_t created_unix_s) {
  json::object windrow = about(key, tries);
  windrow["timings"] = json::object{{"queue_ms", answer.timings.queue_ms},
                                    {"prefill_ms", answer.timings.prefill_ms},
                                    {"decode_ms", answer.timings.decode_ms}};
  return line_text(
      key,
      response_of(key, 200,
                  llm::answer_to_json(endpoint, row_id(key), model, created_unix_s, answer)),
      nullptr, windrow);
}

std::string error_line(const RowFault& fault, const Tries& tries) {
  const llm::Failure& failure = fault.failure;
  std::string response = "null";
  if (!fault.of_line) {
    response = response_of(
        fault.key, failure.status,
        failure.raw.empty() ? json::serialize(llm::failure_to_json(failure)) : failure.raw);
  }
  return line_text(fault.key, response,
                   json::object{{"code", text_or_null(failure.code)},
                                {"message", failure.message},
                                {"param", text_or_null(failure.param)},
                                {"line", fault.key.line}},
                   about(fault.key, tries));
}

}  // namespace windrow::batch
