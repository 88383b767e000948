// Filters of texts.
#include "jinja/builtins.h"
#include "jinja/failure.h"
#include "jinja/function.h"
#include "jinja/json.h"
#include "jinja/number.h"
#include "jinja/runtime.h"
#include "jinja/string_format.h"
#include "jinja/text_functions.h"
#include "jinja/unicode.h"

namespace windrow::jinja {
namespace {

// The same text, no longer marked as markup.
TextPtr plain(Runtime& runtime, const TextPtr& text) {
  if (!text->markup()) return text;
  TextBuilder out(runtime.budget);
  out.append(*text);
  return out.finish();
}

TextPtr escaped(Runtime& runtime, const Text& text) {
  TextBuilder out(runtime.budget);
  append_escaped(out, text);
  out.set_markup(true);
  return out.finish();
}

template <Case to>
Value change_case_filter(Runtime& runtime, const Value& input, Arguments& arguments) {
  const Bound bound(arguments, "upper, lower, capitalize", {}, 0);
  return Value(change_case(runtime, *to_text(runtime, input), to));
}

// Words start behind spaces, dashes and opening brackets.
Value title(Runtime& runtime, const Value& input, Arguments& arguments) {
  const Bound bound(arguments, "title", {}, 0);
  const TextPtr text = to_text(runtime, input);
  const std::string& bytes = text->bytes();
  TextBuilder out(runtime.budget);
  const auto is_border = [](char32_t c) {
    return c == '-' || c == '(' || c == '{' || c == '[' || c == '<' || is_space(c);
  };
  for (size_t at = 0; at < bytes.size();) {
    const size_t begin = at;
    const bool border = is_border(next_character(bytes, at));
    const size_t behind_first = at;
    while (at < bytes.size()) {
      size_t next = at;
      if (is_border(next_character(bytes, next)) != border) break;
      at = next;
    }
    out.append(*change_case(runtime, *part_of(runtime, text, begin, behind_first), Case::kUpper));
    out.append(*change_case(runtime, *part_of(runtime, text, behind_first, at), Case::kLower));
  }
  return Value(out.finish());
}

Value trim(Runtime& runtime, const Value& input, Arguments& arguments) {
  const Bound bound(arguments, "trim", {"chars"}, 0);
  const Text* characters = bound.some(0) ? bound.text(0).get() : nullptr;
  return Value(strip(runtime, to_text(runtime, input), characters, Side::kBoth));
}

Value replace_filter(Runtime& runtime, const Value& input, Arguments& arguments) {
  const Bound bound(arguments, "replace", {"old", "new", "count"}, 2);
  const int64_t count = bound.some(2) ? bound.integer(2, -1) : -1;
  return Value(replace(runtime, *plain(runtime, to_text(runtime, input)),
                       *to_text(runtime, bound[0]), *to_text(runtime, bound[1]), count));
}

Value center(Runtime& runtime, const Value& input, Arguments& arguments) {
  const Bound bound(arguments, "center", {"width"}, 0);
  static const Text kBlank(" ", Origin::kTemplate);
  return Value(
      adjust(runtime, to_text(runtime, input), bound.integer(0, 80), kBlank, Adjust::kCenter));
}

Value string_filter(Runtime& runtime, const Value& input, Arguments& arguments) {
  const Bound bound(arguments, "string", {}, 0);
  return Value(to_text(runtime, input));
}

Value filter_format(Runtime& runtime, const Value& input, Arguments& arguments) {
  const TextPtr text = to_text(runtime, input);
  if (arguments.named.empty()) {
    return percent_format(runtime, *text, runtime.tuple(arguments.positional));
  }
  if (!arguments.positional.empty()) {
    fail("'format' takes values by position or by name, not both");
  }
  std::vector<Dict::Entry> entries;
  for (const auto& [name, value] : arguments.named)
    entries.emplace_back(Value(name), value);
  return percent_format(runtime, *text, runtime.dict(std::move(entries)));
}

Value indent(Runtime& runtime, const Value& input, Arguments& arguments) {
  const Bound bound(arguments, "indent", {"width", "first", "blank"}, 0);
  if (!input.is_text()) fail("'indent' indents strings, not '{}'", type_name(input));
  TextBuilder made(runtime.budget);
  if (bound.has(0) && bound[0].is_text()) {
    made.append(*bound.text(0));
  } else {
    const int64_t width = bound.integer(0, 4);
    for (int64_t i = 0; i < width; ++i)
      made.append(" ", Origin::kTemplate);
  }
  const TextPtr indention = made.finish();
  const bool first = bound.flag(1, false);
  const bool blank = bound.flag(2, false);
  TextBuilder with_end(runtime.budget);
  with_end.append(*input.text());
  with_end.append("\n", Origin::kTemplate);
  const std::vector<Value> lines = split_lines(runtime, with_end.finish(), false);
  TextBuilder out(runtime.budget);
  out.set_markup(input.text()->markup());
  if (first) out.append(*indention);
  for (size_t i = 0; i < lines.size(); ++i) {
    const Text& line = *lines[i].text();
    if (i > 0) {
      out.append("\n", Origin::kTemplate);
      if (blank || !line.empty()) out.append(*indention);
    }
    out.append(line);
  }
  return Value(out.finish());
}

Value truncate(Runtime& runtime, const Value& input, Arguments& arguments) {
  const Bound bound(arguments, "truncate", {"length", "killwords", "end", "leeway"}, 0);
  static const TextPtr kDots = std::make_shared<const Text>("...", Origin::kTemplate);
  const int64_t length = bound.integer(0, 255);
  const TextPtr end = bound.has(2) ? bound.text(2) : kDots;
  const int64_t leeway = bound.some(3) ? bound.integer(3, 5) : 5;
  const auto end_length = static_cast<int64_t>(end->length());
  if (length < end_length || leeway < 0) fail("'truncate': the length is too small");
  if (length_of(input) <= (length > INT64_MAX - leeway ? INT64_MAX : length + leeway)) return input;
  if (!input.is_text()) fail("'truncate' cuts strings, not '{}'", type_name(input));
  const TextPtr& text = input.text();
  size_t cut = text->position_of(static_cast<size_t>(length - end_length));
  if (!bound.flag(1, false)) {
    const size_t blank = std::string_view(text->bytes()).substr(0, cut).rfind(' ');
    if (blank != std::string_view::npos) cut = blank;
  }
  TextBuilder out(runtime.budget);
  out.set_markup(text->markup());
  out.append(*text, 0, cut);
  out.append(*end);
  return Value(out.finish());
}

Value wordcount(Runtime& runtime, const Value& input, Arguments& arguments) {
  const Bound bound(arguments, "wordcount", {}, 0);
  const TextPtr text = to_text(runtime, input);
  runtime.budget.spend(text->bytes().size() / 4);
  int64_t count = 0;
  bool inside = false;
  for (size_t at = 0; at < text->bytes().size();) {
    const bool word = is_word(next_character(text->bytes(), at));
    count += word && !inside ? 1 : 0;
    inside = word;
  }
  return Value::integer(count);
}

Value escape_filter(Runtime& runtime, const Value& input, Arguments& arguments) {
  const Bound bound(arguments, "escape", {}, 0);
  const TextPtr text = to_text(runtime, input);
  return Value(text->markup() ? text : escaped(runtime, *text));
}

Value force_escape(Runtime& runtime, const Value& input, Arguments& arguments) {
  const Bound bound(arguments, "forceescape", {}, 0);
  return Value(escaped(runtime, *to_text(runtime, input)));
}

Value safe(Runtime& runtime, const Value& input, Arguments& arguments) {
  const Bound bound(arguments, "safe", {}, 0);
  TextBuilder out(runtime.budget);
  out.append(*to_text(runtime, input));
  out.set_markup(true);
  return Value(out.finish());
}

// Percent signs for what a URL cannot hold; `in_query`: spaces become '+', and '/' is no exception.
void append_quoted_url(TextBuilder& out, const Text& text, bool in_query) {
  const std::string& bytes = text.bytes();
  for (size_t at = 0; at < bytes.size(); ++at) {
    const auto c = static_cast<unsigned char>(bytes[at]);
    const Origin origin = text.origin_at(at);
    const bool kept = (c < 0x80 && (is_alpha(c) || (c >= '0' && c <= '9'))) || c == '_' ||
                      c == '.' || c == '-' || c == '~' || (c == '/' && !in_query);
    if (kept) {
      out.append(text, at, at + 1);
    } else if (c == ' ' && in_query) {
      out.append("+", origin);
    } else {
      out.append(fmt::format("%{:02X}", c), origin);
    }
  }
}

Value urlencode(Runtime& runtime, const Value& input, Arguments& arguments) {
  const Bound bound(arguments, "urlencode", {}, 0);
  TextBuilder out(runtime.budget);
  const bool is_iterable =
      input.is_undefined() || input.is_list_or_tuple() || input.is_dict() ||
      (input.is(Value::Kind::kObject) && input.object().iterate(runtime) != nullptr);
  if (!is_iterable) {
    append_quoted_url(out, *to_text(runtime, input), false);
    return Value(out.finish());
  }
  bool first = true;
  const auto add = [&](const Value& key, const Value& value) {
    if (!first) out.append("&", Origin::kTemplate);
    first = false;
    append_quoted_url(out, *to_text(runtime, key), true);
    out.append("=", Origin::kTemplate);
    append_quoted_url(out, *to_text(runtime, value), true);
  };
  if (input.is_dict()) {
    for (const auto& [key, value] : input.dict().entries())
      add(key, value);
  } else {
    for (const Value& pair : runtime.collect(input)) {
      const std::vector<Value> parts = runtime.collect(pair);
      if (parts.size() != 2) fail("'urlencode' needs pairs of a key and a value");
      add(parts[0], parts[1]);
    }
  }
  return Value(out.finish());
}

// The parameters are in the order that transformers gives them, not in Jinja2's.
Value tojson(Runtime& runtime, const Value& input, Arguments& arguments) {
  const Bound bound(arguments, "tojson", {"ensure_ascii", "indent", "separators", "sort_keys"}, 0);
  JsonStyle style;
  style.ensure_ascii = bound.flag(0, false);
  if (bound.some(1)) {
    if (bound[1].is_text()) {
      style.indent = bound[1].text()->bytes();
    } else {
      const int64_t width = bound.integer(1, 0);
      if (width > 1000) fail("'tojson': an indent of {} is too much", width);
      style.indent = std::string(static_cast<size_t>(std::max<int64_t>(0, width)), ' ');
    }
    style.item_separator = ",";
  }
  if (bound.some(2)) {
    const std::vector<Value> separators = runtime.collect(bound[2]);
    if (separators.size() != 2 || !separators[0].is_text() || !separators[1].is_text()) {
      fail("'tojson': separators are two strings");
    }
    style.item_separator = separators[0].text()->bytes();
    style.key_separator = separators[1].text()->bytes();
  }
  style.sort_keys = bound.flag(3, false);
  return Value(to_json(runtime, input, style));
}

}  // namespace

const std::vector<FilterEntry>& string_filters() {
  static const std::vector<FilterEntry> kFilters = {
      {"trim", trim},
      {"tojson", tojson},
      {"upper", change_case_filter<Case::kUpper>},
      {"lower", change_case_filter<Case::kLower>},
      {"capitalize", change_case_filter<Case::kCapitalize>},
      {"title", title},
      {"replace", replace_filter},
      {"center", center},
      {"string", string_filter},
      {"format", filter_format},
      {"indent", indent},
      {"truncate", truncate},
      {"wordcount", wordcount},
      {"escape", escape_filter},
      {"e", escape_filter},
      {"forceescape", force_escape},
      {"safe", safe},
      {"urlencode", urlencode},
  };
  return kFilters;
}

}  // namespace windrow::jinja
