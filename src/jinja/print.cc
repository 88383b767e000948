#include "jinja/print.h"

#include "jinja/number.h"
#include "jinja/unicode.h"

namespace windrow::jinja {
namespace {

std::string print_escaped(char32_t c) {
  switch (c) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      if (c < 0x100) return fmt::format("\\x{:02x}", static_cast<uint32_t>(c));
      if (c < 0x10000) return fmt::format("\\u{:04x}", static_cast<uint32_t>(c));
      return fmt::format("\\U{:08x}", static_cast<uint32_t>(c));
  }
}

void append_quoted(TextBuilder& out, const Text& text) {
  const std::string& bytes = text.bytes();
  const bool has_single = bytes.find('\'') != std::string::npos;
  const char quote = has_single && bytes.find('"') == std::string::npos ? '"' : '\'';
  // The quotes get the origin of the text.
  const Origin first = text.origin_at(0);
  const Origin last = bytes.empty() ? first : text.origin_at(bytes.size() - 1);
  out.append(std::string_view(&quote, 1), first);
  size_t plain = 0;
  for (size_t at = 0; at < bytes.size();) {
    const size_t begin = at;
    const char32_t c = next_character(bytes, at);
    const bool needs_backslash = c == '\\' || c == static_cast<char32_t>(quote);
    if (!needs_backslash && is_printable(c)) continue;
    out.append(text, plain, begin);
    const Origin origin = text.origin_at(begin);
    if (needs_backslash) {
      out.append("\\", origin);
      out.append(text, begin, at);
    } else {
      out.append(print_escaped(c), origin);
    }
    plain = at;
  }
  out.append(text, plain, bytes.size());
  out.append(std::string_view(&quote, 1), last);
}

void append_list(Runtime& runtime, TextBuilder& out, const List& list) {
  const Origin origin = list.origin();
  out.append(list.is_tuple() ? "(" : "[", origin);
  bool first = true;
  for (const Value& item : list.items()) {
    if (!first) out.append(", ", origin);
    first = false;
    append_repr(runtime, out, item);
  }
  if (list.is_tuple() && list.items().size() == 1) out.append(",", origin);
  out.append(list.is_tuple() ? ")" : "]", origin);
}

void append_dict(Runtime& runtime, TextBuilder& out, const Dict& dict) {
  const Origin origin = dict.origin();
  out.append("{", origin);
  bool first = true;
  for (const auto& [key, value] : dict.entries()) {
    if (!first) out.append(", ", origin);
    first = false;
    append_repr(runtime, out, key);
    out.append(": ", origin);
    append_repr(runtime, out, value);
  }
  out.append("}", origin);
}

}  // namespace

void append_repr(Runtime& runtime, TextBuilder& out, const Value& value) {
  runtime.budget.check_stack();
  runtime.budget.spend(1);
  switch (value.kind()) {
    case Value::Kind::kUndefined:
      return out.append("Undefined", Origin::kTemplate);
    case Value::Kind::kNone:
      return out.append("None", value.origin());
    case Value::Kind::kBool:
      return out.append(value.boolean() ? "True" : "False", value.origin());
    case Value::Kind::kInteger:
      return out.append(integer_text(value.integral()), value.origin());
    case Value::Kind::kFloat:
      return out.append(float_text(value.number()), value.origin());
    case Value::Kind::kText: {
      if (!value.text()->markup()) return append_quoted(out, *value.text());
      out.append("Markup(", Origin::kTemplate);
      append_quoted(out, *value.text());
      return out.append(")", Origin::kTemplate);
    }
    case Value::Kind::kList:
      return append_list(runtime, out, value.list());
    case Value::Kind::kDict:
      return append_dict(runtime, out, value.dict());
    case Value::Kind::kObject:
      return value.object().print(runtime, out);
  }
}

void append_text(Runtime& runtime, TextBuilder& out, const Value& value) {
  if (value.is_text()) {
    out.append(*value.text());
  } else if (!value.is_undefined()) {
    append_repr(runtime, out, value);
  }
}

TextPtr to_text(Runtime& runtime, const Value& value) {
  if (value.is_text()) return value.text();
  TextBuilder out(runtime.budget);
  append_text(runtime, out, value);
  return out.finish();
}

}  // namespace windrow::jinja
