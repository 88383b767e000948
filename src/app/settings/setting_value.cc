#include "app/settings/setting_value.h"

#include <fmt/format.h>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "json/depth.h"

namespace windrow::app {
namespace {

namespace json = boost::json;

Error not_accepted(std::string_view place, const SettingRow& row, const json::value& given) {
  // Where the default is no value that could be written, it is had by writing none.
  const json::value otherwise = value_of(Settings{}, row);
  const bool only_left_out = otherwise.is_int64() && otherwise.get_int64() < row.value_min;
  return Error{
      ErrorKind::kInvalid,
      fmt::format(
          "{} takes {}, not {}{}", place, accepted_text(row), json::serialize(given),
          only_left_out ? fmt::format("; leave it out for {}", default_text(row)) : std::string())};
}

std::optional<bool> bool_of(std::string_view text) {
  constexpr std::array<std::string_view, 4> kOn = {"1", "true", "yes", "on"};
  constexpr std::array<std::string_view, 4> kOff = {"0", "false", "no", "off"};
  if (std::ranges::find(kOn, text) != kOn.end()) return true;
  if (std::ranges::find(kOff, text) != kOff.end()) return false;
  return std::nullopt;
}

// The text as a value of the row's kind, or as a text if it is none.
json::value typed(const SettingRow& row, std::string_view text) {
  if (is_flag(row)) {
    if (const std::optional<bool> on = bool_of(text)) return *on;
  } else if (std::holds_alternative<int64_t Settings::*>(row.field)) {
    int64_t number = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failed == std::errc() && end == text.data() + text.size()) return number;
  }
  return json::value(text);
}

// The setters say whether they took the value.

bool take(bool& field, const SettingRow&, const json::value& value) {
  const bool* on = value.if_bool();
  if (on == nullptr) return false;
  field = *on;
  return true;
}

bool take(int64_t& field, const SettingRow& row, const json::value& value) {
  const int64_t* number = value.if_int64();
  if (number == nullptr || *number < row.value_min || *number > row.value_max) return false;
  field = *number;
  return true;
}

bool take(std::string& field, const SettingRow& row, const json::value& value) {
  const json::string* text = value.if_string();
  if (text == nullptr) return false;
  const std::string_view chosen = *text;
  if (!row.choices.empty() && std::ranges::find(row.choices, chosen) == row.choices.end()) {
    return false;
  }
  field = chosen;
  return true;
}

bool take(std::vector<std::string>& field, const SettingRow&, const json::value& value) {
  std::vector<std::string> texts;
  if (const json::string* text = value.if_string()) {
    texts.emplace_back(*text);
  } else if (const json::array* array = value.if_array()) {
    for (const json::value& element : *array) {
      if (!element.is_string()) return false;
      texts.emplace_back(element.get_string());
    }
  } else {
    return false;
  }
  field = std::move(texts);
  return true;
}

bool take(BodyDefaults&, const SettingRow&, const json::value&) {
  return false;
}

}  // namespace

Result<void> set_from_json(Settings& settings, const SettingRow& row, const json::value& value,
                           std::string_view place) {
  const bool taken =
      std::visit([&](auto member) { return take(settings.*member, row, value); }, row.field);
  if (!taken) return not_accepted(place, row, value);
  return {};
}

Result<void> set_from_text(Settings& settings, const SettingRow& row, std::string_view text,
                           std::string_view place) {
  if (is_body_defaults(row)) {
    auto parsed = parse_body_default(text, place);
    if (!parsed) return parsed.error();
    settings.body_defaults.insert_or_assign(parsed->first, parsed->second);
    return {};
  }
  if (const auto* list = std::get_if<std::vector<std::string> Settings::*>(&row.field)) {
    if (text.empty()) return Error{ErrorKind::kInvalid, fmt::format("{} is empty", place)};
    (settings.**list).emplace_back(text);
    return {};
  }
  return set_from_json(settings, row, typed(row, text), place);
}

Result<std::pair<std::string, json::value>> parse_body_default(std::string_view text,
                                                               std::string_view place) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("{} takes KEY=VALUE, such as temperature=0, not {}", place,
                             json::serialize(json::value(text)))};
  }
  const std::string_view value = text.substr(equals + 1);
  boost::system::error_code not_json;
  json::value parsed = json::parse(value, not_json, {}, {.max_depth = kJsonDepthMax});
  if (not_json) parsed = json::value(value);
  return std::pair(std::string(text.substr(0, equals)), std::move(parsed));
}

}  // namespace windrow::app
