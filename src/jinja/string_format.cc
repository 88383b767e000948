#include "jinja/string_format.h"

#include <algorithm>

#include "jinja/escape.h"
#include "jinja/failure.h"
#include "jinja/format_spec.h"
#include "jinja/number.h"
#include "jinja/print.h"

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

}  // namespace windrow::jinja
