#include "api/storage/byte_range.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace windrow::api {
namespace {

// Nothing: it is no number. One too large to count counts as the largest.
std::optional<uint64_t> number(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || end != text.data() + text.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range) return UINT64_MAX;
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

}  // namespace

WantedRange wanted_range(const std::optional<std::string_view>& header, uint64_t size) {
  const WantedRange whole{.kind = RangeKind::kWhole, .range = {0, size}};
  constexpr std::string_view kUnit = "bytes=";
  if (!header || !header->starts_with(kUnit)) return whole;
  const std::string_view asked = header->substr(kUnit.size());
  const size_t dash = asked.find('-');
  if (dash == std::string_view::npos || asked.find(',') != std::string_view::npos) return whole;
  const std::string_view first = asked.substr(0, dash);
  const std::string_view last = asked.substr(dash + 1);
  const std::optional<uint64_t> from = number(first);
  const std::optional<uint64_t> to = number(last);
  WantedRange part{.kind = RangeKind::kPart, .range = {}};
  if (first.empty()) {
    if (!to) return whole;
    part.range = {size - std::min(size, *to), size};
  } else {
    if (!from || (!to && !last.empty()) || (to && *to < *from)) return whole;
    part.range = {*from, to && *to < size ? *to + 1 : size};
  }
  if (part.range.begin >= part.range.end) part.kind = RangeKind::kNone;
  return part;
}

std::string content_range(const WantedRange& wanted, uint64_t size) {
  if (wanted.kind == RangeKind::kNone) return fmt::format("bytes */{}", size);
  return fmt::format("bytes {}-{}/{}", wanted.range.begin, wanted.range.end - 1, size);
}

}  // namespace windrow::api
