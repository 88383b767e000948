// What is looked at before a batch runs: every line of its input, once, so that whoever made the
// file hears of all that is wrong with it, and with line numbers. What a body says is judged when
// its row runs, and costs that row alone.
//
// Memory does not grow with the input but for 16 bytes a row, to find names that are used twice.
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

// One of BatchRecord's errors.
struct BatchFault {
  std::string code;  // "invalid_json_line", "duplicate_custom_id", ...
  std::string message;
  std::string param;  // the member of the line at fault, or empty
  int64_t line = 0;   // from 1; 0: of the whole file

  friend bool operator==(const BatchFault&, const BatchFault&) = default;
};

// How many are listed; one more says how many there are besides.
inline constexpr size_t kFaultsMax = 100;

// How many models one file may name.
inline constexpr size_t kModelsMax = 64;

struct ValidationRules {
  llm::Endpoint endpoint = llm::Endpoint::kChatCompletions;
  std::string api_url = {};     // BatchRequest::api_url
  int64_t rows_max = 0;         // and of texts, where they are to be embedded
  uint64_t text_bytes_max = 0;  // what the lines were limited to, to say so
  bool mixed_models = false;    // one file may name several

  // The own name of the model that rows mean by this one - empty: they name none - or why no such
  // row can run.
  std::function<std::variant<std::string, llm::Failure>(const std::string& name)> find_model;
};

// The facts of an input without faults.
struct CheckedInput {
  int64_t rows = 0;
  std::vector<std::string> models;  // as rows name them, in the order of their first; may have ""

  friend bool operator==(const CheckedInput&, const CheckedInput&) = default;
};

// To its end, or until `lines` is interrupted: then nothing that can be relied on. kIo. An input
// that is damaged is a fault of the file.
Result<std::variant<CheckedInput, std::vector<BatchFault>>> validate(batch::LineSource& lines,
                                                                     const ValidationRules& rules);

}  // namespace windrow::batches
