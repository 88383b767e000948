// The table of body fields: one row for each name and the endpoints that read it alike.
#pragma once

#include "llm/draft.h"
#include "llm/request_json.h"

namespace windrow::llm {

// A row without a reader is refused, but for the one value that `values` may have.
struct Field {
  FieldRule rule;
  FieldReader read = nullptr;
};

// nullptr where the endpoint has no field of this name.
const Field* find_field(Endpoint endpoint, std::string_view name);

}  // namespace windrow::llm
