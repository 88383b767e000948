#include "batch/job_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "base/format.h"
#include "json/values.h"
#include "json/writer.h"

namespace windrow::batch {

namespace json = boost::json;

namespace {

constexpr int64_t kFormat = 1;

const JobSetting* find(const std::vector<JobSetting>& settings, const std::string& name) {
  const auto found = std::find_if(settings.begin(), settings.end(),
                                  [&](const JobSetting& setting) { return setting.name == name; });
  return found == settings.end() ? nullptr : &*found;
}

bool read_text(const json::object& object, std::string_view name, std::string& text) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr || !value->is_string()) return false;
  text = value->get_string();
  return true;
}

std::optional<JobRecord> read_record(const json::object& object) {
  JobRecord record;
  const json::value* settings = object.if_contains("settings");
  if (!read_text(object, "input", record.input) || settings == nullptr || !settings->is_array()) {
    return std::nullopt;
  }
  if (object.contains("results") && !read_text(object, "results", record.results))
    return std::nullopt;
  for (const json::value& item : settings->get_array()) {
    JobSetting setting;
    const json::object* pair = item.if_object();
    if (pair == nullptr || !read_text(*pair, "name", setting.name) ||
        !read_text(*pair, "value", setting.value)) {
      return std::nullopt;
    }
    record.settings.push_back(std::move(setting));
  }
  if (const json::value* began = object.if_contains("began_unix_s")) {
    if (!began->is_int64()) return std::nullopt;
    record.began_unix_s = began->get_int64();
  }
  return record;
}

}  // namespace

std::string job_record_text(const JobRecord& record) {
  // By hand as far as the lines go: people read this file, and compare two of them.
  std::string text = fmt::format("{{\n  \"windrow_job\": {},\n  \"input\": {},\n", kFormat,
                                 json::serialize(json::string(record.input)));
  if (!record.results.empty())
    text += fmt::format("  \"results\": {},\n", json::serialize(json::string(record.results)));
  if (record.began_unix_s) text += fmt::format("  \"began_unix_s\": {},\n", *record.began_unix_s);
  text += "  \"settings\": [";
  std::string_view separator = "\n";
  for (const JobSetting& setting : record.settings) {
    text += fmt::format("{}    {{\"name\": {}, \"value\": {}}}", separator,
                        json::serialize(json::string(setting.name)),
                        json::serialize(json::string(setting.value)));
    separator = ",\n";
  }
  text += record.settings.empty() ? "]\n}\n" : "\n  ]\n}\n";
  return text;
}

Result<JobRecord> parse_job_record(std::string_view text, const std::string& path) {
  boost::system::error_code error;
  const json::value value = json::parse(json::string_view(text.data(), text.size()), error);
  const json::object* object = error ? nullptr : value.if_object();
  const json::value* format = object != nullptr ? object->if_contains("windrow_job") : nullptr;
  if (format != nullptr && format->is_int64() && format->get_int64() > kFormat) {
    return Error{
        ErrorKind::kInvalid,
        fmt::format("{} was written by a later version of Windrow; continue with that "
                    "version, or use --fresh, which keeps the old files under another name",
                    path)};
  }
  std::optional<JobRecord> record;
  if (format != nullptr && *format == kFormat) record = read_record(*object);
  if (record) return *std::move(record);
  return Error{ErrorKind::kInvalid,
               fmt::format("{} is not a job record; put back what was there, or use --fresh, which "
                           "keeps the old files under another name and starts over",
                           path)};
}

std::vector<SettingChange> changed_so_far(const std::vector<JobSetting>& before,
                                          const std::vector<JobSetting>& now) {
  std::vector<SettingChange> changes;
  for (const JobSetting& setting : now) {
    const JobSetting* old = find(before, setting.name);
    if (old == nullptr) {
      changes.push_back({.name = setting.name, .before = std::nullopt, .now = setting.value});
    } else if (old->value != setting.value) {
      changes.push_back({.name = setting.name, .before = old->value, .now = setting.value});
    }
  }
  return changes;
}

