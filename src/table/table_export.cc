#include "table/table_export.h"

#include <fmt/format.h>

#include <boost/json/value.hpp>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "base/format.h"
#include "table/answer_cells.h"
#include "table/answer_index.h"
#include "table/row_template.h"
#include "table/table_columns.h"

namespace windrow::table {

namespace json = boost::json;

namespace {

constexpr size_t kWrittenBytes = size_t{64} << 10;

// The text on its way to the sink.
class Output {
 public:
  explicit Output(const TableSink& sink) : sink_(sink) {}

  std::string& text() { return text_; }

  Result<void> pass_on(size_t bytes_min) {
    if (text_.size() < bytes_min) return {};
    Result<void> passed = sink_(text_);
    text_.clear();
    return passed;
  }

 private:
  const TableSink& sink_;
  std::string text_;
};

// What the first pass over the input finds.
struct Survey {
  SeenNames columns;
  int64_t with_outcome = 0;
  int64_t waiting = 0;
};

class Export {
 public:
  Export(store::Disk& disk, const TableJob& job, TableFormat format, const TableSink& sink,
         const std::function<bool()>& interrupted)
      : disk_(disk), job_(job), format_(format), output_(sink), interrupted_(interrupted) {}

  Result<TableReport> run();

 private:
  Result<void> read_logs();
  Result<void> survey();
  Result<void> check_matched() const;
  Result<void> write_rows();
  Result<void> write_vectors();
  Result<void> for_each_record(const std::function<Result<void>(Record&)>& each);
  std::string id_of(const Record& record) const;
  std::vector<json::value> cells_of(const std::vector<TableColumn>& columns, const Record& record,
                                    AnswerCells answer) const;

  store::Disk& disk_;
  const TableJob& job_;
  const TableFormat format_;
  Output output_;
  const std::function<bool()>& interrupted_;

