#include "table/table_input.h"

#include <fmt/format.h>

#include <boost/json/serialize.hpp>
#include <utility>
#include <variant>

#include "batch/line_source.h"

namespace windrow::table {
namespace {

// How many records are looked at before a job begins.
constexpr int kFirstRecords = 20;

class TableLines final : public batch::LineSource {
 public:
  TableLines(std::unique_ptr<RecordReader> records, const RowTemplate& rows,
             batch::LineLimits limits)
      : records_(std::move(records)), rows_(rows), limits_(limits) {}

  Result<std::optional<batch::Line>> next() override {
    const Result<std::optional<Record>> record = records_->next();
    if (!record) return record.error();
    if (!*record) return std::optional<batch::Line>();
    auto made = rows_.line_of(**record);
    batch::Line line{.number = (*record)->line};
    if (auto* problem = std::get_if<batch::LineProblem>(&made)) {
      problem_ = std::move(*problem);
      line.problem = &problem_;
      text_ = boost::json::serialize((*record)->values);
    } else {
      text_ = std::move(std::get<std::string>(made));
    }
    line.bytes = text_;
    line.length = text_.size();
    if (line.length > limits_.line_bytes_max) {
      line.too_long = true;
      line.bytes = line.bytes.substr(0, limits_.too_long_bytes_kept);
    }
    return std::optional<batch::Line>(line);
  }

  uint64_t input_bytes_read() const override { return records_->bytes_read(); }
  void interrupt() override { records_->interrupt(); }

 private:
  std::unique_ptr<RecordReader> records_;
  const RowTemplate& rows_;
  const batch::LineLimits limits_;
  std::string text_;
  batch::LineProblem problem_;
};

}  // namespace

TableInput::TableInput(std::unique_ptr<batch::Input> file, ReadOptions options, RowTemplate rows)
    : file_(std::move(file)), options_(options), rows_(std::move(rows)) {}

Result<std::unique_ptr<batch::ByteSource>> TableInput::open(batch::BeforeWait before_wait) {
  return file_->open(std::move(before_wait));
}

Result<std::unique_ptr<batch::LineSource>> TableInput::open_lines(const batch::LineLimits& limits,
                                                                  batch::BeforeWait before_wait) {
  Result<std::unique_ptr<RecordReader>> records =
      open_records(*file_, options_, std::move(before_wait));
  if (!records) return records.error();
  return std::make_unique<TableLines>(*std::move(records), rows_, limits);
}

Result<std::string> check_first_records(TableInput& input) {
  Result<std::unique_ptr<RecordReader>> records = open_records(input.file(), input.read_options());
  if (!records) return records.error();
  std::optional<batch::LineProblem> first;
  for (int i = 0; i < kFirstRecords; ++i) {
    // What damages the input costs the job its rows up to there, and is reported then.
    const Result<std::optional<Record>> record = (*records)->next();
    if (!record || !*record) break;
    if ((*record)->problem) continue;
    auto line = input.rows().line_of(**record);
    if (auto* made = std::get_if<std::string>(&line)) return std::move(*made);
    if (!first) first = std::move(std::get<batch::LineProblem>(line));
  }
  if (!first) return std::string();
  return Error{
      ErrorKind::kInvalid,
      fmt::format("{}: no record could become a request. {}. Where only some records have a "
                  "column, write {{{{ name | default('') }}}}",
                  input.name(), first->message)};
}

}  // namespace windrow::table
