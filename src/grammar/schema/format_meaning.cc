#include "grammar/schema/format_meaning.h"

#include <algorithm>
#include <array>

#include "grammar/lexeme/formats.h"

namespace windrow::grammar {
namespace {

namespace json = boost::json;
using Use = FormatMeaning::Use;

// OpenAPI's, of integers.
struct IntegerFormat {
  std::string_view name;
  std::string_view min;
  std::string_view max;
};
constexpr auto kIntegerFormats = std::to_array<IntegerFormat>({
    {"int8", "-128", "127"},
    {"int16", "-32768", "32767"},
    {"int32", "-2147483648", "2147483647"},
    {"int64", "-9223372036854775808", "9223372036854775807"},
    {"uint8", "0", "255"},
    {"uint16", "0", "65535"},
    {"uint32", "0", "4294967295"},
    {"uint64", "0", "18446744073709551615"},
});

// Whether the pattern beside says what all of the text is: then a format adds a name to it.
bool pattern_is_complete(const json::object& object) {
  const json::value* pattern = object.if_contains("pattern");
  if (pattern == nullptr || !pattern->is_string()) return false;
  const std::string_view text = pattern->get_string();
  // An alternative may be without the anchors of its neighbours.
  return text.starts_with('^') && text.ends_with('$') && !text.ends_with("\\$") &&
         text.find('|') == std::string_view::npos;
}

}  // namespace

FormatMeaning format_meaning(std::string_view name, Types types, const json::object& object) {
  if (format_dfa(name) != nullptr) return {.use = Use::kTexts};
  const auto* width = std::ranges::find(kIntegerFormats, name, &IntegerFormat::name);
  if (width != kIntegerFormats.end()) {
    if ((types & kIntegerType) == 0 || (types & kFractionType) != 0)
      return {.use = Use::kNeedsInteger};
    return {.use = Use::kIntegers, .min = width->min, .max = width->max};
  }
  // How precise a number is says nothing of which are valid.
  const bool number = object.contains("type") && (types & kNumberTypes) != 0;
  if (number && (name == "float" || name == "double")) return {};
  if ((types & kStringType) == 0) return {};
  if (name == "binary" || name == "password" || pattern_is_complete(object)) return {};
  return {.use = Use::kUnknown};
}

}  // namespace windrow::grammar
