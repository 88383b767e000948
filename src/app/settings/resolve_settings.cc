#include "app/settings/resolve_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <charconv>
#include <optional>
#include <ranges>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "app/settings/config_file.h"
#include "base/ensure.h"
#include "base/suggest.h"
#include "json/limits.h"

namespace windrow::app {
namespace {

namespace json = boost::json;

constexpr std::string_view kVariablePrefix = "WINDROW_";

// --- values as text or JSON -> the fields of Settings, checked against the rows of the table ---

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
  const json::string* word = value.if_string();
  if (!row.word_of_min.empty() && word != nullptr && *word == row.word_of_min) {
    field = row.value_min;
    return true;
  }
  const int64_t* number = value.if_int64();
  if (number == nullptr || *number < row.value_min || *number > row.value_max) return false;
  field = *number;
  return true;
}

bool take(std::string& field, const SettingRow& row, const json::value& value) {
  // "auto|N" and "N|all": a file may have the number as one.
  const bool or_number = row.value_name.starts_with("N|") || row.value_name.ends_with("|N");
  if (const int64_t* number = value.if_int64(); number != nullptr && or_number) {
    field = fmt::format("{}", *number);
    return true;
  }
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

// Sets the value from a file; it replaces a list. Not for body defaults. Errors: kInvalid for a
// value that the row does not accept; the message begins with `place`: "--rows-max",
// "WINDROW_ROWS_MAX".
Result<void> set_from_json(Settings& settings, const SettingRow& row, const json::value& value,
                           std::string_view place) {
  const bool taken =
      std::visit([&](auto member) { return take(settings.*member, row, value); }, row.field);
  if (!taken) return not_accepted(place, row, value);
  return {};
}

// "temperature=0" -> temperature, 0. The value is JSON if it parses, else the text itself. Errors
// as above.
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

// Sets the value from the text of a flag or a variable: "32", "on", "a=x.gguf", which is added to a
// list. Errors as above.
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

// --- where values come from ---

// A file that describes servers and names none means these.
void add_upstreams(const ConfigFile& file, ResolvedSettings& resolved) {
  if (file.upstreams.empty()) return;
  const bool named = std::ranges::any_of(
      file.entries, [](const ConfigEntry& entry) { return entry.name == "upstream"; });
  if (!named) {
    resolved.values.upstreams.clear();
    for (const UpstreamEntry& entry : file.upstreams)
      resolved.values.upstreams.push_back(entry.url);
    resolved.sources.insert_or_assign("upstream", file.upstreams.front().place);
  }
  resolved.upstreams.insert(resolved.upstreams.begin(), file.upstreams.begin(),
                            file.upstreams.end());
}

Result<void> add_file(const ConfigFile& file, ResolvedSettings& resolved) {
  for (const ConfigEntry& entry : file.entries) {
    const SettingRow* row = find_setting(entry.name);
    ENSURE(row != nullptr, "{} came through parse_config", entry.name);
    if (is_body_defaults(*row)) {
      resolved.values.body_defaults.insert_or_assign(entry.body_field, entry.value);
      resolved.body_default_sources.insert_or_assign(entry.body_field, entry.place);
    } else {
      const Result<void> set = set_from_json(resolved.values, *row, entry.value,
                                             fmt::format("{}: {}", entry.place, row->name));
      if (!set) return set.error();
    }
    resolved.sources.insert_or_assign(entry.name, entry.place);
  }
  add_upstreams(file, resolved);
  return {};
}

// Flags go before variables, variables before files, a file before those behind it.
size_t strength(const std::string& source, std::span<const ConfigFile> files) {
  if (source.starts_with("flag ")) return files.size() + 2;
  const auto file = std::ranges::find_if(
      files, [&](const ConfigFile& one) { return source.starts_with(one.path + ":"); });
  if (file == files.end()) return files.size() + 1;
  return static_cast<size_t>(files.end() - file);
}

// Rows are answered by local models or by upstream servers, not by both.
Result<void> choose_models_or_upstreams(std::span<const ConfigFile> files,
                                        ResolvedSettings& resolved) {
  Settings& values = resolved.values;
  if (values.models.empty() || values.upstreams.empty()) return {};
  const size_t models = strength(resolved.sources["model"], files);
  const size_t upstreams = strength(resolved.sources["upstream"], files);
  if (models == upstreams) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("{} and {}: rows are answered by local models or by upstream "
                             "servers; leave one of the two out (--set model=NAME is how rows "
                             "name a model of a server)",
                             resolved.sources["model"], resolved.sources["upstream"])};
  }
  if (models > upstreams) {
    values.upstreams.clear();
    resolved.sources.erase("upstream");
  } else {
    values.models.clear();
    resolved.sources.erase("model");
  }
  return {};
}

