#include "json/writer.h"

#include <algorithm>
#include <array>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <cmath>

namespace windrow {
namespace {

bool is_plain(char character) {
  const auto byte = static_cast<unsigned char>(character);
  return byte >= 0x20 && byte != '"' && byte != '\\' && byte != 0x7F;
}

}  // namespace

void append_json(std::string_view value, std::string& text) {
  if (std::all_of(value.begin(), value.end(), is_plain)) {
    text += '"';
    text += value;
    text += '"';
    return;
  }
  text += boost::json::serialize(boost::json::string_view(value));
}

void append_json(float value, std::string& text) {
  if (!std::isfinite(value)) {
    text += "null";
    return;
  }
  std::array<char, 32> digits{};  // the longest is 15 characters
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  const std::string_view number(digits.data(), static_cast<size_t>(end - digits.data()));
  text += number;
  if (number.find_first_of(".e") == std::string_view::npos) text += ".0";
}

}  // namespace windrow
