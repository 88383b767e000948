#include "api/wire/dialect.h"

#include <array>

#include "llm/request_json.h"

namespace windrow::api {
namespace {

using llm::Endpoint;

constexpr std::array kOfChats = {Dialect::kResponses, Dialect::kMessages, Dialect::kOllamaChat,
                                 Dialect::kOllamaGenerate};
constexpr std::array kOfEmbeddings = {Dialect::kOllamaEmbed, Dialect::kOllamaEmbeddings};

bool is_below(std::string_view path, std::string_view root) {
  return path == root ||
         (path.starts_with(root) && path.size() > root.size() && path[root.size()] == '/');
}

}  // namespace

std::string_view url_of(Endpoint endpoint, Dialect dialect) {
  switch (dialect) {
    case Dialect::kOwn:
      break;
    case Dialect::kResponses:
      return kResponsesPath;
    case Dialect::kMessages:
      return kMessagesPath;
    case Dialect::kOllamaChat:
      return "/api/chat";
    case Dialect::kOllamaGenerate:
      return "/api/generate";
    case Dialect::kOllamaEmbed:
      return "/api/embed";
    case Dialect::kOllamaEmbeddings:
      return "/api/embeddings";
  }
  return llm::url_of(endpoint);
}

std::span<const Dialect> dialects_of(Endpoint endpoint) {
  if (endpoint == Endpoint::kChatCompletions) return kOfChats;
  if (endpoint == Endpoint::kEmbeddings) return kOfEmbeddings;
  return {};
}

Dialect dialect_of_path(std::string_view path) {
  if (is_below(path, kResponsesPath)) return Dialect::kResponses;
  if (is_below(path, kSessionsPath))
    return path.ends_with(kMessagesPath) ? Dialect::kMessages : Dialect::kOllamaChat;
  if (is_below(path, kOllamaRoot)) return Dialect::kOllamaChat;
  return is_below(path, kMessagesPath) ? Dialect::kMessages : Dialect::kOwn;
}

std::string_view id_prefix(Endpoint endpoint, Dialect dialect) {
  if (dialect == Dialect::kResponses) return "resp_";
  if (dialect == Dialect::kMessages) return "msg_";
  switch (endpoint) {
    case Endpoint::kChatCompletions:
      return "chatcmpl-";
    case Endpoint::kCompletions:
      return "cmpl-";
    case Endpoint::kEmbeddings:
      return "embd-";
    case Endpoint::kRerank:
      break;
  }
  return "rerank-";
}

}  // namespace windrow::api
