// FastRowScanner: the identity and fingerprint of a row without parsing its line. Most lines of a
// resumed job belong to finished rows, and are recognised as fast as they are read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "batch/line_source.h"
#include "batch/row.h"
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
  explicit FastRowScanner(RowForm form = RowForm::kRequests) : form_(form) {}

  // Scans a line in the form that programs write, with plain strings: of kRequests an object with
  // custom_id, url, body, and perhaps method "POST", each once, the url before the body; of kInputs
  // one with custom_id, input, and perhaps seed, each once. Nothing for any other line, which needs
  // a RowReader, as does every row that runs. Body and input are not checked: a row whose
  // fingerprint is that of a finished row has the same ones.
  std::optional<ScannedRow> scan(std::string_view line) {
    return form_ == RowForm::kInputs ? scan_input(line) : scan_request(line);
  }

  // RowIndex::pass_over for the scanned row.
  std::optional<Verdict> pass_over(const Line& line, Pass pass, RowIndex& index) {
    const std::optional<ScannedRow> row =
        line.too_long || line.problem != nullptr ? std::nullopt : scan(line.bytes);
    return row ? index.pass_over(pass, row->identity, row->fingerprint) : std::nullopt;
  }

 private:
  std::optional<ScannedRow> scan_request(std::string_view line);
  std::optional<ScannedRow> scan_input(std::string_view line);

  const RowForm form_;
  std::string asked_;  // the text that the fingerprint is a hash of
};

}  // namespace windrow::batch
