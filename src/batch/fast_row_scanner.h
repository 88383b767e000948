// FastRowScanner: which row a line is, without reading it as JSON. Most lines of a job that goes on
// belong to rows that have their results, and must be told from the others as fast as they come.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "batch/line_source.h"
#include "batch/resume.h"
#include "batch/row_index.h"

namespace windrow::batch {

// As in RowKey.
struct GlancedRow {
  Hash128 identity;
  uint64_t fingerprint = 0;
};

// Used by one thread.
class FastRowScanner {
 public:
  // Of a line in the form that programs write: an object with custom_id, url, body, and perhaps
  // method "POST", each once, the url before the body, with plain strings. Nothing for any other
  // line: that needs a RowReader, and so does every row that runs. What is in the body is not
  // looked at: a row whose fingerprint is that of one which was read before has the body that was
  // read then.
  std::optional<GlancedRow> look(std::string_view line);

  // RowIndex::pass_over of what it sees.
  std::optional<Verdict> pass_over(const Line& line, Pass pass, RowIndex& index) {
    const std::optional<GlancedRow> row = line.too_long ? std::nullopt : look(line.bytes);
    return row ? index.pass_over(pass, row->identity, row->fingerprint) : std::nullopt;
  }

 private:
  std::string asked_;  // what the fingerprint is of
};

}  // namespace windrow::batch
