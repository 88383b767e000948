#include "engine/schedule/admission_policy.h"

#include <algorithm>
#include <cmath>

namespace windrow::engine {
namespace {

// Before the first answer is known. Low: a preemption costs one row's prefill, an empty slot costs
// every step.
constexpr double kOutputTokensFirstGuess = 64;

// How much one finished row moves the estimate.
constexpr double kEstimateWeight = 0.05;

// A row that is already longer than expected will still go on for a while.
constexpr int32_t kOutputTokensLeftMin = 16;

// The most client rows of late are expected again; half of them after so many steps.
const double kClientsKeptPerStep = std::pow(0.5, 1.0 / 64);
constexpr double kClientsMin = 0.25;  // less counts as none

}  // namespace

AdmissionPolicy::AdmissionPolicy(int32_t rows_max, int32_t cells_max,
                                 const queueing::ReserveOptions& reserve)
    : rows_max_(rows_max),
      cells_max_(cells_max),
      reserve_(reserve),
      output_tokens_expected_(kOutputTokensFirstGuess) {}

int32_t AdmissionPolicy::expected_cells(const ScheduledRow& row) const {
  const int32_t generated = row.tokens - row.prompt_tokens;
  const int32_t left =
      std::max(kOutputTokensLeftMin, static_cast<int32_t>(output_tokens_expected_) - generated);
  return std::min(row.tokens + left, row.tokens_max - 1);
}

// What the row is still expected to add to the cells that are live now.
int64_t AdmissionPolicy::expected_growth(const ScheduledRow& row) const {
  return expected_cells(row) - (row.begun ? row.computed : row.shared_expected);
}

RunningLoad AdmissionPolicy::load(RunningRows running, int32_t cells_live,
                                  llm::Priority rank) const {
  RunningLoad load{.cells = cells_live};
  for (const ScheduledRow* row : running) {
    if (row->rank < rank) {
      load.cells -= row->computed;  // others may share some of these: the load is rather too low
      continue;
    }
    ++load.rows[static_cast<size_t>(row->rank)];
    load.cells += expected_growth(*row);
  }
  load.cells = std::max<int64_t>(load.cells, 0);
  return load;
}

RunningLoad AdmissionPolicy::load_without(RunningRows running, int32_t cells_live,
                                          llm::Priority rank) const {
  RunningLoad left = load(running, cells_live, llm::Priority::kInteractive);
  for (const ScheduledRow* row : running) {
    if (row->rank != rank) continue;
    --left.rows[static_cast<size_t>(rank)];
    left.cells -= row->computed + expected_growth(*row);
  }
  return left;
}

bool AdmissionPolicy::has_slot(const ScheduledRow& row, const RunningLoad& load) const {
  return reserve_.has_slot(rows_max_, load.rows, row.rank);
}

bool AdmissionPolicy::has_room(const ScheduledRow& row, const RunningLoad& load) const {
  if (!has_slot(row, load)) return false;
  const auto is_none = [](int32_t rows) { return rows == 0; };
  const bool is_first =
      std::all_of(load.rows.begin() + static_cast<ptrdiff_t>(row.rank), load.rows.end(), is_none);
  const bool is_only = std::ranges::all_of(load.rows, is_none);
  // A single row may be larger than what its priority may take.
  const int32_t cells_max = is_first ? cells_max_ : reserve_.capacity(cells_max_, row.rank);
  return is_only || load.cells + expected_growth(row) <= cells_max;
}

void AdmissionPolicy::observe_clients(int64_t rows) {
  clients_expected_ = std::max(clients_expected_ * kClientsKeptPerStep, static_cast<double>(rows));
}

bool AdmissionPolicy::is_kept_for_clients(const ScheduledRow& row, RunningRows running) const {
  const auto expected = static_cast<int32_t>(std::ceil(clients_expected_ - kClientsMin));
  if (row.rank != llm::Priority::kBatch || running.empty() || expected <= 0) return false;
  const auto of_batch = std::ranges::count(running, llm::Priority::kBatch, &ScheduledRow::priority);
  return of_batch + expected >= reserve_.capacity(rows_max_, llm::Priority::kNormal);
}

void AdmissionPolicy::row_ended(const ScheduledRow& row) {
  // Rows that may generate one token at most, or only score their prompt, say nothing of others.
  if (row.tokens_max - row.prompt_tokens <= 1) return;
  // The last token sampled was not appended to the row.
  const int32_t generated = row.tokens - row.prompt_tokens + 1;
  output_tokens_expected_ += kEstimateWeight * (generated - output_tokens_expected_);
}

void AdmissionPolicy::row_outgrew_memory(const ScheduledRow& row) {
  // It was expected to be shorter, and so were the others.
  output_tokens_expected_ =
      std::max(output_tokens_expected_, 2.0 * (row.tokens - row.prompt_tokens));
}

}  // namespace windrow::engine
