#include "batch/input_check.h"

#include <fmt/format.h>

#include <utility>

#include "async/start_thread.h"
#include "base/format.h"
#include "batch/job_end.h"

namespace windrow::batch {

InputCheck::InputCheck(const JobOptions& options, Input& input, const RowReader& reader,
                       JobFiles& files, JobCounters& counters)
    : options_(options),
      input_(input),
      reader_(reader),
      files_(files),
      counters_(counters),
      compares_(files.index.size() > 0) {}

InputCheck::~InputCheck() {
  end();
}

Result<void> InputCheck::begin() {
  if (const auto size = input_.size()) {
    counters_.input_bytes_total = static_cast<int64_t>(*size);
  }
  // --strict makes a pass of its own once the model is there, and it counts too.
  if (!input_.rereadable() || options_.strict) return {};
  auto lines = open_lines(input_);
  if (!lines) return lines.error();
  lines_ = *std::move(lines);
  thread_ = async::start_thread("the pre-scan thread of a job", [this] { prescan(); });
  return {};
}

void InputCheck::prescan() {
  Prescan result = compares_ ? compare_rows(*lines_, options_.rows_max, reader_, files_.index)
                             : count_rows(*lines_, options_.rows_max);
  const std::scoped_lock lock(mutex_);
  // The reader of the job may have come to the end first, and interrupted this.
  if (result.whole && !interrupted_) counters_.rows_total = result.rows - result.rows_not_wanted;
  prescan_ = std::move(result);
}

// That is a mistake with the input rather than a job that is done.
Error InputCheck::emptied_error() const {
  return Error{
      ErrorKind::kConflict,
      fmt::format("{} has no rows, but {} and its errors have {} of an earlier run; restore "
                  "the input, or name another output with -o. The results stay as they are",
                  input_.name(), files_.paths.results,
                  with_thousands(static_cast<int64_t>(files_.index.size())))};
}

std::optional<Error> InputCheck::refusal() const {
  const std::scoped_lock lock(mutex_);
  if (!prescan_) return std::nullopt;
  if (compares_ && prescan_->whole && prescan_->rows == 0 && options_.rows_max != 0)
    return emptied_error();
  if (prescan_->rows_changed > 0) return changed_rows_error(*prescan_, input_.name());
  const bool none_left = options_.only_retried && !options_.rows_max && prescan_->whole &&
                         files_.start.retried > 0 && prescan_->rows_to_look_at == 0;
  if (none_left) return none_left_error(files_, input_.name());
  return std::nullopt;
}

Result<bool> InputCheck::wait(const Check& check, const OnFault& on_fault) {
  if (options_.strict) return check_strictly(check, on_fault);
  if (!compares_) {
    before_known_ = true;
    return true;
  }
  if (!thread_.joinable()) return true;
  thread_.join();
  if (interrupted()) return false;
  if (auto error = refusal()) return *std::move(error);
  if (prescan_) count_before(*prescan_);
  return true;
}

Result<bool> InputCheck::check_strictly(const Check& check, const OnFault& on_fault) {
  auto lines = open_lines(input_);
  if (!lines) return lines.error();
  LineSource& source = **lines;
  {
    const std::scoped_lock lock(mutex_);
    lines_ = *std::move(lines);
    if (interrupted_) return false;
  }
  int64_t faults = 0;
  std::string named;
  const Prescan prescan = check_rows(
      source, options_.rows_max, reader_, files_.index, check, [&](const RowFault& fault) {
        ++faults;
        if (on_fault) {
          on_fault(fault);
        } else if (faults <= static_cast<int64_t>(kNamedMax)) {
          const std::string place = fmt::format("line {}", fault.key.line);
          const bool has_place = fault.failure.message.starts_with(place + " ");
          named += fmt::format("\n  {}{}", has_place ? "" : place + ": ", fault.failure.message);
        }
      });
  if (interrupted()) return false;
  if (prescan.error) return *prescan.error;
  if (prescan.rows_changed > 0) return changed_rows_error(prescan, input_.name());
  if (faults > 0) {
    return Error{
        ErrorKind::kInvalid,
        fmt::format("{}: {} of {} rows cannot run; correct them, or leave out --strict, "
                    "which then costs only these rows{}",
                    input_.name(), with_thousands(faults), with_thousands(prescan.rows), named)};
  }
  counters_.rows_total = prescan.rows;
  count_before(prescan);
  return true;
}

void InputCheck::count_before(const Prescan& prescan) {
  counters_.rows_before = prescan.rows_finished;
  counters_.rows_before_failed = prescan.rows_finished_failed;
  before_known_ = true;
}

bool InputCheck::interrupted() const {
  const std::scoped_lock lock(mutex_);
  return interrupted_;
}

void InputCheck::interrupt() {
  const std::scoped_lock lock(mutex_);
  interrupted_ = true;
  if (lines_ != nullptr) lines_->interrupt();
}

void InputCheck::end() {
  interrupt();
  if (thread_.joinable()) thread_.join();
}

}  // namespace windrow::batch
