// RecordReader: the records of a table, one at a time, in bounded memory: CSV and TSV (libcsv), a
// JSON array, JSONL, or lines of text; plain or compressed with gzip or zstd.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "batch/input.h"
#include "table/record.h"

namespace windrow::table {

enum class RecordFormat : uint8_t {
  kCsv,        // values separated by a delimiter; the first line names the columns
  kJsonArray,  // [{...}, {...}]
  kJsonLines,  // an object on each line
  kText,       // each line that is not blank is a record, with the one column "text"
};

struct ReadOptions {
  // Nothing: found by the ending of the name, and else by the first bytes.
  std::optional<RecordFormat> format = std::nullopt;

  // Of kCsv. 0: the most frequent of , ; tab and | in the first line; the tab where the name ends
  // in .tsv or .tab and the line has one.
  char delimiter = 0;

  // A record with more bytes ends the input: a quote is not closed, most likely.
  size_t record_bytes_max = size_t{64} << 20;
};

// Used by one thread, except interrupt() and bytes_read().
class RecordReader {
 public:
  virtual ~RecordReader() = default;

  // The next record; nothing at the end, or after interrupt(). A record that cannot be a row (too
  // few values, no object, not UTF-8) has a problem, and the next one follows.
  //   kInvalid  what comes cannot be separated into records: a quote that is not closed, no JSON,
  //             damaged compressed data. All records before that were returned. The message names
  //             the line.
  //   kIo
  // After a failure or the end every further call returns the same.
  virtual Result<std::optional<Record>> next() = 0;

  // The names of the columns, where all records have the same; null for JSON.
  virtual const std::vector<std::string>* columns() const = 0;

  virtual RecordFormat format() const = 0;

  // The bytes read from the input so far, before decompression. Any thread.
  virtual uint64_t bytes_read() const = 0;

  // Any thread: next() soon returns the end.
  virtual void interrupt() = 0;
};

// Opens `input` from the start. Blocks until its first line is there. Fails as Input::open, and
// with kInvalid for an input that is no table: Parquet, UTF-16, no column, a column without a name
// or with that of another one.
Result<std::unique_ptr<RecordReader>> open_records(batch::Input& input, const ReadOptions& options,
                                                   batch::BeforeWait before_wait = nullptr);

// --- what is known without reading all of it; pure ---

// The format that the ending of a name stands for, whatever it is compressed with: "a.csv.gz".
std::optional<RecordFormat> format_of_name(std::string_view name);

// Whether the ending of a name is that of values between tabs.
bool name_says_tabs(std::string_view name);

// The most frequent of , ; tab and | outside quotes; a comma where there is none.
char delimiter_of(std::string_view first_line);

// "comma", "semicolon", "tab": for messages.
std::string delimiter_name(char delimiter);

// "sku, title and 3 more".
std::string names_of_columns(const std::vector<std::string>& columns);
std::vector<std::string> columns_of(const Record& record);

// What to do with a file that begins like one of Parquet; nothing for another one.
std::optional<Error> parquet_error(std::string_view front, const std::string& name);

}  // namespace windrow::table
