#include "batch/row_index.h"

namespace windrow::batch {
namespace {

// The 32 bits of a row: its state in the logs, the passes that saw it, its fingerprint. They are
// never 0: a row comes from a log, or from a pass.
constexpr uint32_t kStateMask = 3;
constexpr uint32_t kNew = 0;  // in no log
constexpr uint32_t kFailed = 1;
constexpr uint32_t kSucceeded = 2;
constexpr uint32_t kRetried = 3;
constexpr int kFingerprintShift = 4;

uint32_t seen_by(Pass pass) {
  return pass == Pass::kCheck ? 4 : 8;
}

uint32_t entry_of(uint32_t state, uint64_t fingerprint) {
  return state | (static_cast<uint32_t>(fingerprint) << kFingerprintShift);
}

uint32_t state_of(uint32_t entry) {
  return entry & kStateMask;
}

bool is_finished(uint32_t entry) {
  return state_of(entry) == kSucceeded || state_of(entry) == kFailed;
}

bool is_same(uint32_t entry, uint64_t fingerprint) {
  return entry >> kFingerprintShift == entry_of(0, fingerprint) >> kFingerprintShift;
}

}  // namespace

bool RowIndex::add_result(const Hash128& identity, uint64_t fingerprint) {
  return rows_.find_or_add(identity, entry_of(kSucceeded, fingerprint)).second;
}

bool RowIndex::add_failure(const Hash128& identity, uint64_t fingerprint, bool retried) {
  const uint32_t entry = entry_of(retried ? kRetried : kFailed, fingerprint);
  const auto [slot, added] = rows_.find_or_add(identity, entry);
  if (added) return true;
  if (state_of(rows_.value(slot)) != kSucceeded) rows_.set(slot, entry);
  return false;
}

void RowIndex::retry_line(uint64_t line) {
  lines_.try_emplace(line, false);
}

RowIndex::Totals RowIndex::totals() const {
  Totals totals;
  rows_.for_each([&](uint32_t entry) {
    switch (state_of(entry)) {
      case kSucceeded:
        ++totals.succeeded;
        return;
      case kFailed:
        ++totals.failed;
        return;
      case kRetried:
        ++totals.retried;
        return;
      default:
        return;
    }
  });
  return totals;
}

LineStatus RowIndex::line_status(Pass pass, uint64_t line, const Hash128& identity,
                                 uint64_t fingerprint) {
  LineStatus known;
  const auto reported = rows_.find(identity);
  known.reported = reported && is_finished(rows_.value(*reported)) &&
                   is_same(rows_.value(*reported), fingerprint);
  const auto retried = lines_.find(line);
  known.retried = retried != lines_.end();
  if (known.retried && pass == Pass::kRun) retried->second = true;
  return known;
}

Verdict RowIndex::lookup_row(Pass pass, const RowKey& key, uint64_t raw_fingerprint) {
  const auto [slot, added] =
      rows_.find_or_add(key.identity, entry_of(kNew, key.fingerprint) | seen_by(pass));
  std::optional<RowStatus> known;
  if (!added) {
    const uint32_t entry = rows_.value(slot);
    known = RowStatus{.finished = is_finished(entry),
                      .succeeded = state_of(entry) == kSucceeded,
                      .retried = state_of(entry) == kRetried,
                      .seen = (entry & seen_by(pass)) != 0,
                      .same = is_same(entry, key.fingerprint)};
    rows_.set(slot, entry | seen_by(pass));
  }
  // Only a duplicate is identified by its line as well.
  const bool duplicate = known && known->seen;
  LineStatus line;
  if (duplicate || !lines_.empty()) {
    line = line_status(pass, key.line, line_identity(key.line, raw_fingerprint), raw_fingerprint);
  }
  return judge_row(known, line, wanted_);
}

std::optional<Verdict> RowIndex::pass_over(Pass pass, const Hash128& identity,
                                           uint64_t fingerprint) {
  // A retried line is also identified by its number.
  if (!lines_.empty()) return std::nullopt;
  const auto slot = rows_.find(identity);
  if (!slot) return std::nullopt;
  const uint32_t entry = rows_.value(*slot);
  const bool seen = (entry & seen_by(pass)) != 0;
  if (seen || !is_finished(entry) || !is_same(entry, fingerprint)) return std::nullopt;
  rows_.set(*slot, entry | seen_by(pass));
  return state_of(entry) == kSucceeded ? Verdict::kSucceeded : Verdict::kFailed;
}

Verdict RowIndex::lookup_line(Pass pass, const RowKey& key) {
  return judge_line(line_status(pass, key.line, key.identity, key.fingerprint), wanted_);
}

bool RowIndex::succeeded(const Hash128& identity) const {
  const auto slot = rows_.find(identity);
  return slot && state_of(rows_.value(*slot)) == kSucceeded;
}

bool RowIndex::met_line(uint64_t line) const {
  const auto found = lines_.find(line);
  return found != lines_.end() && found->second;
}

Verdict judge_row(const std::optional<RowStatus>& row, const LineStatus& line, Wanted wanted) {
  // A corrected line may have a row that no log knows.
  const bool line_wanted = wanted == Wanted::kAll || line.retried;
  if (!row) return line_wanted ? Verdict::kRun : Verdict::kNotWanted;
  if (row->seen) {
    if (line.reported) return Verdict::kReportedBefore;
    return line_wanted ? Verdict::kDuplicate : Verdict::kNotWanted;
  }
  if (row->retried) return Verdict::kRun;
  if (!row->finished) return line_wanted ? Verdict::kRun : Verdict::kNotWanted;
  if (!row->same) return Verdict::kChanged;
  return row->succeeded ? Verdict::kSucceeded : Verdict::kFailed;
}

Verdict judge_line(const LineStatus& line, Wanted wanted) {
  if (line.reported) return Verdict::kReportedBefore;
  return wanted == Wanted::kAll || line.retried ? Verdict::kReport : Verdict::kNotWanted;
}

}  // namespace windrow::batch
