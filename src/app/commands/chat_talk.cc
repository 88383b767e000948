#include "app/commands/chat_talk.h"

#include <boost/json/array.hpp>

#include "base/ensure.h"

namespace windrow::app {
namespace {

constexpr std::string_view kUserRole = "user";
constexpr std::string_view kAssistantRole = "assistant";

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

}  // namespace

ChatLine read_chat_line(std::string_view line) {
  line = trimmed(line);
  if (line.empty()) return {};
  if (line.starts_with("//")) return {ChatLineKind::kMessage, std::string(line.substr(1))};
  if (!line.starts_with('/')) return {ChatLineKind::kMessage, std::string(line)};
  const std::string_view word = line.substr(0, line.find_first_of(" \t\n"));
  const std::string_view rest = trimmed(line.substr(word.size()));
  if (word == "/system") return {ChatLineKind::kSystem, std::string(rest)};
  if (word == "/reset" && rest.empty()) return {ChatLineKind::kReset, ""};
  if (word == "/help" && rest.empty()) return {ChatLineKind::kHelp, ""};
  if ((word == "/exit" || word == "/quit" || word == "/bye") && rest.empty())
    return {ChatLineKind::kEnd, ""};
  return {ChatLineKind::kMistaken, std::string(word)};
}

std::string_view chat_help() {
  return "/system TEXT  set the system message; without TEXT there is none\n"
         "/reset        start the conversation over\n"
         "/exit         end, as Ctrl-D does\n"
         "//TEXT        send a message that begins with a slash\n"
         "A line that ends with \\ continues on the next one. Ctrl-C stops an answer.\n";
}

void ChatTalk::add_question(std::string text) {
  turns_.push_back({kUserRole, std::move(text)});
}

void ChatTalk::add_answer(std::string text) {
  turns_.push_back({kAssistantRole, std::move(text)});
}

void ChatTalk::take_back_question() {
  ENSURE(!turns_.empty() && turns_.back().role == kUserRole, "the last turn is a question");
  turns_.pop_back();
}

boost::json::object ChatTalk::body(std::string_view model) const {
  boost::json::array messages;
  if (!system_.empty())
    messages.push_back(boost::json::object{{"role", "system"}, {"content", system_}});
  for (const Turn& turn : turns_)
    messages.push_back(boost::json::object{{"role", turn.role}, {"content", turn.text}});
  boost::json::object body;
  if (!model.empty()) body["model"] = model;
  body["messages"] = std::move(messages);
  return body;
}

}  // namespace windrow::app
