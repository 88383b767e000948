#include "session/service/new_turn.h"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace windrow::session {

namespace json = boost::json;

namespace {

std::shared_ptr<const std::string> shared_text(std::string text,
                                               const std::shared_ptr<const std::string>& earlier) {
  if (earlier && *earlier == text) return earlier;
  text.shrink_to_fit();
  return std::make_shared<const std::string>(std::move(text));
}

// Of a chat: the reply without its choices' messages and log-probabilities.
json::object kept_members(TurnReply& reply) {
  if (reply.chat.empty()) return std::move(reply.members);
  json::object members = reply.chat;
  members.erase("choices");
  return members;
}

json::object chat_members(const llm::Chat& chat) {
  return {{"tools", chat.tools},
          {"template_arguments", chat.template_arguments},
          {"wishes", chat.wishes}};
}

StoredMessage stored(const json::object& message, MatchRule rule) {
  std::string text = json::serialize(message);
  text.shrink_to_fit();
  return {.key = key_of(message, rule), .text = std::move(text)};
}

}  // namespace

std::shared_ptr<Turn> new_turn(const TurnPath& path, size_t path_messages, const ChatBody& body,
                               const TurnPrompt& prompt, TurnAnswer& answer,
                               const SessionConfig& config) {
  auto turn = std::make_shared<Turn>();
  const json::array& messages = body.members.at("messages").as_array();
  turn->appended.reserve(messages.size() - path_messages);
  for (size_t i = path_messages; i < messages.size(); ++i)
    turn->appended.push_back(stored(messages[i].as_object(), config.match));
  turn->answer = stored(answer.message, config.match);

  TurnReply& reply = answer.reply;
  turn->kept_tokens = prompt.kept_tokens;
  turn->prompt.assign(prompt.tokens.begin() + static_cast<std::ptrdiff_t>(prompt.kept_tokens),
                      prompt.tokens.end());
  turn->sampled = std::move(reply.tokens);
  turn->sampled.shrink_to_fit();
  turn->logprobs = std::move(reply.logprobs);
  turn->logprobs.shrink_to_fit();
  for (size_t kind = 0; kind < kRowKinds; ++kind) {
    if (!reply.rows[kind]) continue;
    reply.rows[kind]->values.shrink_to_fit();
    turn->rows[kind] = std::move(reply.rows[kind]);
  }
  turn->finish_reason = reply.finish_reason;
  turn->figures = reply.figures;

  const Turn* last = path.empty() ? nullptr : &path.last();
  turn->request_members =
      shared_text(json::serialize(answer.sent), last == nullptr ? nullptr : last->request_members);
  turn->chat_members = shared_text(json::serialize(chat_members(body.chat)),
                                   last == nullptr ? nullptr : last->chat_members);
  turn->reply_members = shared_text(json::serialize(kept_members(reply)),
                                    last == nullptr ? nullptr : last->reply_members);
  return turn;
}

}  // namespace windrow::session
