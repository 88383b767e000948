#include "memory/models/fitting_texts.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"

namespace windrow::memory {
namespace {

constexpr int32_t kAttempts = 6;

}  // namespace

FittingTexts::FittingTexts(std::vector<std::string> texts) : texts_(std::move(texts)) {
  for (const std::string& text : texts_)
    bytes_max_ = std::max(bytes_max_, text.size());
}

std::vector<std::string> FittingTexts::texts() const {
  std::vector<std::string> beginnings;
  beginnings.reserve(texts_.size());
  for (const std::string& text : texts_)
    beginnings.push_back(beginning_of(text, bytes_max_));
  return beginnings;
}

// Texts are cut to nine tenths of what would fit if all of them had as many bytes per token as the
// one that was too long.
bool FittingTexts::shorten(const llm::Failure& failure) {
  if (attempts_ == kAttempts || !failure.prompt_excess || failure.prompt_excess->tokens <= 0 ||
      failure.prompt_excess->tokens_max <= 0)
    return false;
  const double part = static_cast<double>(failure.prompt_excess->tokens_max) /
                      static_cast<double>(failure.prompt_excess->tokens);
  const auto bytes =
      static_cast<size_t>(static_cast<double>(bytes_max_) * std::min(part, 1.0) * 0.9);
  if (bytes == 0) return false;
  ++attempts_;
  bytes_max_ = bytes;
  return true;
}

std::string beginning_of(std::string_view text, size_t bytes_max) {
  if (text.size() <= bytes_max) return std::string(text);
  text = text.substr(0, bytes_max);
  text.remove_suffix(utf8_incomplete_tail(text));
  return std::string(text);
}

}  // namespace windrow::memory
