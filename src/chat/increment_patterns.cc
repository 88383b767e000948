#include "chat/increment_patterns.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <mutex>
#include <optional>
#include <utility>

#include "base/utf8.h"
#include "chat/marks.h"
#include "jinja/unicode.h"

namespace windrow::chat {

namespace json = boost::json;

namespace {

using Made = std::variant<Increment, Unwritable>;

// Bounds of what is remembered, far above what one model needs.
constexpr size_t kPatternsMax = 64;
constexpr size_t kKeyBytesMax = 1024;

// Longer texts could reach a limit of the interpreter, and take long in any case.
constexpr size_t kTextBytesMax = size_t{64} << 10;

// Of the short marks that a template names, so many are tried, each by itself.
constexpr size_t kTriedMax = 32;
constexpr size_t kMarkBytesMax = 2;

constexpr std::string_view kWord = "Qx7Word";

// Of control tokens. Templates put those together from parts, so a part of one is never tried.
constexpr std::string_view kStructural = "<>[]{}|";

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// As "user", which a template compares roles with.
bool is_word(std::string_view named) {
  return named.size() > kMarkBytesMax && std::ranges::all_of(named, is_letter);
}

// As "\n" or ": ".
bool is_short_mark(std::string_view named) {
  return named.size() <= kMarkBytesMax &&
         named.find_first_of(kStructural) == std::string_view::npos;
}

std::string lower(std::string_view text) {
  std::string low(text);
  for (char& c : low)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return low;
}

// A text that begins and ends with the mark and has it within. A plain text has no space at its
// ends.
std::string text_around(std::string_view mark) {
  const std::string text =
      fmt::format("{}{} {}{}{} {}{}", mark, kWord, kWord, mark, kWord, kWord, mark);
  return std::string(without_space(text));
}

std::vector<std::string> texts_that_show_changes() {
  std::string all_ascii(kWord);
  for (char c = 1; c < 127; ++c)
    all_ascii += c;
  all_ascii += kWord;
  std::string long_text;
  for (int line = 0; line < 100; ++line)
    long_text += fmt::format("{}{:>{}}\tof it, UPPER and lower. \r\n\n", kWord, line, line % 8 + 4);
  long_text += kWord;
  // The escapes are of characters that are not seen: U+00A0, U+2028, U+0085, U+FEFF and others.
  return {"q",
          "7",
          "?",
          "-1.50",
          "true",
          "None",
          all_ascii,
          long_text,
          "\u00e9t\u00e9 \u4f60\u597d\uff0c \U0001f600 \u0130\u0131\u00df \u00a0x\u2028y\u0085z "
          "e\u0301 \u05d0\ufeff!",
          "\u4f60\u597d\u3002",
          R"("quoted" 'twice' \n \\ &amp; &lt; $1 %s {0} `code` #x @y ~z ^)"};
}

// The increment's segment that is this text, if nothing else of it has the text.
std::optional<size_t> only_place_of(std::string_view text, const Increment& increment) {
  std::optional<size_t> place;
  for (size_t i = 0; i < increment.segments.size(); ++i) {
    const jinja::Segment& segment = increment.segments[i];
    if (segment.text.find(text) == std::string::npos) continue;
    if (place || !segment.from_input || segment.text != text) return std::nullopt;
    place = i;
  }
  return place;
}

bool has_space_at_ends(std::string_view text) {
  size_t first = 0;
  const size_t last = jinja::previous_position(text, text.size());
  size_t at = last;
  return jinja::is_space(jinja::next_character(text, first)) ||
         jinja::is_space(jinja::next_character(text, at));
}

const json::string* text_member(const json::object& message, std::string_view name) {
  const json::value* member = message.if_contains(name);
  return member == nullptr ? nullptr : member->if_string();
}

struct OneText {
  std::string_view role;
  std::string_view content;
};

// The only appended message, if it is a role and a text and nothing else matters.
std::optional<OneText> one_text_of(const SampledTurn& turn, const Conversation& appended) {
  if (turn.message.contains("tool_calls") || appended.messages.size() != 1 ||
      !appended.tools.empty()) {
    return std::nullopt;
  }
  const json::object* message = appended.messages.front().if_object();
  if (message == nullptr || message->size() != 2) return std::nullopt;
  const json::string* role = text_member(*message, "role");
  const json::string* content = text_member(*message, "content");
  if (role == nullptr || content == nullptr) return std::nullopt;
  return OneText{.role = *role, .content = *content};
}

// What decides how a text is written, but for the text. Lengths, so that no two kinds are alike.
std::string key_of(const SampledTurn& turn, std::string_view role, const json::object& arguments) {
  return fmt::format("{} {} {} {}{}{}", turn.has_system ? 1 : 0, role.size(), turn.end_token.size(),
                     role, turn.end_token, json::serialize(arguments));
}

}  // namespace

// Around the text of one kind of message.
struct IncrementPatterns::Pattern {
  bool is_known = false;  // else each is rendered

