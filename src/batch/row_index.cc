#include "batch/row_index.h"

#include <optional>

namespace windrow::batch {
namespace {

constexpr uint64_t kFingerprintMask = (uint64_t{1} << 60) - 1;

}  // namespace

bool RowIndex::add_result(const Hash128& identity, uint64_t fingerprint) {
  const Entry entry{.fingerprint = fingerprint & kFingerprintMask, .finished = 1, .succeeded = 1};
  return rows_.try_emplace(identity, entry).second;
}

bool RowIndex::add_failure(const Hash128& identity, uint64_t fingerprint, bool retried) {
  const Entry entry{.fingerprint = fingerprint & kFingerprintMask,
                    .finished = retried ? uint64_t{0} : uint64_t{1},
                    .succeeded = retried ? uint64_t{1} : uint64_t{0}};
  const auto [found, added] = rows_.try_emplace(identity, entry);
  if (added) return true;
  const bool has_result = found->second.finished != 0 && found->second.succeeded != 0;
  if (!has_result) found->second = entry;
  return false;
}

void RowIndex::retry_line(uint64_t line) {
  lines_.try_emplace(line, false);
}

RowIndex::Totals RowIndex::totals() const {
  Totals totals;
  for (const auto& [identity, entry] : rows_) {
    if (entry.retried()) {
      ++totals.retried;
    } else if (entry.finished != 0) {
      ++(entry.succeeded != 0 ? totals.succeeded : totals.failed);
    }
  }
  return totals;
}

KnownLine RowIndex::known_line(Pass pass, uint64_t line, const Hash128& identity) {
  KnownLine known;
  const auto reported = rows_.find(identity);
  known.reported = reported != rows_.end() && reported->second.finished != 0;
  const auto retried = lines_.find(line);
  known.retried = retried != lines_.end();
  if (known.retried && pass == Pass::kRun) retried->second = true;
  return known;
}

Verdict RowIndex::see_row(Pass pass, const RowKey& key, uint64_t raw_fingerprint) {
  const uint64_t fingerprint = key.fingerprint & kFingerprintMask;
  const auto [found, added] =
      rows_.try_emplace(key.identity, Entry{.fingerprint = key.fingerprint & kFingerprintMask});
  Entry& entry = found->second;
  std::optional<Known> known;
  if (!added) {
    known = Known{.finished = entry.finished != 0,
                  .succeeded = entry.finished != 0 && entry.succeeded != 0,
                  .retried = entry.retried(),
                  .seen = (pass == Pass::kCheck ? entry.seen_by_check : entry.seen_by_run) != 0,
                  .same = entry.fingerprint == fingerprint};
  }
  if (pass == Pass::kCheck) {
    entry.seen_by_check = 1;
  } else {
    entry.seen_by_run = 1;
  }
  // Only a duplicate is known by its line as well as by its name.
  const bool duplicate = known && known->seen;
  KnownLine line;
  if (duplicate || !lines_.empty()) {
    line = known_line(pass, key.line, line_identity(key.line, raw_fingerprint));
  }
  return judge_row(known, line, wanted_);
}

Verdict RowIndex::see_line(Pass pass, const RowKey& key) {
  return judge_line(known_line(pass, key.line, key.identity), wanted_);
}

bool RowIndex::succeeded(const Hash128& identity) const {
  const auto found = rows_.find(identity);
  return found != rows_.end() && found->second.finished != 0 && found->second.succeeded != 0;
}

bool RowIndex::met_line(uint64_t line) const {
  const auto found = lines_.find(line);
  return found != lines_.end() && found->second;
}

}  // namespace windrow::batch
