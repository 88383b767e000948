#include "chat/reasoning.h"

#include <algorithm>
#include <array>
#include <utility>

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

// An answer with its thoughts apart, which are parts of it as they stand there.
struct CutAnswer {
  std::vector<std::string_view> thoughts;
  std::string content;
};

CutAnswer cut_tags(const ReasoningFormat& format, std::string_view prompt,
                   std::string_view answer) {
  const std::string_view before = without_whitespace_behind(prompt);
  const std::string_view begin = without_whitespace_before(answer);
  const bool opens = begin.starts_with(format.open);
  // Where nobody has opened thoughts, or the template has closed them, a mark is a part of what is
  // said.
  if (before.ends_with(format.close) || (!opens && !before.ends_with(format.open))) {
    return {.thoughts = {}, .content = std::string(answer)};
  }
  const std::string_view rest = opens ? begin.substr(format.open.size()) : answer;
  const size_t close = rest.find(format.close);
  if (close == std::string_view::npos) return {.thoughts = {rest}, .content = ""};
  return {
      .thoughts = {rest.substr(0, close)},
      .content = std::string(without_line_breaks_before(rest.substr(close + format.close.size())))};
}

CutAnswer cut_channels(std::string_view answer) {
  CutAnswer cut;
  std::string& content = cut.content;
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
    const std::string_view text = answer.substr(0, end);
    if (harmony::is_thought(header)) {
      cut.thoughts.push_back(text);
    } else {
      if (!content.empty()) content += '\n';
      content.append(harmony::said_header(header)).append(text);
      if (end < answer.size() && !harmony::called_function(header).empty())
        content += harmony::kCall;
    }
    answer = harmony::without_end(answer.substr(end));
  }
  return cut;
}

CutAnswer cut(const ReasoningFormat& format, std::string_view prompt, std::string_view answer) {
  switch (format.kind) {
    case ReasoningFormat::Kind::kTags:
      return cut_tags(format, prompt, answer);
    case ReasoningFormat::Kind::kChannels:
      return cut_channels(answer);
    case ReasoningFormat::Kind::kNone:
      break;
  }
  return {.thoughts = {}, .content = std::string(answer)};
}

// Without whitespace in front of the first thing that was thought, and behind the last.
std::vector<std::string_view> trimmed(std::vector<std::string_view> thoughts) {
  while (!thoughts.empty()) {
    thoughts.front() = without_whitespace_before(thoughts.front());
    if (!thoughts.front().empty()) break;
    thoughts.erase(thoughts.begin());
  }
  while (!thoughts.empty()) {
    thoughts.back() = without_whitespace_behind(thoughts.back());
    if (!thoughts.back().empty()) break;
    thoughts.pop_back();
  }
  return thoughts;
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
  CutAnswer parts = cut(format, prompt, answer);
  SplitAnswer split{.reasoning = std::nullopt, .content = std::move(parts.content)};
  for (const std::string_view thought : trimmed(std::move(parts.thoughts))) {
    if (!split.reasoning) {
      split.reasoning.emplace();
    } else {
      *split.reasoning += '\n';
    }
    *split.reasoning += thought;
  }
  return split;
}

std::vector<std::string_view> thoughts_in(const ReasoningFormat& format, std::string_view prompt,
                                          std::string_view answer) {
  return trimmed(cut(format, prompt, answer).thoughts);
}

}  // namespace windrow::chat
