#include "app/model_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

namespace windrow::app {
namespace {

// The value without the name in front, if it is for this model.
std::optional<std::string> value_for(const ModelChoice& choice, const std::string& given,
                                     const std::vector<ModelChoice>& choices) {
  const size_t equals = given.find('=');
  const std::string_view name = std::string_view(given).substr(0, equals);
  const bool is_name =
      equals != std::string::npos &&
      std::ranges::any_of(choices, [&](const ModelChoice& one) { return one.name == name; });
  if (!is_name) return given;
  if (name != choice.name) return std::nullopt;
  return given.substr(equals + 1);
}

std::vector<std::string> values_for(const ModelChoice& choice,
                                    const std::vector<std::string>& given,
                                    const std::vector<ModelChoice>& choices) {
  std::vector<std::string> values;
  for (const std::string& one : given) {
    std::optional<std::string> value = value_for(choice, one, choices);
    if (value) values.push_back(*std::move(value));
  }
  return values;
}

// FILE or FILE=SCALE; what stands behind the last "=" is a scale if it is a number.
Result<engine::AdapterChoice> parse_adapter(const std::string& value) {
  engine::AdapterChoice adapter{.path = value};
  const size_t equals = value.rfind('=');
  if (equals != std::string::npos) {
    const char* end = value.data() + value.size();
    const auto parsed = std::from_chars(value.data() + equals + 1, end, adapter.scale);
    if (parsed.ec == std::errc() && parsed.ptr == end) adapter.path = value.substr(0, equals);
  }
  if (adapter.path.empty()) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("--lora {} names no file; write FILE or FILE=SCALE", value)};
  }
  return adapter;
}

}  // namespace

Result<void> add_model_options(std::vector<ModelChoice>& choices, const Settings& settings) {
  for (ModelChoice& choice : choices) {
    const auto templates = values_for(choice, settings.chat_templates, choices);
    if (!templates.empty()) choice.chat_template = templates.back();
    const auto poolings = values_for(choice, settings.poolings, choices);
    if (!poolings.empty()) {
      choice.pooling = engine::parse_pooling(poolings.back());
      if (!choice.pooling) {
        return Error{
            ErrorKind::kInvalid,
            fmt::format("--pooling {}: it must be mean, cls, last or rank", poolings.back())};
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
