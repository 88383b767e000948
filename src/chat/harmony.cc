#include "chat/harmony.h"

namespace windrow::chat::harmony {

bool is_call(std::string_view header) {
  return header.find(" to=") != std::string_view::npos;
}

std::string_view called_function(std::string_view header) {
  constexpr std::string_view kTo = " to=functions.";
  const size_t to = header.find(kTo);
  if (to == std::string_view::npos) return {};
  header.remove_prefix(to + kTo.size());
  return header.substr(0, header.find_first_of(" \t\r\n<"));
}

std::string content_header(std::string_view header) {
  std::string content;
  if (!is_call(header)) return content;
  const std::string_view function = called_function(header);
  if (function.empty()) return content.append(header).append(kMessage);
  return content.append(kCallOpen).append(function).append(kCallMiddle);
}

bool is_reasoning(std::string_view header) {
  const size_t channel = header.rfind(kChannel);
  return !is_call(header) && channel != std::string_view::npos &&
         header.substr(channel + kChannel.size()).starts_with("analysis");
}

std::string_view without_end(std::string_view text) {
  for (const std::string_view mark : kMessageEnds) {
    if (mark != kStart && text.starts_with(mark)) text.remove_prefix(mark.size());
  }
  return text;
}

}  // namespace windrow::chat::harmony
