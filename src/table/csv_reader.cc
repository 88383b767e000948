#include "table/csv_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/format.h"
#include "base/utf8.h"

namespace windrow::table {
namespace {

constexpr size_t kReadBytes = size_t{32} << 10;

std::string_view without_blanks(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") + 1 - first);
}

}  // namespace

CsvReader::CsvReader(std::unique_ptr<RecordBytes> bytes, std::string name, char delimiter,
                     const ReadOptions& options)
    : bytes_(std::move(bytes)),
      name_(std::move(name)),
      delimiter_(delimiter),
      record_bytes_max_(options.record_bytes_max),
      parser_(delimiter),
      buffer_(kReadBytes, '\0') {}

Result<std::unique_ptr<RecordReader>> CsvReader::open(std::unique_ptr<RecordBytes> bytes,
                                                      std::string name,
                                                      const ReadOptions& options) {
  char delimiter = options.delimiter;
  if (delimiter == 0) {
    const Result<std::string_view> front = bytes->front();
    if (!front) return front.error().in(name);
    const std::string_view text =
        front->substr(std::min(front->size(), front->find_first_not_of("\r\n")));
    const std::string_view line = text.substr(0, text.find_first_of("\r\n"));
    // Commas may be frequent in the names of columns.
    const bool by_name = name_says_tabs(name) && line.find('\t') != std::string_view::npos;
    delimiter = by_name ? '\t' : delimiter_of(line);
  }
  std::unique_ptr<CsvReader> reader(
      new CsvReader(std::move(bytes), std::move(name), delimiter, options));
  if (Result<void> read = reader->read_columns(); !read) return read.error();
  return std::unique_ptr<RecordReader>(std::move(reader));
}

Result<void> CsvReader::read_columns() {
  Result<std::optional<CsvRow>> first = next_row();
  if (!first) return first.error();
  const auto refused = [&](std::string text) {
    return Error{ErrorKind::kInvalid, fmt::format("{}: {}", name_, text)};
  };
  if (!*first) {
    return refused(interrupted_ ? "interrupted"
                                : "the file has no line; its first one has to name the columns");
  }
  if (!(*first)->problem.empty()) return refused((*first)->problem);
  std::set<std::string_view> names;
  for (const std::string& value : (*first)->values) {
    columns_.emplace_back(without_blanks(value));
  }
  for (size_t i = 0; i < columns_.size(); ++i) {
    const std::string& column = columns_[i];
    if (column.empty()) {
      return refused(
          fmt::format("line {}: column {} has no name; give it one, or remove the {} "
                      "that begins it from every line",
                      (*first)->line, i + 1, delimiter_name(delimiter_)));
    }
    if (!is_utf8(column)) {
      return refused(fmt::format(
          "line {}: the name of column {} is not UTF-8; save the file as UTF-8 (for instance with "
          "iconv -f WINDOWS-1252 -t UTF-8)",
          (*first)->line, i + 1));
    }
    if (!names.insert(column).second) {
      return refused(fmt::format("line {}: two columns have the name \"{}\"; rename one of them",
                                 (*first)->line, column));
    }
  }
  return {};
}

Result<std::optional<Record>> CsvReader::next() {
  Result<std::optional<CsvRow>> row = next_row();
  if (!row) return row.error();
  if (!*row) return std::optional<Record>();
  return std::optional<Record>(record_of(**std::move(row)));
}

Result<std::optional<CsvRow>> CsvReader::next_row() {
  for (;;) {
    if (interrupted_) return std::optional<CsvRow>();
    if (std::optional<CsvRow> row = parser_.take()) return row;
    if (error_) return *error_;
    if (ended_) return std::optional<CsvRow>();
    if (const Result<void> read = read_more(); !read) error_ = read.error().in(name_);
  }
}

Result<void> CsvReader::read_more() {
  if (std::exchange(at_front_, false)) {
    const Result<std::string_view> front = bytes_->front();
    if (!front) return front.error();
    if (front->starts_with(kByteOrderMark)) {
      const Result<size_t> mark = bytes_->read(buffer_.data(), kByteOrderMark.size());
      if (!mark) return mark.error();
    }
  }
  const Result<size_t> got = bytes_->read(buffer_.data(), buffer_.size());
  if (!got) return got.error();
  if (*got == 0) {
    ended_ = true;
    if (interrupted_) return {};
    return parser_.finish();
  }
  parser_.feed(std::string_view(buffer_).substr(0, *got));
  if (parser_.open_bytes() > record_bytes_max_) {
    return Error{
        ErrorKind::kInvalid,
        fmt::format("line {}: the record that begins here is longer than {}; most likely a "
                    "quote is not closed",
                    parser_.open_line(), human_bytes(record_bytes_max_))};
  }
  return {};
}

Record CsvReader::record_of(CsvRow row) {
  Record record{.line = row.line, .number = ++number_};
  if (std::optional<std::string> problem = problem_of(row))
    record.problem = batch::LineProblem{.code = "invalid_record", .message = *std::move(problem)};
  const size_t count = std::min(columns_.size(), row.values.size());
  record.values.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const std::string& value = row.values[i];
    record.values.emplace(columns_[i], record.problem ? utf8_repair(value) : value);
  }
  return record;
}

std::optional<std::string> CsvReader::problem_of(const CsvRow& row) const {
  if (!row.problem.empty()) return row.problem;
  if (row.values.size() != columns_.size()) {
    return fmt::format(
        "line {} has {} value{}, and the first line names {} columns: {}; {}", row.line,
        row.values.size(), row.values.size() == 1 ? "" : "s", columns_.size(),
        names_of_columns(columns_),
        row.values.size() > columns_.size()
            ? fmt::format("a value with a {} in it has to be in quotes", delimiter_name(delimiter_))
            : std::string("every record needs a value for each, which may be empty"));
  }
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (is_utf8(row.values[i])) continue;
    return fmt::format(
        "line {} has a value of {} that is not UTF-8; save the file as UTF-8 (for instance with "
        "iconv -f "
        "WINDOWS-1252 -t UTF-8)",
        row.line, columns_[i]);
  }
  return std::nullopt;
}

void CsvReader::interrupt() {
  interrupted_ = true;
  bytes_->interrupt();
}

}  // namespace windrow::table
