// A blocking HTTP call, for the few requests that are sent before a job.
#pragma once

#include <future>
#include <memory>
#include <utility>

#include "http/client.h"

namespace windrow::upstream {

// Blocks until the reply is there. Not on the client's loop.
inline http::ClientResult send_and_wait(http::Client& client, http::ClientRequest request) {
  auto result = std::make_shared<std::promise<http::ClientResult>>();
  std::future<http::ClientResult> waiting = result->get_future();
  client.send(std::move(request),
              [result](http::ClientResult one) { result->set_value(std::move(one)); });
  return waiting.get();
}

}  // namespace windrow::upstream
