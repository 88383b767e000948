// The lines of the two logs (docs/formats.md): one JSON object each, with its line end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "batch/row.h"
#include "llm/answer.h"
#include "llm/request.h"

namespace windrow::batch {

// Every line of ours starts with this, and no other line should be cut as a torn one of ours.
inline constexpr std::string_view kLineStart = "{\"id\":\"batch_req_";

// How an outcome came about.
struct Tries {
  int32_t attempts = 0;         // 0: never submitted, or answered with another row
  int64_t tokens = 0;           // of all attempts, as far as it was told
  std::string earlier_failure;  // why the last but one failed; empty: it did not
};

// The same row has the same id whenever it runs.
std::string row_id(const RowKey& key);

// The body of an answer; `words` as Row::words.
std::string answer_body(const RowKey& key, llm::Endpoint endpoint, std::string_view model,
                        const llm::Answer& answer, int64_t created_unix_s, const RowWords* words);

// A row that was answered: for the results.
std::string result_line(const RowKey& key, llm::Endpoint endpoint, std::string_view model,
                        const llm::Answer& answer, const Tries& tries, int64_t created_unix_s,
                        const RowWords* words = nullptr);

// A row or line that was not: for the errors. A failure with status 0 has no response: nobody was
// asked.
std::string error_line(const RowFault& fault, const Tries& tries);

}  // namespace windrow::batch
