#include "app/model_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

namespace windrow::app {
namespace {

// The value without the name in front, if it is for this model.
std::optional<std::string> value_for(const fleet::ModelChoice& choice, const std::string& given,
                                     const std::vector<fleet::ModelChoice>& choices) {
  const size_t equals = given.find('=');
  const std::string_view name = std::string_view(given).substr(0, equals);
  const bool is_name =
      equals != std::string::npos &&
      std::ranges::any_of(choices, [&](const fleet::ModelChoice& one) { return one.name == name; });
  if (!is_name) return given;
  if (name != choice.name) return std::nullopt;
  return given.substr(equals + 1);
}

std::vector<std::string> values_for(const fleet::ModelChoice& choice,
                                    const std::vector<std::string>& given,
                                    const std::vector<fleet::ModelChoice>& choices) {
  std::vector<std::string> values;
  for (const std::string& one : given) {
    std::optional<std::string> value = value_for(choice, one, choices);
    if (value) values.push_back(*std::move(value));
  }
  return values;
}

// What is said of this model goes before what is said of all; of several the last counts.
std::optional<std::string> value_of(const fleet::ModelChoice& choice,
                                    const std::vector<std::string>& given,
                                    const std::vector<fleet::ModelChoice>& choices) {
  std::optional<std::string> of_all;
  std::optional<std::string> of_this;
  for (const std::string& one : given) {
    std::optional<std::string> value = value_for(choice, one, choices);
    if (value == one) {
      of_all = std::move(value);
    } else if (value) {
      of_this = std::move(value);
    }
  }
  return of_this ? of_this : of_all;
}

// FILE or FILE=SCALE; what stands behind the last "=" is a scale if it is written as a number.
Result<engine::AdapterChoice> parse_adapter(const std::string& value) {
  engine::AdapterChoice adapter{.path = value};
  const size_t equals = value.rfind('=');
  if (equals != std::string::npos) {
    std::string_view number = std::string_view(value).substr(equals + 1);
    if (number.starts_with('+') && !number.starts_with("+-")) number.remove_prefix(1);
    float scale = 0;
    const char* end = number.data() + number.size();
    const auto parsed = std::from_chars(number.data(), end, scale);
    if (parsed.ec != std::errc::invalid_argument && parsed.ptr == end) {
      if (parsed.ec != std::errc() || !std::isfinite(scale)) {
        return Error{ErrorKind::kInvalid,
                     fmt::format("--lora {}: {} is no scale; it must be a number such as 0.5",
                                 value, value.substr(equals + 1))};
      }
      adapter.scale = scale;
      adapter.path = value.substr(0, equals);
    }
  }
  if (adapter.path.empty()) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("--lora {} names no file; write FILE or FILE=SCALE", value)};
  }
  return adapter;
}

}  // namespace

Result<void> add_model_options(std::vector<fleet::ModelChoice>& choices, const Settings& settings) {
  for (fleet::ModelChoice& choice : choices) {
    choice.chat_template = value_of(choice, settings.chat_templates, choices).value_or("");
    if (const auto pooling = value_of(choice, settings.poolings, choices)) {
      choice.pooling = engine::parse_pooling(*pooling);
      if (!choice.pooling) {
        return Error{ErrorKind::kInvalid,
                     fmt::format("--pooling {}: it must be mean, cls, last or rank", *pooling)};
      }
    }
    for (const std::string& value : values_for(choice, settings.adapters, choices)) {
      Result<engine::AdapterChoice> adapter = parse_adapter(value);
      if (!adapter) return adapter.error();
      choice.adapters.push_back(*std::move(adapter));
    }
  }
  return {};
}

}  // namespace windrow::app
