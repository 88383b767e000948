#include "engine/structure/thought_masks.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/ensure.h"

namespace windrow::engine {
namespace {

using FormatKind = chat::ReasoningFormat::Kind;
using ThoughtPart = ReasoningGate::Part;

constexpr std::string_view kMaskLineBreaks = "\r\n";

bool only_line_breaks(std::string_view text) {
  return text.find_first_not_of(kMaskLineBreaks) == std::string_view::npos;
}

bool any(const grammar::TokenMask& mask) {
  return std::ranges::any_of(mask.words(), [](uint64_t word) { return word != 0; });
}

}  // namespace

ThoughtMasks::ThoughtMasks(std::span<const std::string> texts, std::span<const Token> end_tokens,
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
  thoughts_.assign(close.size(), none);
  const std::vector<std::string> marks = format.marks();
  std::vector<bool> ends(texts.size(), false);
  for (const Token token : end_tokens)
    ends[static_cast<size_t>(token)] = true;
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::string_view text = texts[i];
    const auto token = static_cast<Token>(i);
    if (ends[i]) continue;
    for (size_t progress = 0; progress < thoughts_.size(); ++progress) {
      const ReasoningGate::Found found = ReasoningGate::find(close, progress, text);
      const bool closes = found.progress == close.size();
      const std::string_view rest = text.substr(found.bytes);
      if (!closes || (tags && breaks_behind ? only_line_breaks(rest) : rest.empty()))
        thoughts_[progress].allow(token);
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

// From the end: a token that is a part of the mark is of use only where the rest can be written.
void ThoughtMasks::fill_opening(std::span<const std::string> texts, const std::vector<bool>& ends,
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

const grammar::TokenMask& ThoughtMasks::at(ThoughtPart part, size_t progress) const {
  switch (part) {
    case ThoughtPart::kOpening:
      return opening_.at(progress);
    case ThoughtPart::kThoughts:
      return thoughts_.at(progress);
    case ThoughtPart::kBetween:
      return progress < ReasoningGate::kLineBreaksMax ? breaks_ : nothing_;
    case ThoughtPart::kHeader:
      if (progress == 0) return header_begin_;
      return progress < ReasoningGate::kHeaderMax ? header_ : message_;
    case ThoughtPart::kEnded:
      return start_;
    case ThoughtPart::kSpeech:
      break;
  }
  ENSURE(false, "what is said is not for thoughts to allow");
}

}  // namespace windrow::engine
