#include "batch/row.h"

#include <fmt/format.h>

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

}  // namespace windrow::batch
