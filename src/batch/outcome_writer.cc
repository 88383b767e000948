#include "batch/outcome_writer.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>

#include "batch/result_line.h"

namespace windrow::batch {
namespace {

// The sums that are added to the counters when a group is safe on disk.
struct GroupSums {
  int64_t succeeded = 0;
  int64_t failed = 0;
  int64_t prompt_tokens = 0;
  int64_t completion_tokens = 0;
};

}  // namespace

OutcomeWriter::OutcomeWriter(const Clock& clock, JobCounters& counters, const Options& options,
                             Out out)
    : clock_(clock),
      counters_(counters),
      keep_truncated_(options.keep_truncated),
      out_(std::move(out)),
      outcomes_(options.unwritten_bytes_max) {}

void OutcomeWriter::finish(RowOutcome outcome) {
  const size_t cost = cost_of(outcome);
  ++counters_.rows_unwritten;
  if (!outcomes_.push(std::move(outcome), cost)) --counters_.rows_unwritten;
}

void OutcomeWriter::write(ResultLog log) {
  counters_.log_bytes = static_cast<int64_t>(log.bytes());
  for (;;) {
    std::vector<RowOutcome> group = outcomes_.pop_all_gathered(kGroupGather);
    if (group.empty()) {
      // If a log was removed after its last group, results that count as done are gone.
      if (auto still = log.check_in_place(); !still) out_.failed(still.error());
      return;
    }
    const auto size = static_cast<int64_t>(group.size());
    const bool written = write_group(log, std::move(group));
    counters_.rows_unwritten -= size;
    // No thread may block on a log that accepts nothing any more.
    if (!written) outcomes_.close();
  }
}

bool OutcomeWriter::write_group(ResultLog& log, std::vector<RowOutcome> outcomes) {
  const int64_t now_unix_s = clock_.unix_seconds();
  ResultLog::Group group;
  GroupSums sums;
  for (RowOutcome& row : outcomes) {
    if (const auto* answer = std::get_if<llm::Answer>(&row.outcome);
        answer != nullptr && answer->truncated && !keep_truncated_) {
      row.outcome = truncated_failure(row.key, row.endpoint, row.model, *answer, now_unix_s,
                                      row.dialect.get());
    }
    if (const auto* answer = std::get_if<llm::Answer>(&row.outcome)) {
      group.results += result_line(row.key, row.endpoint, row.model, *answer, row.tries, now_unix_s,
                                   row.dialect.get());
      ++sums.succeeded;
      sums.prompt_tokens += answer->usage.prompt_tokens;
      sums.completion_tokens += answer->usage.completion_tokens;
      continue;
    }
    auto& failure = std::get<llm::Failure>(row.outcome);
    switch (failure.failure_class) {
      case llm::FailureClass::kCancelled:
        continue;  // not a result: the next run does it
      case llm::FailureClass::kBackend:
        out_.failed(Error{ErrorKind::kUnavailable, failure.message});
        continue;
      case llm::FailureClass::kRequest:
      case llm::FailureClass::kTransient:
        break;
    }
    group.errors += error_line(
        RowFault{.key = std::move(row.key), .failure = std::move(failure), .of_line = row.of_line},
        row.tries);
    ++sums.failed;
  }
  const auto done = log.commit(group, [&](LogKind kind) {
    if (kind == LogKind::kErrors) {
      counters_.rows_failed += sums.failed;
    } else {
      counters_.rows_succeeded += sums.succeeded;
      counters_.prompt_tokens += sums.prompt_tokens;
      counters_.completion_tokens += sums.completion_tokens;
    }
    counters_.log_bytes = static_cast<int64_t>(log.bytes());
  });
  if (!done) out_.failed(done.error());
  return done.has_value();
}

}  // namespace windrow::batch
