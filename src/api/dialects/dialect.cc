#include "api/dialects/dialect.h"

#include <array>

#include "llm/request_json.h"

namespace windrow::api {
namespace {

using llm::Endpoint;

constexpr std::array kOfChats = {Dialect::kResponses, Dialect::kMessages};

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
  }
  return llm::url_of(endpoint);
}

std::span<const Dialect> dialects_of(Endpoint endpoint) {
  if (endpoint == Endpoint::kChatCompletions) return kOfChats;
  return {};
}

Dialect dialect_of_path(std::string_view path) {
  if (is_below(path, kResponsesPath)) return Dialect::kResponses;
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
