#include "upstream/identify_server.h"

#include <fmt/format.h>

#include <utility>
#include <variant>

#include "upstream/send_and_wait.h"
#include "upstream/target.h"

namespace windrow::upstream {
namespace {

constexpr Duration kConnectTimeout = std::chrono::seconds(5);
constexpr Duration kAnswerTimeout = std::chrono::seconds(10);
constexpr size_t kReplyBytesMax = size_t{16} << 20;

http::ClientResult ask(http::Client& client, const UpstreamOptions& options, http::Url url) {
  http::ClientRequest request;
  request.url = std::move(url);
  request.headers = options.headers;
  if (!options.api_key.empty())
    request.headers.set("Authorization", fmt::format("Bearer {}", options.api_key));
  request.limits.connect = kConnectTimeout;
  request.limits.total = kAnswerTimeout;
  request.limits.reply_bytes_max = kReplyBytesMax;
  return send_and_wait(client, std::move(request));
}

}  // namespace

ServerIdentity identify_server(http::Client& client, const UpstreamOptions& options) {
  ServerSigns signs;
  http::ClientResult models = ask(client, options, http::below(options.base, "/models"));
  if (auto* reply = std::get_if<http::ClientReply>(&models)) {
    signs.server = reply->head.headers.get("server").value_or("");
    signs.models = std::move(reply->body);
  }
  http::ClientResult version = ask(client, options, at_root(options.base, "/api/version"));
  if (auto* reply = std::get_if<http::ClientReply>(&version)) {
    if (signs.server.empty()) signs.server = reply->head.headers.get("server").value_or("");
    if (reply->head.status == 200) signs.ollama_version = std::move(reply->body);
  }
  return identity_of(signs);
}

}  // namespace windrow::upstream
