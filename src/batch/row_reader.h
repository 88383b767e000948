// RowReader: turns a line into a Row or a RowFault. Pure: the same line and rules give the same
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

// See the members of the same names in JobOptions. `raw`: requests go to upstreams, which check
// bodies themselves; then no body is refused for its fields.
struct RowRules {
  llm::BodyRules body;
  std::vector<std::string> models;
  bool any_model = false;
  bool raw = false;
  RowApis apis = {};
  RowForm form = RowForm::kRequests;  // of kInputs no other rule counts
};

// A line that is JSON and has a custom_id, which is enough to look up whether its row is done.
// Valid as long as the bytes of the line.
struct Envelope {
  RowKey key;
  boost::json::object line;
  std::vector<JsonMember> members;  // of the line, as written
  size_t bytes = 0;
};

// Every method may be called from any thread.
class RowReader {
 public:
  explicit RowReader(RowRules rules);

  // The first half: JSON and custom_id. Its faults are of_line.
  std::variant<Envelope, RowFault> open(const Line& line) const;

  // The second half: method, url, body and model; or the input. Its faults are not of_line.
  RowOrFault finish(Envelope envelope) const;

  // Both halves.
  RowOrFault read(const Line& line) const;

  RowForm form() const { return rules_.form; }

 private:
  std::optional<llm::Failure> check_model(const boost::json::value* model) const;
  RowOrFault finish_input(Envelope envelope) const;

  RowRules rules_;
};

// The fault of a line whose custom_id an earlier line has; it is of_line.
RowFault duplicate_fault(const RowKey& key, const Line& line);

}  // namespace windrow::batch
