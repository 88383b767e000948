// CsvReader: the records of a CSV file, whose first line names the columns.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "table/csv_parser.h"
#include "table/record_bytes.h"
#include "table/record_reader.h"

namespace windrow::table {

class CsvReader final : public RecordReader {
 public:
  // Reads the names of the columns. `name`: of the input, for messages. kInvalid, kIo.
  static Result<std::unique_ptr<RecordReader>> open(std::unique_ptr<RecordBytes> bytes,
                                                    std::string name, const ReadOptions& options);

  Result<std::optional<Record>> next() override;
  const std::vector<std::string>* columns() const override { return &columns_; }
  RecordFormat format() const override { return RecordFormat::kCsv; }
  uint64_t bytes_read() const override { return bytes_->bytes_read(); }
  void interrupt() override;

 private:
  CsvReader(std::unique_ptr<RecordBytes> bytes, std::string name, char delimiter,
            const ReadOptions& options);

  Result<void> read_columns();
  Result<std::optional<CsvRow>> next_row();
  Result<void> read_more();
  Record record_of(CsvRow row);
  std::optional<std::string> problem_of(const CsvRow& row) const;

  std::unique_ptr<RecordBytes> bytes_;
  const std::string name_;
  const char delimiter_;
  const size_t record_bytes_max_;
  CsvParser parser_;
  std::string buffer_;
  std::vector<std::string> columns_;
  uint64_t number_ = 0;  // of records returned
  bool at_front_ = true;
  bool ended_ = false;
  std::optional<Error> error_;
  std::atomic<bool> interrupted_ = false;
};

}  // namespace windrow::table
