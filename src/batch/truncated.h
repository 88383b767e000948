// What becomes of an answer that was to have a structure and was cut before it was whole: it looks
// like an answer, and whoever parses it would find out late. So its row fails, with everything that
// was said in the body of the error. Pure.
#pragma once

#include <cstdint>
#include <string_view>

#include "batch/row.h"
#include "llm/answer.h"
#include "llm/request.h"

namespace windrow::batch {

// `answer.truncated` is set.
llm::Failure truncated_failure(const RowKey& key, llm::Endpoint endpoint, std::string_view model,
                               const llm::Answer& answer, int64_t created_unix_s,
                               const RowWords* words = nullptr);

}  // namespace windrow::batch
