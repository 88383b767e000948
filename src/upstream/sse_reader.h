// SseReader: reads a stream of server-sent events from its bytes, in pieces of any size, by the
// HTML standard ("9.2.6 Interpreting an event stream"): lines end with LF, CR or both, several
// `data` lines are one text, comments and events without data are skipped. Pure; one thread at a
// time.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace windrow::upstream {

struct SseEvent {
  std::string name;  // its `event` field; mostly empty
  std::string data;

  friend bool operator==(const SseEvent&, const SseEvent&) = default;
};

class SseReader {
 public:
  // An event with more bytes is an error: the whole event is kept in memory.
  explicit SseReader(size_t event_bytes_max) : event_bytes_max_(event_bytes_max) {}

  // Appends the events that are complete now. kInvalid for one that is too long; then nothing more
  // may be added.
  Result<void> add(std::string_view bytes, std::vector<SseEvent>& events);

  // After the last byte: takes what would be an event if an empty line followed. The standard drops
  // it, but servers that forget that line are more common than servers that end in mid-event.
  void finish(std::vector<SseEvent>& events);

 private:
  void take_line(std::vector<SseEvent>& events);
  void take_field(std::string_view name, std::string_view value);
  void take_event(std::vector<SseEvent>& events);

  const size_t event_bytes_max_;
  // The line and the event that are not complete yet.
  std::string line_;
  SseEvent event_;
  bool has_data_ = false;
  bool first_line_ = true;
  bool after_cr_ = false;  // a LF that comes now belongs to the end of the last line
};

}  // namespace windrow::upstream
