// FailureChoice: which failures are tried again, as people name them: "429,out_of_memory".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace windrow::batch {

class FailureChoice {
 public:
  // All of them.
  FailureChoice() = default;

  // Codes and statuses with commas between them. kInvalid where one is empty.
  static Result<FailureChoice> parse(std::string_view text);

  // Any of `words`: the code of a failure ("out_of_memory") or its status ("429").
  static FailureChoice of(std::vector<std::string> words);

  bool all() const { return words_.empty(); }
  bool takes(int32_t status, std::string_view code) const;

  const std::vector<std::string>& words() const { return words_; }

 private:
  std::vector<std::string> words_;
};

}  // namespace windrow::batch
