#include "chat/increment.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

namespace windrow::chat {

namespace json = boost::json;

namespace {

constexpr std::string_view kMessages = "messages[";

// The words of a stand-in history. No other text may have them.
struct Words {
  std::string before;  // of what is before the question
  std::string question;
  std::string answer;
};

Words unused_words(const ChatTemplate& chat_template, const Conversation& appended) {
  const std::string texts = json::serialize(appended.messages) + json::serialize(appended.tools) +
                            json::serialize(appended.arguments) + chat_template.source();
  Words words;
  for (int n = 0; words.question.empty() || texts.find(words.question) != std::string::npos ||
                  texts.find(words.answer) != std::string::npos;
       ++n) {
    words = {.before = fmt::format("qx{}before", n),
             .question = fmt::format("qx{}question", n),
             .answer = fmt::format("qx{}answer", n)};
  }
  return words;
}

bool has_calls(const json::object& message) {
  const json::value* calls = message.if_contains("tool_calls");
  return calls != nullptr && calls->is_array() && !calls->get_array().empty();
}

// The answer's message with the word as the last of what it says: in its content, or in the
// arguments of its last call.
json::object stand_in(const json::object& message, const std::string& word) {
  if (!has_calls(message)) return {{"role", "assistant"}, {"content", word}};
  json::object answer{
      {"role", "assistant"}, {"content", ""}, {"tool_calls", message.at("tool_calls")}};
  json::object& last = answer.at("tool_calls").as_array().back().as_object();
  json::value& function = last["function"];
  if (!function.is_object()) function = json::object();
  function.as_object()["arguments"] = json::serialize(json::object{{"word", word}});
  return answer;
}

// "messages[3].content" of a rendered conversation, with two stand-ins, is "messages[1].content" of
// the appended messages.
std::string field_of_appended(const std::string& field, size_t stand_ins) {
  if (!field.starts_with(kMessages)) return field;
  size_t index = 0;
  const char* const end = field.data() + field.size();
  const auto [rest, error] = std::from_chars(field.data() + kMessages.size(), end, index);
  if (error != std::errc() || index < stand_ins) return "messages";
  return fmt::format("{}{}{}", kMessages, index - stand_ins, std::string_view(rest, end));
}

Unwritable not_in_parts(std::string_view why) {
  return {.error = {ErrorKind::kNotFound,
                    fmt::format("the model's chat template {}, so messages cannot be appended to "
                                "tokens that are there; send the whole conversation",
                                why)},
          .field = "messages"};
}

// A conversation that begins with the stand-ins, rendered.
struct Written {
  jinja::Rendered rendered;
  std::string text;
  size_t question_at = 0;
  size_t behind_answer = 0;
};

class StandInHistory {
 public:
  // `longer`: with an exchange before the question, and a message of the system if there is one.
  StandInHistory(const ChatTemplate& chat_template, const Conversation& appended,
                 int64_t now_unix_s, bool longer, bool has_system)
      : template_(chat_template),
        appended_(appended),
        now_unix_s_(now_unix_s),
        words_(unused_words(chat_template, appended)) {
    if (has_system) before_.push_back(json::object{{"role", "system"}, {"content", words_.before}});
    if (!longer) return;
    before_.push_back(json::object{{"role", "user"}, {"content", words_.before}});
    before_.push_back(json::object{{"role", "assistant"}, {"content", words_.before}});
  }

  // The question, the answer in the form of `message`, and the appended messages or none.
  std::variant<Written, Unwritable> write(const json::object& message, bool with_appended) const {
    json::array messages = before_;
    messages.push_back(json::object{{"role", "user"}, {"content", words_.question}});
    messages.push_back(stand_in(message, words_.answer));
    const size_t stand_ins = messages.size();
    if (with_appended) std::ranges::copy(appended_.messages, std::back_inserter(messages));
    std::variant<jinja::Rendered, Unwritable> rendered =
        template_.render({.messages = messages,
                          .tools = appended_.tools,
                          .arguments = appended_.arguments,
                          .asks_for_answer = with_appended && appended_.asks_for_answer},
                         now_unix_s_);
    if (auto* unwritable = std::get_if<Unwritable>(&rendered)) {
      unwritable->field = field_of_appended(unwritable->field, stand_ins);
      return std::move(*unwritable);
    }
    Written written{.rendered = std::get<jinja::Rendered>(std::move(rendered))};
    written.text = written.rendered.text();
    const std::optional<size_t> question = only_place_of(words_.question, written.text);
    const std::optional<size_t> answer = only_place_of(words_.answer, written.text);
    if (!question || !answer || *answer < *question)
      return not_in_parts("does not write each message once and in its place");
    written.question_at = *question;
    written.behind_answer = *answer + words_.answer.size();
    return written;
  }

