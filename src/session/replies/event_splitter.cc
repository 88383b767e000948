#include "session/replies/event_splitter.h"

#include <algorithm>

namespace windrow::session {

namespace {
constexpr std::string_view kDataField = "data";
}  // namespace

bool EventSplitter::take(std::string_view bytes) {
  while (!bytes.empty()) {
    if (after_return_) {
      after_return_ = false;
      if (bytes.front() == '\n') {
        bytes.remove_prefix(1);
        continue;
      }
    }
    size_t line = std::min(bytes.find('\n'), bytes.size());
    line = std::min(bytes.substr(0, line).find('\r'), line);
    std::string_view text = bytes.substr(0, line);
    if (!text.empty()) line_is_empty_ = false;
    while (!text.empty() && line_ == Line::kName) {
      if (!take_name(text.front())) return false;
      text.remove_prefix(1);
    }
    if (!text.empty() && line_ == Line::kFirstOfData) {
      line_ = Line::kData;
      if (text.front() == ' ') text.remove_prefix(1);
    }
    if (line_ == Line::kData && !give(text)) return false;
    if (line == bytes.size()) return true;
    after_return_ = bytes[line] == '\r';
    bytes.remove_prefix(line + 1);
    if (!end_line()) return false;
  }
  return true;
}

bool EventSplitter::take_name(char byte) {
  if (byte == ':') {
    line_ = name_ == kDataField ? Line::kFirstOfData : Line::kIgnored;
    if (line_ == Line::kIgnored) return true;
    const bool joins = has_data_;
    has_data_ = true;
    return !joins || listener_.on_data("\n");
  }
  name_ += byte;
  if (!kDataField.starts_with(name_)) line_ = Line::kIgnored;
  return true;
}

bool EventSplitter::give(std::string_view text) {
  return text.empty() || listener_.on_data(text);
}

bool EventSplitter::end_line() {
  const bool ends_event = line_is_empty_;
  line_ = Line::kName;
  line_is_empty_ = true;
  name_.clear();
  return !ends_event || end_event();
}

bool EventSplitter::end_event() {
  if (!has_data_) return true;
  has_data_ = false;
  return listener_.on_event();
}

bool EventSplitter::end() {
  return end_line() && end_event();
}

}  // namespace windrow::session
