// ServerRig: a server on a real port, with a dispatcher and a backend that a test drives.
#pragma once

#include <fmt/format.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "api/api_server.h"
#include "api/testing/talking_backend.h"
#include "http/testing/raw_client.h"

namespace windrow::api::testing {

constexpr llm::EndpointSet kAllEndpoints = {llm::Endpoint::kChatCompletions,
                                            llm::Endpoint::kCompletions, llm::Endpoint::kEmbeddings,
                                            llm::Endpoint::kRerank};

struct Reply {
  int status = 0;
  std::string head;
  std::string body;

  boost::json::value json() const { return boost::json::parse(body); }
  boost::json::value error() const { return json().at("error"); }

  // The value of a header; empty: there is none.
  std::string header(std::string_view name) const {
    const size_t at = head.find(fmt::format("\r\n{}: ", name));
    if (at == std::string::npos) return "";
    const size_t begin = at + name.size() + 4;
    return head.substr(begin, head.find("\r\n", begin) - begin);
  }
};

inline std::string without_chunks(std::string_view text) {
  std::string body;
  while (!text.empty()) {
    const size_t line = text.find("\r\n");
    const size_t bytes = std::stoul(std::string(text.substr(0, line)), nullptr, 16);
    if (bytes == 0) break;
    body += text.substr(line + 2, bytes);
    text.remove_prefix(line + 2 + bytes + 2);
  }
  return body;
}

inline Reply read_reply(http::testing::RawClient& client) {
  const std::string bytes = client.read_reply();
  const size_t end = bytes.find("\r\n\r\n");
  if (end == std::string::npos || bytes.size() < 12) return {};
  Reply reply{.status = std::stoi(bytes.substr(9, 3)),
              .head = bytes.substr(0, end + 2),
              .body = bytes.substr(end + 4)};
  if (reply.header("Transfer-Encoding") == "chunked") reply.body = without_chunks(reply.body);
  return reply;
}

inline std::string post(std::string_view path, std::string_view body,
                        std::string_view headers = "") {
  return fmt::format("POST {} HTTP/1.1\r\nHost: x\r\n{}Content-Length: {}\r\n\r\n{}", path, headers,
                     body.size(), body);
}

inline std::string get(std::string_view path) {
  return fmt::format("GET {} HTTP/1.1\r\nHost: x\r\n\r\n", path);
}

class ServerRig {
 public:
  explicit ServerRig(ApiOptions options = {}, dispatch::DispatchOptions dispatch = {})
      : dispatcher(backend, std::move(dispatch)) {
    server = *ApiServer::open(loop, clock, registry, std::move(options));
  }

  // One model, "m", that answers any name unless told otherwise.
  void load(bool any = true, bool raw = false) {
    registry.add({.name = "m",
                  .dispatcher = &dispatcher,
                  .endpoints = kAllEndpoints,
                  .raw = raw,
                  .created_unix_s = 5},
                 any);
    registry.set_state(ServeState::kReady);
  }

  Reply ask(std::string_view request) {
    http::testing::RawClient client(server->port());
    client.send(request);
    return read_reply(client);
  }

  const SystemClock clock;
  http::Loop loop{clock};
  TalkingBackend backend;
  dispatch::Dispatcher dispatcher;
  ModelRegistry registry;
  std::unique_ptr<ApiServer> server;
};

inline constexpr const char* kChatPath = "/v1/chat/completions";
inline const std::string kChat = R"({"messages":[{"role":"user","content":"hi"}]})";
inline const std::string kStream = R"({"messages":[{"role":"user","content":"hi"}],"stream":true})";

inline llm::Answer said(std::string text) {
  return {.choices = {{.text = std::move(text)}},
          .usage = {.prompt_tokens = 3, .completion_tokens = 2}};
}

}  // namespace windrow::api::testing