 private:
  static std::optional<size_t> only_place_of(std::string_view word, std::string_view text) {
    const size_t at = text.find(word);
    if (at == std::string_view::npos || text.find(word, at + 1) != std::string_view::npos)
      return std::nullopt;
    return at;
  }

  const ChatTemplate& template_;
  const Conversation& appended_;
  const int64_t now_unix_s_;
  const Words words_;
  json::array before_;
};

std::vector<jinja::Segment> segments_from(const jinja::Rendered& rendered, size_t begin) {
  std::vector<jinja::Segment> segments;
  size_t at = 0;
  for (const jinja::Segment& segment : rendered.segments) {
    const size_t skipped = std::min(begin - std::min(begin, at), segment.text.size());
    if (skipped < segment.text.size())
      segments.push_back({.text = segment.text.substr(skipped), .from_input = segment.from_input});
    at += segment.text.size();
  }
  return segments;
}

// Where the template itself writes `text` first, from `begin` on.
std::optional<size_t> find_own(const jinja::Rendered& rendered, std::string_view text,
                               size_t begin) {
  size_t at = 0;
  for (const jinja::Segment& segment : rendered.segments) {
    const size_t from = begin - std::min(begin, at);
    if (!segment.from_input && from < segment.text.size()) {
      const size_t found = segment.text.find(text, from);
      if (found != std::string::npos) return at + found;
    }
    at += segment.text.size();
  }
  return std::nullopt;
}

// The increment behind this history.
std::variant<Increment, Unwritable> increment_behind(const StandInHistory& history,
                                                     const SampledTurn& turn) {
  std::variant<Written, Unwritable> before = history.write(turn.message, false);
  if (auto* unwritable = std::get_if<Unwritable>(&before)) return std::move(*unwritable);
  std::variant<Written, Unwritable> after = history.write(turn.message, true);
  if (auto* unwritable = std::get_if<Unwritable>(&after)) return std::move(*unwritable);
  const auto& whole = std::get<Written>(after);
  const auto& alone = std::get<Written>(before);
  if (whole.text.substr(0, whole.question_at) != alone.text.substr(0, alone.question_at))
    return not_in_parts("writes what comes first differently when messages follow");

  const size_t begin = whole.behind_answer;
  const std::string_view tail = std::string_view(whole.text).substr(begin);
  const std::string_view closing = std::string_view(alone.text).substr(alone.behind_answer);
  if (!turn.end_token.empty()) {
    // The turn's end is the first that the template writes. If the appended messages are written
    // before it, it is the end of another one.
    const std::optional<size_t> end = find_own(whole.rendered, turn.end_token, begin);
    const bool closes = end && (*end - begin < closing.size() || *end == begin ||
                                tail.substr(0, *end - begin) == closing);
    if (closes)
      return Increment{.segments = segments_from(whole.rendered, *end + turn.end_token.size())};
    return Increment{.segments = segments_from(whole.rendered, begin), .drops_end_token = true};
  }
  if (!has_calls(turn.message)) return Increment{.segments = segments_from(whole.rendered, begin)};

  // The calls are whole; what the template writes behind them is what it writes behind any answer.
  const std::variant<Written, Unwritable> plain =
      history.write(json::object{{"role", "assistant"}, {"content", ""}}, false);
  if (const auto* unwritable = std::get_if<Unwritable>(&plain)) return *unwritable;
  const auto& content = std::get<Written>(plain);
  const std::string_view end = std::string_view(content.text).substr(content.behind_answer);
  if (!tail.starts_with(closing) || !closing.ends_with(end))
    return not_in_parts("closes a turn with calls in a way of its own");
  return Increment{.segments = segments_from(whole.rendered, begin + closing.size() - end.size())};
}

}  // namespace

std::variant<Increment, Unwritable> increment_of(const ChatTemplate& chat_template,
                                                 const SampledTurn& turn,
                                                 const Conversation& appended, int64_t now_unix_s) {
  std::variant<Increment, Unwritable> made = increment_behind(
      StandInHistory(chat_template, appended, now_unix_s, false, turn.has_system), turn);
  if (!std::holds_alternative<Increment>(made)) return made;
  std::variant<Increment, Unwritable> longer = increment_behind(
      StandInHistory(chat_template, appended, now_unix_s, true, turn.has_system), turn);
  if (std::holds_alternative<Increment>(longer) && longer != made)
    return not_in_parts("writes messages differently by how many are before them");
  return longer;
}

}  // namespace windrow::chat
