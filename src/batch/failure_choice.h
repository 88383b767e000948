// FailureChoice: which failures are tried again, as given to --retry-failed: "429,out_of_memory".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace windrow::batch {

class FailureChoice {
 public:
  // All failures.
  FailureChoice() = default;

  // Parses codes and statuses separated by commas. kInvalid where one is empty.
  static Result<FailureChoice> parse(std::string_view text);

  // The failures with one of these codes ("out_of_memory") or statuses ("429").
  static FailureChoice of(std::vector<std::string> words);

  bool all() const { return words_.empty(); }
  bool takes(int32_t status, std::string_view code) const;

  const std::vector<std::string>& words() const { return words_; }

 private:
  std::vector<std::string> words_;
};

}  // namespace windrow::batch
