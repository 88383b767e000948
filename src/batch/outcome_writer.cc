#include "batch/outcome_writer.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "batch/result_line.h"
#include "llm/prices.h"

namespace windrow::batch {
namespace {

// The sums that are added to the counters when a group is safe on disk.
struct GroupSums {
  int64_t succeeded = 0;
  int64_t rows_of_texts = 0;
  int64_t texts = 0;
  llm::TokenCount tokens;
  std::vector<std::pair<int32_t, std::string>> failures;  // status and code of each
};

void add_success(const RowOutcome& row, const llm::Usage& usage, GroupSums& sums) {
  ++sums.succeeded;
  sums.tokens += {.prompt = usage.prompt_tokens,
                  .cached = usage.cached_tokens,
                  .completion = usage.completion_tokens,
                  .reasoning = usage.reasoning_tokens};
  if (row.texts == 0) return;
  ++sums.rows_of_texts;
  sums.texts += row.texts;
}

void count_successes(const GroupSums& sums, JobCounters& counters) {
  counters.prompt_tokens += sums.tokens.prompt;
  counters.cached_tokens += sums.tokens.cached;
  counters.completion_tokens += sums.tokens.completion;
  counters.reasoning_tokens += sums.tokens.reasoning;
  counters.rows_of_texts += sums.rows_of_texts;
  counters.texts += sums.texts;
  // Last, so that a reader that sees a row sees what it used.
  counters.rows_succeeded += sums.succeeded;
}

void count_failures(const GroupSums& sums, JobCounters& counters) {
  for (const auto& [status, code] : sums.failures)
    counters.failures.add(status, code);
  counters.rows_failed += static_cast<int64_t>(sums.failures.size());
}

}  // namespace

OutcomeWriter::OutcomeWriter(const Clock& clock, JobCounters& counters, const Options& options,
                             Out out)
    : clock_(clock),
      counters_(counters),
      keep_truncated_(options.keep_truncated),
      out_(std::move(out)),
      failures_(options.failure_limit, options.succeeded_before),
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

// Counts a failure. True for one that came after the job was stopped for its failures and cost
// nothing: the next run finds it again.
bool OutcomeWriter::is_surplus(const RowOutcome& row, const llm::Failure& failure) {
  if (failures_.stop()) return failure.failure_class == llm::FailureClass::kRequest;
  const bool stops = failures_.add_failure({.ordinal = row.ordinal,
                                            .line = row.key.line,
                                            .custom_id = row.key.custom_id,
                                            .of_line = row.of_line,
                                            .failure = failure});
  if (!stops) return false;
  out_.too_many_failed(*failures_.stop());
  return failures_.stop()->alike;
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
      failures_.add_success();
      add_success(row, answer->usage, sums);
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
    if (is_surplus(row, failure)) continue;
    sums.failures.emplace_back(row.of_line ? 0 : failure.status, failure.code);
    group.errors += error_line(
        RowFault{.key = std::move(row.key), .failure = std::move(failure), .of_line = row.of_line},
        row.tries);
  }
  const auto done = log.commit(group, [&](LogKind kind) {
    if (kind == LogKind::kErrors) {
      count_failures(sums, counters_);
    } else {
      count_successes(sums, counters_);
    }
    counters_.log_bytes = static_cast<int64_t>(log.bytes());
  });
  if (!done) out_.failed(done.error());
  return done.has_value();
}

}  // namespace windrow::batch
