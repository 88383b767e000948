#include "base/percent.h"

#include <charconv>
#include <cstdint>

namespace windrow {

std::string percent_decoded(std::string_view text) {
  std::string bytes;
  for (size_t i = 0; i < text.size(); ++i) {
    uint8_t byte = 0;
    const std::string_view digits = text.substr(i + 1, 2);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    const bool escape = text[i] == '%' && digits.size() == 2 && error == std::errc() &&
                        end == digits.data() + digits.size();
    bytes += escape ? static_cast<char>(byte) : text[i];
    if (escape) i += 2;
  }
  return bytes;
}

}  // namespace windrow
