// SoundLines: which lines of a job's logs can be relied on although others cannot: those that are
// ours as a whole and answer a row of the input as it is now, the first of each row. Pure.
#pragma once

#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "batch/line_source.h"
#include "batch/log_scan.h"
#include "batch/row.h"
#include "batch/row_reader.h"
#include "batch/row_table.h"
#include "json/parse.h"

namespace windrow::batch {

// 16 bytes a row. Used by one thread.
class SoundLines {
 public:
  // One line of the input; all of them, in their order, before the first that is judged.
  void add_input(const Line& line);

  // One whole line of a log, without its line end; the results before the errors. Nothing: it is
  // sound, and no other line of its row is. Else why it is not ("it is not JSON").
  std::optional<std::string_view> judge(LogKind kind, std::string_view text);

 private:
  bool add(const RowKey& key);
  std::optional<std::string_view> judge(LogKind kind, const boost::json::value& value);

  // What a line is known by does not depend on what its row may ask.
  const RowReader reader_{RowRules{.models = {"any"}, .any_model = true, .raw = true}};
  RowTable rows_;
  JsonLineParser parsed_;
};

}  // namespace windrow::batch
