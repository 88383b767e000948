// Row: one line of the input as a request; RowFault: a line that cannot be answered. And how a row
// is recognised in later runs: its identity, and a fingerprint that changes when its request does.
// Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/hash.h"
#include "batch/row_dialect.h"
#include "json/members.h"
#include "llm/answer.h"
#include "llm/request.h"

namespace windrow::batch {

// What the rows of an input are.
enum class RowForm : uint8_t {
  kRequests,  // {"custom_id", "url", "body"}: a request to a model
  kInputs,    // {"custom_id", "input", "seed"}: the input of one instance of a program
};

// What a row is recognised by, in this run and in later ones. A row with a custom_id is identified
// by that, wherever in the input it stands. A line without one, a malformed line, and one that
// repeats the custom_id of an earlier line are identified by number and bytes, so that each is
// reported once.
struct RowKey {
  uint64_t line = 0;         // counted from 1
  std::string custom_id;     // empty when the line has none
  Hash128 identity;          // key of the index
  uint64_t fingerprint = 0;  // row_fingerprint, or line_fingerprint

  friend bool operator==(const RowKey&, const RowKey&) = default;
};

struct Row {
  RowKey key;

  // Of an input: `raw` is its JSON as it is written, sampling.seed the seed of its instance, and
  // `model`, which an input has none of, the custom_id, so that the instance can be named.
  llm::Request request;
  size_t bytes = 0;  // length of its line: its cost in a queue

  // Equal for rows whose answers are the same (temperature 0, a seed, embeddings); absent where the
  // answer is drawn at random. See question_of in llm/body_reader.h.
  std::optional<Hash128> question;

  // Unknown fields of its body that were left out (RowRules::unknown_fields).
  std::vector<std::string> ignored_fields;

  // Set for a row in the format of another API; null: the format of its endpoint.
  std::shared_ptr<const RowDialect> dialect = nullptr;

  RowForm form = RowForm::kRequests;

  // How many rows of this run were read before it.
  int64_t ordinal = 0;

  // Rows of one group share the beginning of their prompts; 0: no group. Set by RowPlanner.
  uint64_t group = 0;
};

struct RowFault {
  RowKey key;
  llm::Failure failure;

  // The line never became a request; its identity is line_identity.
  bool of_line = false;
};

using RowOrFault = std::variant<Row, RowFault>;

Hash128 row_identity(std::string_view custom_id);
Hash128 line_identity(uint64_t line, uint64_t fingerprint);

// A hash of the custom_id, and of `url` and `body` as they are written in `line`, without white
// space outside strings. `line` is the text of a JSON object. Other members of the line, and their
// order, do not count; the order inside the body does, and 1.0 is not 1.
uint64_t row_fingerprint(std::string_view line, std::string_view custom_id);
uint64_t row_fingerprint(const std::vector<JsonMember>& members, std::string_view custom_id);

// The same for a row of the form kInputs: of its `input` and `seed`.
uint64_t input_fingerprint(const std::vector<JsonMember>& members, std::string_view custom_id);

// A hash of all bytes of a line without a usable custom_id.
uint64_t line_fingerprint(std::string_view bytes, uint64_t length);

}  // namespace windrow::batch
