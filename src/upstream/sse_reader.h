// SseReader: the bytes of a stream of server-sent events, however they were cut on the way, become
// its events, as the HTML standard has it ("9.2.6 Interpreting an event stream"): lines end with
// LF, CR or both, several `data` lines are one text, comments and what has no data are nothing.
// Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace windrow::upstream {

struct SseEvent {
  std::string name;  // of its `event` field; mostly empty
  std::string data;

  friend bool operator==(const SseEvent&, const SseEvent&) = default;
};

class SseReader {
 public:
  // No event may hold more bytes: somebody has to keep them.
  explicit SseReader(size_t event_bytes_max) : event_bytes_max_(event_bytes_max) {}

  // Appends the events that are complete now. kInvalid for one that is too long; then nothing more
  // may be added.
  Result<void> add(std::string_view bytes, std::vector<SseEvent>& events);

  // After the last byte: what would be an event if an empty line followed. The standard drops it;
  // servers that forget that line are more common than such that end in the middle of an event.
  void finish(std::vector<SseEvent>& events);

 private:
  void take_line(std::vector<SseEvent>& events);
  void take_field(std::string_view name, std::string_view value);
  void take_event(std::vector<SseEvent>& events);

  const size_t event_bytes_max_;
  std::string line_;  // so far
  SseEvent event_;    // likewise
  bool has_data_ = false;
  bool first_line_ = true;
  bool after_cr_ = false;  // a LF that comes now is of the line before
};

}  // namespace windrow::upstream