  Made made;         // with any text
  size_t place = 0;  // of the increment's segment with the text

  // What a plain text must not have, be, or have at its ends; in lower case.
  std::vector<std::string> nowhere;
  std::vector<std::string> not_alone;
  std::vector<std::string> not_at_ends;

  Made with(std::string_view text) const {
    Made copy = made;
    if (auto* increment = std::get_if<Increment>(&copy)) increment->segments[place].text = text;
    return copy;
  }

  bool is_plain(std::string_view text) const {
    if (text.empty() || text.size() > kTextBytesMax || !is_utf8(text) || has_space_at_ends(text))
      return false;
    const std::string low = lower(text);
    const auto is_in = [&](const std::string& named) { return low.find(named) != low.npos; };
    const auto is_at_end = [&](const std::string& named) {
      return low.starts_with(named) || low.ends_with(named);
    };
    return std::ranges::none_of(nowhere, is_in) &&
           std::ranges::find(not_alone, low) == not_alone.end() &&
           std::ranges::none_of(not_at_ends, is_at_end);
  }
};

IncrementPatterns::IncrementPatterns(ChatTemplate chat_template, int64_t now_unix_s)
    : template_(std::move(chat_template)), now_unix_s_(now_unix_s), named_(template_.texts()) {}

IncrementPatterns::~IncrementPatterns() = default;

int64_t IncrementPatterns::from_patterns() const {
  return from_patterns_.load(std::memory_order_relaxed);
}

Made IncrementPatterns::increment_of(const SampledTurn& turn, const Conversation& appended) const {
  if (const std::optional<OneText> one = one_text_of(turn, appended)) {
    const std::shared_ptr<const Pattern> pattern = pattern_of(turn, one->role, appended);
    if (pattern && pattern->is_known && pattern->is_plain(one->content)) {
      from_patterns_.fetch_add(1, std::memory_order_relaxed);
      return pattern->with(one->content);
    }
  }
  return chat::increment_of(template_, turn, appended, now_unix_s_);
}

// Null: there is no room to remember one more.
std::shared_ptr<const IncrementPatterns::Pattern> IncrementPatterns::pattern_of(
    const SampledTurn& turn, std::string_view role, const Conversation& appended) const {
  const std::string key = key_of(turn, role, appended.arguments);
  if (key.size() > kKeyBytesMax) return nullptr;
  {
    const std::shared_lock lock(mutex_);
    const auto found = patterns_.find(key);
    if (found != patterns_.end()) return found->second;
    if (patterns_.size() >= kPatternsMax) return nullptr;
  }
  // Two threads may learn the same at once, which is the same.
  auto learnt = std::make_shared<const Pattern>(learn(turn, role, appended));
  const std::unique_lock lock(mutex_);
  if (patterns_.size() >= kPatternsMax) return nullptr;
  return patterns_.try_emplace(key, std::move(learnt)).first->second;
}

IncrementPatterns::Pattern IncrementPatterns::learn(const SampledTurn& turn, std::string_view role,
                                                    const Conversation& appended) const {
  const auto made_of = [&](std::string_view text) {
    const json::array messages = {json::object{{"role", role}, {"content", text}}};
    return chat::increment_of(template_, turn,
                              {.messages = messages,
                               .tools = appended.tools,
                               .arguments = appended.arguments,
                               .asks_for_answer = appended.asks_for_answer},
                              now_unix_s_);
  };
  Pattern pattern{.made = made_of(kWord)};
  if (const auto* increment = std::get_if<Increment>(&pattern.made)) {
    const std::optional<size_t> place = only_place_of(kWord, *increment);
    if (!place) return pattern;
    pattern.place = *place;
  }
  const auto is_as_any = [&](std::string_view text) { return made_of(text) == pattern.with(text); };
  if (!std::ranges::all_of(texts_that_show_changes(), is_as_any)) return pattern;

  std::string all_words(kWord);
  size_t tried = 0;
  for (const std::string& named : named_) {
    pattern.not_alone.push_back(lower(named));
    if (is_word(named)) {
      all_words += " " + named;
      pattern.not_at_ends.push_back(lower(named));
    } else if (!is_short_mark(named) || ++tried > kTriedMax || !is_as_any(text_around(named))) {
      pattern.nowhere.push_back(lower(named));
    }
  }
  all_words += fmt::format(" {}", kWord);
  pattern.is_known = is_as_any(all_words);
  return pattern;
}

}  // namespace windrow::chat
