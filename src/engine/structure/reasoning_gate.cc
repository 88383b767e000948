#include "engine/structure/reasoning_gate.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/ensure.h"
#include "chat/harmony.h"

namespace windrow::engine {
namespace {

using FormatKind = chat::ReasoningFormat::Kind;
namespace harmony = chat::harmony;

constexpr std::string_view kWhitespace = " \t\r\n";
constexpr std::string_view kLineBreaks = "\r\n";
// The end of a message of reasoning.
constexpr std::string_view kEnd = "<|end|>";

using FormatKind = chat::ReasoningFormat::Kind;
using ReasoningPart = ReasoningGate::Part;

constexpr std::string_view kMaskLineBreaks = "\r\n";

bool only_line_breaks(std::string_view text) {
  return text.find_first_not_of(kMaskLineBreaks) == std::string_view::npos;
}

bool any(const grammar::TokenMask& mask) {
  return std::ranges::any_of(mask.words(), [](uint64_t word) { return word != 0; });
}

}  // namespace

ReasoningGate::ReasoningGate(const chat::ReasoningFormat& format, std::string_view prompt)
    : format_(format) {
  if (format.kind == FormatKind::kTags) {
    prompt = prompt.substr(0, prompt.find_last_not_of(kWhitespace) + 1);
    part_ = Part::kOpening;
    if (prompt.ends_with(format.close)) part_ = Part::kSpeech;
    if (prompt.ends_with(format.open)) part_ = Part::kReasoning;
  } else if (format.kind == FormatKind::kChannels) {
    const size_t start = prompt.rfind(harmony::kStart);
    const std::string_view open =
        start == std::string_view::npos ? "" : prompt.substr(start + harmony::kStart.size());
    const size_t message = open.find(harmony::kMessage);
    part_ = Part::kHeader;
    header_ = open.substr(0, message);
    progress_ = header_.find(harmony::kChannel) == std::string::npos ? 0 : header_.size();
    if (message != std::string_view::npos) begin_message();
  }
}

// Keeps the longest end of the text that begins the mark; marks are a few bytes long.
ReasoningGate::Found ReasoningGate::find(std::string_view mark, size_t progress,
                                         std::string_view bytes) {
  std::string seen(mark.substr(0, progress));
  for (size_t i = 0; i < bytes.size(); ++i) {
    seen += bytes[i];
    while (!mark.starts_with(seen))
      seen.erase(0, 1);
    if (seen.size() == mark.size()) return {.progress = seen.size(), .bytes = i + 1};
  }
  return {.progress = seen.size(), .bytes = bytes.size()};
}

std::string_view ReasoningGate::take(std::string_view bytes) {
  switch (part_) {
    case Part::kOpening:
      return take_opening(bytes);
    case Part::kReasoning:
      return take_reasoning(bytes);
    case Part::kBetween:
      return take_between(bytes);
    case Part::kHeader:
      return take_header(bytes);
    case Part::kEnded:
      return take_ended(bytes);
    case Part::kSpeech:
      break;
  }
  return bytes;
}

void ReasoningGate::go_on(std::string_view& bytes, size_t count) {
  bytes.remove_prefix(count);
  speech_begin_ += count;
}

std::string_view ReasoningGate::speak(std::string_view bytes) {
  part_ = Part::kSpeech;
  return bytes;
}

std::string_view ReasoningGate::take_opening(std::string_view bytes) {
  const std::string_view rest = std::string_view(format_.open).substr(progress_);
  if (bytes.size() < rest.size() && rest.starts_with(bytes)) {
    progress_ += bytes.size();
    return {};
  }
  // It was no mark, so all of it was said.
  if (!bytes.starts_with(rest)) return speak(bytes);
  speech_begin_ = progress_;
  progress_ = 0;
  part_ = Part::kReasoning;
  go_on(bytes, rest.size());
  return take_reasoning(bytes);
}

std::string_view ReasoningGate::take_reasoning(std::string_view bytes) {
  const bool tags = format_.kind == FormatKind::kTags;
  const std::string_view mark = tags ? std::string_view(format_.close) : kEnd;
  const Found found = find(mark, progress_, bytes);
  go_on(bytes, found.bytes);
  progress_ = found.progress;
  if (found.progress < mark.size()) return {};
  progress_ = 0;
  part_ = tags ? Part::kBetween : Part::kEnded;
  return tags ? take_between(bytes) : take_ended(bytes);
}

std::string_view ReasoningGate::take_between(std::string_view bytes) {
  const size_t breaks = std::min(bytes.find_first_not_of(kLineBreaks), bytes.size());
  progress_ += breaks;
  go_on(bytes, breaks);
  return bytes.empty() ? bytes : speak(bytes);
}

std::string_view ReasoningGate::take_ended(std::string_view bytes) {
  const Found found = find(harmony::kStart, progress_, bytes);
  go_on(bytes, found.bytes);
  progress_ = found.progress;
  if (found.progress < harmony::kStart.size()) return {};
  header_.clear();
  progress_ = harmony::kStart.size();
  part_ = Part::kHeader;
  return take_header(bytes);
}

std::string_view ReasoningGate::take_header(std::string_view bytes) {
  const size_t before = header_.size();
  header_ += bytes;
  const size_t message = header_.find(harmony::kMessage);
  if (message == std::string::npos) {
    progress_ += bytes.size();
    go_on(bytes, bytes.size());
    return {};
  }
  go_on(bytes, message + harmony::kMessage.size() - before);
  header_.resize(message);
  begin_message();
  return part_ == Part::kSpeech ? bytes : take_reasoning(bytes);
}

void ReasoningGate::begin_message() {
  part_ = harmony::is_reasoning(header_) ? Part::kReasoning : Part::kSpeech;
  progress_ = 0;
  header_.clear();
}

ReasoningMasks::ReasoningMasks(std::span<const std::string> texts,
                               std::span<const Token> end_tokens,
                               const chat::ReasoningFormat& format, bool breaks_behind)
    : breaks_(static_cast<int32_t>(texts.size())),
      begins_with_break_(breaks_),
      header_(breaks_),
      header_begin_(breaks_),
      message_(breaks_),
      start_(breaks_),
      nothing_(breaks_) {
  if (format.kind == FormatKind::kNone) return;
  const bool tags = format.kind == FormatKind::kTags;
  const std::string_view close = tags ? std::string_view(format.close) : "<|end|>";
  const Mask none(static_cast<int32_t>(texts.size()));
  if (tags) opening_.assign(format.open.size(), none);
  reasoning_.assign(close.size(), none);
  const std::vector<std::string> marks = format.marks();
  std::vector<bool> ends(texts.size(), false);
  for (const Token token : end_tokens)
    ends[static_cast<size_t>(token)] = true;
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::string_view text = texts[i];
    const auto token = static_cast<Token>(i);
    if (ends[i]) continue;
    for (size_t progress = 0; progress < reasoning_.size(); ++progress) {
      const ReasoningGate::Found found = ReasoningGate::find(close, progress, text);
      const bool closes = found.progress == close.size();
      const std::string_view rest = text.substr(found.bytes);
      if (!closes || (tags && breaks_behind ? only_line_breaks(rest) : rest.empty()))
        reasoning_[progress].allow(token);
    }
    if (text.empty()) continue;
    if (breaks_behind && only_line_breaks(text)) breaks_.allow(token);
    if (kMaskLineBreaks.find(text.front()) != std::string_view::npos)
      begins_with_break_.allow(token);
    const bool mark = std::ranges::find(marks, text) != marks.end();
    if (text == "<|channel|>") header_begin_.allow(token);
    if (text == "<|message|>") message_.allow(token);
    if (text == "<|start|>") start_.allow(token);
    const bool in_header =
        text == "<|channel|>" || text == "<|message|>" || text == "<|constrain|>";
    if (!mark || in_header) header_.allow(token);
  }
  for (size_t progress = opening_.size(); progress-- > 0;)
    fill_opening(texts, ends, format, progress);
  usable_ = tags ? any(opening_.front()) : any(header_begin_) && any(message_) && any(start_);
}

