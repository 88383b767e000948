#include "chat/harmony.h"

namespace windrow::chat::harmony {

bool calls(std::string_view header) {
  return header.find(" to=") != std::string_view::npos;
}

bool is_thought(std::string_view header) {
  const size_t channel = header.rfind(kChannel);
  return !calls(header) && channel != std::string_view::npos &&
         header.substr(channel + kChannel.size()).starts_with("analysis");
}

std::string_view without_end(std::string_view text) {
  for (const std::string_view mark : kMessageEnds) {
    if (mark != kStart && text.starts_with(mark)) text.remove_prefix(mark.size());
  }
  return text;
}

}  // namespace windrow::chat::harmony
