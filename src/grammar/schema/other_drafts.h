// Keywords that the draft of a schema lacks, in what must not hold: enforcing them there would
// allow what the standard does not. Pure, one thread.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "grammar/schema/schema_node.h"

namespace windrow::grammar {

class OtherDrafts {
 public:
  // The draft lacks this keyword of the place. `name` outlives this.
  void add_keyword(SchemaId place, std::string_view name) { keywords_.emplace_back(place, name); }

  // Whether this place holds must not hold, or is asked: of not, of if, one of oneOf.
  void add_judged(SchemaId place) { judged_.push_back(place); }

  // kInvalid: such a keyword is within a judged place.
  Result<void> check(const Schema& schema) const;

 private:
  std::vector<std::pair<SchemaId, std::string_view>> keywords_;
  std::vector<SchemaId> judged_;
};

}  // namespace windrow::grammar
