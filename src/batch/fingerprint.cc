#include "batch/fingerprint.h"

#include <string>
#include <vector>

#include "base/hash.h"
#include "llm/json_members.h"

namespace windrow::batch {

uint64_t row_fingerprint(std::string_view line, std::string_view custom_id) {
  const std::vector<llm::JsonMember> members = llm::json_members(line);
  const std::string text = llm::json_without_space(llm::json_member(members, "url")) + '\n' +
                           llm::json_without_space(llm::json_member(members, "body"));
  return hash64(text, hash64(custom_id));
}

uint64_t line_fingerprint(std::string_view bytes, uint64_t length) {
  return hash64(bytes, length);
}

}  // namespace windrow::batch
