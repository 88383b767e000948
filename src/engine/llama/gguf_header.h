// Reads the numbers in the header of a GGUF file and checks whether libllama can take them.
// libllama checks some values by assertions that end the process, divides by others, and with one
// never comes to an end; check_header() refuses such a file before libllama sees it. Any thread.
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
  std::string architecture;  // general.architecture; empty: not in the file

  // Numbers by their whole keys ("llama.block_count"). A single number is a list of one; a value
  // for each layer is a list. Texts and long lists (the vocabulary) are left out.
  std::map<std::string, std::vector<double>, std::less<>> numbers;

  // The value of "ARCHITECTURE.NAME" where it is one number.
  std::optional<double> number(std::string_view name) const;
};

// kInvalid: a value would make libllama end the process; the message has the key, the value, what
// is allowed, and what to do. Pure. Absent values are left to libllama to refuse.
Result<void> check_header(const GgufHeader& header);

// Reads a file's header. Takes some milliseconds, and for that time as much memory as the
// vocabulary. nullopt: libggml cannot read the file; libllama says why when it loads it.
std::optional<GgufHeader> read_gguf_header(const std::string& path);

}  // namespace windrow::engine
