// What the header of a GGUF file says in numbers, and whether libllama can take it. libllama checks
// some of these values by assertions that end the process, divides by others, and with one never
// comes to an end; check_header refuses them before libllama sees the file. Pure; any thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace windrow::engine {

// What to do about a file that cannot be used; the end of a message.
inline constexpr std::string_view kNewFileAdvice =
    "the file is damaged or was converted wrongly: get it again, or convert it again";

struct GgufHeader {
  std::string architecture;  // general.architecture; empty: the file does not say

  // By their whole keys ("llama.block_count"). A value that is one number is a list of one; one
  // that is given for each layer is a list. Texts and long lists (the vocabulary) are left out.
  std::map<std::string, std::vector<double>, std::less<>> numbers;

  // The value of "ARCHITECTURE.NAME" where it is one number.
  std::optional<double> number(std::string_view name) const;
};

// kInvalid for a value that libllama would end the process over: the key, the value, what is
// allowed, and what to do. Values that are absent are libllama's to refuse, in its words.
Result<void> check_header(const GgufHeader& header);

}  // namespace windrow::engine
