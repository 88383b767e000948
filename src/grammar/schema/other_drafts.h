// Keywords that the draft of a schema lacks, in what must not hold: enforcing them there would
// allow what the standard does not. Pure, one thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "grammar/schema/schema_node.h"

namespace windrow::grammar {

class OtherDrafts {
 public:
  // The draft lacks the keyword at `pointer`, which is one of the place.
  void add_keyword(SchemaId place, std::string pointer) {
    keywords_.emplace_back(place, std::move(pointer));
  }

  // Whether this place holds must not hold, or is asked: of not, of if, one of oneOf.
  void add_judged(SchemaId place) { judged_.push_back(place); }

  // kInvalid: such a keyword is within a judged place.
  Result<void> check(const Schema& schema) const;

 private:
  std::vector<std::pair<SchemaId, std::string>> keywords_;
  std::vector<SchemaId> judged_;
};

}  // namespace windrow::grammar
