#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#include "app/settings/config_file.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <filesystem>
#include <optional>
#include <string_view>

#include "app/settings/model_settings.h"
#include "app/settings/settings.h"
#include "base/suggest.h"
#include "engine/sim/sim_options.h"
#include "model_store/model_source.h"

namespace windrow::app {
namespace {

namespace json = boost::json;

constexpr std::array<std::string_view, 8> kKeys = {
    "url", "api-key", "api-key-env", "concurrency", "serial", "rpm", "tpm", "models"};

Error wrong(const std::string& place, std::string_view key, std::string_view wanted) {
  return Error{ErrorKind::kInvalid, fmt::format("{}: {} must be {}", place, key, wanted)};
}

Result<void> set_text(const json::value& value, const std::string& place, std::string_view key,
                      std::string& text) {
  if (!value.is_string() || value.get_string().empty()) return wrong(place, key, "a text");
  text = std::string(value.get_string());
  return {};
}

Result<void> set_count(const json::value& value, const std::string& place, std::string_view key,
                       std::optional<int64_t>& count) {
  if (!value.is_int64() || value.get_int64() < 0)
    return wrong(place, key, "a whole number from 0 up");
  count = value.get_int64();
  return {};
}

Result<void> set_models(const json::value& value, const std::string& place, UpstreamEntry& entry) {
  const json::object* table = value.if_object();
  if (table == nullptr) return wrong(place, "models", "a table: { \"name of rows\" = \"theirs\" }");
  for (const auto& [name, theirs] : *table) {
    if (!theirs.is_string())
      return wrong(place, fmt::format("models.{}", std::string_view(name)), "a text");
    entry.models[std::string(name)] = std::string(theirs.get_string());
  }
  return {};
}

Result<void> set(std::string_view key, const json::value& value, UpstreamEntry& entry) {
  const std::string& place = entry.place;
  if (key == "url") return set_text(value, place, key, entry.url);
  if (key == "api-key") return set_text(value, place, key, entry.api_key);
  if (key == "api-key-env") return set_text(value, place, key, entry.api_key_env);
  if (key == "rpm") return set_count(value, place, key, entry.requests_per_minute);
  if (key == "tpm") return set_count(value, place, key, entry.tokens_per_minute);
  if (key == "models") return set_models(value, place, entry);
  if (key == "serial") {
    if (!value.is_bool()) return wrong(place, key, "true or false");
    entry.serial = value.get_bool();
    return {};
  }
  if (key == "concurrency") {
    if (value.is_int64()) {
      entry.concurrency = fmt::format("{}", value.get_int64());
      return {};
    }
    return set_text(value, place, key, entry.concurrency);
  }
  return Error{ErrorKind::kInvalid,
               fmt::format("{}: {} is no key of [[upstreams]]{}", place, key,
                           did_you_mean(key, kKeys, "; docs/servers.md lists them"))};
}

namespace json = boost::json;

std::string place_of(const std::string& path, const toml::source_region& region) {
  return fmt::format("{}:{}", path, region.begin.line);
}

// Nothing for dates and times, which JSON and the bodies of requests do not know.
std::optional<json::value> json_of(const toml::node& node) {
  if (const auto* value = node.as_boolean()) return json::value(value->get());
  if (const auto* value = node.as_integer()) return json::value(value->get());
  if (const auto* value = node.as_floating_point()) return json::value(value->get());
  if (const auto* value = node.as_string()) return json::value(value->get());
  if (const auto* array = node.as_array()) {
    json::array result;
    for (const toml::node& element : *array) {
      std::optional<json::value> value = json_of(element);
      if (!value) return std::nullopt;
      result.push_back(std::move(*value));
    }
    return result;
  }
  if (const auto* table = node.as_table()) {
    json::object result;
    for (const auto& [key, element] : *table) {
      std::optional<json::value> value = json_of(element);
      if (!value) return std::nullopt;
      result.emplace(key.str(), std::move(*value));
    }
    return result;
  }
  return std::nullopt;
}

Result<json::value> value_at(const toml::node& node, const std::string& place,
                             std::string_view name) {
  std::optional<json::value> value = json_of(node);
  if (!value) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("{}: {} is a date or a time, which no setting accepts", place, name)};
  }
  return *value;
}

Error unknown_key(const std::string& place, std::string_view key) {
  std::vector<std::string_view> names;
  for (const SettingRow& row : setting_rows()) {
    if (row.reach == SettingReach::kEverywhere) names.push_back(row.name);
  }
  return Error{ErrorKind::kInvalid,
               fmt::format("{}: {} is not a setting{}", place, key,
                           did_you_mean(key, names, "; `windrow config show` lists them"))};
}

std::string resolved(const std::string& choice, const std::string& file, const std::string& home) {
  fleet::ModelChoice model = parse_model_choice(choice);
  if (model_store::is_remote(model.path) || engine::sim::is_sim(model.path)) return choice;
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  if (model.path.starts_with("~/") && !home.empty()) {
    model.path = home + model.path.substr(1);
  } else if (!folder.empty() && std::filesystem::path(model.path).is_relative()) {
    model.path = (folder / model.path).lexically_normal().string();
  }
  return model.name.empty() ? model.path : model.name + "=" + model.path;
}

