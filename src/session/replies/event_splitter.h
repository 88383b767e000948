// EventSplitter: the data of server-sent events (https://html.spec.whatwg.org, 9.2) that arrive in
// pieces. Lines may have any length: what arrives of one is handed on at once, and nothing is held.
// Pure; used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace windrow::session {

// False from any method: nothing more is wanted.
class EventListener {
 public:
  virtual ~EventListener() = default;

  // The next characters of an event's data. Between two lines of one event stands a line feed.
  virtual bool on_data(std::string_view text) = 0;

  // The event is complete; it had data.
  virtual bool on_event() = 0;
};

class EventSplitter {
 public:
  // `listener` outlives it.
  explicit EventSplitter(EventListener& listener) : listener_(listener) {}

  // False: the listener wants no more.
  bool take(std::string_view bytes);

  // The stream has ended. An event whose last line or empty line is not there counts as complete:
  // some servers leave out the last line feeds.
  bool end();

 private:
  enum class Line : uint8_t { kName, kFirstOfData, kData, kIgnored };

  bool take_name(char byte);
  bool give(std::string_view text);
  bool end_line();
  bool end_event();

  EventListener& listener_;
  Line line_ = Line::kName;
  std::string name_;  // of the field, so far; no longer than "data"
  bool line_is_empty_ = true;
  bool after_return_ = false;  // a line feed that comes next belongs to the line that ended
  bool has_data_ = false;      // the event
};

}  // namespace windrow::session
