#include "batch/row.h"

#include <fmt/format.h>

#include <string>

#include "base/hash.h"
#include "json/members.h"

namespace windrow::batch {

// The first word keeps a custom_id from passing for a line.
Hash128 row_identity(std::string_view custom_id) {
  std::string text = "row ";
  text += custom_id;
  return hash128(text);
}

Hash128 line_identity(uint64_t line, uint64_t fingerprint) {
  return hash128(fmt::format("line {} {}", line, to_hex(fingerprint)));
}

uint64_t row_fingerprint(std::string_view line, std::string_view custom_id) {
  return row_fingerprint(json_members(line), custom_id);
}

uint64_t row_fingerprint(const std::vector<JsonMember>& members, std::string_view custom_id) {
  const std::string_view url = json_member(members, "url");
  const std::string_view body = json_member(members, "body");
  std::string text;
  text.reserve(url.size() + body.size() + 1);
  append_json_without_space(url, text);
  text += '\n';
  append_json_without_space(body, text);
  return hash64(text, hash64(custom_id));
}

uint64_t input_fingerprint(const std::vector<JsonMember>& members, std::string_view custom_id) {
  const std::string_view input = json_member(members, "input");
  std::string text;
  text.reserve(input.size() + 1);
  append_json_without_space(input, text);
  text += '\n';
  text += json_member(members, "seed");
  return hash64(text, hash64(custom_id));
}

uint64_t line_fingerprint(std::string_view bytes, uint64_t length) {
  return hash64(bytes, length);
}

}  // namespace windrow::batch
