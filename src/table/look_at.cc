#include "table/look_at.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "base/utf8.h"
#include "json/parse.h"
#include "table/record_bytes.h"

namespace windrow::table {
namespace {

constexpr size_t kFrontBytes = size_t{64} << 10;
constexpr size_t kLinesMax = 50;

// The first lines that are not blank; the last one of `front` only if nothing can be missing of it.
std::vector<std::string_view> first_lines(std::string_view front, bool whole) {
  std::vector<std::string_view> lines;
  while (!front.empty() && lines.size() < kLinesMax) {
    const size_t end = front.find_first_of("\r\n");
    if (end == std::string_view::npos && !whole && !lines.empty()) break;
    const std::string_view line = front.substr(0, end);
    front.remove_prefix(std::min(front.size(), line.size() + 1));
    if (line.find_first_not_of(" \t") != std::string_view::npos) lines.push_back(line);
  }
  return lines;
}

char first_letter(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  return first == std::string_view::npos ? '\0' : text[first];
}

bool has_envelope(const boost::json::object& object) {
  constexpr auto kMembers =
      std::to_array<std::string_view>({"custom_id", "url", "body", "method", "input"});
  return std::ranges::any_of(kMembers,
                             [&](std::string_view name) { return object.contains(name); });
}

// Whether the lines have the delimiters that the first one has.
bool is_table(const std::vector<std::string_view>& lines) {
  if (lines.size() < 2) return false;
  const char delimiter = delimiter_of(lines.front());
  const auto count = [&](std::string_view line) { return std::ranges::count(line, delimiter); };
  const auto wanted = count(lines.front());
  const auto same =
      std::ranges::count_if(lines, [&](std::string_view line) { return count(line) == wanted; });
  return wanted > 0 && 2 * same > static_cast<std::ptrdiff_t>(lines.size());
}

bool is_text(std::string_view front) {
  front.remove_suffix(utf8_incomplete_tail(front));
  return is_utf8(front) && front.find('\0') == std::string_view::npos;
}

Contents contents_of_array(std::string_view front) {
  front.remove_prefix(front.find('[') + 1);
  // Another one is a line that is no request.
  if (first_letter(front) != '{') return Contents::kRequests;
  const std::string_view begin = front.substr(0, 4096);
  return begin.find("\"custom_id\"") != std::string_view::npos &&
                 begin.find("\"body\"") != std::string_view::npos
             ? Contents::kRequestArray
             : Contents::kJsonArray;
}

struct Front {
  std::string bytes;
  bool whole = false;
};

Result<Front> read_front(batch::Input& input) {
  Result<std::unique_ptr<batch::ByteSource>> opened = input.open(nullptr);
  if (!opened) return opened.error();
  RecordBytes bytes(*std::move(opened));
  Front front{.bytes = std::string(kFrontBytes, '\0')};
  size_t size = 0;
  while (size < kFrontBytes && !front.whole) {
    const Result<size_t> got = bytes.read(front.bytes.data() + size, kFrontBytes - size);
    if (!got) return got.error().in(input.name());
    front.whole = *got == 0;
    size += *got;
  }
  front.bytes.resize(size);
  return front;
}

// The columns that messages name. Empty where the table itself has a fault.
std::vector<std::string> columns_of_input(batch::Input& input, RecordFormat format) {
  const Result<std::unique_ptr<RecordReader>> records = open_records(input, {.format = format});
  if (!records) return {};
  if ((*records)->columns() != nullptr) return *(*records)->columns();
  const Result<std::optional<Record>> first = (*records)->next();
  return first && *first ? columns_of(**first) : std::vector<std::string>();
}

std::string in_template(const std::string& column) {
  const bool is_name =
      column.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") ==
          std::string::npos &&
      !column.empty() && (column.front() < '0' || column.front() > '9');
  return is_name ? column : fmt::format("record[\"{}\"]", column);
}

Error table_error(const std::string& name, std::string_view what,
                  const std::vector<std::string>& columns) {
  std::string with = columns.empty()
                         ? std::string()
                         : fmt::format(" with the columns {}", names_of_columns(columns));
  const std::string id =
      columns.size() > 1 ? fmt::format(" --id '{}'", columns.front()) : std::string();
  const std::string column =
      columns.empty() ? "COLUMN" : in_template(columns[std::min<size_t>(1, columns.size() - 1)]);
  return Error{ErrorKind::kInvalid,
               fmt::format("{0} is {1}{2}, and not a file of requests. Say what to ask about each "
                           "record, for instance windrow run {0}{3} --prompt 'Classify: {{{{ {4} "
                           "}}}}' -o answers.csv",
                           name, what, with, id, column)};
}

}  // namespace

Contents contents_of(std::string_view front, bool whole, std::string_view name) {
  if (front.starts_with(kByteOrderMark)) front.remove_prefix(kByteOrderMark.size());
  const std::vector<std::string_view> lines = first_lines(front, whole);
  if (lines.empty() || !is_text(front)) return Contents::kRequests;
  if (first_letter(front) == '[') return contents_of_array(front);

  bool all_objects = true;
  bool any_object = false;
  for (const std::string_view line : lines) {
    any_object = any_object || first_letter(line) == '{';
    const auto parsed = parse_json(line);
    const auto* value = std::get_if<boost::json::value>(&parsed);
    const bool is_object = value != nullptr && value->is_object() && !value->get_object().empty();
    if (is_object && has_envelope(value->get_object())) return Contents::kRequests;
    all_objects = all_objects && is_object;
  }
  if (all_objects) return Contents::kJsonLines;
  if (any_object) return Contents::kRequests;
  if (format_of_name(name) == RecordFormat::kCsv || is_table(lines)) return Contents::kCsv;
  return Contents::kText;
}

bool is_request(const Record& record) {
  const boost::json::value* body = record.values.if_contains("body");
  return record.values.contains("custom_id") && body != nullptr && body->is_object();
}

Result<void> check_requests(batch::Input& input) {
  if (!input.rereadable()) return {};
  const Result<Front> front = read_front(input);
  if (!front) {
    // The lines before the damage run, and the job says what it is.
    if (front.error().kind == ErrorKind::kInvalid) return {};
    return front.error();
  }
  const std::string& name = input.name();
  if (std::optional<Error> parquet = parquet_error(front->bytes, name)) return *std::move(parquet);
  switch (contents_of(front->bytes, front->whole, name)) {
    case Contents::kRequests:
      return {};
    case Contents::kRequestArray:
      return Error{
          ErrorKind::kInvalid,
          fmt::format("{0} is a JSON array of requests; write one on each line, for instance with "
                      "jq -c '.[]' {0} > requests.jsonl",
                      name)};
    case Contents::kCsv:
      return table_error(name, "a CSV file", columns_of_input(input, RecordFormat::kCsv));
    case Contents::kJsonArray:
      return table_error(name, "a JSON array of records",
                         columns_of_input(input, RecordFormat::kJsonArray));
    case Contents::kJsonLines:
      return table_error(name, "a JSONL file of records",
                         columns_of_input(input, RecordFormat::kJsonLines));
    case Contents::kText:
      break;
  }
  return Error{
      ErrorKind::kInvalid,
      fmt::format("{0} is a text, and not a file of requests. To ask about each of its "
                  "lines{1}, write windrow run {2} --prompt '{{{{ text }}}}' -o answers.csv",
                  name, format_of_name(name) == RecordFormat::kText ? "" : ", name it NAME.txt",
                  format_of_name(name) == RecordFormat::kText ? name : "NAME.txt")};
}

}  // namespace windrow::table
