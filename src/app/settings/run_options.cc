#include "app/settings/run_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <filesystem>
#include <iterator>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "api/calls/batch_rows.h"
#include "base/hash.h"
#include "base/suggest.h"
#include "batch/job_paths.h"
#include "llm/request_json.h"

namespace windrow::app {
namespace {

namespace json = boost::json;

// "--set temperature" for a flag, "windrow.toml:3: temperature" for a file.
std::string place_of_default(const ResolvedSettings& settings, const std::string& field) {
  constexpr std::string_view kFlag = "flag ";
  const auto source = settings.body_default_sources.find(field);
  if (source == settings.body_default_sources.end()) return field;
  const std::string_view text = source->second;
  if (text.starts_with(kFlag)) return fmt::format("{} {}", text.substr(kFlag.size()), field);
  return fmt::format("{}: {}", text, field);
}

Error unknown_field(const ResolvedSettings& settings, const std::string& field) {
  std::vector<std::string_view> names;
  for (const llm::FieldRule& rule : llm::field_rules())
    names.push_back(rule.name);
  return Error{
      ErrorKind::kInvalid,
      fmt::format("{}: no request has a field of this name{}", place_of_default(settings, field),
                  did_you_mean(field, names, "; docs/formats.md lists them"))};
}

// Fails where no endpoint takes this default. The error is of an endpoint that honours the field,
// if there is one: it knows what the field would take.
Result<void> check_default(const ResolvedSettings& settings, const std::string& field,
                           const json::value& value) {
  std::optional<llm::Failure> problem;
  bool honoured = false;
  for (const llm::Endpoint endpoint : llm::endpoints()) {
    const llm::FieldRule* rule = llm::find_rule(endpoint, field);
    if (rule == nullptr) continue;
    std::optional<llm::Failure> failure = llm::check_field(endpoint, field, value);
    if (!failure) return {};
    const bool better = !honoured && rule->use != llm::FieldUse::kRefused;
    if (!problem || better) problem = std::move(failure);
    honoured = honoured || better;
  }
  if (!problem) return unknown_field(settings, field);
  return Error{ErrorKind::kInvalid,
               fmt::format("{}: {}", place_of_default(settings, field), problem->message)};
}

// A default that depends on the machine (the context on its free memory) is recorded as such, so
// that the same command resumes the job when less memory is free.
std::string job_value(const Settings& settings, const SettingRow& row) {
  const json::value value = value_of(settings, row);
  const bool depends_on_machine = !row.default_words.empty() && value == value_of({}, row);
  if (depends_on_machine) return std::string(row.default_words);
  return value.is_string() ? std::string(value.get_string()) : json::serialize(value);
}

// Describes the options of a model besides its file; files that they name are known by their
// contents.
Result<std::string> options_identity(const fleet::ModelChoice& choice) {
  std::vector<std::string> parts;
  if (choice.chat_template_text) {
    const std::string& text = *choice.chat_template_text;
    parts.push_back(
        fmt::format("chat template, {} bytes, {}", text.size(), to_hex(hash64(text, text.size()))));
  } else if (!choice.chat_template.empty()) {
    Result<std::string> file = fleet::model_identity(choice.chat_template);
    parts.push_back("chat template " + (file ? *file : choice.chat_template));
  }
  if (choice.pooling)
    parts.push_back(fmt::format("pooling {}", engine::to_string(*choice.pooling)));
  for (const engine::AdapterChoice& adapter : choice.adapters) {
    Result<std::string> file = fleet::model_identity(adapter.path);
    if (!file) {
      return Error{file.error().kind,
                   fmt::format("--lora {}: the file cannot be read", adapter.path)};
    }
    parts.push_back(fmt::format("adapter {} at {}", *file, adapter.scale));
  }
  return parts.empty() ? std::string("its own") : fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace

llm::UnknownFields unknown_fields_of(const Settings& settings) {
  return settings.unknown_fields == "ignore" ? llm::UnknownFields::kIgnore
                                             : llm::UnknownFields::kRefuse;
}

Result<batch::FailureLimit> failure_limit_of(const Settings& settings) {
  const std::string& text = settings.failures_max;
  if (text.empty()) return batch::FailureLimit{.first_alike = true};
  if (text == "all") return batch::FailureLimit{};
  batch::FailureLimit limit;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), limit.rows_max);
  if (error != std::errc() || end != text.data() + text.size() || limit.rows_max < 1) {
    return Error{
        ErrorKind::kInvalid,
        fmt::format("--max-failures {}: this takes a whole number from 1 up, or all, which "
                    "runs every row whatever fails",
                    text)};
  }
  return limit;
}

Result<void> check_body_defaults(const ResolvedSettings& settings) {
  for (const auto& [field, value] : settings.values.body_defaults) {
    if (Result<void> checked = check_default(settings, field, value); !checked) return checked;
  }
  return {};
}

Result<std::vector<batch::JobSetting>> job_settings(
    const Settings& settings, const std::vector<fleet::ModelChoice>& choices) {
  std::vector<batch::JobSetting> list;
  for (const fleet::ModelChoice& choice : choices) {
    const Result<std::string> identity = fleet::model_identity(choice.path);
    if (!identity) return identity.error();
    const std::string of = choice.name.empty() ? "" : " " + choice.name;
    list.push_back({"model" + of, *identity});
    const Result<std::string> options = options_identity(choice);
    if (!options) return options.error();
    list.push_back({"model options" + of, *options});
  }
  for (const SettingRow& row : setting_rows()) {
    // Models and their options are above; the job adds the body defaults.
    if (!row.alters_answers || is_list(row) || is_body_defaults(row)) continue;
    if (row.group == SettingGroup::kPrograms) continue;  // program_job_settings has them
    // A switch that is off is left out, so that jobs from before it existed can be resumed.
    if (is_flag(row) && !value_of(settings, row).get_bool()) continue;
    // The same for a default that is newer than jobs which may be resumed.
    if (row.name == "call-reasoning" && value_of(settings, row) == value_of(Settings(), row))
      continue;
    list.push_back({std::string(row.name), job_value(settings, row)});
  }
  return list;
}

std::vector<batch::JobSetting> upstream_job_settings(
    const Settings& settings, const std::vector<fleet::UpstreamChoice>& choices) {
  std::set<std::string> aliases;
  for (const fleet::UpstreamChoice& choice : choices) {
    for (const auto& [name, theirs] : choice.server.aliases)
      aliases.insert(name + "=" + theirs);
  }
  std::vector<batch::JobSetting> list = {
      {"model", "of servers with_upstreams"},
      {"model-alias", aliases.empty() ? "none" : fmt::format("{}", fmt::join(aliases, ", "))}};
  if (settings.keep_truncated) list.push_back({"keep-truncated", "true"});
  return list;
}

std::vector<std::string> warnings_of(const ResolvedSettings& settings, SettingsOf command) {
  const bool with_upstreams = !settings.values.upstreams.empty();
  constexpr std::string_view kForModels[] = {"max-tokens-default", "unknown-fields",
                                             "call-reasoning", "schema-unknown"};
  constexpr std::string_view kForServers[] = {"cache"};
  // Programs give each answer a limit, also where a server makes it.
  constexpr std::string_view kForPrograms[] = {"max-tokens-default"};
  // `serve` uses these with local models, too.
  constexpr std::string_view kForBoth[] = {"model-alias", "max-batch-size", "batch-window-ms",
                                           "unknown-fields"};
  std::vector<std::string> warnings;
  for (const SettingRow& row : setting_rows()) {
    const bool for_models = row.group == SettingGroup::kModel ||
                            row.group == SettingGroup::kBatch ||
                            std::ranges::find(kForModels, row.name) != std::end(kForModels);
    const bool for_servers = row.group == SettingGroup::kUpstream ||
                             std::ranges::find(kForServers, row.name) != std::end(kForServers);
    if (with_upstreams ? !for_models : !for_servers) continue;
    if (command == SettingsOf::kServe &&
        std::ranges::find(kForBoth, row.name) != std::end(kForBoth)) {
      continue;
    }
    if (command == SettingsOf::kExec &&
        std::ranges::find(kForPrograms, row.name) != std::end(kForPrograms)) {
      continue;
    }
    // --tokenizer has a template, too.
    if (row.name == "chat-template" && !settings.values.tokenizers.empty()) continue;
    const std::string source = settings.source_of(row);
    if (!source.starts_with("flag ")) continue;
    warnings.push_back(with_upstreams
                           ? fmt::format("--{} has no effect with --upstream: it is about "
                                         "local models",
                                         row.name)
                           : fmt::format("--{} has no effect without --upstream", row.name));
  }
  return warnings;
}

batch::JobOptions options_of_files(const std::string& input, const std::string& output,
                                   const Settings& settings,
                                   std::vector<batch::JobSetting> job_settings) {
  batch::JobOptions options{.input_name = input,
                            .output_path = output,
                            .fresh = settings.fresh,
                            .retry_failed = settings.retry_failed,
                            .strict = settings.strict,
                            .ordered = settings.ordered,
                            .settings = std::move(job_settings),
                            .grace = std::chrono::seconds(settings.grace_s)};
  if (settings.limit > 0) options.rows_max = settings.limit;
  return options;
}

namespace {

// Makes the options of a job of requests that do not depend on who answers it.
batch::JobOptions common_options(const RunCommand& command, const Settings& settings,
                                 std::vector<batch::JobSetting> job_settings) {
  batch::JobOptions options =
      options_of_files(command.input, command.output, settings, std::move(job_settings));
  options.unknown_fields = unknown_fields_of(settings);
  options.apis = api::row_apis();
  options.keep_truncated = settings.keep_truncated;
  if (command.only_retried) {
    options.retry_failed = options.only_retried = true;
    options.retried = *command.only_retried;
  }
  for (const auto& [field, value] : settings.body_defaults)
    options.body_defaults[field] = value;
  return options;
}

}  // namespace

batch::JobOptions job_options(const RunCommand& command, const Settings& settings,
                              const std::vector<fleet::ModelChoice>& choices,
                              std::vector<batch::JobSetting> job_settings) {
  batch::JobOptions options = common_options(command, settings, std::move(job_settings));
  options.any_model = choices.front().name.empty();
  for (const fleet::ModelChoice& choice : choices)
    options.models.push_back(fleet::served_name(choice));
  return options;
}

batch::JobOptions upstream_job_options(const RunCommand& command, const Settings& settings,
                                       std::vector<batch::JobSetting> job_settings) {
  batch::JobOptions options = common_options(command, settings, std::move(job_settings));
  options.any_model = true;
  options.raw = true;
  options.models = {"upstream"};
  return options;
}

std::vector<report::SummarySetting> settings_with_sources(const ResolvedSettings& settings) {
  std::vector<report::SummarySetting> list;
  for (const SettingRow& row : setting_rows()) {
    if (is_body_defaults(row)) {
      for (const auto& [field, value] : settings.values.body_defaults) {
        const auto source = settings.body_default_sources.find(field);
        list.push_back({fmt::format("{}.{}", row.name, field), value,
                        source == settings.body_default_sources.end() ? "" : source->second});
      }
    } else {
      list.push_back(
          {std::string(row.name), value_of(settings.values, row), settings.source_of(row)});
    }
  }
  return list;
}

Result<void> check_output_path(const std::string& path) {
  return batch::check_output_file("the output", path);
}

Result<void> check_files_differ(const std::string& input, const std::string& output,
                                const Settings& settings, std::span<const NamedFile> more) {
  const Result<batch::JobPaths> job = batch::job_paths(output);
  if (!job) return job.error();
  struct Named {
    std::string_view what;
    std::string path;
    bool of_job = false;  // the job itself keeps these apart
  };
  std::vector<Named> files = {
      {"the input", input == "-" ? "" : input, true},
      {"the results", job->results, true},
      {"the errors of the job", job->errors, true},
      {"the summary of the job", job->summary, true},
      {"the record of the job", job->record, true},
      {"the quarantine of the job", job->quarantine, true},
      {"the lock of the job", job->lock, true},
      {"the progress of the job", job->progress, true},
      {"--report", settings.report},
      {"--cache", settings.cache},
      {"the lock of --cache", settings.cache.empty() ? "" : settings.cache + ".lock"},
      {"--prices", settings.prices},
  };
  for (const NamedFile& file : more)
    files.push_back({file.what, file.path});
  const auto same = [](const std::string& one, const std::string& other) {
    std::error_code error;
    if (std::filesystem::equivalent(one, other, error)) return true;
    const auto whole = [&](const std::string& path) {
      return std::filesystem::weakly_canonical(std::filesystem::absolute(path, error), error);
    };
    return whole(one) == whole(other);
  };
  for (size_t i = 0; i < files.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      const Named& one = files[k];
      const Named& other = files[i];
      if (one.path.empty() || other.path.empty() || (one.of_job && other.of_job)) continue;
      if (!same(one.path, other.path)) continue;
      return Error{ErrorKind::kInvalid,
                   fmt::format("{} is used for {} and for {}; give one of them another name",
                               one.path, one.what, other.what)};
    }
  }
  return {};
}

Result<void> check_written_path(std::string_view flag, const std::string& path) {
  if (path.empty()) return {};
  if (Result<void> file = batch::check_output_file(flag, path); !file) return file;
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder, error)) {
    return Error{ErrorKind::kNotFound,
                 fmt::format("the folder of {} {} does not exist; make it first", flag, path)};
  }
  return {};
}

}  // namespace windrow::app
