// One line of a key file: the right answer to one row.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace windrow::check_answers {

struct KeyLine {
  std::string custom_id;
  std::string task;
  std::string answer;
};

// {"custom_id": ..., "task": ..., "answer": ...}, all of them strings; other members mean nothing.
// kInvalid, saying what is wrong with the line.
Result<KeyLine> read_key_line(std::string_view line);

}  // namespace windrow::check_answers
