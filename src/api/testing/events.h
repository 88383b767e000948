// What a reader of server-sent events gets out of their text (the WHATWG standard, as far as it is
// used here): the data of each event, comments left out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace windrow::api::testing {

// Text after the last whole event is left in `text`.
inline std::vector<std::string> take_events(std::string& text) {
  std::vector<std::string> events;
  size_t end = 0;
  while ((end = text.find("\n\n")) != std::string::npos) {
    std::string data;
    std::string_view rest = std::string_view(text).substr(0, end + 1);
    while (!rest.empty()) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(line.size() + 1);
      if (line.starts_with("data: ")) data += line.substr(6);
    }
    if (!data.empty()) events.push_back(std::move(data));
    text.erase(0, end + 2);
  }
  return events;
}

inline std::vector<std::string> events_in(std::string text) {
  return take_events(text);
}

}  // namespace windrow::api::testing
