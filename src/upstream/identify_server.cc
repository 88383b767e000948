#include "upstream/identify_server.h"

#include <fmt/format.h>

#include <utility>
#include <variant>

#include "upstream/send_and_wait.h"
#include "upstream/target.h"

namespace windrow::upstream {
namespace {

constexpr Duration kIdentifyConnectTimeout = std::chrono::seconds(5);
constexpr Duration kIdentifyTimeout = std::chrono::seconds(10);
constexpr size_t kIdentifyReplyBytesMax = size_t{16} << 20;

http::ClientRequest question(const UpstreamOptions& options, http::Url url) {
  http::ClientRequest request;
  request.url = std::move(url);
  request.headers = options.headers;
  if (!options.api_key.empty())
    request.headers.set("Authorization", fmt::format("Bearer {}", options.api_key));
  request.limits.connect = kIdentifyConnectTimeout;
  request.limits.total = kIdentifyTimeout;
  request.limits.reply_bytes_max = kIdentifyReplyBytesMax;
  return request;
}

}  // namespace

http::ClientRequest version_question(const UpstreamOptions& options) {
  return question(options, at_root(options.base, "/api/version"));
}

ServerIdentity identity_in(const http::ClientResult& models, const http::ClientResult& version) {
  ServerSigns signs;
  if (const auto* reply = std::get_if<http::ClientReply>(&models)) {
    signs.server = reply->head.headers.get("server").value_or("");
    signs.models = reply->body;
  }
  if (const auto* reply = std::get_if<http::ClientReply>(&version)) {
    if (signs.server.empty()) signs.server = reply->head.headers.get("server").value_or("");
    if (reply->head.status == 200) signs.ollama_version = reply->body;
  }
  return identity_of(signs);
}

ServerIdentity identify_server(http::Client& client, const UpstreamOptions& options) {
  const http::ClientResult models =
      send_and_wait(client, question(options, http::below(options.base, "/models")));
  return identity_in(models, send_and_wait(client, version_question(options)));
}

}  // namespace windrow::upstream
