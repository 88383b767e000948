#include "schema/char_set.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace windrow::schema {
namespace {

// General categories by the long names that ECMA-262 allows; RE2 knows the short ones only.
constexpr std::array<std::pair<std::string_view, std::string_view>, 36> kCategories = {{
    {"Letter", "L"},
    {"Uppercase_Letter", "Lu"},
    {"Lowercase_Letter", "Ll"},
    {"Titlecase_Letter", "Lt"},
    {"Modifier_Letter", "Lm"},
    {"Other_Letter", "Lo"},
    {"Mark", "M"},
    {"Nonspacing_Mark", "Mn"},
    {"Spacing_Mark", "Mc"},
    {"Enclosing_Mark", "Me"},
    {"Number", "N"},
    {"Decimal_Number", "Nd"},
    {"Letter_Number", "Nl"},
    {"Other_Number", "No"},
    {"Punctuation", "P"},
    {"punct", "P"},
    {"Connector_Punctuation", "Pc"},
    {"Dash_Punctuation", "Pd"},
    {"Open_Punctuation", "Ps"},
    {"Close_Punctuation", "Pe"},
    {"Initial_Punctuation", "Pi"},
    {"Final_Punctuation", "Pf"},
    {"Other_Punctuation", "Po"},
    {"Symbol", "S"},
    {"Math_Symbol", "Sm"},
    {"Currency_Symbol", "Sc"},
    {"Modifier_Symbol", "Sk"},
    {"Other_Symbol", "So"},
    {"Separator", "Z"},
    {"Space_Separator", "Zs"},
    {"Line_Separator", "Zl"},
    {"Paragraph_Separator", "Zp"},
    {"Control", "Cc"},
    {"Format", "Cf"},
    {"Private_Use", "Co"},
    {"digit", "Nd"},
}};

bool is_short_category(std::string_view name) {
  constexpr std::string_view kShort =
      " L Lu Ll Lt Lm Lo M Mn Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po S Sm Sc Sk So Z Zs Zl Zp Cc "
      "Cf Co ";
  return name.find(' ') == std::string_view::npos &&
         kShort.find(fmt::format(" {} ", name)) != std::string_view::npos;
}

}  // namespace

const Ranges kDigits = {{'0', '9'}};
const Ranges kWord = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
// WhiteSpace and LineTerminator of ECMA-262.
const Ranges kSpace = {{0x09, 0x0D},     {0x20, 0x20},     {0xA0, 0xA0},     {0x1680, 0x1680},
                       {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F},
                       {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
const Ranges kLineEnds = {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};

Ranges complement(const Ranges& ranges) {
  Ranges result;
  char32_t next = 0;
  for (const Range& range : ranges) {
    if (range.first > next) result.push_back({next, range.first - 1});
    next = range.last + 1;
  }
  if (next <= kLastCharacter) result.push_back({next, kLastCharacter});
  return result;
}

std::optional<std::string> property_of(std::string_view name) {
  for (const std::string_view key : {"General_Category=", "gc="}) {
    if (name.starts_with(key)) name.remove_prefix(key.size());
  }
  for (const std::string_view key : {"Script=", "sc="}) {
    if (name.starts_with(key)) return std::string(name.substr(key.size()));
  }
  if (is_short_category(name)) return std::string(name);
  for (const auto& [longer, shorter] : kCategories) {
    if (name == longer) return std::string(shorter);
  }
  return std::nullopt;
}

}  // namespace windrow::schema
