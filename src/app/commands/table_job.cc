#include "app/commands/table_job.h"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <boost/json/value.hpp>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>

#include "app/process/new_file.h"
#include "app/settings/run_options.h"
#include "base/format.h"
#include "batch/job_paths.h"
#include "batch/job_record.h"
#include "json/parse.h"
#include "table/look_at.h"
#include "table/row_template.h"
#include "table/sampled_input.h"
#include "table/table_input.h"
#include "table/table_settings.h"

namespace windrow::app {
namespace {

Result<std::string> read_file(store::Disk& disk, std::string_view flag, const std::string& path) {
  Result<std::string> text = disk.read_all(path);
  if (!text)
    return Error{text.error().kind, fmt::format("{} {}: {}", flag, path, text.error().message)};
  return text;
}

Result<boost::json::object> read_schema(store::Disk& disk, const std::string& path) {
  const Result<std::string> text = read_file(disk, "--schema", path);
  if (!text) return text.error();
  auto parsed = parse_json(*text);
  if (const auto* fault = std::get_if<JsonFault>(&parsed)) {
    return Error{ErrorKind::kInvalid, fmt::format("--schema {}: it is not JSON: {} near byte {}",
                                                  path, fault->reason, fault->byte)};
  }
  auto& value = std::get<boost::json::value>(parsed);
  if (!value.is_object()) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("--schema {}: a JSON Schema for answers is an object", path)};
  }
  return std::move(value.get_object());
}

Result<table::RowRecipe> recipe_of(const TableFlags& flags, store::Disk& disk) {
  table::RowRecipe recipe{
      .id_column = flags.id, .max_tokens = flags.max_tokens, .temperature = flags.temperature};
  if (!flags.prompt.empty()) recipe.prompt = flags.prompt;
  if (!flags.embed.empty()) recipe.embed = flags.embed;
  if (!flags.system.empty()) recipe.system = flags.system;
  if (!flags.prompt_file.empty()) {
    Result<std::string> text = read_file(disk, "--prompt-file", flags.prompt_file);
    if (!text) return text.error();
    recipe.prompt = *std::move(text);
  }
  if (!flags.schema.empty()) {
    Result<boost::json::object> schema = read_schema(disk, flags.schema);
    if (!schema) return schema.error();
    recipe.schema = *std::move(schema);
  }
  return recipe;
}

// Flags of a table for a file that holds requests already.
Result<void> check_is_table(batch::Input& input, const table::ReadOptions& options,
                            const TableFlags& flags) {
  const Result<std::unique_ptr<table::RecordReader>> records = table::open_records(input, options);
  if (!records) return records.error();
  const Result<std::optional<table::Record>> first = (*records)->next();
  if (!first || !*first || !table::is_request(**first)) return {};
  return Error{
      ErrorKind::kInvalid,
      fmt::format("{0} holds requests already (custom_id, url, body), so {1} has nothing to write; "
                  "leave {1} out, or name a file of records. Fields that all requests get are set "
                  "with --set: --set max_tokens=100",
                  input.name(), flags.given.front())};
}

}  // namespace

char delimiter_of_flag(const std::string& text) {
  if (text.empty()) return 0;
  return text == "tab" || text == "\\t" ? '\t' : text.front();
}

