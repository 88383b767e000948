// Names of dispatch::Priority, as bodies, files of keys, logs and metrics have them.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "dispatch/work_item.h"

namespace windrow::api {

// In the order of dispatch::Priority.
constexpr std::array<std::string_view, 3> kPriorityNames = {"interactive", "normal", "batch"};

constexpr std::string_view priority_text(dispatch::Priority priority) {
  return kPriorityNames.at(static_cast<size_t>(priority));
}

constexpr std::optional<dispatch::Priority> parse_priority(std::string_view text) {
  for (size_t i = 0; i < kPriorityNames.size(); ++i) {
    if (text == kPriorityNames.at(i)) return static_cast<dispatch::Priority>(i);
  }
  return std::nullopt;
}

}  // namespace windrow::api
