// ChatModel: what answers `windrow chat`, a model in this process or a running server, piece by
// piece.
#pragma once

#include <boost/json/object.hpp>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "dispatch/dispatcher.h"
#include "http/client.h"
#include "http/url.h"

namespace windrow::app {

struct ChatPiece {
  std::string text;
  std::string reasoning;
};

// Used by one thread.
class ChatModel {
 public:
  using Take = std::function<void(const ChatPiece&)>;

  virtual ~ChatModel() = default;

  // Answers a body of /v1/chat/completions; `take` gets the pieces on the calling thread. Blocks
  // until the answer has ended or `stop` is stopped, which is no error. Errors: kInvalid for a
  // conversation that cannot be answered, kUnavailable where the model or the server fails.
  virtual Result<void> answer(const boost::json::object& body, const Take& take,
                              const std::stop_token& stop) = 0;
};

// A model in this process. `dispatcher` outlives what is returned.
std::unique_ptr<ChatModel> local_chat_model(dispatch::Dispatcher& dispatcher);

// A server with OpenAI's API. `base`: as clients of that API call it ("http://h:8000/v1"); one
// without a path means that too. `api_key`: empty for none. `client` outlives what is returned.
std::unique_ptr<ChatModel> served_chat_model(http::Client& client, http::Url base,
                                             std::string api_key);

}  // namespace windrow::app