namespace {

Result<RunInput> open_whole_input(const RunCommand& command, store::Disk& disk) {
  Result<std::unique_ptr<batch::Input>> input = batch::open_input(command.input);
  if (!input) return input.error();
  const TableFlags& flags = command.table;
  if (flags.given.empty()) {
    if (Result<void> checked = table::check_requests(**input); !checked) {
      if (!command.only_retried || checked.error().kind != ErrorKind::kInvalid)
        return checked.error();
      return Error{ErrorKind::kInvalid,
                   fmt::format("{} is a table, and nothing says how its rows were made; give "
                               "windrow retry the flags that windrow run had: --prompt, --id and "
                               "the others",
                               (*input)->name())};
    }
    return RunInput{.input = *std::move(input), .settings = {}};
  }
  Result<table::RowRecipe> recipe = recipe_of(flags, disk);
  if (!recipe) return recipe.error();
  const table::ReadOptions options{.delimiter = delimiter_of_flag(flags.delimiter)};
  RunInput made{.input = nullptr, .settings = table::table_settings(*recipe, options)};
  Result<table::RowTemplate> rows = table::RowTemplate::make(*std::move(recipe));
  if (!rows) return rows.error();
  if ((*input)->rereadable()) {
    if (Result<void> checked = check_is_table(**input, options, flags); !checked)
      return checked.error();
  }
  auto table = std::make_unique<table::TableInput>(*std::move(input), options, *std::move(rows));
  if (table->rereadable()) {
    if (Result<std::string> first = table::check_first_records(*table); !first)
      return first.error();
  }
  made.input = std::move(table);
  return made;
}

}  // namespace

Result<RunInput> open_run_input(const RunCommand& command, store::Disk& disk) {
  Result<RunInput> opened = open_whole_input(command, disk);
  if (!opened || command.sample == 0) return opened;
  if (!opened->input->rereadable()) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("--sample reads the input twice, and {} can be read only once; write "
                             "it to a file first",
                             opened->input->name())};
  }
  Result<std::unique_ptr<table::SampledInput>> sampled =
      table::SampledInput::draw(std::move(opened->input), command.sample);
  if (!sampled) return sampled.error();
  opened->input = *std::move(sampled);
  return opened;
}

table::TableJob table_job_of(batch::Input& input, const batch::JobPaths& paths,
                             const batch::JobRecord& record) {
  const std::optional<table::RecordedTable> recorded = table::recorded_table(record.settings);
  table::TableJob job{.input = input, .paths = paths, .of_requests = !recorded};
  if (recorded) {
    job.read.delimiter = recorded->delimiter;
    job.id_column = recorded->id_column;
    job.structured = recorded->structured;
    job.members = recorded->members;
  } else {
    job.read.format = table::RecordFormat::kJsonLines;  // whatever the name of the file is
  }
  return job;
}

RunOutput run_output(const std::string& output, store::Disk& disk) {
  const std::optional<table::TableFormat> format = table::table_format_of(output);
  if (!format) return {.log = output, .table = {}};
  if (const Result<batch::JobPaths> paths = batch::job_paths(output)) {
    if (const Result<std::string> text = disk.read_all(paths->record)) {
      const Result<batch::JobRecord> record = batch::parse_job_record(*text, paths->record);
      const std::string name = std::filesystem::path(output).filename();
      if (record && record->results == name) return {.log = output, .table = {}};
    }
  }
  return {
      .log = output.substr(0, output.rfind('.')) + ".jsonl", .table = output, .format = *format};
}

namespace {

Result<batch::JobRecord> read_record(store::Disk& disk, const batch::JobPaths& paths) {
  const Result<std::string> text = disk.read_all(paths.record);
  if (!text) {
    if (text.error().kind == ErrorKind::kNotFound) return batch::JobRecord{};
    return text.error();
  }
  return batch::parse_job_record(*text, paths.record);
}

Result<std::unique_ptr<batch::Input>> open_recorded(const TableToWrite& table,
                                                    const batch::JobRecord& record) {
  const std::string& path = table.input.empty() ? record.input : table.input;
  if (path.empty()) {
    return Error{ErrorKind::kNotFound,
                 fmt::format("{}, which names the input of the job, is not there; name it with "
                             "--input",
                             table.paths.record)};
  }
  if (path == "-") {
    return Error{ErrorKind::kInvalid,
                 "the job read its input from standard input, which is gone; name a file with the "
                 "same records with --input"};
  }
  Result<std::unique_ptr<batch::Input>> input = batch::open_input(path);
  if (!input && table.input.empty()) {
    return Error{input.error().kind,
                 fmt::format("{}; the job record names this input: name it with --input if it is "
                             "elsewhere now",
                             input.error().message)};
  }
  if (!input) return input.error();
  if (!(*input)->rereadable()) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("{} can be read only once, and a table is made in two passes; name a "
                             "file",
                             (*input)->name())};
  }
  return input;
}

