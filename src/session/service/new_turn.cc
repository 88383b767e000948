#include "session/service/new_turn.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "session/replies/reply_fields.h"

namespace windrow::session {

namespace json = boost::json;

namespace {

std::shared_ptr<const std::string> shared_text(std::string text,
                                               const std::shared_ptr<const std::string>& earlier) {
  if (earlier && *earlier == text) return earlier;
  text.shrink_to_fit();
  return std::make_shared<const std::string>(std::move(text));
}

// Of a chat: the reply without its choices, but for what its server told of the turn beside tokens
// and rows.
json::object kept_members(TurnReply& reply) {
  if (reply.chat.empty()) return std::move(reply.members);
  json::object members = std::move(reply.chat);
  json::object told;
  if (json::value* choices = members.if_contains("choices")) {
    if (json::value* info = choices->as_array().at(0).as_object().if_contains("meta_info");
        info != nullptr && info->is_object())
      told = std::move(info->get_object());
  }
  members.erase("choices");
  erase_token_lists(told);
  members["meta_info"] = std::move(told);
  return members;
}

// The rows from `first_row` on.
std::shared_ptr<const TokenRows> rows_from(const TokenRows& rows, size_t first_row) {
  auto part = std::make_shared<TokenRows>();
  part->first_row = first_row;
  part->values_per_row = rows.values_per_row;
  const size_t begin = (first_row - rows.first_row) * rows.values_per_row;
  std::vector<int32_t> values(rows.values.size() - begin);
  rows.values.read(begin, values);
  part->values.append(values);
  part->values.shrink_to_fit();
  return part;
}

// The tools that were sent move there from `sent`: they may be long, and its other members change
// from turn to turn. The template's tools are those as they were read.
json::object chat_members(const llm::Chat& chat, json::object& sent) {
  json::object members{{"tools", chat.tools},
                       {"template_arguments", chat.template_arguments},
                       {"wishes", chat.wishes}};
  const auto tools = sent.find("tools");
  if (tools == sent.end()) return members;
  members["sent_tools"] = std::move(tools->value());
  sent.stable_erase(tools);
  return members;
}

StoredMessage stored(const json::object& message, MatchRule rule) {
  std::string text = json::serialize(message);
  text.shrink_to_fit();
  return {.key = key_of(message, rule), .text = std::move(text)};
}

}  // namespace

NewTurn new_turn(const TurnPath& path, size_t path_messages, const ChatBody& body,
                 const TurnPrompt& prompt, TurnAnswer& answer, const SessionConfig& config) {
  NewTurn made{.turn = std::make_shared<Turn>(), .earlier_rows = {}};
  Turn* const turn = made.turn.get();
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
    std::shared_ptr<TokenRows> rows = std::move(reply.rows[kind]);
    if (!rows) continue;
    rows->values.shrink_to_fit();
    const size_t held = std::min(path.rows_covered(static_cast<RowKind>(kind)), prompt.kept_tokens);
    if (rows->first_row < held && held < rows->end_row()) {
      turn->rows[kind] = rows_from(*rows, held);
      made.earlier_rows[kind] = std::move(rows);
    } else {
      turn->rows[kind] = std::move(rows);
    }
  }
  turn->finish_reason = reply.finish_reason;
  turn->figures = reply.figures;

  const Turn* last = path.empty() ? nullptr : &path.last();
  turn->chat_members = shared_text(json::serialize(chat_members(body.chat, answer.sent)),
                                   last == nullptr ? nullptr : last->chat_members);
  turn->request_members =
      shared_text(json::serialize(answer.sent), last == nullptr ? nullptr : last->request_members);
  turn->reply_members = shared_text(json::serialize(kept_members(reply)),
                                    last == nullptr ? nullptr : last->reply_members);
  return made;
}

}  // namespace windrow::session
