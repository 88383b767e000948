#include "app/settings/settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <cctype>
#include <limits>

namespace windrow::app {
namespace {

constexpr int64_t kCountMax = std::numeric_limits<int64_t>::max();

boost::json::value to_json(bool value) {
  return value;
}
boost::json::value to_json(int64_t value) {
  return value;
}
boost::json::value to_json(const std::string& value) {
  return boost::json::value(value);
}

boost::json::value to_json(const std::vector<std::string>& values) {
  boost::json::array array;
  for (const std::string& value : values)
    array.emplace_back(value);
  return array;
}

boost::json::value to_json(const BodyDefaults& defaults) {
  boost::json::object object;
  for (const auto& [key, value] : defaults)
    object.emplace(key, value);
  return object;
}

}  // namespace

std::string_view to_string(SettingGroup group) {
  switch (group) {
    case SettingGroup::kRows:
      return "Rows";
    case SettingGroup::kModel:
      return "Model";
    case SettingGroup::kUpstream:
      return "Upstream servers";
    case SettingGroup::kServer:
      return "Server";
    case SettingGroup::kSessions:
      return "Sessions";
    case SettingGroup::kPrograms:
      return "Programs";
    case SettingGroup::kAnswers:
      return "Answers";
    case SettingGroup::kBatch:
      return "Batch";
    case SettingGroup::kEnd:
      return "End";
    case SettingGroup::kConsole:
      return "Console";
  }
  return "";
}

const SettingRow* find_setting(std::string_view name) {
  for (const SettingRow& row : setting_rows()) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

bool takes(SettingsOf command, const SettingRow& row) {
  switch (row.scope) {
    case SettingScope::kAll:
      return true;
    case SettingScope::kRequests:
      return command != SettingsOf::kExec;
    case SettingScope::kJobs:
      return command != SettingsOf::kServe;
    case SettingScope::kRun:
      return command == SettingsOf::kRun;
    case SettingScope::kServe:
      return command == SettingsOf::kServe;
    case SettingScope::kExec:
      return command == SettingsOf::kExec;
  }
  return false;
}

int64_t step_target_ms(SettingsOf command, const Settings& settings) {
  constexpr int64_t kOfRun = 2000;
  constexpr int64_t kOfServe = 200;
  if (settings.step_ms > 0) return settings.step_ms;
  return command == SettingsOf::kServe ? kOfServe : kOfRun;
}

std::string variable_of(const SettingRow& row) {
  if (row.reach == SettingReach::kFlagOnly) return "";
  std::string variable = "WINDROW_";
  for (const char letter : row.name) {
    variable +=
        letter == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  }
  return variable;
}

bool is_flag(const SettingRow& row) {
  return std::holds_alternative<bool Settings::*>(row.field);
}

bool is_list(const SettingRow& row) {
  return std::holds_alternative<std::vector<std::string> Settings::*>(row.field) ||
         is_body_defaults(row);
}

bool is_body_defaults(const SettingRow& row) {
  return std::holds_alternative<BodyDefaults Settings::*>(row.field);
}

boost::json::value value_of(const Settings& settings, const SettingRow& row) {
  boost::json::value value =
      std::visit([&](auto member) { return to_json(settings.*member); }, row.field);
  const int64_t* number = value.if_int64();
  if (!row.word_of_min.empty() && number != nullptr && *number == row.value_min)
    return boost::json::value(row.word_of_min);
  return value;
}

std::string default_text(const SettingRow& row) {
  if (!row.default_words.empty()) return std::string(row.default_words);
  const boost::json::value value = value_of(Settings{}, row);
  if (const bool* on = value.if_bool()) return *on ? "on" : "off";
  if (const int64_t* number = value.if_int64()) return fmt::format("{}", *number);
  if (const boost::json::string* text = value.if_string()) return std::string(*text);
  return "";
}

std::string accepted_text(const SettingRow& row) {
  if (is_flag(row)) return "true or false";
  if (is_body_defaults(row)) return "KEY=VALUE";
  if (std::holds_alternative<int64_t Settings::*>(row.field)) {
    if (!row.word_of_min.empty()) {
      return fmt::format("{} or a whole number from {} to {}", row.word_of_min, row.value_min + 1,
                         row.value_max);
    }
    if (row.value_max == kCountMax) {
      return fmt::format("a whole number from {} up", row.value_min);
    }
    return fmt::format("a whole number from {} to {}", row.value_min, row.value_max);
  }
  if (!row.choices.empty()) return fmt::format("one of {}", fmt::join(row.choices, ", "));
  return is_list(row) ? "a text or a list of texts" : "a text";
}

}  // namespace windrow::app
