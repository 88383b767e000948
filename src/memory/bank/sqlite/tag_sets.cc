#include "memory/bank/sqlite/tag_sets.h"

#include <string>

namespace windrow::memory {

// Sets are only ever added, with ascending numbers, so the last one that was read says where to go
// on. A reader with an older view finds sets here that it does not know; it has no memories of
// them.
Result<std::optional<std::vector<int64_t>>> TagSets::passing(const Queries& reader,
                                                             const TagFilter& filter) {
  std::optional<std::vector<int64_t>> numbers;
  if (filter.passes_all()) return numbers;
  const std::scoped_lock lock(mutex_);
  Result<void> read;
  const Result<void> asked = reader.ask("SELECT id, tags FROM tag_sets WHERE id > ? ORDER BY id",
                                        {sets_.empty() ? int64_t{0} : sets_.back().first},
                                        [&](const store::DatabaseRow& row) {
                                          if (!read) return;
                                          Result<Tags> tags = tags_from_json(row.text(1));
                                          if (tags)
                                            sets_.emplace_back(row.number(0), *std::move(tags));
                                          else
                                            read = tags.error().in("table tag_sets");
                                        });
  if (!asked) return asked.error();
  if (!read) return read.error();
  numbers.emplace();
  for (const auto& [number, tags] : sets_)
    if (filter.passes(tags)) numbers->push_back(number);
  return numbers;
}

Result<std::optional<int64_t>> tag_set_of(const Queries& queries, const Tags& tags) {
  return queries.number("SELECT id FROM tag_sets WHERE tags = ?", {to_json(tags)});
}

Result<int64_t> tag_set_added(BankChange& change, const Tags& tags) {
  const Result<std::optional<int64_t>> known = tag_set_of(change.queries(), tags);
  if (!known) return known.error();
  if (*known) return **known;
  const Result<void> added = change.run("INSERT INTO tag_sets (tags) VALUES (?)", {to_json(tags)});
  if (!added) return added.error();
  const Result<std::optional<int64_t>> number =
      change.queries().number("SELECT last_insert_rowid()", {});
  if (!number) return number.error();
  return number->value_or(0);
}

}  // namespace windrow::memory
