// ModelActions: what a model wants done with the observations of a scope, as its response says.
// Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace windrow::memory {

// Ids are those of the response: of facts and observations as the prompt named them.
struct ModelActions {
  struct Create {
    std::string text;
    std::vector<std::string> source_fact_ids;
    std::string reason;
  };
  struct Update {
    std::string text;
    std::string observation_id;
    std::vector<std::string> source_fact_ids;
    std::string reason;
  };
  struct Delete {
    std::string observation_id;
    std::string reason;
  };
  std::vector<Create> creates;
  std::vector<Update> updates;
  std::vector<Delete> deletes;
  // Items that were left out because they were malformed; the others count (one bad item does not
  // discard all). "creates[2]: no text".
  std::vector<std::string> malformed;
};

// Reads a response. kInvalid: it is no JSON object with one of these lists; a list that is absent
// is empty. A string where a list of ids belongs is a list of one. A thought before the object and
// a fence of markdown around it do not matter.
Result<ModelActions> parse_actions(std::string_view response);

// From the first brace after a thought to the last one; empty if there is none.
std::string_view json_object_in(std::string_view response);

}  // namespace windrow::memory
