// BatchRecord: a batch, as it is kept: what was asked, how far it is, what came of it.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "batches/batch_state.h"
#include "batches/validate.h"
#include "llm/request.h"

namespace windrow::batches {

// The request that created a batch; batch_request.h reads it from a body.
struct BatchRequest {
  std::string input_file_id;
  llm::Endpoint endpoint = llm::Endpoint::kChatCompletions;

  // Of the lines, where they are asked in the words of another API that becomes `endpoint`; empty:
  // the endpoint's own.
  std::string api_url = {};

  int64_t window_s = 24 * 3600;
  boost::json::object metadata;
  std::optional<int64_t> output_expires_after_s;  // of both output files, from their creation

  friend bool operator==(const BatchRequest&, const BatchRequest&) = default;
};

// That its lines have.
std::string_view url_of(const BatchRequest& request);

struct RequestCounts {
  int64_t total = 0;
  int64_t completed = 0;
  int64_t failed = 0;

  friend bool operator==(const RequestCounts&, const RequestCounts&) = default;
};

// Of the rows that were answered.
struct BatchUsage {
  int64_t input_tokens = 0;
  int64_t cached_tokens = 0;  // of these
  int64_t output_tokens = 0;
  int64_t reasoning_tokens = 0;  // of these

  friend bool operator==(const BatchUsage&, const BatchUsage&) = default;
};

struct BatchRecord {
  int64_t number = 0;  // in the order of creation
  std::string id;
  std::string owner;  // the name of a key; empty: there were no keys
  BatchRequest request;
  BatchState state;

  // Laid under its bodies, for as long as it runs: what was so when it was made.
  boost::json::object body_defaults;

  std::vector<std::string> models;  // once it was validated: as its rows name them
  std::vector<BatchFault> faults;   // of kFailed
  RequestCounts counts;
  std::optional<BatchUsage> usage;  // once its rows have ended
  std::optional<std::string> output_file_id;
  std::optional<std::string> error_file_id;

  std::string idempotency_key;  // empty: it had none

  friend bool operator==(const BatchRecord&, const BatchRecord&) = default;
};

// For the database: all but number, id, owner and idempotency_key, which have columns of their own.
std::string record_text(const BatchRecord& record);

// Fills the rest of `record`. kInvalid: it is no such text.
Result<void> read_record(std::string_view text, BatchRecord& record);

}  // namespace windrow::batches
