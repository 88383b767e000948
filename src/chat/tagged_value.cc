#include "chat/tagged_value.h"

#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>

#include "chat/marks.h"
#include "json/scanner.h"

namespace windrow::chat {
namespace {

// The JSON that `text` is as a whole, or nothing.
std::string json_of(std::string_view text) {
  std::string value;
  JsonScanner scan;
  if (scan.take(text, value) != text.size()) return {};
  // A number is known to be over by what follows.
  std::string beyond;
  if (scan.state() == JsonScanner::State::kGoing) scan.take(",", beyond);
  return scan.state() == JsonScanner::State::kWhole ? value : std::string();
}

}  // namespace

std::string in_json_string(std::string_view text) {
  const std::string quoted = boost::json::serialize(boost::json::string(text));
  return quoted.substr(1, quoted.size() - 2);
}

std::string tagged_value_to_json(std::string_view text, ValueKind kind) {
  if (kind != ValueKind::kString) {
    const std::string_view bare = without_space(text);
    if (bare == "True") return "true";
    if (bare == "False") return "false";
    if (bare == "None") return "null";
    const bool quoted = bare.starts_with('"');
    if (std::string value = json_of(bare);
        !value.empty() && (kind == ValueKind::kJson || !quoted)) {
      return value;
    }
  }
  return '"' + in_json_string(text) + '"';
}

}  // namespace windrow::chat
