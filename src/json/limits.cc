#include "json/limits.h"

namespace windrow {
namespace {

// In Boost.JSON a value has 24 bytes, and a member of an object 40 besides its key. While they are
// parsed they lie on a stack that doubles, and then are copied to where they belong.
constexpr size_t kBytesPerValue = 112;

// Where a string that begins at `at` ends, behind its quotes.
size_t string_end(std::string_view text, size_t at) {
  for (++at; at < text.size(); ++at) {
    if (text[at] == '"') return at + 1;
    if (text[at] == '\\') ++at;
  }
  return text.size();
}

}  // namespace

// A value comes after a bracket, a comma or a colon, or is the first.
size_t count_json_values(std::string_view body) {
  size_t values = 1;
  for (size_t at = 0; at < body.size();) {
    const char c = body[at];
    if (c == '"') {
      at = string_end(body, at);
      continue;
    }
    if (c == '[' || c == '{' || c == ',' || c == ':') ++values;
    ++at;
  }
  return values;
}

size_t json_weight(size_t values, size_t body_bytes) {
  return values * kBytesPerValue + body_bytes;
}

}  // namespace windrow
