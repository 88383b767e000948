// One line of OpenAI Batch output: what a model answered to one row.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace windrow::check_answers {

struct ResultLine {
  std::string custom_id;              // empty: the line belongs to no row
  std::optional<std::string> answer;  // of the first choice; nothing when the row failed
};

// A chat completion or a failure. kInvalid, saying what is wrong with the line.
Result<ResultLine> read_result_line(std::string_view line);

}  // namespace windrow::check_answers
