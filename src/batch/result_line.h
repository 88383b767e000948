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

// A row that was answered: for the results.
std::string result_line(const RowKey& key, llm::Endpoint endpoint, std::string_view model,
                        const llm::Answer& answer, int32_t attempts, int64_t created_unix_s);

// A row or line that was not: for the errors. `attempts` is 0 when it was never submitted.
std::string error_line(const RowFault& fault, int32_t attempts);

}  // namespace windrow::batch
