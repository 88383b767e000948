// CsvParser: bytes to rows of texts, as RFC 4180 has them, by libcsv. Files of the real world
// differ from it in ways that have one meaning, which are accepted:
//   lines end with LF, CR LF or CR; blank lines are no rows; blanks after a closing quote
//   a quote inside a value that does not begin with one stands for itself: 5" pipe
// Anything else after a closing quote has no certain meaning: the row has a problem, and the next
// line begins a new one.
#pragma once

#include <csv.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace windrow::table {

struct CsvRow {
  uint64_t line = 0;  // where it begins, from 1
  std::vector<std::string> values;
  std::string problem;  // why it cannot be read; empty: it can
};

// Used by one thread.
class CsvParser {
 public:
  explicit CsvParser(char delimiter);
  ~CsvParser();
  CsvParser(const CsvParser&) = delete;
  CsvParser& operator=(const CsvParser&) = delete;

  // Takes the next bytes of the text, and completes rows with them.
  void feed(std::string_view bytes);

  // The text has ended. kInvalid: within quotes; the message names the line.
  Result<void> finish();

  // The next complete row; nothing where more bytes are needed first.
  std::optional<CsvRow> take();

  // Of the row that is not complete: its bytes so far, and the line where it begins.
  size_t open_bytes() const { return open_bytes_ + parser_.entry_pos; }
  uint64_t open_line() const { return row_.values.empty() ? line_ : row_.line; }

 private:
  static void on_value(void* bytes, size_t size, void* self);
  static void on_row_end(int byte, void* self);

  void begin();
  void add_value(std::string_view value);
  void end_row(int byte);
  void recover(char byte);
  void reject_row();
  std::string_view skip_line(std::string_view bytes);

  const char delimiter_;
  csv_parser parser_ = {};
  std::deque<CsvRow> rows_;
  CsvRow row_;
  size_t open_bytes_ = 0;  // of the values in row_
  uint64_t line_ = 1;
  bool after_return_ = false;  // a CR ended the last line; an LF that follows belongs to it
  bool skips_line_ = false;
  bool after_blank_ = false;  // the last byte was a blank behind a closing quote
};

// How often a line ends in `text`.
uint64_t count_line_ends(std::string_view text);

}  // namespace windrow::table