  std::unique_ptr<AnswerIndex> index_;
  SeenNames members_;
  uint64_t numbers_ = 0;
  bool fixed_columns_ = false;  // all records have the same
  Survey survey_;
  TableReport report_;
};

Result<TableReport> Export::run() {
  if (Result<void> read = read_logs(); !read) return read.error();
  if (Result<void> surveyed = survey(); !surveyed) return surveyed.error();
  if (Result<void> matched = check_matched(); !matched) return matched.error();
  Result<void> written = format_ == TableFormat::kNpy ? write_vectors() : write_rows();
  if (!written) return written.error();
  report_.waiting = survey_.waiting;
  report_.numbers = numbers_;
  report_.interrupted = interrupted_();
  return std::move(report_);
}

Result<void> Export::read_logs() {
  for (const std::string& name : job_.members)
    members_.add(name);
  const auto visit = [&](const json::object& line) {
    if (format_ != TableFormat::kNpy) {
      members_.add_members(read_answer(line, job_.structured).members);
    } else if (numbers_ == 0) {
      numbers_ = read_vector(line).size();
    }
  };
  Result<std::unique_ptr<AnswerIndex>> index =
      AnswerIndex::read(disk_, job_.paths, visit, interrupted_);
  if (!index) return index.error();
  index_ = *std::move(index);
  if (format_ != TableFormat::kNpy || numbers_ > 0 || interrupted_()) return {};
  return Error{ErrorKind::kInvalid,
               fmt::format("{} has no embedding, and .npy holds nothing else; name an output that "
                           "ends in .csv or .json",
                           job_.paths.results)};
}

Result<void> Export::for_each_record(const std::function<Result<void>(Record&)>& each) {
  Result<std::unique_ptr<RecordReader>> reader = open_records(job_.input, job_.read);
  if (!reader) return reader.error();
  fixed_columns_ = job_.of_requests || (*reader)->columns() != nullptr;
  if (job_.of_requests) survey_.columns.add("custom_id");
  if ((*reader)->columns() != nullptr) {
    for (const std::string& name : *(*reader)->columns())
      survey_.columns.add(name);
  }
  while (!interrupted_()) {
    Result<std::optional<Record>> record = (*reader)->next();
    if (!record) return record.error();
    if (!*record) break;
    if (job_.of_requests) {
      const json::value* id = (*record)->values.if_contains("custom_id");
      (*record)->values = {{"custom_id", id != nullptr ? *id : json::value(nullptr)}};
    }
    if (Result<void> done = each(**record); !done) return done;
  }
  return {};
}

// Empty for a record that became no row: what it has as its id may be that of another one.
std::string Export::id_of(const Record& record) const {
  if (record.problem) return {};
  auto id = custom_id_of(record, job_.of_requests ? "custom_id" : job_.id_column);
  auto* text = std::get_if<std::string>(&id);
  return text != nullptr ? std::move(*text) : std::string();
}

Result<void> Export::survey() {
  Result<void> surveyed = for_each_record([&](Record& record) -> Result<void> {
    if (index_->has(id_of(record), record.line)) {
      ++survey_.with_outcome;
    } else {
      ++survey_.waiting;
    }
    if (!fixed_columns_) survey_.columns.add_members(record.values);
    return {};
  });
  if (!surveyed || format_ == TableFormat::kNpy || !survey_.columns.full()) return surveyed;
  return Error{
      ErrorKind::kInvalid,
      fmt::format("the records of {} have {} columns or more, which a table cannot have; "
                  "their answers are in {}, by their custom_ids",
                  job_.input.name(), with_thousands(SeenNames::kNamesMax), job_.paths.results)};
}

// The results may be those of another input, or the ids those of another column.
Result<void> Export::check_matched() const {
  if (survey_.with_outcome > 0 || survey_.waiting == 0 || index_->empty() || interrupted_())
    return {};
  return Error{ErrorKind::kConflict,
               fmt::format("no record of {} has an outcome in {}; give the input of that job with "
                           "--input, and the column of its ids with --id",
                           job_.input.name(), job_.paths.results)};
}

std::vector<json::value> Export::cells_of(const std::vector<TableColumn>& columns,
                                          const Record& record, AnswerCells answer) const {
  std::vector<json::value> cells;
  cells.reserve(columns.size());
  for (const TableColumn& column : columns) {
    switch (column.of) {
      case CellOf::kInput:
      case CellOf::kMember: {
        const json::object& from = column.of == CellOf::kInput ? record.values : answer.members;
        const json::value* value = from.if_contains(column.key);
        cells.push_back(value != nullptr ? *value : json::value(nullptr));
        break;
      }
      case CellOf::kAnswer:
        cells.push_back(std::move(answer.answer));
        break;
      case CellOf::kFinishReason:
        cells.push_back(answer.finish_reason.empty() ? json::value(nullptr)
                                                     : json::value(answer.finish_reason));
        break;
      case CellOf::kError:
        cells.push_back(answer.error.empty() ? json::value(nullptr) : json::value(answer.error));
        break;
    }
  }
  return cells;
}

Result<void> Export::write_rows() {
  const std::vector<TableColumn> columns = table_columns(survey_.columns.names(), members_.names());
  for (const TableColumn& column : columns)
    report_.columns.push_back(column.name);
  const std::unique_ptr<TableWriter> writer = make_table_writer(format_, report_.columns);
  writer->begin(output_.text());
  Result<void> written = for_each_record([&](Record& record) -> Result<void> {
    const Result<const json::object*> line = index_->find(id_of(record), record.line);
    if (!line) return line.error();
    if (*line == nullptr) return {};
    AnswerCells answer = read_answer(**line, job_.structured);
    ++report_.rows;
    if (!answer.error.empty()) ++report_.failed;
    writer->add(cells_of(columns, record, std::move(answer)), output_.text());
    return output_.pass_on(kWrittenBytes);
  });
  if (!written) return written;
  writer->end(output_.text());
  return output_.pass_on(0);
}

Result<void> Export::write_vectors() {
  output_.text() = npy_header(static_cast<uint64_t>(survey_.with_outcome), numbers_);
  const std::vector<float> nothing(numbers_, std::numeric_limits<float>::quiet_NaN());
  Result<void> written = for_each_record([&](Record& record) -> Result<void> {
    const std::string id = id_of(record);
    if (!index_->has(id, record.line)) return {};
    const Result<const json::object*> line = index_->find(id, record.line);
    if (!line) return line.error();
    ++report_.rows;
    const std::vector<float> numbers =
        *line != nullptr ? read_vector(**line) : std::vector<float>();
    const json::value* error = *line != nullptr ? (*line)->if_contains("error") : nullptr;
    if (error != nullptr && error->is_object()) {
      ++report_.failed;
    } else if (numbers.size() != numbers_) {
      ++report_.not_vectors;
    }
    append_npy_row(numbers.size() == numbers_ ? numbers : nothing, output_.text());
    return output_.pass_on(kWrittenBytes);
  });
  if (!written) return written;
  if (report_.rows != survey_.with_outcome && !interrupted_()) {
    return Error{ErrorKind::kConflict,
                 fmt::format("{} changed while it was read; try again", job_.input.name())};
  }
  return output_.pass_on(0);
}

}  // namespace

Result<TableReport> write_table(store::Disk& disk, const TableJob& job, TableFormat format,
                                const TableSink& sink, const std::function<bool()>& interrupted) {
  return Export(disk, job, format, sink, interrupted).run();
}

}  // namespace windrow::table
