#include "memory/bank/sqlite/vector_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>

#include "memory/bank/sqlite/memory_rows.h"

namespace windrow::memory {
namespace {

// What a search may find.
struct Allowed {
  std::vector<int64_t> types;  // empty: all
  const std::optional<std::vector<int64_t>>& tag_sets;

  bool everything() const { return types.empty() && !tag_sets; }
  bool passes(int64_t type, int64_t tag_set) const {
    return (types.empty() || std::ranges::find(types, type) != types.end()) &&
           (!tag_sets || std::ranges::binary_search(*tag_sets, tag_set));
  }
};

// The memories that were found, as the file has them now: one may have gone or changed since.
Result<std::vector<Hit>> hits_of(const Queries& queries,
                                 std::span<const vectors::Neighbour> neighbours,
                                 const Allowed& allowed) {
  std::vector<int64_t> rows;
  rows.reserve(neighbours.size());
  for (const vectors::Neighbour& neighbour : neighbours)
    rows.push_back(neighbour.row);
  std::unordered_map<int64_t, std::string> ids;
  const Result<void> asked = queries.ask(
      "SELECT m.row, m.id, m.type, m.tag_set FROM json_each(?) AS found CROSS JOIN memories AS m "
      "ON m.row = found.value WHERE m.invalidated IS NULL",
      {json_list(rows)}, [&](const store::DatabaseRow& row) {
        if (allowed.passes(row.number(2), row.number(3))) ids.emplace(row.number(0), row.text(1));
      });
  if (!asked) return asked.error();
  std::vector<Hit> hits;
  hits.reserve(ids.size());
  for (const vectors::Neighbour& neighbour : neighbours) {
    const auto id = ids.find(neighbour.row);
    if (id != ids.end())
      hits.push_back({.id = MemoryId{std::move(id->second)}, .score = neighbour.cosine});
  }
  return hits;
}

}  // namespace

Result<std::vector<Hit>> VectorIndex::nearest(store::DatabaseReader& reader,
                                              std::span<const float> vector,
                                              const std::vector<MemoryType>& types,
                                              const std::optional<std::vector<int64_t>>& tag_sets,
                                              int32_t hits_max) {
  const Queries queries(reader);
  const Result<std::optional<int64_t>> size = queries.number("SELECT embedding_size FROM bank", {});
  if (!size) return size.error();
  if (size->value_or(0) == 0 || hits_max <= 0) return std::vector<Hit>();
  if (static_cast<size_t>(**size) != vector.size()) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("the query's embedding has {} numbers, and those of this bank have "
                             "{}: use the embedding model that it began with",
                             vector.size(), **size)};
  }
  Allowed allowed{.types = {}, .tag_sets = tag_sets};
  for (const MemoryType type : types)
    allowed.types.push_back(static_cast<int64_t>(type));
  const auto allows = [&](int64_t row) {
    const Labels& labels = labels_.at(row);
    return allowed.passes(labels.type, labels.tag_set);
  };
  const auto search = [&] {
    const auto count = static_cast<size_t>(hits_max);
    return allowed.everything() ? segment_->nearest(vector, count)
                                : segment_->nearest(vector, count, allows);
  };
  std::optional<std::vector<vectors::Neighbour>> neighbours;
  {
    const std::shared_lock lock(mutex_);
    if (segment_) neighbours = search();
  }
  if (!neighbours) {
    const std::unique_lock lock(mutex_);
    if (!segment_) {
      if (Result<void> loaded = load(queries); !loaded) return loaded.error();
    }
    neighbours = search();
  }
  return hits_of(queries, *neighbours, allowed);
}

Result<void> VectorIndex::load(const Queries& reader) {
  const Result<std::optional<int64_t>> size = reader.number("SELECT embedding_size FROM bank", {});
  if (!size) return size.error();
  segment_.emplace(static_cast<size_t>(std::max<int64_t>(size->value_or(0), 1)));
  labels_.clear();
  Result<void> done = read(reader, "", {});
  if (!done) segment_.reset();
  return done;
}

// A vector of another length than the bank's would be damage; it is not searched.
Result<void> VectorIndex::read(const Queries& reader, std::string_view rows,
                               Queries::Values values) {
  return reader.ask(
      fmt::format("SELECT m.row, m.type, m.tag_set, e.vector FROM {} embeddings AS e {} "
                  "CROSS JOIN memories AS m ON m.row = e.row WHERE m.invalidated IS NULL",
                  rows, rows.empty() ? "" : "ON e.row = wanted.value"),
      values, [&](const store::DatabaseRow& row) {
        const std::vector<float> vector = embedding_from(row.bytes(3));
        if (vector.size() != segment_->dimension()) return;
        segment_->set(row.number(0), vector);
        labels_.insert_or_assign(row.number(0),
                                 Labels{.tag_set = row.number(2), .type = row.number(1)});
      });
}

void VectorIndex::refresh(store::DatabaseReader& reader, std::span<const int64_t> rows) {
  const std::unique_lock lock(mutex_);
  if (!segment_) return;
  for (const int64_t row : rows) {
    segment_->remove(row);
    labels_.erase(row);
  }
  const Result<void> done =
      read(Queries(reader), "json_each(?) AS wanted CROSS JOIN", {json_list(rows)});
  if (!done) segment_.reset();
}

void VectorIndex::forget() {
  const std::unique_lock lock(mutex_);
  segment_.reset();
}

}  // namespace windrow::memory
