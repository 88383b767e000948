#include "app/commands/unkept_job.h"

#include <fmt/format.h>

#include <array>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "app/commands/table_job.h"
#include "batch/job_paths.h"
#include "batch/job_record.h"
#include "batch/line_source.h"
#include "json/parse.h"
#include "json/values.h"
#include "json/writer.h"
#include "table/answer_cells.h"
#include "table/answer_index.h"
#include "table/table_export.h"
#include "table/table_settings.h"

namespace windrow::app {
namespace {

namespace json = boost::json;

constexpr size_t kPrintedBytes = size_t{64} << 10;

std::string text_of(const json::value& value) {
  return value.is_string() ? std::string(value.get_string()) : plain_json(value);
}

// What a request asks, as people read it.
std::string question_text(const json::object& body) {
  if (const json::value* messages = body.if_contains("messages");
      messages && messages->is_array()) {
    std::string text;
    for (const json::value& message : messages->get_array()) {
      const json::object* object = message.if_object();
      const json::value* content = object != nullptr ? object->if_contains("content") : nullptr;
      if (content == nullptr) continue;
      text += fmt::format("{}: {}\n", text_in(*object, "role"), text_of(*content));
    }
    return text;
  }
  for (const std::string_view name : {"prompt", "input"}) {
    if (const json::value* asked = body.if_contains(name))
      return fmt::format("{}: {}\n", name, text_of(*asked));
  }
  return plain_json(body) + "\n";
}

std::string answer_text(const table::AnswerCells& cells) {
  if (!cells.error.empty()) return fmt::format("failed: {}\n", cells.error);
  const std::string end =
      cells.finish_reason.empty() ? std::string() : fmt::format(" ({})", cells.finish_reason);
  return fmt::format("answer{}: {}\n", end, text_of(cells.answer));
}

std::string preview_of(const batch::Line& line, const json::object* outcome) {
  std::string text = fmt::format("--- line {}", line.number);
  std::string question;
  if (const auto parsed = parse_json(line.bytes);
      line.problem == nullptr && std::holds_alternative<json::value>(parsed)) {
    const auto& value = std::get<json::value>(parsed);
    if (const json::object* object = value.if_object()) {
      text += fmt::format(", {}", text_in(*object, "custom_id"));
      if (const json::object* body = object_in(*object, "body")) question = question_text(*body);
    }
  }
  text += "\n" + question;
  text += outcome == nullptr ? std::string("not answered\n")
                             : answer_text(table::read_answer(*outcome, false));
  return text;
}

std::string custom_id_of(const batch::Line& line) {
  const auto parsed = parse_json(line.bytes);
  const auto* value = std::get_if<json::value>(&parsed);
  if (line.problem != nullptr || value == nullptr || !value->is_object()) return {};
  return std::string(text_in(value->get_object(), "custom_id"));
}

Result<void> print_file(const std::string& path, store::Disk& disk, Console& console) {
  Result<std::unique_ptr<store::ReadFile>> file = disk.open_read(path);
  if (!file) {
    if (file.error().kind == ErrorKind::kNotFound) return {};
    return file.error();
  }
  std::string piece(kPrintedBytes, '\0');
  for (uint64_t at = 0;;) {
    const Result<size_t> got = (*file)->read_at(at, piece.data(), piece.size());
    if (!got) return got.error();
    if (*got == 0) return {};
    console.print(std::string_view(piece).substr(0, *got));
    at += *got;
  }
}

}  // namespace

Result<ScratchFolder> ScratchFolder::make() {
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
  std::string path = (error ? std::filesystem::path("/tmp") : parent) / "windrow-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) {
    return Error{ErrorKind::kIo,
                 fmt::format("there can be no temporary folder {}: {}; set TMPDIR to a folder that "
                             "can be written",
                             path, std::generic_category().message(errno))};
  }
  return ScratchFolder(std::move(path));
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

Result<void> print_preview(batch::Input& input, int64_t count, const std::string& results,
                           store::Disk& disk, Console& console) {
  const Result<batch::JobPaths> paths = batch::job_paths(results);
  if (!paths) return paths.error();
  const Result<std::unique_ptr<table::AnswerIndex>> index =
      table::AnswerIndex::read(disk, *paths, {}, [] { return false; });
  if (!index) return index.error();
  const Result<std::unique_ptr<batch::LineSource>> lines = batch::open_lines(input);
  if (!lines) return lines.error();
  for (int64_t i = 0; i < count; ++i) {
    const Result<std::optional<batch::Line>> line = (*lines)->next();
    if (!line) return line.error();
    if (!*line) return {};
    const Result<const json::object*> outcome =
        (*index)->find(custom_id_of(**line), (*line)->number);
    if (!outcome) return outcome.error();
    console.print(printable(preview_of(**line, *outcome)));
  }
  return {};
}

Result<void> print_results(batch::Input& input, const std::string& results,
                           std::optional<table::TableFormat> format, store::Disk& disk,
                           Console& console) {
  const Result<batch::JobPaths> paths = batch::job_paths(results);
  if (!paths) return paths.error();
  if (!format) {
    if (Result<void> printed = print_file(paths->results, disk, console); !printed) return printed;
    return print_file(paths->errors, disk, console);
  }
  const Result<std::string> text = disk.read_all(paths->record);
  if (!text) return text.error();
  const Result<batch::JobRecord> record = batch::parse_job_record(*text, paths->record);
  if (!record) return record.error();
  const table::TableJob job = table_job_of(input, *paths, *record);
  const Result<table::TableReport> report = table::write_table(
      disk, job, *format,
      [&](std::string_view bytes) -> Result<void> {
        console.print(bytes);
        return {};
      },
      [] { return false; });
  return report ? Result<void>() : report.error();
}

}  // namespace windrow::app
