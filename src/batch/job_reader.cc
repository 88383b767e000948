#include "batch/job_reader.h"

#include <fmt/format.h>

#include <utility>
#include <variant>

#include "base/format.h"
#include "batch/prescan.h"
#include "batch/row.h"

namespace windrow::batch {
namespace {

constexpr int64_t kSoundLine = -1;

}  // namespace

JobReader::JobReader(const RowReader& rows, RowIndex& index, JobCounters& counters, Options options,
                     Out out)
    : rows_(rows),
      index_(index),
      counters_(counters),
      options_(std::move(options)),
      out_(std::move(out)),
      scanner_(rows.form()) {}

JobReader::Report JobReader::read(LineSource& lines) {
  int64_t rows_read = 0;
  while (!out_.stopping()) {
    if (options_.rows_max && rows_read >= *options_.rows_max) {
      report_.to_end = true;
      break;
    }
    const auto line = lines.next();
    counters_.input_bytes_read = static_cast<int64_t>(lines.input_bytes_read());
    if (!line) {
      report_.error = line.error();
      break;
    }
    if (!*line) {
      report_.to_end = !out_.stopping();
      break;
    }
    ++rows_read;
    read_row(**line);
    if (bad_lines_ == kBadLinesMax) {
      report_.error = none_is_sound((*line)->problem != nullptr);
      break;
    }
  }
  if (report_.to_end) counters_.rows_total = rows_read;
  return report_;
}

void JobReader::read_row(const Line& line) {
  if (const auto finished = scanner_.pass_over(line, Pass::kRun, index_)) {
    bad_lines_ = kSoundLine;
    skip(*finished == Verdict::kFailed);
    return;
  }
  auto opened = rows_.open(line);
  auto* const unnamed = std::get_if<RowFault>(&opened);
  if (unnamed == nullptr) {
    bad_lines_ = kSoundLine;
  } else {
    count_bad(*unnamed);
  }
  const RowKey& key = unnamed != nullptr ? unnamed->key : std::get<Envelope>(opened).key;
  const Verdict verdict =
      unnamed != nullptr
          ? index_.lookup_line(Pass::kRun, key)
          : index_.lookup_row(Pass::kRun, key, line_fingerprint(line.bytes, line.length));
  switch (verdict) {
    case Verdict::kSucceeded:
      skip(false);
      return;
    case Verdict::kFailed:
    case Verdict::kReportedBefore:
      skip(true);
      return;
    case Verdict::kChanged:
      out_.fail(changed(key));
      return;
    case Verdict::kDuplicate:
      finish_fault(duplicate_fault(key, line));
      return;
    case Verdict::kReport:
      finish_fault(std::move(*unnamed));
      return;
    case Verdict::kNotWanted:
      out_.passed();
      return;
    case Verdict::kRun:
      break;
  }
  RowOrFault finished = rows_.finish(std::move(std::get<Envelope>(opened)));
  if (auto* fault = std::get_if<RowFault>(&finished)) {
    finish_fault(std::move(*fault));
    return;
  }
  Row& row = std::get<Row>(finished);
  row.ordinal = report_.rows_to_write++;
  count_ignored(row.ignored_fields);
  out_.run(std::move(row));
}

// `made`: the lines are made of something else.
Error JobReader::none_is_sound(bool made) const {
  const std::string count = with_thousands(kBadLinesMax);
  const bool inputs = rows_.form() == RowForm::kInputs;
  return Error{ErrorKind::kInvalid,
               made
                   ? fmt::format("{}: none of the first {} records could become a row ({}), so the "
                                 "rest was not read",
                                 options_.input_name, count, first_bad_)
                   : fmt::format("{}: none of the first {} lines is {} ({}), so the rest was not "
                                 "read; give a file with {} as a JSON object on each line",
                                 options_.input_name, count, inputs ? "a row" : "a request",
                                 first_bad_, inputs ? "one row" : "one request")};
}

void JobReader::count_ignored(const std::vector<std::string>& fields) {
  for (const std::string& field : fields) {
    const auto found = report_.ignored_fields.find(field);
    if (found != report_.ignored_fields.end()) {
      ++found->second;
    } else if (report_.ignored_fields.size() < kIgnoredNamesMax) {
      report_.ignored_fields.emplace(field, 1);
    }
  }
}

void JobReader::count_bad(const RowFault& fault) {
  if (bad_lines_ == kSoundLine) return;
  if (bad_lines_++ == 0) first_bad_ = fault.failure.message;
}

void JobReader::skip(bool failed) {
  ++(failed ? report_.skipped_failed : report_.skipped_succeeded);
  ++counters_.rows_skipped;
  out_.passed();
  if (options_.before_known) return;
  ++counters_.rows_before;
  if (failed) ++counters_.rows_before_failed;
}

void JobReader::finish_fault(RowFault fault) {
  RowOutcome outcome;
  outcome.ordinal = report_.rows_to_write++;
  outcome.key = std::move(fault.key);
  outcome.outcome = std::move(fault.failure);
  outcome.of_line = fault.of_line;
  out_.finish(std::move(outcome));
  out_.passed();
}

// An input that can be read only once, or a file that was written to since its pre-scan.
Error JobReader::changed(const RowKey& key) const {
  const bool succeeded = index_.succeeded(key.identity);
  Prescan found;
  found.changed.push_back({.line = key.line, .custom_id = key.custom_id, .succeeded = succeeded});
  found.rows_changed = 1;
  found.rows_changed_failed = succeeded ? 0 : 1;
  return changed_rows_error(found, options_.input_name);
}

}  // namespace windrow::batch
