// Dialect: the API whose format a request and its answer have. A body in another API's format is
// translated to that of an endpoint (translation.h), and the answer is written in that API's
// format. So all requests are read by one parser, wait in one dispatcher and run in one batch.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "llm/request.h"

namespace windrow::api {

enum class Dialect : uint8_t {
  kOwn,        // the endpoint's own format, OpenAI's
  kResponses,  // OpenAI's /v1/responses
  kMessages,   // Anthropic's /v1/messages

  // Ollama's; each path has its own bodies and answers.
  kOllamaChat,        // /api/chat
  kOllamaGenerate,    // /api/generate: a prompt, as a chat or raw
  kOllamaEmbed,       // /api/embed
  kOllamaEmbeddings,  // /api/embeddings, the older form
};

constexpr bool is_ollama(Dialect dialect) {
  return dialect >= Dialect::kOllamaChat;
}

constexpr std::string_view kResponsesPath = "/v1/responses";
constexpr std::string_view kMessagesPath = "/v1/messages";
constexpr std::string_view kCountTokensPath = "/v1/messages/count_tokens";

constexpr std::string_view kOllamaRoot = "/api";

// The path for an endpoint in a dialect.
std::string_view url_of(llm::Endpoint endpoint, Dialect dialect);

// The dialects of an endpoint besides its own.
std::span<const Dialect> dialects_of(llm::Endpoint endpoint);

constexpr std::string_view kSessionsPath = "/sessions";

// The dialect of errors at a path, also if there is no route for it. Sessions have the shape
// of Ollama's errors: {"error": "..."}.
Dialect dialect_of_path(std::string_view path);

// The prefix of an answer's id: "chatcmpl-", "resp_".
std::string_view id_prefix(llm::Endpoint endpoint, Dialect dialect);

}  // namespace windrow::api
