#include "session/history/canonical_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <charconv>
#include <cmath>
#include <iterator>
#include <numeric>

#include "json/limits.h"

namespace windrow::session {
namespace {

namespace json = boost::json;

void append_head(char kind, size_t size, std::string& form) {
  fmt::format_to(std::back_inserter(form), "{}{}:", kind, size);
}

// A number as JSON writes it: its sign, its digits without zeros at the ends, and the power of ten.
// False where the exponent is longer than 64 bits.
bool append_number(std::string_view text, std::string& form) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const size_t mark = std::min(text.find_first_of("eE"), text.size());
  int64_t exponent = 0;
  if (mark < text.size()) {
    std::string_view power = text.substr(mark + 1);
    if (power.starts_with('+')) power.remove_prefix(1);
    const auto read = std::from_chars(power.data(), power.data() + power.size(), exponent);
    constexpr int64_t kExponentMax = int64_t{1} << 60;
    if (read.ec != std::errc{} || exponent > kExponentMax || exponent < -kExponentMax) return false;
  }
  const std::string_view mantissa = text.substr(0, mark);
  const size_t point = std::min(mantissa.find('.'), mantissa.size());
  std::string digits(mantissa.substr(0, point));
  if (point < mantissa.size()) {
    digits += mantissa.substr(point + 1);
    exponent -= static_cast<int64_t>(mantissa.size() - point - 1);
  }
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
  const size_t kept = digits.find_last_not_of('0') + 1;  // npos + 1 is 0
  exponent += static_cast<int64_t>(digits.size() - kept);
  digits.resize(kept);
  const std::string number =
      digits.empty() ? "0" : fmt::format("{}{}e{}", negative ? "-" : "", digits, exponent);
  append_head('n', number.size(), form);
  form += number;
  return true;
}

void append_double(double number, std::string& form) {
  const std::string text = fmt::format("{}", number);
  if (std::isfinite(number)) {
    append_number(text, form);
  } else {
    append_head('n', text.size(), form);
    form += text;
  }
}

// Makes the form of the events of Boost's parser. A container takes the forms put on the stack
// since it began.
class FormBuilder {
 public:
  static constexpr size_t max_object_size = static_cast<size_t>(-1);
  static constexpr size_t max_array_size = static_cast<size_t>(-1);
  static constexpr size_t max_key_size = static_cast<size_t>(-1);
  static constexpr size_t max_string_size = static_cast<size_t>(-1);

  using Code = boost::system::error_code;

  bool on_document_begin(Code&) { return true; }
  bool on_document_end(Code&) { return true; }
  bool on_object_begin(Code&) { return true; }
  bool on_array_begin(Code&) { return true; }
  bool on_comment_part(json::string_view, Code&) { return true; }
  bool on_comment(json::string_view, Code&) { return true; }

  bool on_object_end(size_t count, Code& error) {
    const size_t first_name = names_.size() - count;
    const size_t first_form = forms_.size() - count;
    std::vector<size_t> order(count);
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return names_[first_name + a] < names_[first_name + b]; });
    std::string form;
    begin_canonical_object(count, form);
    for (size_t i = 0; i < count; ++i) {
      const std::string& name = names_[first_name + order[i]];
      if (i > 0 && name == names_[first_name + order[i - 1]]) return refuse(error);
      append_canonical_text(name, form);
      form += forms_[first_form + order[i]];
    }
    names_.resize(first_name);
    forms_.resize(first_form);
    return push(std::move(form));
  }

  bool on_array_end(size_t count, Code&) {
    const size_t first = forms_.size() - count;
    std::string form;
    begin_canonical_array(count, form);
    for (size_t i = first; i < forms_.size(); ++i)
      form += forms_[i];
    forms_.resize(first);
    return push(std::move(form));
  }

  bool on_key_part(json::string_view text, size_t, Code&) { return add(text); }
  bool on_key(json::string_view text, size_t, Code&) {
    add(text);
    names_.push_back(std::exchange(text_, {}));
    return true;
  }
  bool on_string_part(json::string_view text, size_t, Code&) { return add(text); }
  bool on_string(json::string_view text, size_t, Code&) {
    add(text);
    std::string form;
    append_canonical_text(text_, form);
    text_.clear();
    return push(std::move(form));
  }

  bool on_number_part(json::string_view text, Code&) { return add(text); }
  bool on_int64(int64_t, json::string_view text, Code& error) { return number(text, error); }
  bool on_uint64(uint64_t, json::string_view text, Code& error) { return number(text, error); }
  bool on_double(double, json::string_view text, Code& error) { return number(text, error); }

  bool on_bool(bool truth, Code&) { return push(truth ? "t" : "f"); }
  bool on_null(Code&) { return push("z"); }

  std::string& form() { return forms_.front(); }

 private:
  // Any error will do: the caller only asks whether there was one.
  static bool refuse(Code& error) {
    error = json::error::syntax;
    return false;
  }

  bool add(json::string_view text) {
    text_.append(text.data(), text.size());
    return true;
  }

  bool number(json::string_view text, Code& error) {
    add(text);
    std::string form;
    if (!append_number(text_, form)) return refuse(error);
    text_.clear();
    return push(std::move(form));
  }

  bool push(std::string form) {
    forms_.push_back(std::move(form));
    return true;
  }

  std::vector<std::string> forms_;
  std::vector<std::string> names_;
  std::string text_;  // so far of a name, string or number
};

}  // namespace

void append_canonical_text(std::string_view text, std::string& form) {
  append_head('s', text.size(), form);
  form += text;
}

void begin_canonical_array(size_t elements, std::string& form) {
  append_head('a', elements, form);
}

void begin_canonical_object(size_t members, std::string& form) {
  append_head('o', members, form);
}

std::vector<const json::key_value_pair*> sorted_members(const json::object& object) {
  std::vector<const json::key_value_pair*> members;
  members.reserve(object.size());
  for (const json::key_value_pair& member : object)
    members.push_back(&member);
  std::sort(members.begin(), members.end(), [](const auto* a, const auto* b) {
    return std::string_view(a->key()) < std::string_view(b->key());
  });
  return members;
}

void append_canonical(const json::value& value, std::string& form) {
  switch (value.kind()) {
    case json::kind::null:
      form += 'z';
      break;
    case json::kind::bool_:
      form += value.get_bool() ? 't' : 'f';
      break;
    case json::kind::int64:
      append_number(fmt::format("{}", value.get_int64()), form);
      break;
    case json::kind::uint64:
      append_number(fmt::format("{}", value.get_uint64()), form);
      break;
    case json::kind::double_:
      append_double(value.get_double(), form);
      break;
    case json::kind::string:
      append_canonical_text(value.get_string(), form);
      break;
    case json::kind::array:
      begin_canonical_array(value.get_array().size(), form);
      for (const json::value& element : value.get_array())
        append_canonical(element, form);
      break;
    case json::kind::object:
      begin_canonical_object(value.get_object().size(), form);
      for (const json::key_value_pair* member : sorted_members(value.get_object())) {
        append_canonical_text(member->key(), form);
        append_canonical(member->value(), form);
      }
      break;
  }
}

std::optional<std::string> canonical_object_of(std::string_view text) {
  json::parse_options options;
  options.max_depth = kJsonDepthMax;
  json::basic_parser<FormBuilder> parser(options);
  boost::system::error_code error;
  const size_t read = parser.write_some(false, text.data(), text.size(), error);
  if (error || read < text.size()) return std::nullopt;
  std::string& form = parser.handler().form();
  if (!form.starts_with('o')) return std::nullopt;
  return std::move(form);
}

}  // namespace windrow::session
