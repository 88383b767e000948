#include "table/record_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "table/csv_reader.h"
#include "table/json_readers.h"
#include "table/record_bytes.h"

namespace windrow::table {
namespace {

constexpr size_t kColumnsNamed = 12;

constexpr std::array<std::pair<std::string_view, RecordFormat>, 8> kEndings = {{
    {".csv", RecordFormat::kCsv},
    {".tsv", RecordFormat::kCsv},
    {".tab", RecordFormat::kCsv},
    {".json", RecordFormat::kJsonArray},
    {".jsonl", RecordFormat::kJsonLines},
    {".ndjson", RecordFormat::kJsonLines},
    {".txt", RecordFormat::kText},
    {".text", RecordFormat::kText},
}};

// Where the ending of a name does not decide: the bytes behind blanks and a byte order mark.
RecordFormat format_of_front(std::string_view front) {
  if (front.starts_with(kByteOrderMark)) front.remove_prefix(kByteOrderMark.size());
  const size_t first = front.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return RecordFormat::kCsv;
  if (front[first] == '[') return RecordFormat::kJsonArray;
  if (front[first] == '{') return RecordFormat::kJsonLines;
  return RecordFormat::kCsv;
}

std::string_view unpacked_name(std::string_view name) {
  for (const std::string_view packed : {".gz", ".zst"}) {
    if (name.ends_with(packed)) name.remove_suffix(packed.size());
  }
  return name;
}

std::optional<Error> utf16_error(std::string_view front, const std::string& name) {
  if (!front.starts_with("\xFF\xFE") && !front.starts_with("\xFE\xFF")) return std::nullopt;
  return Error{ErrorKind::kInvalid,
               fmt::format("{}: the text is UTF-16; save it as UTF-8 (for instance with iconv -f "
                           "UTF-16 -t UTF-8) and try again",
                           name)};
}

}  // namespace

std::optional<RecordFormat> format_of_name(std::string_view name) {
  name = unpacked_name(name);
  const auto* found = std::ranges::find_if(
      kEndings, [&](const auto& ending) { return name.ends_with(ending.first); });
  if (found == kEndings.end()) return std::nullopt;
  return found->second;
}

bool name_says_tabs(std::string_view name) {
  name = unpacked_name(name);
  return name.ends_with(".tsv") || name.ends_with(".tab");
}

char delimiter_of(std::string_view first_line) {
  constexpr std::string_view kDelimiters = ",;\t|";
  std::array<size_t, kDelimiters.size()> counts = {};
  bool in_quotes = false;
  for (const char byte : first_line) {
    if (byte == '"') in_quotes = !in_quotes;
    const size_t which = kDelimiters.find(byte);
    if (!in_quotes && which != std::string_view::npos) ++counts[which];
  }
  return kDelimiters[static_cast<size_t>(std::ranges::max_element(counts) - counts.begin())];
}

std::string delimiter_name(char delimiter) {
  switch (delimiter) {
    case ',':
      return "comma";
    case ';':
      return "semicolon";
    case '\t':
      return "tab";
    default:
      return fmt::format("\"{}\"", delimiter);
  }
}

std::string names_of_columns(const std::vector<std::string>& columns) {
  std::string text;
  const size_t named = std::min(columns.size(), kColumnsNamed);
  for (size_t i = 0; i < named; ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", columns[i]);
  if (named < columns.size()) text += fmt::format(" and {} more", columns.size() - named);
  return text;
}

std::vector<std::string> columns_of(const Record& record) {
  std::vector<std::string> columns;
  columns.reserve(record.values.size());
  for (const auto& member : record.values)
    columns.emplace_back(member.key());
  return columns;
}

std::optional<Error> parquet_error(std::string_view front, const std::string& name) {
  if (!front.starts_with("PAR1")) return std::nullopt;
  return Error{
      ErrorKind::kInvalid,
      fmt::format("{0} is a Parquet file, which Windrow does not read; make a CSV or JSONL "
                  "file of it, for instance with DuckDB: duckdb -c \"COPY (FROM '{0}') TO "
                  "'records.jsonl' (FORMAT json)\"",
                  name)};
}

Result<std::unique_ptr<RecordReader>> open_records(batch::Input& input, const ReadOptions& options,
                                                   batch::BeforeWait before_wait) {
  Result<std::unique_ptr<batch::ByteSource>> opened = input.open(std::move(before_wait));
  if (!opened) return opened.error();
  auto bytes = std::make_unique<RecordBytes>(*std::move(opened));
  const std::string& name = input.name();
  const Result<std::string_view> front = bytes->front();
  if (!front) return front.error().in(name);
  if (std::optional<Error> error = parquet_error(*front, name)) return *std::move(error);
  if (std::optional<Error> error = utf16_error(*front, name)) return *std::move(error);

  std::optional<RecordFormat> format = options.format;
  if (!format) format = format_of_name(name);
  const RecordFormat seen = format_of_front(*front);
  // The endings of JSON are used for both of its forms.
  const bool is_json = format == RecordFormat::kJsonArray || format == RecordFormat::kJsonLines;
  if (!format || (!options.format && is_json && seen != RecordFormat::kCsv)) format = seen;

  switch (*format) {
    case RecordFormat::kCsv:
      return CsvReader::open(std::move(bytes), name, options);
    case RecordFormat::kJsonArray:
      return read_json_array(std::move(bytes), name, options);
    case RecordFormat::kJsonLines:
    case RecordFormat::kText:
      break;
  }
  return read_lines(std::move(bytes), name, *format, options);
}

}  // namespace windrow::table