std::vector<SettingChange> changed_settings(const std::vector<JobSetting>& before,
                                            const std::vector<JobSetting>& now) {
  std::vector<SettingChange> changes = changed_so_far(before, now);
  for (const JobSetting& setting : before) {
    if (find(now, setting.name) != nullptr) continue;
    changes.push_back({.name = setting.name, .before = setting.value, .now = std::nullopt});
  }
  return changes;
}

namespace {

// As people read it; the record keeps the forms it always had, so that jobs of before continue.
std::string shown_value(const std::optional<std::string>& value) {
  if (!value) return "(not set)";
  if (*value == "of servers elsewhere") return "answered by servers (--upstream)";
  if (*value == "its own") return "(none given)";
  boost::system::error_code error;
  const json::value number = json::parse(*value, error);
  return !error && number.is_double() ? plain_json(number) : *value;
}

}  // namespace

Error changed_settings_error(const std::vector<SettingChange>& changes,
                             const std::string& results) {
  std::string named;
  for (const SettingChange& change : changes) {
    named += fmt::format("\n  {}: {} -> {}", change.name, shown_value(change.before),
                         shown_value(change.now));
  }
  return Error{
      ErrorKind::kConflict,
      fmt::format("the results in {} were made with other options:{}\nuse the old ones to "
                  "continue, or --fresh to start over and keep the old files under another "
                  "name",
                  results, named)};
}

std::string results_name(const JobOptions& options) {
  return std::filesystem::path(options.output_path).filename().string();
}

std::vector<JobSetting> settings_of(const JobOptions& options) {
  std::vector<JobSetting> settings = options.settings;
  for (const auto& [name, value] : options.body_defaults) {
    settings.push_back(
        {.name = fmt::format("set {}", std::string_view(name)), .value = json::serialize(value)});
  }
  return settings;
}

namespace {

// -1 if the object has no such number.
int64_t number_in(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value == nullptr || !value->is_int64() ? -1 : value->get_int64();
}

}  // namespace

std::optional<LastRun> read_last_run(std::string_view summary) {
  boost::system::error_code not_json;
  const json::value parsed = json::parse(summary, not_json);
  const json::object* object = not_json ? nullptr : parsed.if_object();
  const json::object* rows = object == nullptr ? nullptr : object_in(*object, "rows");
  if (rows == nullptr) return std::nullopt;
  LastRun last{.end = std::string(text_in(*object, "end")),
               .error = std::string(text_in(*object, "error")),
               .rows_total = number_in(*rows, "total"),
               .rows_left = number_in(*rows, "left"),
               .rows_succeeded = number_in(*rows, "succeeded")};
  if (last.end.empty()) return std::nullopt;
  if (const json::object* bytes = object_in(*object, "log_bytes")) {
    last.results_bytes = number_in(*bytes, "results");
    last.errors_bytes = number_in(*bytes, "errors");
  }
  return last;
}

namespace {

Error lost_results_error(const std::string& what) {
  return Error{
      ErrorKind::kConflict,
      fmt::format("{}. Put the results back, so that their rows are not asked and paid for "
                  "again, or use --fresh, which keeps what is left under another name and "
                  "starts over",
                  what)};
}

}  // namespace

Result<int64_t> find_lost_results(store::Disk& disk, const JobPaths& paths, int64_t lines) {
  std::optional<LastRun> last;
  if (const auto summary = disk.read_all(paths.summary)) last = read_last_run(*summary);
  if (last && last->rows_succeeded > lines) {
    if (lines > 0) return last->rows_succeeded;
    return lost_results_error(fmt::format(
        "{} counts {} {} with a result, and {} {}", paths.summary,
        with_thousands(last->rows_succeeded), last->rows_succeeded == 1 ? "row" : "rows",
        paths.results, disk.exists(paths.results) ? "is empty" : "is not there"));
  }
  // A record is written once there are logs, and only a run that ends writes a summary.
  if (!last && disk.exists(paths.record) && !disk.exists(paths.results)) {
    return lost_results_error(fmt::format(
        "{} says that a job was begun here, and its results, {}, are not there; how many rows had "
        "one is not known",
        paths.record, paths.results));
  }
  return 0;
}

}  // namespace windrow::batch
