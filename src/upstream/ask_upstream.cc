#include "upstream/ask_upstream.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "upstream/models_reply.h"
#include "upstream/send_and_wait.h"

namespace windrow::upstream {
namespace {

constexpr Duration kConnectTimeout = std::chrono::seconds(10);
constexpr Duration kAnswerTimeout = std::chrono::seconds(30);
constexpr size_t kReplyBytesMax = size_t{16} << 20;

Error unavailable(std::string message) {
  return Error{ErrorKind::kUnavailable, std::move(message)};
}

// `location`: of the header; it may leave the host out. What to write instead is said where it is
// known: the place of a list of models that is elsewhere.
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
                  http::to_string(from), location.empty() ? "elsewhere" : location, advice));
}

}  // namespace

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
          "a proxy stands before {} and wants a password; put it into the proxy's URL, or name "
          "the server in NO_PROXY",
          url));
    default:
      break;
  }
  if (reply.via_proxy && reply.head.status >= 500) {
    return unavailable(fmt::format(
        "the proxy before {} answered {}; for a server of your own net name it in NO_PROXY", url,
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

}  // namespace windrow::upstream
