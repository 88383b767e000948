#include "memory/bank/sqlite/word_search.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>

#include "memory/bank/sqlite/search_terms.h"

namespace windrow::memory {
namespace {

// Memories beyond this number make no term look more frequent, so that counting stays cheap.
constexpr int64_t kCountedMax = 4096;

// The terms that are in some memory but in the fewest. FTS5 itself is asked, because only it knows
// the stems of words.
Result<std::vector<std::string>> rarest(const Queries& queries, std::vector<std::string> terms) {
  std::vector<std::pair<int64_t, std::string>> counted;
  for (std::string& term : terms) {
    const Result<std::optional<int64_t>> count =
        queries.number("SELECT count(*) FROM (SELECT rowid FROM words WHERE words MATCH ? LIMIT ?)",
                       {term, kCountedMax});
    if (!count) return count.error();
    if (count->value_or(0) > 0) counted.emplace_back(**count, std::move(term));
  }
  std::ranges::sort(counted);
  if (counted.size() > kSearchTermsMax) counted.resize(kSearchTermsMax);
  std::vector<std::string> rare;
  rare.reserve(counted.size());
  for (auto& [count, term] : counted)
    rare.push_back(std::move(term));
  return rare;
}

}  // namespace

Result<std::vector<Hit>> search_words(const Queries& queries, std::string_view text,
                                      const std::vector<MemoryType>& types,
                                      const std::optional<std::vector<int64_t>>& tag_sets,
                                      int32_t hits_max) {
  std::vector<Hit> hits;
  std::vector<std::string> terms = search_terms(text);
  if (terms.size() > kSearchTermsMax) {
    Result<std::vector<std::string>> rare = rarest(queries, std::move(terms));
    if (!rare) return rare.error();
    terms = *std::move(rare);
  }
  if (terms.empty() || hits_max <= 0) return hits;
  std::vector<store::Value> values = {fmt::format("{}", fmt::join(terms, " OR "))};
  std::string sql =
      "SELECT m.id, -bm25(words) AS score FROM words CROSS JOIN memories AS m "
      "ON m.row = words.rowid WHERE words MATCH ? AND m.invalidated IS NULL";
  if (!types.empty()) {
    std::vector<int64_t> numbers;
    for (const MemoryType type : types)
      numbers.push_back(static_cast<int64_t>(type));
    sql += " AND m.type IN (SELECT value FROM json_each(?))";
    values.emplace_back(json_list(numbers));
  }
  if (tag_sets) {
    sql += " AND m.tag_set IN (SELECT value FROM json_each(?))";
    values.emplace_back(json_list(*tag_sets));
  }
  sql += " ORDER BY score DESC, m.row LIMIT ?";
  values.emplace_back(int64_t{hits_max});
  const Result<void> asked = queries.ask(sql, values, [&](const store::DatabaseRow& row) {
    hits.push_back({.id = MemoryId{row.text(0)}, .score = row.real(1)});
  });
  if (!asked) return asked.error();
  return hits;
}

}  // namespace windrow::memory
