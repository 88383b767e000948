// Reads the two files and judges them. The only part that touches a disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "check_answers/score.h"

namespace windrow::check_answers {

struct WrongAnswer {
  std::string custom_id;
  std::string expected;
  std::optional<std::string> given;  // nothing: the row has no answer
};

struct Checked {
  Score score;
  std::vector<WrongAnswer> wrong;  // the first ones, in the order of the key
};

// Judges every row of the key; keeps at most `wrong_max` of the wrong answers. kNotFound or kIo for
// a file that cannot be read, kInvalid for one that is no such file: a line of another kind, a row
// that is there twice, a key without rows. Empty lines mean nothing.
Result<Checked> check_files(const std::filesystem::path& results, const std::filesystem::path& key,
                            size_t wrong_max);

}  // namespace windrow::check_answers
