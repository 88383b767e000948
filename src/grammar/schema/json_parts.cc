#include "grammar/schema/json_parts.h"

#include <vector>

#include "grammar/schema/json_values.h"
#include "grammar/schema/single_spelling.h"

namespace windrow::grammar {
namespace {

namespace json = boost::json;

constexpr uint32_t kSpacesMax = 8;
constexpr size_t kWordsStatesMax = 100'000;  // of the texts of an enum

}  // namespace

Part JsonParts::text(const std::string& bytes) {
  const auto [found, is_new] = texts_.try_emplace(bytes);
  if (is_new) found->second = builder_.text(bytes);
  return found->second;
}

Part JsonParts::space() {
  if (!space_) {
    const CharSet blanks({{U'\t', U'\n'}, {U'\r', U'\r'}, {U' ', U' '}});
    space_ = builder_.repeat(builder_.lexeme(utf8_dfa(CharDfa::one_of(blanks))), 0, kSpacesMax);
  }
  return *space_;
}

Part JsonParts::mark(std::string_view mark) {
  const bool ends = mark == "]" || mark == "}";
  if (spaced_ && (mark == "," || mark == ":")) return text(std::string(mark) + " ");
  const Part bare = text(std::string(mark));
  return flexible_ && !ends ? builder_.sequence({bare, space()}) : bare;
}

Part JsonParts::spaced(Part value) {
  return flexible_ ? builder_.sequence({value, space()}) : value;
}

Part JsonParts::name(std::string_view name) {
  const std::string written = name_text(name);
  if (!flexible_) return text(written);
  return builder_.sequence({text(written), space(), text(":"), space()});
}

std::string JsonParts::name_text(std::string_view name) const {
  const std::string quoted = json_quoted(name);
  if (flexible_) return quoted;
  return quoted + (spaced_ ? ": " : ":");
}

Part JsonParts::behind_name(Part value) {
  if (!flexible_) return value;
  return builder_.sequence({space(), text(":"), space(), value});
}

Part JsonParts::comma_name(std::string_view name) {
  if (spaced_) return text(", " + json_quoted(name) + ": ");
  if (!flexible_) return text("," + json_quoted(name) + ":");
  return builder_.sequence({mark(","), this->name(name)});
}

Part JsonParts::name_in(const CharDfa* names) {
  const Part quoted = names == nullptr ? any_string() : string_in(*names);
  return builder_.sequence({spaced(quoted), mark(":")});
}

Part JsonParts::distinct_name_in(const CharDfa* names) {
  const Part name = distinct(quoted(names == nullptr ? CharDfa::any_text() : *names));
  return builder_.sequence({spaced(name), mark(":")});
}

// If others remain and the automaton is not too large.
CharDfa JsonParts::without_left_out(const CharDfa& texts) const {
  if (left_out_.empty()) return texts;
  const Result<CharDfa> rest = texts.without(left_out_);
  return rest && !rest->empty() ? *rest : texts;
}

Part JsonParts::any_string() {
  if (!any_string_) any_string_ = string_in(CharDfa::any_text());
  return *any_string_;
}

Part JsonParts::string_of_length(uint32_t min, std::optional<uint32_t> max) {
  if (min == 0 && !max) return any_string();
  if (!left_out_.empty()) {
    const CharCount count{.min = min, .max = max.value_or(CharCount::kEndless)};
    if (const Result<Part> part = string_in(CharDfa::any_text(), count)) return *part;
  }
  const Part character = builder_.lexeme(json_any_character_dfa());
  return builder_.sequence({text("\""), builder_.repeat(character, min, max), text("\"")});
}

Part JsonParts::string_in(const CharDfa& texts) {
  return builder_.sequence(
      {text("\""), builder_.lexeme(json_string_dfa(without_left_out(texts))), text("\"")});
}

Result<Part> JsonParts::string_in(const CharDfa& texts, const CharCount& count) {
  if (count.allows_all()) return string_in(texts);
  const CharDfa some = without_left_out(texts);
  auto dfa = CountedDfa::make(json_string_dfa(some), some.states_count(), count);
  if (dfa && (*dfa)->empty())
    dfa = CountedDfa::make(json_string_dfa(texts), texts.states_count(), count);
  if (!dfa) return dfa.error();
  return builder_.sequence({text("\""), builder_.lexeme(*std::move(dfa)), text("\"")});
}

Part JsonParts::value(const json::value& value) {
  if ((!flexible_ && !spaced_) || !value.is_structured()) return text(compact_json(value));
  std::vector<Part> parts;
  if (const json::array* array = value.if_array()) {
    parts.push_back(mark("["));
    for (const json::value& item : *array) {
      if (parts.size() > 1) parts.push_back(mark(","));
      parts.push_back(spaced(this->value(item)));
    }
    parts.push_back(mark("]"));
  } else {
    parts.push_back(mark("{"));
    for (const auto& [member, of_member] : value.get_object()) {
      parts.push_back(parts.size() > 1 ? comma_name(member) : name(member));
      parts.push_back(spaced(this->value(of_member)));
    }
    parts.push_back(mark("}"));
  }
  return builder_.sequence(std::move(parts));
}

CharDfa JsonParts::quoted(const CharDfa& texts) const {
  return quoted_texts(without_left_out(texts));
}

Part JsonParts::distinct(const CharDfa& texts) {
  return builder_.distinct_lexeme(utf8_dfa(texts));
}

Part JsonParts::no_text(Error why) {
  if (!why_no_text_) why_no_text_ = std::move(why);
  return builder_.lexeme(std::make_shared<const ByteDfa>());
}

Result<Part> JsonParts::one_of(std::span<const json::value* const> values, const GiveUp& give_up) {
  std::vector<Part> parts;
  std::vector<std::string_view> texts;  // many words are one automaton
  for (const json::value* value : values) {
    if (value->is_string()) {
      texts.push_back(value->get_string());
    } else {
      parts.push_back(this->value(*value));
    }
  }
  if (texts.size() == 1) parts.push_back(text(json_quoted(texts.front())));
  if (texts.size() > 1) {
    const Result<CharDfa> words = CharDfa::literals(texts, kWordsStatesMax, give_up);
    if (!words) return words.error();
    parts.push_back(string_in(*words));
  }
  return parts.size() == 1 ? parts.front() : builder_.choice(std::move(parts));
}

}  // namespace windrow::grammar
