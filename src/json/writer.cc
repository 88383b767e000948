#include "json/writer.h"

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <cmath>

namespace windrow {
namespace {

namespace json = boost::json;

bool is_plain(char character) {
  const auto byte = static_cast<unsigned char>(character);
  return byte >= 0x20 && byte != '"' && byte != '\\' && byte != 0x7F;
}

constexpr size_t kLineMax = 90;
constexpr size_t kIndent = 2;

// Only a document has an indent; without one everything goes on one line.
class PrettyWriter {
 public:
  explicit PrettyWriter(bool on_lines) : on_lines_(on_lines) {}

  void write(const json::value& value, size_t indent, std::string& text) const {
    if (const double* number = value.if_double()) {
      append_json(*number, text);
    } else if (!value.is_structured()) {
      text += json::serialize(value);
    } else if (const bool nested = indent > 0; on_lines_ && !(nested && fits(value, indent))) {
      write_structure(value, indent + kIndent, "\n" + std::string(indent + kIndent, ' '),
                      "\n" + std::string(indent, ' '), text);
    } else {
      write_structure(value, 0, "", "", text);
    }
  }

 private:
  static bool fits(const json::value& value, size_t indent) {
    return indent + plain_json(value).size() <= kLineMax;
  }

  // `before` stands before every element, `after` behind the last.
  void write_structure(const json::value& value, size_t indent, const std::string& before,
                       const std::string& after, std::string& text) const {
    const PrettyWriter inner(on_lines_ && !before.empty());
    const std::string between = before.empty() ? ", " : "," + before;
    bool first = true;
    const auto separate = [&] {
      text += first ? before : between;
      first = false;
    };
    if (const json::object* object = value.if_object()) {
      text += '{';
      for (const json::key_value_pair& member : *object) {
        separate();
        text += json::serialize(json::value(member.key())) + ": ";
        inner.write(member.value(), indent, text);
      }
      text += (first ? "" : after) + "}";
      return;
    }
    text += '[';
    for (const json::value& element : value.get_array()) {
      separate();
      inner.write(element, indent, text);
    }
    text += (first ? "" : after) + "]";
  }

  bool on_lines_;
};

}  // namespace

void append_json(std::string_view value, std::string& text) {
  if (std::all_of(value.begin(), value.end(), is_plain)) {
    text += '"';
    text += value;
    text += '"';
    return;
  }
  text += json::serialize(json::string_view(value));
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

void append_json(double value, std::string& text) {
  if (!std::isfinite(value)) {
    text += "null";
    return;
  }
  const size_t start = text.size();
  append_format(text, "{}", value);
  if (text.find_first_of(".e", start) == std::string::npos) text += ".0";
}

void append_compact_json(const json::value& value, std::string& text) {
  if (const double* number = value.if_double()) return append_json(*number, text);
  if (const json::string* string = value.if_string()) return append_json(*string, text);
  if (const json::array* array = value.if_array()) {
    append_json_array(text, *array,
                      [&](const json::value& element) { append_compact_json(element, text); });
    return;
  }
  const json::object* object = value.if_object();
  if (object == nullptr) {
    text += json::serialize(value);
    return;
  }
  text += '{';
  bool first = true;
  for (const json::key_value_pair& member : *object) {
    if (!first) text += ',';
    first = false;
    append_json(member.key(), text);
    text += ':';
    append_compact_json(member.value(), text);
  }
  text += '}';
}

std::string plain_json(const json::value& value) {
  std::string text;
  PrettyWriter(false).write(value, 0, text);
  return text;
}

std::string pretty_json(const json::value& value) {
  std::string text;
  PrettyWriter(true).write(value, 0, text);
  return text + "\n";
}

}  // namespace windrow
