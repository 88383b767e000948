#include "upstream/sse_reader.h"

#include <fmt/format.h>

#include <utility>

namespace windrow::upstream {

Result<void> SseReader::add(std::string_view bytes, std::vector<SseEvent>& events) {
  while (!bytes.empty()) {
    if (std::exchange(after_cr_, false) && bytes.front() == '\n') {
      bytes.remove_prefix(1);
      continue;
    }
    const size_t end = bytes.find_first_of("\r\n");
    line_ += bytes.substr(0, end);
    if (line_.size() + event_.data.size() > event_bytes_max_) {
      return Error{ErrorKind::kInvalid,
                   fmt::format("an event of the stream has more than {} bytes", event_bytes_max_)};
    }
    if (end == std::string_view::npos) return {};
    after_cr_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    take_line(events);
  }
  return {};
}

void SseReader::finish(std::vector<SseEvent>& events) {
  take_line(events);
  take_event(events);
}

void SseReader::take_line(std::vector<SseEvent>& events) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  std::string_view line = line_;
  if (std::exchange(first_line_, false) && line.starts_with(kMark))
    line.remove_prefix(kMark.size());
  if (line.empty()) {
    take_event(events);
  } else if (!line.starts_with(':')) {
    const size_t colon = line.find(':');
    std::string_view value = colon == std::string_view::npos ? "" : line.substr(colon + 1);
    if (value.starts_with(' ')) value.remove_prefix(1);
    take_field(line.substr(0, colon), value);
  }
  line_.clear();
}

// Other fields, such as `id` and `retry`, are for clients that reconnect.
void SseReader::take_field(std::string_view name, std::string_view value) {
  if (name == "event") {
    event_.name = value;
  } else if (name == "data") {
    if (std::exchange(has_data_, true)) event_.data += '\n';
    event_.data += value;
  }
}

void SseReader::take_event(std::vector<SseEvent>& events) {
  SseEvent event = std::exchange(event_, {});
  if (std::exchange(has_data_, false)) events.push_back(std::move(event));
}

}  // namespace windrow::upstream
