// Dialect: the API in whose words a model is asked and answers. A body of another API becomes that
// of a chat completion or another endpoint here (translation.h), and the answer goes back in its
// words: so all of them are read by one parser, wait in one dispatcher and run in one batch.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "llm/request.h"

namespace windrow::api {

enum class Dialect : uint8_t {
  kOwn,        // the endpoint's own
  kResponses,  // OpenAI's /v1/responses
  kMessages,   // Anthropic's /v1/messages

  // Ollama's, a body and a form of answers for each path.
  kOllamaChat,        // /api/chat
  kOllamaGenerate,    // /api/generate: a prompt, as a chat or as it is
  kOllamaEmbed,       // /api/embed
  kOllamaEmbeddings,  // /api/embeddings, which was there before
};

constexpr bool is_ollama(Dialect dialect) {
  return dialect >= Dialect::kOllamaChat;
}

constexpr std::string_view kResponsesPath = "/v1/responses";
constexpr std::string_view kMessagesPath = "/v1/messages";
constexpr std::string_view kCountTokensPath = "/v1/messages/count_tokens";

constexpr std::string_view kOllamaRoot = "/api";

// Where a question is asked in these words.
std::string_view url_of(llm::Endpoint endpoint, Dialect dialect);

// The dialects, beside its own, in which this endpoint's questions may be asked.
std::span<const Dialect> dialects_of(llm::Endpoint endpoint);

// In whose words a path is answered, also where nothing is at that path.
Dialect dialect_of_path(std::string_view path);

// Returns the beginning of an answer's id: "chatcmpl-", "resp_".
std::string_view id_prefix(llm::Endpoint endpoint, Dialect dialect);

}  // namespace windrow::api
