#include "chat/reasoning.h"

#include <algorithm>
#include <array>

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

constexpr std::string_view kChannel = "<|channel|>";
constexpr std::string_view kMessage = "<|message|>";
constexpr std::string_view kStart = "<|start|>";
constexpr std::string_view kConstrain = "<|constrain|>";

// Where a message of harmony ends; the next begins with <|start|>ROLE.
constexpr std::array<std::string_view, 4> kMessageEnds = {"<|end|>", "<|return|>", "<|call|>",
                                                          kStart};

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
  // The template has closed the thoughts, so a mark in the answer is a part of what it says.
  if (before.ends_with(format.close)) {
    return {.reasoning = std::nullopt, .content = std::string(answer)};
  }
  bool thinks = before.ends_with(format.open);
  std::string_view rest = answer;
  if (without_whitespace_before(answer).starts_with(format.open)) {
    thinks = true;
    rest = without_whitespace_before(answer).substr(format.open.size());
  }
  const size_t close = rest.find(format.close);
  if (close == std::string_view::npos) {
    if (!thinks) return {.reasoning = std::nullopt, .content = std::string(answer)};
    return {.reasoning = thoughts(rest), .content = ""};
  }
  // Some models leave out the opening mark, which no part of an answer would close.
  return {
      .reasoning = thoughts(rest.substr(0, close)),
      .content = std::string(without_line_breaks_before(rest.substr(close + format.close.size())))};
}

// One message after the other: [<|start|>ROLE] [<|channel|>NAME] <|message|>TEXT end. What is on
// the analysis channel is thought; everything else is said. A message to somebody, " to=NAME" in
// its header, calls a tool; its header says which, so it is said too.
SplitAnswer split_channels(std::string_view answer) {
  std::string reasoning;
  std::string content;
  while (!answer.empty()) {
    const size_t message = answer.find(kMessage);
    if (message == std::string_view::npos) {
      // The answer was cut within a header, or the model kept to no format.
      if (!contains(answer, kChannel) && !contains(answer, kStart)) content += answer;
      break;
    }
    const std::string_view header = answer.substr(0, message);
    answer.remove_prefix(message + kMessage.size());
    size_t end = answer.size();
    for (const std::string_view mark : kMessageEnds)
      end = std::min(end, answer.find(mark));
    const size_t channel = header.rfind(kChannel);
    const bool calls = contains(header, " to=");
    const bool thought = !calls && channel != std::string_view::npos &&
                         header.substr(channel + kChannel.size()).starts_with("analysis");
    std::string& target = thought ? reasoning : content;
    if (!target.empty()) target += '\n';
    if (calls) target.append(header).append(kMessage);
    target += answer.substr(0, end);
    answer.remove_prefix(end);
    for (const std::string_view mark : {"<|end|>", "<|return|>", "<|call|>"}) {
      if (answer.starts_with(mark)) answer.remove_prefix(mark.size());
    }
  }
  return {.reasoning = thoughts(reasoning), .content = std::move(content)};
}

}  // namespace

std::vector<std::string> ReasoningFormat::marks() const {
  switch (kind) {
    case Kind::kTags:
      return {open, close};
    case Kind::kChannels: {
      std::vector<std::string> marks = {std::string(kChannel), std::string(kMessage),
                                        std::string(kConstrain)};
      marks.insert(marks.end(), kMessageEnds.begin(), kMessageEnds.end());
      return marks;
    }
    case Kind::kNone:
      break;
  }
  return {};
}

ReasoningFormat recognise_reasoning(std::string_view template_source) {
  if (contains(template_source, kChannel) && contains(template_source, "analysis")) {
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
