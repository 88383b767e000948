#include "batch/row_index.h"

#include <optional>

namespace windrow::batch {
namespace {

constexpr uint64_t kFingerprintMask = (uint64_t{1} << 60) - 1;

}  // namespace

bool RowIndex::add_finished(const Hash128& identity, uint64_t fingerprint, bool succeeded) {
  const Entry entry{
      .fingerprint = fingerprint & kFingerprintMask, .finished = 1, .succeeded = succeeded};
  return rows_.try_emplace(identity, entry).second;
}

Verdict RowIndex::see_row(Pass pass, const RowKey& key, uint64_t raw_fingerprint) {
  const uint64_t fingerprint = key.fingerprint & kFingerprintMask;
  const auto [found, added] =
      rows_.try_emplace(key.identity, Entry{.fingerprint = key.fingerprint & kFingerprintMask});
  Entry& entry = found->second;
  std::optional<Known> known;
  if (!added) {
    known = Known{.finished = entry.finished != 0,
                  .succeeded = entry.succeeded != 0,
                  .seen = (pass == Pass::kCheck ? entry.seen_by_check : entry.seen_by_run) != 0,
                  .same = entry.fingerprint == fingerprint};
  }
  if (pass == Pass::kCheck) {
    entry.seen_by_check = 1;
  } else {
    entry.seen_by_run = 1;
  }
  const bool reported =
      known && known->seen && rows_.contains(line_identity(key.line, raw_fingerprint));
  return judge_row(known, reported);
}

Verdict RowIndex::see_line(const RowKey& key) const {
  return judge_line(rows_.contains(key.identity));
}

bool RowIndex::succeeded(const Hash128& identity) const {
  const auto found = rows_.find(identity);
  return found != rows_.end() && found->second.succeeded != 0;
}

}  // namespace windrow::batch
