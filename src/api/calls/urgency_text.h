// Names of dispatch::Urgency, as bodies, files of keys, logs and metrics have them.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "dispatch/work_item.h"

namespace windrow::api {

// In the order of dispatch::Urgency.
constexpr std::array<std::string_view, 3> kUrgencyNames = {"interactive", "normal", "batch"};

constexpr std::string_view urgency_text(dispatch::Urgency urgency) {
  return kUrgencyNames.at(static_cast<size_t>(urgency));
}

constexpr std::optional<dispatch::Urgency> parse_urgency(std::string_view text) {
  for (size_t i = 0; i < kUrgencyNames.size(); ++i) {
    if (text == kUrgencyNames.at(i)) return static_cast<dispatch::Urgency>(i);
  }
  return std::nullopt;
}

}  // namespace windrow::api
