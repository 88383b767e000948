// RowReader: a line becomes a Row or a RowFault. Pure: the same line and rules give the same
// result, and no line can make it fail in any other way.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "batch/line_source.h"
#include "batch/row.h"
#include "json/members.h"
#include "llm/body_reader.h"

namespace windrow::batch {

// See the members of the same names in JobOptions. `raw`: requests go to servers elsewhere, which
// judge bodies themselves; then no body is refused for what stands in it.
struct RowRules {
  llm::BodyRules body;
  std::vector<std::string> models;
  bool any_model = false;
  bool raw = false;
  RowApis apis = {};
};

// A line that is JSON and has a custom_id: enough to look up whether it is done. Not longer than
// the bytes it was read from.
struct Envelope {
  RowKey key;
  boost::json::object line;
  std::vector<JsonMember> members;  // of the line, as they are written there
  size_t bytes = 0;
};

// Every method may be called from any thread.
class RowReader {
 public:
  explicit RowReader(RowRules rules);

  // First half: a fault of this half is always of_line.
  std::variant<Envelope, RowFault> open(const Line& line) const;

  // Second half: method, url, body and model. A fault of this half never is of_line.
  RowOrFault finish(Envelope envelope) const;

  // Both.
  RowOrFault read(const Line& line) const;

 private:
  std::optional<llm::Failure> check_model(const boost::json::value* model) const;

  RowRules rules_;
};

// The fault of a row whose custom_id an earlier line has; of_line, so `line` is its raw text.
RowFault duplicate_fault(const RowKey& key, const Line& line);

}  // namespace windrow::batch
