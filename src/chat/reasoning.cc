#include "chat/reasoning.h"

#include <algorithm>
#include <array>

#include "chat/harmony.h"

namespace windrow::chat {
namespace {

constexpr std::string_view kWhitespace = " \t\r\n";

struct Tags {
  std::string_view open;
  std::string_view close;
};

constexpr std::array kTags = std::to_array<Tags>({
    {"<think>", "</think>"},
    {"[THINK]", "[/THINK]"},
    {"<seed:think>", "</seed:think>"},
    {"\xE2\x97\x81think\xE2\x96\xB7", "\xE2\x97\x81/think\xE2\x96\xB7"},  // Kimi
});

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string_view without_whitespace_before(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kWhitespace), text.size()));
  return text;
}

std::string_view without_line_breaks_before(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of("\r\n"), text.size()));
  return text;
}

std::string_view without_whitespace_behind(std::string_view text) {
  return text.substr(0, text.find_last_not_of(kWhitespace) + 1);
}

std::optional<std::string> thoughts(std::string_view text) {
  text = without_whitespace_behind(without_whitespace_before(text));
  if (text.empty()) return std::nullopt;
  return std::string(text);
}

SplitAnswer split_tags(const ReasoningFormat& format, std::string_view prompt,
                       std::string_view answer) {
  const std::string_view before = without_whitespace_behind(prompt);
  const std::string_view begin = without_whitespace_before(answer);
  const bool opens = begin.starts_with(format.open);
  // Where nobody has opened thoughts, or the template has closed them, a mark is a part of what is
  // said.
  if (before.ends_with(format.close) || (!opens && !before.ends_with(format.open))) {
    return {.reasoning = std::nullopt, .content = std::string(answer)};
  }
  const std::string_view rest = opens ? begin.substr(format.open.size()) : answer;
  const size_t close = rest.find(format.close);
  if (close == std::string_view::npos) return {.reasoning = thoughts(rest), .content = ""};
  return {
      .reasoning = thoughts(rest.substr(0, close)),
      .content = std::string(without_line_breaks_before(rest.substr(close + format.close.size())))};
}

SplitAnswer split_channels(std::string_view answer) {
  std::string reasoning;
  std::string content;
  while (!answer.empty()) {
    const size_t message = answer.find(harmony::kMessage);
    if (message == std::string_view::npos) {
      // The answer was cut within a header, or the model kept to no format.
      if (!contains(answer, harmony::kChannel) && !contains(answer, harmony::kStart))
        content += answer;
      break;
    }
    const std::string_view header = answer.substr(0, message);
    answer.remove_prefix(message + harmony::kMessage.size());
    size_t end = answer.size();
    for (const std::string_view mark : harmony::kMessageEnds)
      end = std::min(end, answer.find(mark));
    std::string& target = harmony::is_thought(header) ? reasoning : content;
    if (!target.empty()) target += '\n';
    target += harmony::said_header(header);
    target += answer.substr(0, end);
    if (end < answer.size() && !harmony::called_function(header).empty()) target += harmony::kCall;
    answer = harmony::without_end(answer.substr(end));
  }
  return {.reasoning = thoughts(reasoning), .content = std::move(content)};
}

}  // namespace

std::vector<std::string> ReasoningFormat::marks() const {
  switch (kind) {
    case Kind::kTags:
      return {open, close};
    case Kind::kChannels: {
      std::vector<std::string> marks = {std::string(harmony::kChannel),
                                        std::string(harmony::kMessage),
                                        std::string(harmony::kConstrain)};
      marks.insert(marks.end(), harmony::kMessageEnds.begin(), harmony::kMessageEnds.end());
      return marks;
    }
    case Kind::kNone:
      break;
  }
  return {};
}

ReasoningFormat recognise_reasoning(std::string_view template_source) {
  if (contains(template_source, harmony::kChannel) && contains(template_source, "analysis")) {
    return {.kind = ReasoningFormat::Kind::kChannels, .open = {}, .close = {}};
  }
  for (const Tags& tags : kTags) {
    if (!contains(template_source, tags.close)) continue;
    return {.kind = ReasoningFormat::Kind::kTags,
            .open = std::string(tags.open),
            .close = std::string(tags.close)};
  }
  return {};
}

SplitAnswer split_reasoning(const ReasoningFormat& format, std::string_view prompt,
                            std::string_view answer) {
  switch (format.kind) {
    case ReasoningFormat::Kind::kTags:
      return split_tags(format, prompt, answer);
    case ReasoningFormat::Kind::kChannels:
      return split_channels(answer);
    case ReasoningFormat::Kind::kNone:
      break;
  }
  return {.reasoning = std::nullopt, .content = std::string(answer)};
}

}  // namespace windrow::chat
