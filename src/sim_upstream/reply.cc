#include "sim_upstream/reply.h"

#include <fmt/format.h>

#include <bit>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

#include "base/text_encoding.h"

namespace windrow::sim_upstream {

namespace json = boost::json;

namespace {

std::string_view finish_reason(const Choice& choice) {
  return choice.cut ? "length" : "stop";
}

std::string body_with(const ReplyFacts& facts, std::string_view id, std::string_view object,
                      json::array choices) {
  return json::serialize(json::object{{"id", fmt::format("{}-sim-{}", id, facts.number)},
                                      {"object", object},
                                      {"created", facts.created_s},
                                      {"model", facts.model},
                                      {"choices", std::move(choices)},
                                      {"usage", usage_json(facts.usage)}});
}

// Little-endian floats, the form of OpenAI's base64 embeddings.
std::string bytes_of(const std::vector<float>& vector) {
  std::string bytes;
  for (const float value : vector) {
    const auto bits = std::bit_cast<uint32_t>(value);
    for (int shift = 0; shift < 32; shift += 8)
      bytes += static_cast<char>((bits >> shift) & 0xFF);
  }
  return bytes;
}

}  // namespace

std::string in_quotes(std::string_view text) {
  return json::serialize(json::string(text));
}

json::object usage_json(const Usage& usage) {
  return {{"prompt_tokens", usage.prompt_tokens},
          {"completion_tokens", usage.answer_tokens},
          {"total_tokens", usage.prompt_tokens + usage.answer_tokens},
          {"prompt_tokens_details", json::object{{"cached_tokens", usage.cached_tokens}}}};
}

std::string chat_body(const ReplyFacts& facts, std::span<const Choice> choices) {
  json::array list;
  for (const Choice& choice : choices) {
    json::value content;
    if (!facts.null_content) content = choice.text;
    list.push_back(
        json::object{{"index", list.size()},
                     {"message", json::object{{"role", "assistant"}, {"content", content}}},
                     {"logprobs", nullptr},
                     {"finish_reason", finish_reason(choice)}});
  }
  return body_with(facts, "chatcmpl", "chat.completion", std::move(list));
}

std::string completion_body(const ReplyFacts& facts, std::span<const Choice> choices) {
  json::array list;
  for (const Choice& choice : choices) {
    list.push_back(json::object{{"index", list.size()},
                                {"text", choice.text},
                                {"logprobs", nullptr},
                                {"finish_reason", finish_reason(choice)}});
  }
  return body_with(facts, "cmpl", "text_completion", std::move(list));
}

std::string embedding_body(const ReplyFacts& facts, std::span<const std::vector<float>> vectors,
                           bool base64) {
  json::array data;
  for (const std::vector<float>& vector : vectors) {
    json::value embedding;
    if (base64) {
      std::string text;
      append_base64(bytes_of(vector), text);
      embedding = text;
    } else {
      embedding = json::array(vector.begin(), vector.end());
    }
    data.push_back(json::object{
        {"object", "embedding"}, {"index", data.size()}, {"embedding", std::move(embedding)}});
  }
  return json::serialize(
      json::object{{"object", "list"},
                   {"data", std::move(data)},
                   {"model", facts.model},
                   {"usage", json::object{{"prompt_tokens", facts.usage.prompt_tokens},
                                          {"total_tokens", facts.usage.prompt_tokens}}}});
}

std::string error_body(std::string_view message, std::string_view type, std::string_view code) {
  json::value code_value;
  if (!code.empty()) code_value = code;
  return json::serialize(json::object{{"error", json::object{{"message", message},
                                                             {"type", type},
                                                             {"param", nullptr},
                                                             {"code", std::move(code_value)}}}});
}

void set_body(LongBody body, SimReply& reply) {
  if (body.has_rows()) {
    reply.more = std::make_shared<LongBody>(std::move(body));
  } else {
    reply.body = body.take_all();
  }
}

SimReply error_reply(int status, std::string_view message, std::string_view type,
                     std::string_view code) {
  return {.status = status, .body = error_body(message, type, code)};
}

}  // namespace windrow::sim_upstream
