#include "jinja/string_format.h"

#include <algorithm>
#include <cmath>

#include "jinja/attributes.h"
#include "jinja/failure.h"
#include "jinja/number.h"
#include "jinja/runtime.h"
#include "jinja/text_functions.h"
#include "jinja/unicode.h"

namespace windrow::jinja {
namespace {

class Formatter {
 public:
  Formatter(Runtime& runtime, const Text& format, const Arguments& arguments)
      : runtime_(runtime), format_(format), arguments_(arguments), out_(runtime.budget) {}

  TextPtr run() {
    expand(0, format_.bytes().size(), out_, 2);
    return out_.finish();
  }

 private:
  // Text of [begin, end) with its fields filled in; formats may hold fields themselves, once.
  void expand(size_t begin, size_t end, TextBuilder& out, int levels) {
    const std::string& bytes = format_.bytes();
    if (levels == 0) fail("a format with too many fields within each other");
    for (size_t at = begin; at < end;) {
      const size_t brace = std::min(bytes.find_first_of("{}", at), end);
      out.append(format_, at, brace);
      if (brace == end) return;
      const bool doubled = brace + 1 < end && bytes[brace + 1] == bytes[brace];
      if (doubled) {
        out.append(format_, brace, brace + 1);
        at = brace + 2;
        continue;
      }
      if (bytes[brace] == '}') fail("a single '}}' in a format");
      at = field(brace + 1, end, out, levels);
    }
  }

  // A field behind its brace; returns where it ends.
  size_t field(size_t begin, size_t end, TextBuilder& out, int levels) {
    const std::string& bytes = format_.bytes();
    size_t close = begin;
    for (int depth = 1; close < end; ++close) {
      if (bytes[close] == '{') ++depth;
      if (bytes[close] == '}' && --depth == 0) break;
    }
    if (close >= end) fail("a '{{' in a format has no end");
    size_t name_end = begin;
    for (int brackets = 0; name_end < close; ++name_end) {
      const char c = bytes[name_end];
      if (c == '[') brackets = 1;
      if (c == ']') brackets = 0;
      if (brackets == 0 && (c == ':' || c == '!')) break;
    }
    Value value = look_up(std::string_view(bytes).substr(begin, name_end - begin));
    size_t at = name_end;
    if (at < close && bytes[at] == '!') {
      const char conversion = at + 1 < close ? bytes[at + 1] : '\0';
      value = convert(value, conversion);
      at += 2;
      if (at < close && bytes[at] != ':') fail("a format needs ':' behind its conversion");
    }
    TextBuilder spec(runtime_.budget);
    if (at < close) expand(at + 1, close, spec, levels - 1);
    append(out, value, spec.finish()->bytes());
    return close + 1;
  }

  void append(TextBuilder& out, const Value& value, const std::string& spec) {
    TextBuilder written(runtime_.budget);
    if (spec.empty()) {
      append_text(runtime_, written, value);
    } else {
      append_formatted(runtime_, written, value, parse_format_spec(spec));
    }
    const TextPtr text = written.finish();
    if (format_.markup() && !(value.is_text() && value.text()->markup())) {
      append_escaped(out, *text);
    } else {
      out.append(*text);
    }
  }

  Value convert(const Value& value, char conversion) {
    if (conversion == 's') return Value(to_text(runtime_, value));
    if (conversion != 'r')
      fail("'!{}' is no conversion that is supported; use !s or !r", conversion);
    TextBuilder text(runtime_.budget);
    append_repr(runtime_, text, value);
    return Value(text.finish());
  }

  // "name.attribute[index]"
  Value look_up(std::string_view path) {
    const size_t first_end = std::min(path.find_first_of(".["), path.size());
    Value value = argument(path.substr(0, first_end));
    for (size_t at = first_end; at < path.size();) {
      if (path[at] == '.') {
        const size_t stop = std::min(path.find_first_of(".[", at + 1), path.size());
        value = get_attribute(runtime_, value, text(path.substr(at + 1, stop - at - 1)));
        at = stop;
      } else if (path[at] == '[') {
        const size_t stop = path.find(']', at);
        if (stop == std::string_view::npos) fail("a '[' in a format has no end");
        const std::string_view index = path.substr(at + 1, stop - at - 1);
        const bool is_number =
            !index.empty() && index.find_first_not_of("0123456789") == std::string_view::npos;
        const auto number = is_number ? parse_integer(index, 10) : std::nullopt;
        value = get_item(runtime_, value, number ? Value(*number) : Value(text(index)));
        at = stop + 1;
      } else {
        fail("'{}' is no field of a format", path);
      }
    }
    return value;
  }

