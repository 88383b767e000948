// Row: one line of the input that asks for something; RowFault: one that cannot be answered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/hash.h"
#include "batch/row_words.h"
#include "llm/answer.h"
#include "llm/request.h"

namespace windrow::batch {

// The identity of a row, in this run and in later ones. A row with a custom_id is known by that,
// wherever in the input it stands. A line that has none, is malformed or repeats that of an earlier
// line is known by its number and its bytes, so that it is reported once.
struct RowKey {
  uint64_t line = 0;         // counted from 1
  std::string custom_id;     // empty when the line has none
  Hash128 identity;          // where the index finds it
  uint64_t fingerprint = 0;  // changes when what is asked changes

  friend bool operator==(const RowKey&, const RowKey&) = default;
};

struct Row {
  RowKey key;
  llm::Request request;
  size_t bytes = 0;  // of its line: what it costs in a queue

  // What is asked, where asking again brings the same answer: temperature 0, a seed, embeddings.
  std::optional<Hash128> question;

  // Fields of its body that are not known and were left out (RowRules::unknown_fields).
  std::vector<std::string> ignored_fields;
  // Of a row that was asked in the words of another API; null: in those of its endpoint.
  std::shared_ptr<const RowWords> words = nullptr;

  // Rows of one group begin alike; 0: of none. Set when it is planned.
  uint64_t group = 0;
};

struct RowFault {
  RowKey key;
  llm::Failure failure;

  // The line never became a request, and its identity is that of a line.
  bool of_line = false;
};

using RowOrFault = std::variant<Row, RowFault>;

Hash128 row_identity(std::string_view custom_id);
Hash128 line_identity(uint64_t line, uint64_t fingerprint);

}  // namespace windrow::batch
