// BatchRecord: a batch as it is stored: its request, its state and its results; and BatchTable, the
// rows of batches in the database.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "batches/batch_state.h"
#include "batches/reply.h"
#include "batches/validate.h"
#include "llm/request.h"
#include "store/database.h"

namespace windrow::batches {

// The request that created a batch; read_batch_request() reads it from a body.
struct BatchRequest {
  std::string input_file_id;
  llm::Endpoint endpoint = llm::Endpoint::kChatCompletions;

  // The path of another API that the lines have and that is translated to `endpoint`; empty: the
  // endpoint's own.
  std::string api_url = {};

  int64_t window_s = 24 * 3600;
  boost::json::object metadata;
  std::optional<int64_t> output_expires_after_s;  // for both output files, from their creation

  friend bool operator==(const BatchRequest&, const BatchRequest&) = default;
};

// The path that its lines have.
std::string_view url_of(const BatchRequest& request);

struct RequestCounts {
  int64_t total = 0;
  int64_t completed = 0;
  int64_t failed = 0;

  friend bool operator==(const RequestCounts&, const RequestCounts&) = default;
};

// The tokens of the rows that were answered.
struct BatchUsage {
  int64_t input_tokens = 0;
  int64_t cached_tokens = 0;  // part of the input tokens
  int64_t output_tokens = 0;
  int64_t reasoning_tokens = 0;  // part of the output tokens

  friend bool operator==(const BatchUsage&, const BatchUsage&) = default;
};

struct BatchRecord {
  int64_t number = 0;  // in the order of creation
  std::string id;
  std::string owner;  // the name of a key; empty: the server demanded no keys
  BatchRequest request;
  BatchState state;

  // The defaults for its bodies, fixed when it was created.
  boost::json::object body_defaults;

  std::vector<std::string> models;  // as its rows name them; known after validation
  std::vector<BatchFault> faults;   // kFailed
  RequestCounts counts;
  std::optional<BatchUsage> usage;  // so far; exact when its rows have ended
  std::optional<std::string> output_file_id;
  std::optional<std::string> error_file_id;

  std::string idempotency_key;  // empty: none

  friend bool operator==(const BatchRecord&, const BatchRecord&) = default;
};

// The record as text for the database, without number, id, owner and idempotency_key, which have
// columns.
std::string record_text(const BatchRecord& record);

// Reads that text into `record`. kInvalid if it is damaged.
Result<void> read_record(std::string_view text, BatchRecord& record);

struct BatchQuery {
  std::string after;  // an id; empty: start with the newest
  int64_t limit = 20;
};

// Thread-safe; every method waits for the disk. Errors are the database's; kInvalid for a damaged
// record.
class BatchTable {
 public:
  // `database` outlives it.
  explicit BatchTable(store::Database& database) : database_(database) {}

  // Also sets the number of `record`.
  Result<void> insert(BatchRecord& record);

  // Writes the state and the results.
  Result<void> update(const BatchRecord& record);

  Result<std::optional<BatchRecord>> find(std::string_view id);
  Result<std::optional<BatchRecord>> find_by_key(const std::string& owner,
                                                 const std::string& idempotency_key);

  // Newest first, one more than `limit` if there are more. Nullopt if the viewer sees no batch
  // `after`. Damaged records are skipped.
  Result<std::optional<std::vector<BatchRecord>>> list(const Viewer& viewer,
                                                       const BatchQuery& query);

  // The unfinished batches, oldest first. Damaged ones become failed and are named in `warnings`.
  Result<std::vector<BatchRecord>> unfinished(int64_t now_unix_s,
                                              std::vector<std::string>& warnings);

  // How many batches have each status.
  Result<std::vector<std::pair<BatchStatus, int64_t>>> counts();

 private:
  store::Database& database_;
};

}  // namespace windrow::batches