// Filled from the end: a part of the mark may come only where the rest of it can be written.
void ReasoningMasks::fill_opening(std::span<const std::string> texts, const std::vector<bool>& ends,
                                  const chat::ReasoningFormat& format, size_t progress) {
  const std::string_view rest = std::string_view(format.open).substr(progress);
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::string_view text = texts[i];
    if (ends[i] || text.empty()) continue;
    const bool begins = text.size() < rest.size() && rest.starts_with(text) &&
                        any(opening_[progress + text.size()]);
    const bool opens = text.starts_with(rest) && text.find(format.close) == std::string_view::npos;
    if (begins || opens) opening_[progress].allow(static_cast<Token>(i));
  }
}

const grammar::TokenMask& ReasoningMasks::at(ReasoningPart part, size_t progress) const {
  switch (part) {
    case ReasoningPart::kOpening:
      return opening_.at(progress);
    case ReasoningPart::kReasoning:
      return reasoning_.at(progress);
    case ReasoningPart::kBetween:
      return progress < ReasoningGate::kLineBreaksMax ? breaks_ : nothing_;
    case ReasoningPart::kHeader:
      if (progress == 0) return header_begin_;
      return progress < ReasoningGate::kHeaderMax ? header_ : message_;
    case ReasoningPart::kEnded:
      return start_;
    case ReasoningPart::kSpeech:
      break;
  }
  ENSURE(false, "no mask of reasoning is for what is said");
}

}  // namespace windrow::engine
