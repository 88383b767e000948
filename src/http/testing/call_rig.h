// CallRig: a loop for a client, and calls that a test waits for.
#pragma once

#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include "base/clock.h"
#include "base/random.h"
#include "http/client.h"
#include "http/loop.h"

namespace windrow::http::testing {

// The result of one call, once there is one.
class PendingCall {
 public:
  PendingCall(Client& client, ClientRequest request) : client_(client) {
    result_ = promise_->get_future();
    // A second call of Done would throw, and so end the test program.
    id_ = client.send(std::move(request), [promise = promise_](ClientResult result) {
      promise->set_value(std::move(result));
    });
  }

  void cancel() { client_.cancel(id_); }
  ClientResult result() { return result_.get(); }

 private:
  Client& client_;
  std::shared_ptr<std::promise<ClientResult>> promise_ =
      std::make_shared<std::promise<ClientResult>>();
  std::future<ClientResult> result_;
  CallId id_;
};

inline ClientRequest get_from(Url url) {
  return {.url = std::move(url)};
}

inline ClientRequest post_to(Url url, std::string body) {
  ClientRequest request{.method = Method::kPost, .url = std::move(url)};
  request.headers.add("Content-Type", "application/json");
  request.body = std::make_shared<const std::string>(std::move(body));
  return request;
}

inline ClientResult call(Client& client, ClientRequest request) {
  return PendingCall(client, std::move(request)).result();
}

// A text of so many bytes; the same one each time.
inline std::string text_of_bytes(size_t bytes) {
  Random random(bytes);
  std::string text;
  while (text.size() < bytes)
    text += std::to_string(random.next());
  text.resize(bytes);
  return text;
}

// These two throw when it is the other one; GoogleTest shows the message.
inline ClientReply reply_of(ClientResult result) {
  if (const auto* failure = std::get_if<ClientFailure>(&result))
    throw std::runtime_error("the call failed: " + failure->message);
  return std::get<ClientReply>(std::move(result));
}

inline ClientFailure failure_of(ClientResult result) {
  if (const auto* reply = std::get_if<ClientReply>(&result))
    throw std::runtime_error("the call was answered " + std::to_string(reply->head.status));
  return std::get<ClientFailure>(std::move(result));
}

}  // namespace windrow::http::testing
