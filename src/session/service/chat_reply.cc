#include "session/service/chat_reply.h"

#include <boost/json/serialize.hpp>
#include <utility>

#include "llm/answer_json.h"
#include "llm/request.h"

namespace windrow::session {

llm::Usage usage_of(const TurnReply& reply, size_t prompt_tokens) {
  return {.prompt_tokens = static_cast<int32_t>(prompt_tokens),
          .completion_tokens = static_cast<int32_t>(reply.tokens.size()),
          .cached_tokens = static_cast<int32_t>(reply.figures.cached_tokens)};
}

std::string chat_reply(const TurnAnswer& answer, const ChatBody& body,
                       std::span<const int32_t> prompt, const ChatReplyFacts& facts) {
  if (!answer.choice) return boost::json::serialize(answer.reply.chat);
  llm::Answer whole{.usage = usage_of(answer.reply, prompt.size())};
  llm::Choice choice = *answer.choice;
  if (!body.asks_logprobs) choice.tokens.clear();
  if (body.asks_token_ids) {
    choice.token_ids = answer.reply.tokens;
    whole.prompt_token_ids.emplace_back(prompt.begin(), prompt.end());
  } else {
    choice.token_ids.clear();
  }
  whole.choices.push_back(std::move(choice));
  return llm::answer_to_json(llm::Endpoint::kChatCompletions, facts.id, facts.model,
                             facts.created_unix_s, whole);
}

}  // namespace windrow::session
