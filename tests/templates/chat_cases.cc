// Writes conversations as a request's: with the checks of chat/, which change the form of messages
// and refuse what a template would leave out. A JSON object a line in, one out.
//   in   {"template": text, "messages": [...], "tools": [...]?, "arguments": {...}?}
//   out  {"text": ...}, {"no_place_for": field}, or {"failed": message}
// With "turn": {"message": {...}, "end": text, "has_system": bool}, the messages are appended to
// that answer, and the output is {"added": ..., "drops_end_token": ...}; it fails where increments
// that are rendered and those of patterns differ. The time and the special tokens are those of
// tests/templates/oracle.py and conversations.py.
#include <boost/json.hpp>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <unordered_map>

#include "chat/chat_template.h"
#include "chat/increment.h"
#include "chat/increment_patterns.h"

namespace {

using windrow::ErrorKind;
using windrow::Result;
using windrow::chat::ChatTemplate;
using windrow::chat::Conversation;
using windrow::chat::Increment;
using windrow::chat::IncrementPatterns;
using windrow::chat::SampledTurn;
using windrow::chat::Unwritable;
using windrow::jinja::Rendered;
namespace json = boost::json;

constexpr int64_t kNow = 1'783'260'189;  // 5 July 2026, 14:03:09

json::object why(const Unwritable& unwritable) {
  const bool no_place = unwritable.error.kind == ErrorKind::kNotFound;
  return {{no_place ? "no_place_for" : "failed",
           no_place ? unwritable.field : unwritable.error.message}};
}

struct Subject {
  ChatTemplate made;
  IncrementPatterns patterns;

  explicit Subject(const ChatTemplate& its) : made(its), patterns(its, kNow) {}
};

Result<std::unique_ptr<const Subject>> subject_of(const std::string& source) {
  Result<ChatTemplate> made = ChatTemplate::make(source, {.begin = "<s>", .end = "</s>"});
  if (!made) return made.error();
  return std::make_unique<const Subject>(*made);
}

json::object increment_answer(const json::object& turn, const Conversation& appended,
                              const Subject& subject) {
  const SampledTurn sampled{.message = turn.at("message").as_object(),
                            .end_token = turn.at("end").as_string(),
                            .has_system = turn.at("has_system").as_bool()};
  const auto added = increment_of(subject.made, sampled, appended, kNow);
  if (subject.patterns.increment_of(sampled, appended) != added)
    throw std::runtime_error("a pattern gives another increment than rendering the messages");
  if (const auto* unwritable = std::get_if<Unwritable>(&added)) return why(*unwritable);
  const auto& increment = std::get<Increment>(added);
  return {{"added", Rendered{.segments = increment.segments}.text()},
          {"drops_end_token", increment.drops_end_token}};
}

json::object chat_answer(const json::object& request, const Subject& subject) {
  const json::value* tools = request.if_contains("tools");
  const json::value* arguments = request.if_contains("arguments");
  const json::array no_tools;
  const json::object no_arguments;
  const Conversation conversation{
      .messages = request.at("messages").as_array(),
      .tools = tools != nullptr ? tools->as_array() : no_tools,
      .arguments = arguments != nullptr ? arguments->as_object() : no_arguments};
  if (const json::value* turn = request.if_contains("turn"))
    return increment_answer(turn->as_object(), conversation, subject);
  const auto written = subject.made.render(conversation, kNow);
  if (const auto* rendered = std::get_if<Rendered>(&written)) return {{"text", rendered->text()}};
  return why(std::get<Unwritable>(written));
}

}  // namespace

int main() try {
  std::ios::sync_with_stdio(false);
  std::unordered_map<std::string, Result<std::unique_ptr<const Subject>>> subjects;
  for (std::string line; std::getline(std::cin, line);) {
    const json::object request = json::parse(line).as_object();
    const std::string source(request.at("template").as_string());
    auto subject = subjects.find(source);
    if (subject == subjects.end()) subject = subjects.emplace(source, subject_of(source)).first;
    const json::object answer = subject->second
                                    ? chat_answer(request, **subject->second)
                                    : json::object{{"failed", subject->second.error().message}};
    std::cout << json::serialize(answer) << '\n';
  }
  return 0;
} catch (const std::exception& error) {
  std::cerr << "chat_cases: " << error.what() << '\n';
  return 1;
}
