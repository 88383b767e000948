#include "engine/llama/model_texts.h"

#include <fmt/format.h>

namespace windrow::engine {
namespace {

// "1.7B", "596M", "12K".
std::string short_count(uint64_t count) {
  constexpr double kBillion = 1e9;
  constexpr double kMillion = 1e6;
  constexpr double kThousand = 1e3;
  const auto number = static_cast<double>(count);
  if (number >= kBillion) return fmt::format("{:.1f}B", number / kBillion);
  if (number >= kMillion) return fmt::format("{:.0f}M", number / kMillion);
  return fmt::format("{:.0f}K", number / kThousand);
}

}  // namespace

std::string described_model(std::string_view description, uint64_t parameters) {
  constexpr std::string_view kGuessed = " (guessed)";
  constexpr std::string_view kNoSize = "?B";
  std::string text(description);
  if (const size_t at = text.find(kGuessed); at != std::string::npos)
    text.erase(at, kGuessed.size());
  if (const size_t at = text.find(kNoSize); at != std::string::npos)
    text.replace(at, kNoSize.size(), short_count(parameters));
  return text;
}

std::string load_failure(std::string_view reason) {
  if (reason.find("not within the file bounds") != std::string_view::npos)
    return fmt::format("the file is cut off, so get it again ({})", reason);
  return std::string(reason);
}

}  // namespace windrow::engine
