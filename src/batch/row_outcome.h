// RowOutcome: what became of one row, on its way to the log.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>

#include "batch/result_line.h"
#include "batch/row.h"
#include "llm/answer.h"
#include "llm/request.h"

namespace windrow::batch {

// What a value in a queue needs besides its texts.
inline constexpr size_t kQueuedOverheadBytes = 512;

struct RowOutcome {
  RowKey key;
  llm::Endpoint endpoint = llm::Endpoint::kChatCompletions;
  std::string model;
  std::shared_ptr<const RowWords> words;  // Row::words
  llm::Outcome outcome;                   // in these words
  Tries tries;
  bool of_line = false;  // see RowFault
};

// Bytes it takes while it waits to be written.
inline size_t cost_of(const RowOutcome& outcome) {
  size_t bytes = kQueuedOverheadBytes + outcome.key.custom_id.size() + outcome.model.size();
  if (const auto* answer = std::get_if<llm::Answer>(&outcome.outcome)) {
    bytes += llm::bytes_of(*answer);
  } else {
    bytes += std::get<llm::Failure>(outcome.outcome).message.size();
  }
  return bytes;
}

}  // namespace windrow::batch
