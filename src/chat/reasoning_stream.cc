#include "chat/reasoning_stream.h"

#include <algorithm>
#include <span>
#include <utility>

#include "chat/harmony.h"
#include "chat/marks.h"

namespace windrow::chat {
namespace {

using Kind = ReasoningFormat::Kind;

constexpr std::string_view kLineBreaks = "\r\n";

}  // namespace

ReasoningStream::ReasoningStream(ReasoningFormat format, std::string_view prompt)
    : format_(std::move(format)) {
  if (format_.kind == Kind::kTags) {
    prompt = prompt.substr(0, prompt.find_last_not_of(kSpace) + 1);
    opened_ = prompt.ends_with(format_.open);
    if (!prompt.ends_with(format_.close)) part_ = Part::kOpening;
  } else if (format_.kind == Kind::kChannels) {
    part_ = Part::kHeader;
  }
}

ReasoningStream::More ReasoningStream::take(std::string_view text) {
  More more;
  pending_ += text;
  while (!pending_.empty() && go_on(more)) {
  }
  return more;
}

// False when nothing can be done before there is more.
bool ReasoningStream::go_on(More& more) {
  switch (part_) {
    case Part::kOpening:
      return open();
    case Part::kHeader:
      return read_header(more);
    case Part::kBetween:
      return skip_line_breaks();
    case Part::kThoughts:
      return read_message(more);
    case Part::kContent:
      if (format_.kind == Kind::kChannels) return read_message(more);
      break;
  }
  say(std::exchange(pending_, {}), more);
  return false;
}

bool ReasoningStream::open() {
  std::string_view begin = pending_;
  begin.remove_prefix(std::min(begin.find_first_not_of(kSpace), begin.size()));
  if (begin.starts_with(format_.open)) {
    part_ = Part::kThoughts;
    pending_.erase(0, pending_.size() - begin.size() + format_.open.size());
    return true;
  }
  if (std::string_view(format_.open).starts_with(begin)) return false;
  part_ = opened_ ? Part::kThoughts : Part::kContent;
  return true;
}

bool ReasoningStream::skip_line_breaks() {
  pending_.erase(0, pending_.find_first_not_of(kLineBreaks));
  if (!pending_.empty()) part_ = Part::kContent;
  return true;
}

bool ReasoningStream::read_header(More& more) {
  const std::string_view text =
      ended_ ? harmony::without_end(pending_) : std::string_view(pending_);
  const size_t message = text.find(harmony::kMessage);
  if (message == std::string_view::npos) return false;
  const std::string_view header = text.substr(0, message);
  if (harmony::is_thought(header)) {
    part_ = Part::kThoughts;
    if (thought_) gap_ += '\n';
  } else {
    part_ = Part::kContent;
    if (said_) say("\n", more);
    say(harmony::said_header(header), more);
    calls_ = !harmony::called_function(header).empty();
  }
  trailing_ = 0;
  pending_.erase(0, pending_.size() - text.size() + message + harmony::kMessage.size());
  return true;
}

bool ReasoningStream::read_message(More& more) {
  const bool tags = format_.kind == Kind::kTags;
  const std::string_view close = format_.close;
  const std::span<const std::string_view> marks =
      tags ? std::span(&close, 1) : std::span<const std::string_view>(harmony::kMessageEnds);
  const std::string_view text = pending_;
  size_t end = text.size();
  size_t held = 0;
  for (const std::string_view mark : marks) {
    end = std::min(end, text.find(mark));
    held = std::max(held, begun(text, mark));
  }
  const bool ended = end < text.size();
  if (!ended) end -= held;
  if (part_ == Part::kThoughts) {
    think(text.substr(0, end), more);
  } else {
    say(text.substr(0, end), more);
  }
  if (ended) {
    if (std::exchange(calls_, false)) say(harmony::kCall, more);
    part_ = tags ? Part::kBetween : Part::kHeader;
    ended_ = true;
  }
  pending_.erase(0, end + (ended && tags ? close.size() : 0));
  return ended;
}

// Thoughts are told without the whitespace around them.
void ReasoningStream::think(std::string_view text, More& more) {
  if (!thought_) text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  const size_t size = text.find_last_not_of(kSpace) + 1;
  if (size > 0) {
    thought_ = true;
    more.reasoning += std::exchange(gap_, {});
    more.reasoning += text.substr(0, size);
    trailing_ = 0;
  }
  gap_ += text.substr(size);
  trailing_ += text.size() - size;
}

void ReasoningStream::say(std::string_view text, More& more) {
  said_ = said_ || !text.empty();
  more.content += text;
}

}  // namespace windrow::chat
