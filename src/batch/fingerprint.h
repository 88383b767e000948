// Fingerprint of a row: changes when what is asked changes, and not when it is only laid out anew.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "json/members.h"

namespace windrow::batch {

// Of `url` and `body` as they are written in `line`, white space outside strings left out, and of
// the custom_id. `line` is the text of a JSON object. Other members, and the order of members of
// the line, do not count; the order inside the body does, and 1.0 is not 1.
uint64_t row_fingerprint(std::string_view line, std::string_view custom_id);
uint64_t row_fingerprint(const std::vector<JsonMember>& members, std::string_view custom_id);

// Of a line that cannot be named: all of its bytes count.
uint64_t line_fingerprint(std::string_view bytes, uint64_t length);

}  // namespace windrow::batch
