#include "table/csv_parser.h"

#include <fmt/format.h>

#include <new>
#include <utility>

#include "base/ensure.h"

namespace windrow::table {
namespace {

// With the options of libcsv: every line end is reported, so that lines can be counted, and what
// RFC 4180 does not allow is reported, so that recover() decides about it.
constexpr unsigned char kStrict = CSV_STRICT | CSV_STRICT_FINI | CSV_REPALL_NL;
constexpr unsigned char kLenient = CSV_REPALL_NL;

// The buffer of a value grows by so many bytes.
constexpr size_t kBlockBytes = size_t{64} << 10;

// Blanks belong to a value.
int no_blank(unsigned char) {
  return 0;
}

}  // namespace

uint64_t count_line_ends(std::string_view text) {
  uint64_t count = 0;
  for (size_t at = text.find_first_of("\r\n"); at != std::string_view::npos;
       at = text.find_first_of("\r\n", at)) {
    ++count;
    at += text.substr(at).starts_with("\r\n") ? 2 : 1;
  }
  return count;
}

CsvParser::CsvParser(char delimiter) : delimiter_(delimiter) {
  begin();
}

CsvParser::~CsvParser() {
  csv_free(&parser_);
}

void CsvParser::begin() {
  ENSURE(csv_init(&parser_, kStrict) == 0, "libcsv does not start");
  csv_set_delim(&parser_, static_cast<unsigned char>(delimiter_));
  csv_set_space_func(&parser_, no_blank);
  csv_set_blk_size(&parser_, kBlockBytes);
}

void CsvParser::on_value(void* bytes, size_t size, void* self) {
  static_cast<CsvParser*>(self)->add_value({static_cast<const char*>(bytes), size});
}

void CsvParser::on_row_end(int byte, void* self) {
  static_cast<CsvParser*>(self)->end_row(byte);
}

void CsvParser::add_value(std::string_view value) {
  if (row_.values.empty()) row_.line = line_;
  after_return_ = false;
  line_ += count_line_ends(value);
  open_bytes_ += value.size();
  row_.values.emplace_back(value);
}

// `byte`: the one that ended the line; -1 at the end of the text.
void CsvParser::end_row(int byte) {
  if (!row_.values.empty()) {
    rows_.push_back(std::exchange(row_, {}));
    open_bytes_ = 0;
  }
  const bool second_of_two = byte == '\n' && after_return_;
  if (byte >= 0 && !second_of_two) ++line_;
  after_return_ = byte == '\r';
}

void CsvParser::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    if (skips_line_) {
      bytes = skip_line(bytes);
      continue;
    }
    if (std::exchange(after_blank_, false) && bytes.front() == '"') {
      bytes.remove_prefix(1);
      reject_row();
      continue;
    }
    const size_t taken =
        csv_parse(&parser_, bytes.data(), bytes.size(), on_value, on_row_end, this);
    bytes.remove_prefix(taken);
    if (bytes.empty()) return;
    if (csv_error(&parser_) != CSV_EPARSE) throw std::bad_alloc();
    recover(bytes.front());
    bytes.remove_prefix(1);
  }
}

// Decides about a byte that RFC 4180 does not allow where it stands.
void CsvParser::recover(char byte) {
  if (parser_.quoted == 0) {
    csv_set_opts(&parser_, kLenient);
    csv_parse(&parser_, &byte, 1, on_value, on_row_end, this);
    csv_set_opts(&parser_, kStrict);
    return;
  }
  if (byte == ' ' || byte == '\t') {
    after_blank_ = true;
  } else {
    reject_row();
  }
}

// The row in progress ends here, and the next one begins with the next line.
void CsvParser::reject_row() {
  CsvRow row = std::exchange(row_, {});
  if (row.values.empty()) row.line = line_;
  line_ += count_line_ends({reinterpret_cast<const char*>(parser_.entry_buf), parser_.entry_pos});
  row.problem = fmt::format(
      "line {} has a value in quotes that goes on after its closing quote; write a quote that is "
      "part of the value twice",
      line_);
  rows_.push_back(std::move(row));
  open_bytes_ = 0;
  csv_free(&parser_);
  begin();
  skips_line_ = true;
}

// What follows the line end.
std::string_view CsvParser::skip_line(std::string_view bytes) {
  const size_t end = bytes.find_first_of("\r\n");
  if (end == std::string_view::npos) return {};
  skips_line_ = false;
  ++line_;
  after_return_ = bytes[end] == '\r';
  return bytes.substr(end + 1);
}

Result<void> CsvParser::finish() {
  if (skips_line_) return {};
  const uint64_t line = line_;
  if (csv_fini(&parser_, on_value, on_row_end, this) == 0) return {};
  return Error{ErrorKind::kInvalid,
               fmt::format("line {}: the quote that begins a value is not closed before the end of "
                           "the file; close it, or write a quote that is part of a value twice",
                           line)};
}

std::optional<CsvRow> CsvParser::take() {
  if (rows_.empty()) return std::nullopt;
  CsvRow row = std::move(rows_.front());
  rows_.pop_front();
  return row;
}

}  // namespace windrow::table
