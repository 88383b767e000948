// The outcome of a row, and the line of a log that it becomes (docs/formats.md): one JSON object
// with its line end. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "batch/row.h"
#include "llm/answer.h"
#include "llm/request.h"

namespace windrow::batch {

// Every line that Windrow writes starts with this. A last line without a line end is cut off as a
// torn one only if it does.
inline constexpr std::string_view kLineStart = "{\"id\":\"batch_req_";

// How an outcome was obtained.
struct Tries {
  int32_t attempts = 0;         // 0: never submitted, or answered together with an equal row
  int64_t tokens = 0;           // of all attempts, as far as they are known
  std::string earlier_failure;  // of the last but one attempt; empty: there was none
};

// The outcome of one row on its way to the log.
struct RowOutcome {
  RowKey key;
  llm::Endpoint endpoint = llm::Endpoint::kChatCompletions;
  std::string model;
  std::shared_ptr<const RowDialect> dialect;  // Row::dialect
  llm::Outcome outcome;                       // in that dialect
  Tries tries;
  bool of_line = false;  // as RowFault::of_line
  int32_t texts = 0;     // to embed or to rank; 0 for other endpoints
  int64_t ordinal = 0;   // as Row::ordinal
};

// The overhead of a value in a queue, beside its texts.
inline constexpr size_t kQueuedOverheadBytes = 512;

// The bytes that an outcome takes while it waits to be written.
size_t cost_of(const RowOutcome& outcome);

// The same row has the same id whenever it runs.
std::string row_id(const RowKey& key);

// The body of an answer, in `dialect` where that is not null.
std::string answer_body(const RowKey& key, llm::Endpoint endpoint, std::string_view model,
                        const llm::Answer& answer, int64_t created_unix_s,
                        const RowDialect* dialect);

// The line of an answered row, for the results file.
std::string result_line(const RowKey& key, llm::Endpoint endpoint, std::string_view model,
                        const llm::Answer& answer, const Tries& tries, int64_t created_unix_s,
                        const RowDialect* dialect = nullptr);

// The line of a failed row or faulty line, for the errors file. With status 0 it has no response,
// because no backend was asked.
std::string error_line(const RowFault& fault, const Tries& tries);

// The failure of a row whose structured answer was cut before it was complete (`answer.truncated`).
// Such an answer looks like a result, and its reader would fail on it later; so the row fails now,
// and the body of its error has the answer.
llm::Failure truncated_failure(const RowKey& key, llm::Endpoint endpoint, std::string_view model,
                               const llm::Answer& answer, int64_t created_unix_s,
                               const RowDialect* dialect = nullptr);

}  // namespace windrow::batch