  Value argument(std::string_view name) {
    const bool is_number = name.find_first_not_of("0123456789") == std::string_view::npos;
    if (!is_number) {
      for (const auto& [given, value] : arguments_.named) {
        if (given->bytes() == name) return value;
      }
      fail("the format has a field '{}', which is not given", name);
    }
    size_t index = 0;
    if (name.empty()) {
      if (numbered_) fail("a format numbers all of its fields, or none");
      automatic_ = true;
      index = next_++;
    } else {
      if (automatic_) fail("a format numbers all of its fields, or none");
      numbered_ = true;
      const auto number = parse_integer(name, 10);
      index = number && *number < 1'000'000 ? static_cast<size_t>(*number) : 1'000'000;
    }
    if (index >= arguments_.positional.size()) {
      fail("the format has more fields than there are values");
    }
    return arguments_.positional[index];
  }

  static TextPtr text(std::string_view bytes) {
    return std::make_shared<const Text>(std::string(bytes), Origin::kTemplate);
  }

  Runtime& runtime_;
  const Text& format_;
  const Arguments& arguments_;
  TextBuilder out_;
  size_t next_ = 0;
  bool automatic_ = false;
  bool numbered_ = false;
};

}  // namespace

TextPtr string_format(Runtime& runtime, const Text& format, const Arguments& arguments) {
  return Formatter(runtime, format, arguments).run();
}

namespace {

class PercentFormatter {
 public:
  PercentFormatter(Runtime& runtime, const Text& format, const Value& values)
      : runtime_(runtime), format_(format), values_(values), out_(runtime.budget) {
    if (values.is_list_or_tuple() && values.list().is_tuple()) {
      items_ = &values.list().items();
    }
  }

  TextPtr run() {
    const std::string& bytes = format_.bytes();
    for (size_t at = 0; at < bytes.size();) {
      const size_t percent = std::min(bytes.find('%', at), bytes.size());
      out_.append(format_, at, percent);
      if (percent == bytes.size()) break;
      at_ = percent + 1;
      directive(percent);
      at = at_;
    }
    // A list, a dict or what is missing may go unused: Python takes them for mappings.
    const bool is_mapping =
        items_ == nullptr && !values_.is_text() &&
        (values_.is_dict() || values_.is_list_or_tuple() || values_.is_undefined());
    const size_t count = items_ != nullptr ? items_->size() : 1;
    if (!is_mapping && next_ < count) fail("the format uses fewer values than there are");
    out_.set_markup(format_.markup());
    return out_.finish();
  }

 private:
  char peek() const { return at_ < format_.bytes().size() ? format_.bytes()[at_] : '\0'; }

  char take() {
    if (at_ >= format_.bytes().size()) fail("a '%' format has no end");
    return format_.bytes()[at_++];
  }

  const Value& next_value() {
    if (named_ != nullptr) return *named_;
    if (items_ == nullptr) {
      if (next_++ > 0) fail("the format has more fields than there are values");
      return values_;
    }
    if (next_ >= items_->size()) fail("the format has more fields than there are values");
    return (*items_)[next_++];
  }

  // A number, or '*' and the next value.
  int64_t number(bool& negative) {
    if (peek() == '*') {
      ++at_;
      const int64_t value = to_index(next_value(), "a width");
      negative = value < 0;
      return std::min<int64_t>(std::abs(value), 1'000'001);
    }
    int64_t value = 0;
    while (peek() >= '0' && peek() <= '9') {
      value = std::min<int64_t>(value * 10 + (take() - '0'), 1'000'001);
    }
    return value;
  }

  void read_name() {
    named_ = nullptr;
    if (peek() != '(') return;
    ++at_;
    const size_t begin = at_;
    for (int depth = 1; depth > 0;) {
      const char c = take();
      if (c == '(') ++depth;
      if (c == ')') --depth;
    }
    if (!values_.is_dict()) fail("the format has named fields, and needs a mapping");
    const std::string name = format_.bytes().substr(begin, at_ - 1 - begin);
    named_ = values_.dict().find(std::string_view(name));
    if (named_ == nullptr) fail("the format has a field '{}', which is not given", name);
  }

