#include "session/service/turn_prompt.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <utility>

#include "json/parse.h"
#include "json/values.h"

namespace windrow::session {

namespace json = boost::json;

std::variant<TurnPrompt, llm::Failure> make_turn_prompt(const TurnPath& path, size_t path_messages,
                                                        const llm::Chat& chat,
                                                        const llm::Tokenizer& tokenizer) {
  if (path.empty()) {
    auto rendered = tokenizer.render(chat, /*asks_for_answer=*/true);
    if (auto* failure = std::get_if<llm::Failure>(&rendered)) return std::move(*failure);
    return TurnPrompt{.tokens = std::move(std::get<llm::RenderedChat>(rendered).tokens)};
  }

  const Turn& last = path.last();
  const auto behind = static_cast<std::ptrdiff_t>(path_messages);
  llm::Chat appended{.messages = json::array(chat.messages.begin() + behind, chat.messages.end()),
                     .tools = chat.tools,
                     .tool_choice = chat.tool_choice,
                     .template_arguments = chat.template_arguments,
                     .wishes = chat.wishes};
  const bool has_system = std::any_of(
      chat.messages.begin(), chat.messages.begin() + behind, [](const json::value& message) {
        const std::string_view role = text_in(message.as_object(), "role");
        return role == "system" || role == "developer";
      });
  auto added = tokenizer.append({.message = parse_written_json(last.answer.text).as_object(),
                                 .tokens = last.sampled,
                                 .has_system = has_system},
                                appended);
  if (auto* failure = std::get_if<llm::Failure>(&added)) return std::move(*failure);
  const auto& increment = std::get<llm::AppendedTokens>(added);
  TurnPrompt prompt;
  prompt.kept_tokens = path.tokens() - (increment.drops_last ? 1 : 0);
  prompt.tokens.reserve(prompt.kept_tokens + increment.tokens.size());
  path.append_tokens(0, prompt.kept_tokens, prompt.tokens);
  prompt.tokens.insert(prompt.tokens.end(), increment.tokens.begin(), increment.tokens.end());
  return prompt;
}

}  // namespace windrow::session