// The table takes the place of a file that has its name, which must be none that it is made of.
Result<void> check_replaces_nothing(const TableToWrite& table, const batch::Input& input) {
  const batch::JobPaths& job = table.paths;
  const auto files = std::to_array<std::pair<std::string_view, const std::string*>>(
      {{"the input", &input.name()},
       {"the results", &job.results},
       {"the errors of the job", &job.errors},
       {"the summary of the job", &job.summary},
       {"the record of the job", &job.record},
       {"the progress of the job", &job.progress},
       {"the quarantine of the job", &job.quarantine}});
  for (const auto& [what, path] : files) {
    std::error_code error;
    if (table.output != *path && !std::filesystem::equivalent(table.output, *path, error)) continue;
    return Error{ErrorKind::kInvalid,
                 fmt::format("-o {} is {}, which the table would replace; give the table another "
                             "name",
                             table.output, what)};
  }
  return {};
}

std::string report_text(const TableToWrite& table, const table::TableReport& report) {
  std::string text = fmt::format("{}: {} {}", table.output, with_thousands(report.rows),
                                 report.rows == 1 ? "row" : "rows");
  if (table.format == table::TableFormat::kNpy) {
    text += fmt::format(" of {} numbers", report.numbers);
    if (report.failed > 0) {
      text += fmt::format(", {} of them NaN because {} failed", with_thousands(report.failed),
                          report.failed == 1 ? "the row" : "the rows");
    }
    if (report.not_vectors > 0) {
      text += fmt::format(", {} of them NaN because they are not one vector of this length",
                          with_thousands(report.not_vectors));
    }
  } else {
    text += fmt::format(" with the columns {}", table::names_of_columns(report.columns));
    if (report.failed > 0)
      text += fmt::format("; {} failed (column error)", with_thousands(report.failed));
  }
  if (report.waiting > 0) {
    text += fmt::format("; {} {} no outcome yet and {} left out", with_thousands(report.waiting),
                        report.waiting == 1 ? "record has" : "records have",
                        report.waiting == 1 ? "is" : "are");
  }
  return text;
}

}  // namespace

Result<bool> write_job_table(const TableToWrite& table, store::Disk& disk, Console& console,
                             StopRelay& relay) {
  const Result<batch::JobRecord> record = read_record(disk, table.paths);
  if (!record) return record.error();
  const Result<std::unique_ptr<batch::Input>> input = open_recorded(table, *record);
  if (!input) return input.error();
  if (Result<void> checked = check_replaces_nothing(table, **input); !checked)
    return checked.error();
  table::TableJob job = table_job_of(**input, table.paths, *record);
  if (table.delimiter != 0) job.read.delimiter = table.delimiter;
  if (table.id) {
    job.id_column = *table.id;
    job.of_requests = false;
    job.read.format = std::nullopt;
  }

  std::atomic<bool> interrupted = false;
  // The signal that ended the rows does not end this.
  const bool stopped_before = relay.stopping();
  const StopRelay::Attachment by_signal(
      relay, StopRelay::Target{.stop = [&] { interrupted = interrupted || !stopped_before; },
                               .stop_now = [&] { interrupted = true; }});
  Result<std::unique_ptr<NewFile>> file = NewFile::open(disk, table.output);
  if (!file) return file.error();
  const Result<table::TableReport> report = table::write_table(
      disk, job, table.format, [&](std::string_view bytes) { return (*file)->append(bytes); },
      [&] { return interrupted.load(); });
  if (!report) return report.error();
  if (report->interrupted) return false;
  if (Result<void> finished = (*file)->finish(); !finished) return finished.error();
  console.note(report_text(table, *report));
  return true;
}

}  // namespace windrow::app
