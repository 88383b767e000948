// Validation of a batch's input before it runs: every line is read once, so that the client gets
// all faults of the file with line numbers. Bodies are checked when their rows run, and a bad one
// fails only its row.
//
// Memory grows only by 16 bytes per row, to find repeated custom_ids.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "batch/line_source.h"
#include "llm/answer.h"
#include "llm/request.h"

namespace windrow::batches {

// One fault of an input file.
struct BatchFault {
  std::string code;  // "invalid_json_line", "duplicate_custom_id", ...
  std::string message;
  std::string param;  // the member of the line at fault, or empty
  int64_t line = 0;   // from 1; 0: the whole file

  friend bool operator==(const BatchFault&, const BatchFault&) = default;
};

// How many faults are listed; one more says how many others there are.
inline constexpr size_t kFaultsMax = 100;

// How many models one file may name.
inline constexpr size_t kModelsMax = 64;

struct ValidationRules {
  llm::Endpoint endpoint = llm::Endpoint::kChatCompletions;
  std::string api_url = {};     // BatchRequest::api_url
  int64_t rows_max = 0;         // also bounds the texts to embed
  uint64_t text_bytes_max = 0;  // the limit of the line source, for the message
  bool mixed_models = false;    // rows may name several models

  // The name of the model that answers rows with this one, which is empty for rows without a model;
  // or why no such row can run.
  std::function<std::variant<std::string, llm::Failure>(const std::string& name)> find_model;
};

// An input without faults.
struct CheckedInput {
  int64_t rows = 0;
  std::vector<std::string>
      models;  // as rows name them, in order of appearance; "" for rows without

  friend bool operator==(const CheckedInput&, const CheckedInput&) = default;
};

// Reads `lines` to the end. If they are interrupted, the result means nothing. Blocks; kIo. A
// damaged input is a fault of the file.
Result<std::variant<CheckedInput, std::vector<BatchFault>>> validate(batch::LineSource& lines,
                                                                     const ValidationRules& rules);

}  // namespace windrow::batches
