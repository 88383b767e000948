#include "upstream/ask_upstream.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <future>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "json/limits.h"

namespace windrow::upstream {
namespace {

namespace json = boost::json;

constexpr Duration kConnectTimeout = std::chrono::seconds(10);
constexpr Duration kAnswerTimeout = std::chrono::seconds(30);
constexpr size_t kReplyBytesMax = size_t{16} << 20;

// Blocks until the reply is there. Not on the client's loop.
http::ClientResult send_and_wait(http::Client& client, http::ClientRequest request) {
  auto result = std::make_shared<std::promise<http::ClientResult>>();
  std::future<http::ClientResult> waiting = result->get_future();
  client.send(std::move(request),
              [result](http::ClientResult one) { result->set_value(std::move(one)); });
  return waiting.get();
}

Error unavailable(std::string message) {
  return Error{ErrorKind::kUnavailable, std::move(message)};
}

// `location`: the value of the header, perhaps without a host. The URL to use instead is known
// where it names a list of models.
Error moved(const http::Url& from, std::string location) {
  constexpr std::string_view kModels = "/models";
  if (location.starts_with('/') && !location.starts_with("//"))
    location = http::origin(from) + location;
  std::string advice = "write the URL of the server itself";
  if (location.ends_with(kModels)) {
    advice =
        fmt::format("write --upstream {}", location.substr(0, location.size() - kModels.size()));
  }
  return unavailable(
      fmt::format("{} says that it has moved to {}; requests are not sent after it, so {}",
                  http::to_string(from), location.empty() ? "another address" : location, advice));
}

constexpr Duration kIdentifyConnectTimeout = std::chrono::seconds(5);
constexpr Duration kIdentifyTimeout = std::chrono::seconds(10);

constexpr size_t kNamedMax = 20;

http::ClientRequest question(const UpstreamOptions& options, http::Url url) {
  http::ClientRequest request;
  request.url = std::move(url);
  request.headers = options.headers;
  if (!options.api_key.empty())
    request.headers.set("Authorization", fmt::format("Bearer {}", options.api_key));
  request.limits.connect = kIdentifyConnectTimeout;
  request.limits.total = kIdentifyTimeout;
  request.limits.reply_bytes_max = kReplyBytesMax;
  return request;
}

}  // namespace

std::optional<std::vector<std::string>> models_of(std::string_view body) {
  boost::system::error_code error;
  const json::value value = json::parse(json::string_view(body.data(), body.size()), error, {},
                                        {.max_depth = kJsonDepthMax});
  if (error || !value.is_object()) return std::nullopt;
  const json::value* data = value.get_object().if_contains("data");
  if (data == nullptr || !data->is_array()) return std::nullopt;
  std::vector<std::string> models;
  for (const json::value& entry : data->get_array()) {
    const json::object* model = entry.if_object();
    const json::value* id = model == nullptr ? nullptr : model->if_contains("id");
    if (id != nullptr && id->is_string()) models.emplace_back(id->get_string());
  }
  return models;
}

std::string models_text(const std::vector<std::string>& models) {
  if (models.empty()) return "it has no models";
  const std::span<const std::string> named(models.data(), std::min(models.size(), kNamedMax));
  if (named.size() == models.size()) return fmt::format("it has {}", fmt::join(named, ", "));
  return fmt::format("it has {} and {} more", fmt::join(named, ", "), models.size() - named.size());
}

bool has_model(const std::vector<std::string>& models, std::string_view name) {
  constexpr std::string_view kLatest = ":latest";
  return std::any_of(models.begin(), models.end(), [&](std::string_view model) {
    return model == name ||
           (model.ends_with(kLatest) && model.substr(0, model.size() - kLatest.size()) == name);
  });
}

http::ClientRequest models_question(const UpstreamOptions& options) {
  http::ClientRequest request;
  request.url = http::below(options.base, "/models");
  request.headers = options.headers;
  if (!options.api_key.empty())
    request.headers.set("Authorization", fmt::format("Bearer {}", options.api_key));
  request.limits.connect = kConnectTimeout;
  request.limits.total = kAnswerTimeout;
  request.limits.reply_bytes_max = kReplyBytesMax;
  return request;
}

Result<UpstreamFacts> facts_in(const UpstreamOptions& options, const http::ClientResult& result) {
  const http::Url asked = http::below(options.base, "/models");
  const std::string url = http::to_string(asked);
  if (const auto* failure = std::get_if<http::ClientFailure>(&result))
    return unavailable(failure->message);
  const auto& reply = std::get<http::ClientReply>(result);
  if (reply.head.status >= 300 && reply.head.status < 400) {
    return moved(asked, std::string(reply.head.headers.get("location").value_or("")));
  }
  switch (reply.head.status) {
    case 401:
    case 403:
      return unavailable(
          options.api_key.empty()
              ? fmt::format("{} wants a key (it answered {}); put it into a variable and name that "
                            "with --api-key-env NAME",
                            url, reply.head.status)
              : fmt::format("{} refuses the key (it answered {}); is the variable that "
                            "--api-key-env names the right one?",
                            url, reply.head.status));
    case 407:
      return unavailable(fmt::format(
          "a proxy in front of {} wants a password; put it into the proxy's URL, or name "
          "the server in NO_PROXY",
          url));
    default:
      break;
  }
  if (reply.via_proxy && reply.head.status >= 500) {
    return unavailable(fmt::format(
        "the proxy in front of {} answered {}; name a server of your own network in NO_PROXY", url,
        reply.head.status));
  }
  UpstreamFacts facts;
  if (reply.head.status == 200) facts.models = models_of(reply.body);
  const auto type = reply.head.headers.get("content-type").value_or("");
  if (!facts.models && type.starts_with("text/html") && reply.head.status == 200) {
    return unavailable(
        fmt::format("{} answered with a web page, so this is no server of the OpenAI API; its base "
                    "URL usually ends with /v1, as in http://host:8000/v1",
                    url));
  }
  return facts;
}

Result<UpstreamFacts> ask_upstream(http::Client& client, const UpstreamOptions& options) {
  return facts_in(options, send_and_wait(client, models_question(options)));
}

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
