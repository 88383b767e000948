#include "json/pretty.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>

namespace windrow {
namespace {

namespace json = boost::json;

constexpr size_t kLineMax = 90;
constexpr size_t kIndent = 2;

// A whole one keeps a ".0", so that it is read back as what it was.
std::string number_text(double number) {
  if (!std::isfinite(number)) return "null";
  std::string text = fmt::format("{}", number);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

// Only a document has an indent; without one everything goes on one line.
class Writer {
 public:
  explicit Writer(bool on_lines) : on_lines_(on_lines) {}

  void write(const json::value& value, size_t indent, std::string& text) const {
    if (const double* number = value.if_double()) {
      text += number_text(*number);
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
    const Writer inner(on_lines_ && !before.empty());
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

std::string plain_json(const json::value& value) {
  std::string text;
  Writer(false).write(value, 0, text);
  return text;
}

std::string pretty_json(const json::value& value) {
  std::string text;
  Writer(true).write(value, 0, text);
  return text + "\n";
}

}  // namespace windrow
