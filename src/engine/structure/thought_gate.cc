#include "engine/structure/thought_gate.h"

#include <algorithm>

#include "chat/harmony.h"

namespace windrow::engine {
namespace {

using FormatKind = chat::ReasoningFormat::Kind;
namespace harmony = chat::harmony;

constexpr std::string_view kWhitespace = " \t\r\n";
constexpr std::string_view kLineBreaks = "\r\n";
// Where a message of thoughts ends.
constexpr std::string_view kEnd = "<|end|>";

}  // namespace

ReasoningGate::ReasoningGate(const chat::ReasoningFormat& format, std::string_view prompt)
    : format_(format) {
  if (format.kind == FormatKind::kTags) {
    prompt = prompt.substr(0, prompt.find_last_not_of(kWhitespace) + 1);
    part_ = Part::kOpening;
    if (prompt.ends_with(format.close)) part_ = Part::kSpeech;
    if (prompt.ends_with(format.open)) part_ = Part::kThoughts;
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

// By hand where marks are a few bytes long: the longest end of what has come that begins the mark.
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
    case Part::kThoughts:
      return take_thoughts(bytes);
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
  // It was no mark: what looked like one was said.
  if (!bytes.starts_with(rest)) return speak(bytes);
  speech_begin_ = progress_;
  progress_ = 0;
  part_ = Part::kThoughts;
  go_on(bytes, rest.size());
  return take_thoughts(bytes);
}

std::string_view ReasoningGate::take_thoughts(std::string_view bytes) {
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
  return part_ == Part::kSpeech ? bytes : take_thoughts(bytes);
}

void ReasoningGate::begin_message() {
  part_ = harmony::is_reasoning(header_) ? Part::kThoughts : Part::kSpeech;
  progress_ = 0;
  header_.clear();
}

}  // namespace windrow::engine
