// Batches and files in the JSON of the OpenAI API: the body that creates a batch, and the objects
// that describe batches and files. Pure.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "batch/row_dialect.h"
#include "batches/batch_progress.h"
#include "batches/batch_record.h"
#include "batches/file_store.h"
#include "llm/answer.h"

namespace windrow::batches {

// {"id", "object": "batch", "endpoint", "model", "errors", "input_file_id", "completion_window",
// "status", ..., "request_counts", "usage", "metadata"}; and "windrow" with a `note` if something
// blocks the batch ("the disk is full; ..."), and with its `progress` while its rows run.
boost::json::object batch_json(const BatchRecord& record, std::string_view note = "",
                               const std::optional<BatchProgress>& progress = std::nullopt);

// {"rows_per_s", "output_tokens_per_s", "elapsed_s", "left_s", "failures": [{"status", "code",
// "rows"}]}
boost::json::object progress_json(const BatchProgress& progress);

// {"id", "object": "windrow.batch", "endpoint", "models", "key", "request_counts", "usage",
// "progress"}
boost::json::object running_json(const RunningBatch& batch);

// Reads the body of POST /v1/batches. A failure, 400, names the field and what it must be; unknown
// fields are refused.
std::variant<BatchRequest, llm::Failure> read_batch_request(const boost::json::object& body,
                                                            const batch::RowApis& apis = {});

// "24h", from "1h" to "8760h", as seconds; nullopt for other texts. And back.
std::optional<int64_t> window_of(std::string_view text);
std::string window_text(int64_t window_s);

// Bounds on how long files may be kept: 1 hour to 30 days, as in OpenAI's API.
inline constexpr int64_t kKeptSecondsMin = 3600;
inline constexpr int64_t kKeptSecondsMax = 2'592'000;

// {"id", "object": "file", "bytes", "created_at", "expires_at", "filename", "purpose", "status"}
boost::json::object file_json(const StoredFile& file);

}  // namespace windrow::batches
