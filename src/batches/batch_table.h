// The rows of batches in the database.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "batches/batch_record.h"
#include "batches/reply.h"
#include "store/database.h"

namespace windrow::batches {

struct BatchQuery {
  std::string after;  // an id; empty: from the newest
  int64_t limit = 20;
};

// Thread-safe. Errors as the database's; kInvalid for a record that is damaged.
class BatchTable {
 public:
  // `database` outlives it.
  explicit BatchTable(store::Database& database) : database_(database) {}

  // Sets the number of `record`.
  Result<void> insert(BatchRecord& record);

  // What may change of one: its state and what came of it.
  Result<void> update(const BatchRecord& record);

  Result<std::optional<BatchRecord>> find(std::string_view id);
  Result<std::optional<BatchRecord>> find_by_key(const std::string& owner,
                                                 const std::string& idempotency_key);

  // The newest first, one more than `limit` where there is one more; nothing: there is no batch
  // `after` that the viewer sees. Those that are damaged are left out.
  Result<std::optional<std::vector<BatchRecord>>> list(const Viewer& viewer,
                                                       const BatchQuery& query);

  // Those that have not ended, the oldest first. What is damaged is called failed from now on and
  // named in `warnings`.
  Result<std::vector<BatchRecord>> unfinished(int64_t now_unix_s,
                                              std::vector<std::string>& warnings);

  Result<std::vector<std::pair<BatchStatus, int64_t>>> counts();

 private:
  store::Database& database_;
};

}  // namespace windrow::batches