void resolve_model_paths(json::value& value, const std::string& file, const std::string& home) {
  if (json::string* text = value.if_string()) {
    *text = resolved(std::string(*text), file, home);
  } else if (json::array* array = value.if_array()) {
    for (json::value& element : *array)
      resolve_model_paths(element, file, home);
  }
}

Result<void> add_body_defaults(const toml::node& node, const std::string& place,
                               ConfigFile& config) {
  const toml::table* table = node.as_table();
  if (table == nullptr) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("{}: set is a table of body fields; write [set] on a line of its own "
                             "and temperature = 0 below it",
                             place)};
  }
  for (const auto& [key, element] : *table) {
    const std::string at = place_of(config.path, key.source());
    Result<json::value> value = value_at(element, at, key.str());
    if (!value) return value.error();
    config.entries.push_back(ConfigEntry{.name = "set",
                                         .body_field = std::string(key.str()),
                                         .value = std::move(*value),
                                         .place = at});
  }
  return {};
}

Result<void> add_upstream_tables(const toml::node& node, const std::string& place,
                                 ConfigFile& config) {
  const toml::array* const tables = node.as_array();
  if (tables == nullptr || !tables->is_homogeneous(toml::node_type::table)) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("{}: upstreams are tables; write [[upstreams]] on a line of its own "
                             "and url = \"http://host:8000/v1\" below it",
                             place)};
  }
  for (const toml::node& table : *tables) {
    const std::string at = place_of(config.path, table.source());
    Result<json::value> value = value_at(table, at, "upstreams");
    if (!value) return value.error();
    Result<UpstreamEntry> entry = parse_upstream_entry(value->as_object(), at);
    if (!entry) return entry.error();
    config.upstreams.push_back(*std::move(entry));
  }
  return {};
}

}  // namespace

Result<UpstreamEntry> parse_upstream_entry(const json::object& table, const std::string& place) {
  UpstreamEntry entry{.url = {},
                      .api_key = {},
                      .api_key_env = {},
                      .concurrency = {},
                      .serial = {},
                      .requests_per_minute = {},
                      .tokens_per_minute = {},
                      .models = {},
                      .place = place};
  for (const auto& [key, value] : table) {
    if (const Result<void> done = set(std::string_view(key), value, entry); !done)
      return done.error();
  }
  if (entry.url.empty()) {
    return Error{
        ErrorKind::kInvalid,
        fmt::format("{}: this [[upstreams]] has no url; add url = \"http://host:8000/v1\"", place)};
  }
  return entry;
}

Result<ConfigFile> parse_config(const std::string& path, std::string_view text,
                                const std::string& home) {
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    return Error{ErrorKind::kInvalid, fmt::format("{}: {}; fix the line or remove it",
                                                  place_of(path, parsed.error().source()),
                                                  parsed.error().description())};
  }
  ConfigFile config{.path = path, .entries = {}, .upstreams = {}};
  for (const auto& [key, node] : parsed.table()) {
    const std::string place = place_of(path, key.source());
    if (key.str() == "upstreams") {
      if (const Result<void> added = add_upstream_tables(node, place, config); !added)
        return added.error();
      continue;
    }
    const SettingRow* row = find_setting(key.str());
    if (row == nullptr) return unknown_key(place, key.str());
    if (row->reach == SettingReach::kFlagOnly) {
      return Error{ErrorKind::kInvalid,
                   fmt::format("{}: {} belongs to one run; give it as the flag --{}", place,
                               row->name, row->name)};
    }
    if (is_body_defaults(*row)) {
      const Result<void> added = add_body_defaults(node, place, config);
      if (!added) return added.error();
      continue;
    }
    Result<json::value> value = value_at(node, place, key.str());
    if (!value) return value.error();
    if (row->name == "model") resolve_model_paths(*value, path, home);
    config.entries.push_back(ConfigEntry{.name = std::string(row->name),
                                         .body_field = "",
                                         .value = std::move(*value),
                                         .place = place});
  }
  return config;
}

Result<std::vector<ConfigFile>> read_config_files(const Environment& environment,
                                                  const ReadText& read) {
  const std::string home = variable(environment, "HOME");
  std::vector<std::string> paths = {"windrow.toml"};
  std::string folder = variable(environment, "XDG_CONFIG_HOME");
  if (folder.empty() && !home.empty()) folder = home + "/.config";
  if (!folder.empty()) paths.push_back(folder + "/windrow/config.toml");

  std::vector<ConfigFile> files;
  for (const std::string& path : paths) {
    Result<std::string> text = read(path);
    if (!text) {
      if (text.error().kind == ErrorKind::kNotFound) continue;
      return text.error();
    }
    Result<ConfigFile> config = parse_config(path, *text, home);
    if (!config) return config.error();
    files.push_back(std::move(*config));
  }
  return files;
}

Result<std::vector<ConfigFile>> read_config_file(const std::string& path,
                                                 const Environment& environment,
                                                 const ReadText& read) {
  const Result<std::string> text = read(path);
  if (!text) {
    if (text.error().kind != ErrorKind::kNotFound) return text.error().in("--config");
    return Error{ErrorKind::kNotFound,
                 fmt::format("--config {}: there is no such file; name one with settings such as "
                             "rows-max = 32 on lines of their own",
                             path)};
  }
  Result<ConfigFile> config = parse_config(path, *text, variable(environment, "HOME"));
  if (!config) return config.error();
  std::vector<ConfigFile> files;
  files.push_back(*std::move(config));
  return files;
}

}  // namespace windrow::app
