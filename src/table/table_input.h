// TableInput: a table as the input of a job. Each record becomes one line of a batch file, whose
// number is that of the record's line, so that errors name lines of the file that the user has.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "batch/input.h"
#include "table/record_reader.h"
#include "table/row_template.h"

namespace windrow::table {

// Thread-safe.
class TableInput final : public batch::Input {
 public:
  // `file`: the table itself.
  TableInput(std::unique_ptr<batch::Input> file, ReadOptions options, RowTemplate rows);

  // batch::Input; open() gives the bytes of the file.
  Result<std::unique_ptr<batch::ByteSource>> open(batch::BeforeWait before_wait) override;
  Result<std::unique_ptr<batch::LineSource>> open_lines(const batch::LineLimits& limits,
                                                        batch::BeforeWait before_wait) override;
  bool rereadable() const override { return file_->rereadable(); }
  std::optional<uint64_t> size() const override { return file_->size(); }
  const std::string& name() const override { return file_->name(); }

  batch::Input& file() { return *file_; }
  const ReadOptions& read_options() const { return options_; }
  const RowTemplate& rows() const { return rows_; }

 private:
  const std::unique_ptr<batch::Input> file_;
  const ReadOptions options_;
  const RowTemplate rows_;
};

// Reads the first records of a table, and checks that templates can be written with them. Returns
// the first line that a record gives, "" for a table without records.
//   kInvalid  none of them gives a line: most likely a template names a column that is not there;
//             or open_records
Result<std::string> check_first_records(TableInput& input);

}  // namespace windrow::table
