#include "table/answer_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/hash.h"
#include "json/values.h"

namespace windrow::table {
namespace {

constexpr uint64_t kOfResults = uint64_t{1} << 63;
constexpr size_t kWindowBytes = size_t{256} << 10;

// 0 where the line of the log does not say.
uint64_t input_line_of(const boost::json::object& log_line) {
  const boost::json::object* windrow = object_in(log_line, "windrow");
  const boost::json::value* line = windrow != nullptr ? windrow->if_contains("line") : nullptr;
  return line != nullptr && line->is_int64() ? static_cast<uint64_t>(line->get_int64()) : 0;
}

}  // namespace

Result<std::unique_ptr<AnswerIndex>> AnswerIndex::read(store::Disk& disk,
                                                       const batch::JobPaths& paths,
                                                       const Visit& visit,
                                                       const std::function<bool()>& interrupted) {
  std::unique_ptr<AnswerIndex> index(new AnswerIndex(disk));
  // The errors first: a row that is answered meanwhile is found in one of the two.
  if (Result<void> errors = index->read_log(paths.errors, batch::LogKind::kErrors, {}, interrupted);
      !errors)
    return errors.error();
  if (Result<void> results =
          index->read_log(paths.results, batch::LogKind::kResults, visit, interrupted);
      !results)
    return results.error();
  if (index->results_.file == nullptr && index->errors_.file == nullptr) {
    return Error{ErrorKind::kNotFound,
                 fmt::format("there are no results of a job at {}", paths.results)};
  }
  std::ranges::sort(index->rows_);
  std::ranges::sort(index->lines_);
  return index;
}

Result<void> AnswerIndex::read_log(const std::string& path, batch::LogKind kind, const Visit& visit,
                                   const std::function<bool()>& interrupted) {
  const bool results = kind == batch::LogKind::kResults;
  Window& window = results ? results_ : errors_;
  Result<std::unique_ptr<store::ReadFile>> file = disk_.open_read(path);
  if (!file) {
    if (file.error().kind == ErrorKind::kNotFound) return {};
    return file.error();
  }
  window.file = *std::move(file);
  batch::LogLines lines(*window.file);
  for (uint64_t number = 1;; ++number) {
    const uint64_t offset = lines.offset();
    const Result<std::optional<std::string_view>> text = lines.next();
    if (!text) return text.error();
    if (!*text || interrupted()) return {};
    const boost::json::value* value = parser_.parse(**text);
    batch::LogLine line;
    const std::optional<std::string_view> stray =
        value == nullptr ? "it is not JSON" : batch::read_log_line(*value, kind, line);
    if (stray) {
      return Error{ErrorKind::kInvalid,
                   fmt::format("{}: line {} is not a line of a job: {}; name the results of "
                               "windrow run",
                               path, number, *stray)};
    }
    const uint64_t where = offset | (results ? kOfResults : 0);
    if (line.of_line) {
      lines_.push_back({line.input_line, where});
    } else {
      rows_.push_back({hash64(line.custom_id), where});
    }
    if (visit) visit(value->get_object());
  }
}

std::pair<const AnswerIndex::Entry*, const AnswerIndex::Entry*> AnswerIndex::range(
    const std::vector<Entry>& entries, uint64_t key) {
  const auto found = std::ranges::equal_range(entries, key, {}, &Entry::key);
  return {std::to_address(found.begin()), std::to_address(found.end())};
}

bool AnswerIndex::has(std::string_view custom_id, uint64_t input_line) const {
  const auto [line, line_end] = range(lines_, input_line);
  if (line != line_end) return true;
  if (custom_id.empty()) return false;
  const auto [row, row_end] = range(rows_, hash64(custom_id));
  return row != row_end;
}

Result<const boost::json::object*> AnswerIndex::find(std::string_view custom_id,
                                                     uint64_t input_line) {
  const auto [line, line_end] = range(lines_, input_line);
  const Result<const boost::json::object*> row = find_row(custom_id);
  if (line == line_end || !row || (*row != nullptr && input_line_of(**row) == input_line))
    return row;
  const bool has_row = *row != nullptr;
  const Result<const boost::json::object*> fault = line_at((line_end - 1)->where);
  // The line was corrected since and became this row, unless it repeats the id of another one.
  if (fault && has_row && text_in(**fault, "custom_id") != custom_id) return find_row(custom_id);
  return fault;
}

Result<const boost::json::object*> AnswerIndex::find_row(std::string_view custom_id) {
  const boost::json::object* none = nullptr;
  if (custom_id.empty()) return none;
  const auto [row, row_end] = range(rows_, hash64(custom_id));
  for (const Entry* entry = row_end; entry != row;) {
    --entry;
    Result<const boost::json::object*> found = line_at(entry->where);
    // Another row may have the same hash.
    if (!found || text_in(**found, "custom_id") == custom_id) return found;
  }
  return none;
}

Result<const boost::json::object*> AnswerIndex::line_at(uint64_t where) {
  Window& window = (where & kOfResults) != 0 ? results_ : errors_;
  const Result<std::string_view> text = window.line(where & ~kOfResults);
  if (!text) return text.error();
  const boost::json::value* value = parser_.parse(*text);
  if (value == nullptr || !value->is_object())
    return Error{ErrorKind::kIo, "a log has changed while it was read; try again"};
  return &value->get_object();
}

Result<std::string_view> AnswerIndex::Window::line(uint64_t at) {
  for (size_t wanted = kWindowBytes;; wanted *= 2) {
    if (at >= offset && at < offset + bytes.size()) {
      const std::string_view rest = std::string_view(bytes).substr(at - offset);
      if (const size_t end = rest.find('\n'); end != std::string_view::npos)
        return rest.substr(0, end);
      if (offset == at && bytes.size() < wanted / 2)
        return Error{ErrorKind::kIo, "a log became shorter while it was read; try again"};
    }
    bytes.resize(wanted);
    const Result<size_t> got = file->read_at(at, bytes.data(), wanted);
    if (!got) return got.error();
    bytes.resize(*got);
    offset = at;
    if (*got == 0)
      return Error{ErrorKind::kIo, "a log became shorter while it was read; try again"};
  }
}

}  // namespace windrow::table