// A list in a variable has one value on each line.
std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (const auto part : std::views::split(text, '\n')) {
    std::string line(part.begin(), part.end());
    if (!line.empty()) lines.push_back(std::move(line));
  }
  return lines;
}

void drop_list(const SettingRow& row, Settings& settings) {
  if (const auto* list = std::get_if<std::vector<std::string> Settings::*>(&row.field)) {
    (settings.**list).clear();
  }
}

Result<void> add_text(const SettingRow& row, const std::string& text, const std::string& place,
                      const std::string& source, ResolvedSettings& resolved) {
  const Result<void> set = set_from_text(resolved.values, row, text, place);
  if (!set) return set.error();
  resolved.sources.insert_or_assign(std::string(row.name), source);
  if (is_body_defaults(row)) {
    resolved.body_default_sources.insert_or_assign(text.substr(0, text.find('=')), source);
  }
  return {};
}

Result<void> add_variables(const Environment& environment, ResolvedSettings& resolved) {
  // no-color.org: whatever its value, unless it is empty. WINDROW_COLOR is more particular.
  if (!variable(environment, "NO_COLOR").empty()) {
    resolved.values.color = "never";
    resolved.sources.insert_or_assign("color", "NO_COLOR");
  }
  for (const SettingRow& row : setting_rows()) {
    const std::string name = variable_of(row);
    const auto found = environment.find(name);
    if (name.empty() || found == environment.end()) continue;
    drop_list(row, resolved.values);
    const std::vector<std::string> texts =
        is_list(row) ? lines_of(found->second) : std::vector<std::string>{found->second};
    for (const std::string& text : texts) {
      const Result<void> added = add_text(row, text, name, name, resolved);
      if (!added) return added.error();
    }
  }
  return {};
}

// Other programs may use the prefix too, so only what is nearly a setting is worth a word.
void warn_of_near_variables(const Environment& environment, ResolvedSettings& resolved) {
  std::set<std::string> names;
  for (const SettingRow& row : setting_rows())
    names.insert(variable_of(row));
  const std::vector<std::string_view> words(names.begin(), names.end());
  for (const auto& [name, value] : environment) {
    if (!name.starts_with(kVariablePrefix) || names.contains(name)) continue;
    // Without the prefix, which makes any two of them alike.
    const std::string_view own = std::string_view(name).substr(kVariablePrefix.size());
    std::vector<std::string_view> others;
    for (const std::string_view word : words) {
      if (!word.empty()) others.push_back(word.substr(kVariablePrefix.size()));
    }
    const std::string_view nearest = nearest_word(own, others);
    if (nearest.empty()) continue;
    resolved.warnings.push_back(
        fmt::format("the variable {} is no setting and has no effect; {}{} is one", name,
                    kVariablePrefix, nearest));
  }
}

Result<void> add_flags(std::span<const GivenFlag> flags, ResolvedSettings& resolved) {
  std::set<std::string_view> dropped;
  for (const GivenFlag& flag : flags) {
    if (dropped.insert(flag.row->name).second) drop_list(*flag.row, resolved.values);
    const Result<void> added = add_text(*flag.row, flag.text, flag.written,
                                        fmt::format("flag {}", flag.written), resolved);
    if (!added) return added.error();
  }
  return {};
}

}  // namespace

std::string ResolvedSettings::source_of(const SettingRow& row) const {
  const auto found = sources.find(row.name);
  return found == sources.end() ? "default" : found->second;
}

Result<ResolvedSettings> resolve_settings(std::span<const GivenFlag> flags,
                                          const Environment& environment,
                                          std::span<const ConfigFile> files) {
  ResolvedSettings resolved;
  for (const ConfigFile& file : files | std::views::reverse) {
    const Result<void> added = add_file(file, resolved);
    if (!added) return added.error();
  }
  const Result<void> with_variables = add_variables(environment, resolved);
  if (!with_variables) return with_variables.error();
  const Result<void> with_flags = add_flags(flags, resolved);
  if (!with_flags) return with_flags.error();
  const Result<void> chosen = choose_models_or_upstreams(files, resolved);
  if (!chosen) return chosen.error();
  warn_of_near_variables(environment, resolved);
  return resolved;
}

Result<ResolvedSettings> load_settings(std::span<const GivenFlag> flags,
                                       const Environment& environment, store::Disk& disk) {
  const auto read = [&](const std::string& path) { return disk.read_all(path); };
  const auto named =
      std::ranges::find_if(flags, [](const GivenFlag& flag) { return flag.row->name == "config"; });
  const auto files = named == flags.end() ? read_config_files(environment, read)
                                          : read_config_file(named->text, environment, read);
  if (!files) return files.error();
  return resolve_settings(flags, environment, *files);
}

}  // namespace windrow::app