  void directive(size_t percent) {
    read_name();
    FormatSpec spec;
    bool left = false;
    for (;; ++at_) {
      const char c = peek();
      if (c == '-') {
        left = true;
      } else if (c == '+') {
        spec.sign = '+';
      } else if (c == ' ') {
        if (spec.sign != '+') spec.sign = ' ';
      } else if (c == '#') {
        spec.alternate = true;
      } else if (c == '0') {
        spec.zero = true;
      } else {
        break;
      }
    }
    bool negative = false;
    spec.width = number(negative);
    left |= negative;
    if (peek() == '.') {
      ++at_;
      bool ignored = false;
      spec.precision = number(ignored);
      if (ignored) spec.precision = 0;
    }
    if (spec.width > 1'000'000 || spec.precision > 1'000'000) fail("a field too wide");
    while (peek() == 'h' || peek() == 'l' || peek() == 'L')
      ++at_;
    const char type = take();
    if (type == '%') return out_.append(format_, percent, percent + 1);
    if (left) {
      spec.align = '<';
      spec.fill = " ";
      spec.zero = false;
    }
    append(next_value(), type, spec);
    named_ = nullptr;
  }

  void append(const Value& value, char type, FormatSpec& spec) {
    switch (type) {
      case 's':
        spec.zero = false;
        return append_escapable(value, spec);
      case 'r':
      case 'a': {
        spec.zero = false;
        TextBuilder text(runtime_.budget);
        append_repr(runtime_, text, value);
        return append_padded(runtime_, out_, text.finish(), spec, '>');
      }
      case 'c':
        return append_character(value, spec);
      case 'd':
      case 'i':
      case 'u':
      case 'x':
      case 'X':
      case 'o':
        return append_integer(value, type, spec);
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G': {
        spec.type = type;
        const auto parsed = value.is_number() ? std::optional(to_double(value)) : std::nullopt;
        if (!parsed) refuse(type, value);
        return out_.append(format_float(*parsed, spec), value.origin());
      }
      default:
        fail("'%{}' is no format", type);
    }
  }

  // %s; a format that is markup escapes what is not.
  void append_escapable(const Value& value, const FormatSpec& spec) {
    TextPtr text = to_text(runtime_, value);
    if (format_.markup() && !text->markup()) {
      TextBuilder escaped(runtime_.budget);
      append_escaped(escaped, *text);
      text = escaped.finish();
    }
    append_padded(runtime_, out_, text, spec, '>');
  }

  void append_character(const Value& value, FormatSpec& spec) {
    spec.zero = false;
    if (value.is_text()) {
      if (value.text()->length() != 1) fail("'%c' needs one character");
      return append_padded(runtime_, out_, value.text(), spec, '>');
    }
    if (!value.is_integral()) refuse('c', value);
    spec.type = 'c';
    if (spec.align == '\0') spec.align = '>';
    append_formatted(runtime_, out_, value, spec);
  }

  void append_integer(const Value& value, char type, FormatSpec& spec) {
    Integer integer = 0;
    const bool is_decimal = type == 'd' || type == 'i' || type == 'u';
    if (value.is_integral()) {
      integer = value.integral();
    } else if (value.is(Value::Kind::kFloat) && is_decimal && std::isfinite(value.number()) &&
               std::fabs(value.number()) < 0x1p64) {
      integer = static_cast<Integer>(value.number());
    } else {
      refuse(type, value);
    }
    spec.type = is_decimal ? 'd' : type;
    if (spec.precision >= 0) {
      // So many digits, with zeros before them.
      FormatSpec digits = spec;
      digits.width = 0;
      digits.alternate = false;
      digits.sign = '-';
      const std::string text = format_integer(integer < 0 ? -integer : integer, digits);
      const auto missing = spec.precision - static_cast<int64_t>(text.size());
      std::string whole = std::string(missing > 0 ? static_cast<size_t>(missing) : 0, '0') + text;
      std::string sign = integer < 0 ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign);
      if (spec.alternate && !is_decimal) sign += std::string("0") + type;
      const auto lacking = spec.width - static_cast<int64_t>(sign.size() + whole.size());
      const std::string blanks(lacking > 0 ? static_cast<size_t>(lacking) : 0,
                               spec.zero ? '0' : ' ');
      const std::string shown = spec.align == '<' ? sign + whole + blanks
                                : spec.zero       ? sign + blanks + whole
                                                  : blanks + sign + whole;
      return out_.append(shown, value.origin());
    }
    out_.append(format_integer(integer, spec), value.origin());
  }

  [[noreturn]] static void refuse(char type, const Value& value) {
    if (value.is_undefined()) fail("{}", describe(value.undefined()));
    fail("'%{}' needs a number, not '{}'", type, type_name(value));
  }

  Runtime& runtime_;
  const Text& format_;
  const Value& values_;
  const std::vector<Value>* items_ = nullptr;  // if the values are a tuple
  const Value* named_ = nullptr;
  TextBuilder out_;
  size_t at_ = 0;
  size_t next_ = 0;
};

}  // namespace

Value percent_format(Runtime& runtime, const Text& format, const Value& values) {
  return Value(PercentFormatter(runtime, format, values).run());
}

}  // namespace windrow::jinja
