// FastRowScanner: the identity and fingerprint of a row without parsing its line. Most lines of a
// resumed job belong to finished rows, and are recognised as fast as they are read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "batch/line_source.h"
#include "batch/row_index.h"

namespace windrow::batch {

// The members of RowKey that it finds.
struct ScannedRow {
  Hash128 identity;
  uint64_t fingerprint = 0;
};

// Used by one thread.
class FastRowScanner {
 public:
  // Scans a line in the form that programs write: an object with custom_id, url, body, and perhaps
  // method "POST", each once, the url before the body, with plain strings. Nothing for any other
  // line, which needs a RowReader, as does every row that runs. The body is not checked: a row
  // whose fingerprint is that of a finished row has the same body.
  std::optional<ScannedRow> scan(std::string_view line);

  // RowIndex::pass_over for the scanned row.
  std::optional<Verdict> pass_over(const Line& line, Pass pass, RowIndex& index) {
    const std::optional<ScannedRow> row = line.too_long ? std::nullopt : scan(line.bytes);
    return row ? index.pass_over(pass, row->identity, row->fingerprint) : std::nullopt;
  }

 private:
  std::string asked_;  // the text that the fingerprint is a hash of
};

}  // namespace windrow::batch
