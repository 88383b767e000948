#include "chat/reasoning.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "chat/harmony.h"
#include "chat/marks.h"

namespace windrow::chat {
namespace {

using Kind = ReasoningFormat::Kind;

constexpr std::string_view kLineBreaks = "\r\n";

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
  text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  return text;
}

std::string_view without_line_breaks_before(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kLineBreaks), text.size()));
  return text;
}

std::string_view without_whitespace_behind(std::string_view text) {
  return text.substr(0, text.find_last_not_of(kSpace) + 1);
}

// An answer and the parts of it that are reasoning, with the white space around them.
struct CutAnswer {
  std::vector<std::string_view> reasoning;
  std::string content;
};

CutAnswer cut_tags(const ReasoningFormat& format, std::string_view prompt,
                   std::string_view answer) {
  const std::string_view before = without_whitespace_behind(prompt);
  const std::string_view begin = without_whitespace_before(answer);
  const bool opens = begin.starts_with(format.open);
  // Unless the prompt or the answer opens the reasoning, marks are content.
  if (before.ends_with(format.close) || (!opens && !before.ends_with(format.open))) {
    return {.reasoning = {}, .content = std::string(answer)};
  }
  const std::string_view rest = opens ? begin.substr(format.open.size()) : answer;
  const size_t close = rest.find(format.close);
  if (close == std::string_view::npos) return {.reasoning = {rest}, .content = ""};
  return {
      .reasoning = {rest.substr(0, close)},
      .content = std::string(without_line_breaks_before(rest.substr(close + format.close.size())))};
}

CutAnswer cut_channels(std::string_view answer) {
  CutAnswer cut;
  std::string& content = cut.content;
  while (!answer.empty()) {
    const size_t message = answer.find(harmony::kMessage);
    if (message == std::string_view::npos) {
      // The answer ends within a header, or the model ignores the format.
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
    if (harmony::is_reasoning(header)) {
      cut.reasoning.push_back(text);
    } else {
      if (!content.empty()) content += '\n';
      content.append(harmony::content_header(header)).append(text);
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
  return {.reasoning = {}, .content = std::string(answer)};
}

// Without white space before the first part and after the last.
std::vector<std::string_view> trimmed(std::vector<std::string_view> parts) {
  while (!parts.empty()) {
    parts.front() = without_whitespace_before(parts.front());
    if (!parts.front().empty()) break;
    parts.erase(parts.begin());
  }
  while (!parts.empty()) {
    parts.back() = without_whitespace_behind(parts.back());
    if (!parts.back().empty()) break;
    parts.pop_back();
  }
  return parts;
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
  CutAnswer cut_answer = cut(format, prompt, answer);
  SplitAnswer split{.reasoning = std::nullopt, .content = std::move(cut_answer.content)};
  for (const std::string_view part : trimmed(std::move(cut_answer.reasoning))) {
    if (!split.reasoning) {
      split.reasoning.emplace();
    } else {
      *split.reasoning += '\n';
    }
    *split.reasoning += part;
  }
  return split;
}

std::vector<std::string_view> reasoning_parts(const ReasoningFormat& format,
                                              std::string_view prompt, std::string_view answer) {
  return trimmed(cut(format, prompt, answer).reasoning);
}

ReasoningStream::ReasoningStream(ReasoningFormat format, std::string_view prompt)
    : format_(std::move(format)) {
  if (format_.kind == Kind::kTags) {
    prompt = prompt.substr(0, prompt.find_last_not_of(kSpace) + 1);
    opened_by_prompt_ = prompt.ends_with(format_.open);
    if (!prompt.ends_with(format_.close)) part_ = Part::kOpening;
  } else if (format_.kind == Kind::kChannels) {
    part_ = Part::kHeader;
  }
}

ReasoningStream::Delta ReasoningStream::take(std::string_view text) {
  Delta delta;
  pending_ += text;
  while (!pending_.empty() && read(delta)) {
  }
  return delta;
}

// False when nothing can be done before there is delta.
bool ReasoningStream::read(Delta& delta) {
  switch (part_) {
    case Part::kOpening:
      return read_opening();
    case Part::kHeader:
      return read_header(delta);
    case Part::kBetween:
      return skip_line_breaks();
    case Part::kReasoning:
      return read_message(delta);
    case Part::kContent:
      if (format_.kind == Kind::kChannels) return read_message(delta);
      break;
  }
  add_content(std::exchange(pending_, {}), delta);
  return false;
}

bool ReasoningStream::read_opening() {
  std::string_view begin = pending_;
  begin.remove_prefix(std::min(begin.find_first_not_of(kSpace), begin.size()));
  if (begin.starts_with(format_.open)) {
    part_ = Part::kReasoning;
    pending_.erase(0, pending_.size() - begin.size() + format_.open.size());
    return true;
  }
  if (std::string_view(format_.open).starts_with(begin)) return false;
  part_ = opened_by_prompt_ ? Part::kReasoning : Part::kContent;
  return true;
}

bool ReasoningStream::skip_line_breaks() {
  pending_.erase(0, pending_.find_first_not_of(kLineBreaks));
  if (!pending_.empty()) part_ = Part::kContent;
  return true;
}

bool ReasoningStream::read_header(Delta& delta) {
  const std::string_view text =
      message_ended_ ? harmony::without_end(pending_) : std::string_view(pending_);
  const size_t message = text.find(harmony::kMessage);
  if (message == std::string_view::npos) return false;
  const std::string_view header = text.substr(0, message);
  if (harmony::is_reasoning(header)) {
    part_ = Part::kReasoning;
    if (has_reasoning_) gap_ += '\n';
  } else {
    part_ = Part::kContent;
    if (has_content_) add_content("\n", delta);
    add_content(harmony::content_header(header), delta);
    is_call_ = !harmony::called_function(header).empty();
  }
  trailing_ = 0;
  pending_.erase(0, pending_.size() - text.size() + message + harmony::kMessage.size());
  return true;
}

bool ReasoningStream::read_message(Delta& delta) {
  const bool tags = format_.kind == Kind::kTags;
  const std::string_view close = format_.close;
  const std::span<const std::string_view> marks =
      tags ? std::span(&close, 1) : std::span<const std::string_view>(harmony::kMessageEnds);
  const std::string_view text = pending_;
  size_t end = text.size();
  size_t held = 0;
  for (const std::string_view mark : marks) {
    end = std::min(end, text.find(mark));
    held = std::max(held, partial_suffix(text, mark));
  }
  const bool ended = end < text.size();
  if (!ended) end -= held;
  if (part_ == Part::kReasoning) {
    add_reasoning(text.substr(0, end), delta);
  } else {
    add_content(text.substr(0, end), delta);
  }
  if (ended) {
    if (std::exchange(is_call_, false)) add_content(harmony::kCall, delta);
    part_ = tags ? Part::kBetween : Part::kHeader;
    message_ended_ = true;
  }
  pending_.erase(0, end + (ended && tags ? close.size() : 0));
  return ended;
}

// Reasoning is returned without the white space around it.
void ReasoningStream::add_reasoning(std::string_view text, Delta& delta) {
  if (!has_reasoning_) text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  const size_t size = text.find_last_not_of(kSpace) + 1;
  if (size > 0) {
    has_reasoning_ = true;
    delta.reasoning += std::exchange(gap_, {});
    delta.reasoning += text.substr(0, size);
    trailing_ = 0;
  }
  gap_ += text.substr(size);
  trailing_ += text.size() - size;
}

void ReasoningStream::add_content(std::string_view text, Delta& delta) {
  has_content_ = has_content_ || !text.empty();
  delta.content += text;
}

}  // namespace windrow::chat
