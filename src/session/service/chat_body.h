// ChatBody: the body of a turn as the client sent it: which of its fields a session takes, which it
// refuses, and the conversation in it. Pure; any thread.
#pragma once

#include <boost/json/object.hpp>
#include <string_view>
#include <variant>
#include <vector>

#include "llm/answer.h"
#include "llm/request.h"
#include "session/history/message_key.h"
#include "session/service/session_options.h"

namespace windrow::session {

struct ChatBody {
  // Without stream, stream_options and n, and with the session's defaults.
  boost::json::object members;

  llm::Chat chat;
  std::vector<MessageKey> keys;  // of its messages

  bool stream = false;
  bool stream_usage = false;    // stream_options.include_usage
  bool asks_logprobs = false;   // `logprobs`: the reply lists them
  bool asks_token_ids = false;  // `return_token_ids`
};

// Failures, all 400: not JSON, no object, no messages, a role that no template knows, a field that
// the session answers for (input_ids, routed_experts_start_len, logprob_start_len), n other than 1.
std::variant<ChatBody, llm::Failure> read_chat_body(std::string_view text,
                                                    const SessionConfig& config);

}  // namespace windrow::session
