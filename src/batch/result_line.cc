#include "batch/result_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <string>

#include "base/hash.h"
#include "base/utf8.h"
#include "json/writer.h"
#include "llm/answer_json.h"

namespace windrow::batch {

namespace json = boost::json;

namespace {

// An upper bound for a line without its custom_id and its answer.
constexpr size_t kLineBytes = 320;

// As row_id; the API only wants them to differ between rows.
std::string request_id(const RowKey& key) {
  return to_hex(key.identity.high ^ key.fingerprint);
}

// Whole lines are written straight into their text: there may be a hundred thousand a second.
template <class Number>
void append_number(Number number, std::string& text) {
  const fmt::format_int digits(number);
  text.append(digits.data(), digits.size());
}

// A server may send invalid UTF-8, which would make the line unreadable.
void append_text(std::string_view value, std::string& text) {
  append_json(utf8_repair(value), text);
}

void append_text_or_null(std::string_view value, std::string& text) {
  if (value.empty()) {
    text += "null";
  } else {
    append_text(value, text);
  }
}

// Up to the response.
std::string begin_line(const RowKey& key, size_t response_bytes) {
  std::string text;
  text.reserve(response_bytes + kLineBytes + key.custom_id.size());
  text += kLineStart;
  text += row_id(key);
  text += R"(","custom_id":)";
  if (key.custom_id.empty()) {
    text += "null";
  } else {
    append_json(key.custom_id, text);  // it was read as JSON
  }
  text += R"(,"response":)";
  return text;
}

void append_response(const RowKey& key, int32_t status, std::string_view body, std::string& text) {
  text += R"({"status_code":)";
  append_number(status, text);
  text += R"(,"request_id":"req_)";
  text += request_id(key);
  text += R"(","body":)";
  text += body;
  text += '}';
}

// The member `windrow`, not closed.
void append_about(const RowKey& key, const Tries& tries, std::string& text) {
  text += R"(,"windrow":{"line":)";
  append_number(key.line, text);
  text += R"(,"attempts":)";
  append_number(tries.attempts, text);
  text += R"(,"fingerprint":")";
  text += to_hex(key.fingerprint);
  text += '"';
  // With a single attempt, `usage` has the tokens.
  if (tries.attempts <= 1) return;
  text += R"(,"tokens":)";
  append_number(tries.tokens, text);
  if (tries.earlier_failure.empty()) return;
  text += R"(,"earlier_failure":)";
  append_text(tries.earlier_failure, text);
}

}  // namespace

size_t cost_of(const RowOutcome& outcome) {
  size_t bytes = kQueuedOverheadBytes + outcome.key.custom_id.size() + outcome.model.size();
  if (const auto* answer = std::get_if<llm::Answer>(&outcome.outcome)) {
    bytes += llm::bytes_of(*answer);
  } else {
    bytes += std::get<llm::Failure>(outcome.outcome).message.size();
  }
  return bytes;
}

std::string row_id(const RowKey& key) {
  return to_hex(key.identity.low ^ key.fingerprint);
}

std::string answer_body(const RowKey& key, llm::Endpoint endpoint, std::string_view model,
                        const llm::Answer& answer, int64_t created_unix_s,
                        const RowDialect* dialect) {
  if (dialect != nullptr) return dialect->body(row_id(key), model, created_unix_s, answer);
  return llm::answer_to_json(endpoint, row_id(key), model, created_unix_s, answer);
}

std::string result_line(const RowKey& key, llm::Endpoint endpoint, std::string_view model,
                        const llm::Answer& answer, const Tries& tries, int64_t created_unix_s,
                        const RowDialect* dialect) {
  std::string made;
  if (answer.raw.empty()) made = answer_body(key, endpoint, model, answer, created_unix_s, dialect);
  const std::string& body = answer.raw.empty() ? made : answer.raw;
  std::string text = begin_line(key, body.size());
  append_response(key, 200, body, text);
  text += R"(,"error":null)";
  append_about(key, tries, text);
  text += R"(,"timings":{"queue_ms":)";
  append_number(answer.timings.queue_ms, text);
  text += R"(,"prefill_ms":)";
  append_number(answer.timings.prefill_ms, text);
  text += R"(,"decode_ms":)";
  append_number(answer.timings.decode_ms, text);
  text += "}}}\n";
  return text;
}

std::string error_line(const RowFault& fault, const Tries& tries) {
  const llm::Failure& failure = fault.failure;
  std::string text = begin_line(fault.key, failure.raw.size() + failure.message.size());
  const bool never_asked = failure.status == 0;
  if (fault.of_line || never_asked) {
    text += "null";
  } else if (failure.raw.empty()) {
    append_response(fault.key, failure.status,
                    utf8_repair(json::serialize(llm::failure_to_json(failure))), text);
  } else {
    append_response(fault.key, failure.status, failure.raw, text);
  }
  text += R"(,"error":{"code":)";
  append_text_or_null(failure.code, text);
  text += R"(,"message":)";
  append_text(failure.message, text);
  text += R"(,"param":)";
  append_text_or_null(failure.param, text);
  text += R"(,"line":)";
  append_number(fault.key.line, text);
  text += '}';
  append_about(fault.key, tries, text);
  // Without a response it would be taken for that of a line.
  if (never_asked && !fault.of_line) text += R"(,"row":true)";
  text += "}}\n";
  return text;
}

namespace {

// Whether it was cut at a stop text and not at a limit. False for an upstream's raw answer, where
// that is unknown.
bool at_stop_text(const llm::Answer& answer) {
  return std::ranges::any_of(answer.choices, [](const llm::Choice& choice) {
    return choice.structure == llm::StructureLabel::kTruncated &&
           choice.finish_reason == llm::FinishReason::kStop;
  });
}

}  // namespace

llm::Failure truncated_failure(const RowKey& key, llm::Endpoint endpoint, std::string_view model,
                               const llm::Answer& answer, int64_t created_unix_s,
                               const RowDialect* dialect) {
  const bool stop = at_stop_text(answer);
  llm::Failure failure{
      .status = 422,
      .code = "truncated_structured_output",
      .message =
          stop
              ? "a stop text cut the answer before its structure or call was whole; take out stop, "
                "or accept such answers with --keep-truncated"
              : "the answer reached max_tokens, or the end of the context, before its "
                "structure or call was whole; raise max_tokens, or accept such answers with "
                "--keep-truncated",
      .param = stop ? "stop" : "max_tokens",
      .usage = answer.usage};
  std::string body = boost::json::serialize(llm::failure_to_json(failure));
  body.pop_back();
  body += R"(,"answer":)";
  body += answer.raw.empty() ? answer_body(key, endpoint, model, answer, created_unix_s, dialect)
                             : answer.raw;
  body += '}';
  failure.raw = std::move(body);
  return failure;
}

}  // namespace windrow::batch
