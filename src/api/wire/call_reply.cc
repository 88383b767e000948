#include "api/wire/call_reply.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <iterator>
#include <utility>
#include <vector>

#include "api/wire/messages_reply.h"
#include "api/wire/ollama_reply.h"
#include "api/wire/responses_reply.h"
#include "base/text_encoding.h"
#include "json/limits.h"
#include "json/writer.h"
#include "llm/answer_json.h"

namespace windrow::api {

namespace json = boost::json;

namespace {

// The ranking in an upstream's reply, which has the format of /v1/rerank.
std::vector<llm::RankedDocument> ranking_in(const std::string& raw) {
  std::vector<llm::RankedDocument> ranking;
  boost::system::error_code error;
  const json::value reply = json::parse(raw, error, {}, {.max_depth = kJsonDepthMax});
  const json::value* results =
      error || !reply.is_object() ? nullptr : reply.get_object().if_contains("results");
  if (results == nullptr || !results->is_array()) return ranking;
  for (const json::value& one : results->get_array()) {
    const json::object* object = one.if_object();
    if (object == nullptr) continue;
    const json::value* index = object->if_contains("index");
    const json::value* score = object->if_contains("relevance_score");
    if (index == nullptr || score == nullptr || !score->is_number()) continue;
    llm::RankedDocument document;
    document.index = static_cast<int32_t>(index->is_int64() ? index->get_int64() : 0);
    document.score = static_cast<float>(score->to_number<double>());
    const json::value* text = object->if_contains("document");
    if (text != nullptr && text->is_object()) text = text->get_object().if_contains("text");
    if (text != nullptr && text->is_string()) document.text = std::string(text->get_string());
    ranking.push_back(std::move(document));
  }
  return ranking;
}

// [{"index", "score", "text"}], with scores from 0 to 1 unless raw ones are wanted.
std::string tei_body(const std::vector<llm::RankedDocument>& ranking, bool raw_scores) {
  std::string text = "[";
  for (const llm::RankedDocument& document : ranking) {
    if (text.size() > 1) text += ',';
    fmt::format_to(std::back_inserter(text), R"({{"index":{},"score":)", document.index);
    append_json(raw_scores ? document.score : llm::relevance_of(document), text);
    if (document.text) {
      text += R"(,"text":)";
      append_json(*document.text, text);
    }
    text += '}';
  }
  return text + ']';
}

}  // namespace

std::string reply_body(const ReplyFacts& facts, const llm::Answer& answer) {
  if (const std::optional<llm::Answer> whole = llm::as_whole(answer))
    return reply_body(facts, *whole);
  if (facts.dialect == Dialect::kResponses) return response_of(facts, answer);
  if (facts.dialect == Dialect::kMessages) return message_of(facts, answer);
  if (is_ollama(facts.dialect)) return ollama_reply(facts.dialect, facts, answer);
  if (facts.tei) {
    return answer.raw.empty() ? tei_body(answer.ranking, facts.raw_scores)
                              : tei_body(ranking_in(answer.raw), facts.raw_scores);
  }
  if (facts.unit_scores && answer.raw.empty()) {
    llm::Answer scaled = answer;
    for (llm::RankedDocument& document : scaled.ranking)
      document.score = llm::relevance_of(document);
    return llm::answer_to_json(facts.endpoint, facts.id, facts.model, facts.created_unix_s, scaled);
  }
  std::string body =
      llm::answer_to_json(facts.endpoint, facts.id, facts.model, facts.created_unix_s, answer);
  if (!answer.raw.empty()) return body;
  const auto add = [&](std::string_view member, const std::string& value) {
    if (value.empty()) return;
    body.pop_back();
    fmt::format_to(std::back_inserter(body), R"(,"{}":)", member);
    append_json(value, body);
    body += '}';
  };
  add("service_tier", facts.service_tier);
  const bool generates = facts.endpoint == llm::Endpoint::kChatCompletions ||
                         facts.endpoint == llm::Endpoint::kCompletions;
  if (generates) add("system_fingerprint", facts.system_fingerprint);
  return body;
}

std::vector<std::string> output_ids(const ReplyFacts& facts, const llm::Answer& answer) {
  const std::optional<llm::Answer> whole = llm::as_whole(answer);
  return output_ids(facts.id, whole ? *whole : answer);
}

std::string header_list(std::span<const std::string> names) {
  constexpr size_t kBytesMax = 1000;
  std::string list;
  for (const std::string& name : names) {
    const size_t before = list.size();
    if (!list.empty()) list += ", ";
    list += percent_encoded(name);
    if (list.size() <= kBytesMax) continue;
    list.resize(before);
    return list.empty() ? "..." : list + ", ...";
  }
  return list;
}

std::unique_ptr<AnswerStream> stream_in_dialect(const ReplyFacts& facts, KeepResponse keep) {
  if (facts.dialect == Dialect::kMessages) return std::make_unique<MessagesStream>(facts);
  if (is_ollama(facts.dialect)) return std::make_unique<OllamaStream>(facts.dialect, facts);
  return std::make_unique<ResponsesStream>(facts, std::move(keep));
}

}  // namespace windrow::api
