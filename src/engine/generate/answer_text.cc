#include "engine/generate/answer_text.h"

#include <algorithm>

#include "base/utf8.h"

namespace windrow::engine {

bool AnswerText::append(std::string_view bytes) {
  const size_t before = bytes_.size();
  bytes_ += bytes;
  size_t first = std::string::npos;
  for (const std::string& stop : stop_) {
    const size_t from = before - std::min(before, stop.size() - 1);
    const size_t at = bytes_.find(stop, from);
    if (at >= first) continue;
    first = at;
    stopped_by_ = stop;
  }
  if (first == std::string::npos) return false;
  bytes_.resize(first);
  return true;
}

size_t AnswerText::settled_bytes() const {
  const std::string_view text = bytes_;
  size_t held = 0;
  for (const std::string& stop : stop_) {
    for (size_t length = std::min(stop.size() - 1, text.size()); length > held; --length) {
      if (text.ends_with(std::string_view(stop).substr(0, length))) held = length;
    }
  }
  // A stop text may begin within a character, where it was given as bytes.
  const std::string_view settled = text.substr(0, text.size() - held);
  return settled.size() - utf8_incomplete_tail(settled);
}

}  // namespace windrow::engine
