// The methods of strings.
#include <algorithm>
#include <array>
#include <limits>

#include "jinja/builtins.h"
#include "jinja/failure.h"
#include "jinja/number.h"
#include "jinja/string_format.h"
#include "jinja/text_functions.h"
#include "jinja/unicode.h"

namespace windrow::jinja {
namespace {

const Text* characters_of(const Bound& bound) {
  if (!bound.some(0)) return nullptr;
  return bound.text(0).get();
}

template <Side side>
Value strip_method(Runtime& runtime, const Value& self, Arguments& arguments) {
  const Bound bound(arguments, "strip", {""}, 0);
  return Value(strip(runtime, self.text(), characters_of(bound), side));
}

template <Case to>
Value case_method(Runtime& runtime, const Value& self, Arguments& arguments) {
  const Bound bound(arguments, "upper, lower, title, capitalize", {}, 0);
  return Value(change_case(runtime, *self.text(), to));
}

template <bool from_right>
Value split_method(Runtime& runtime, const Value& self, Arguments& arguments) {
  const Bound bound(arguments, "split", {"sep", "maxsplit"}, 0);
  return runtime.list(
      split(runtime, self.text(), characters_of(bound), bound.integer(1, -1), from_right));
}

Value splitlines(Runtime& runtime, const Value& self, Arguments& arguments) {
  const Bound bound(arguments, "splitlines", {"keepends"}, 0);
  return runtime.list(split_lines(runtime, self.text(), bound.flag(0, false)));
}

template <bool from_right>
Value partition(Runtime& runtime, const Value& self, Arguments& arguments) {
  const Bound bound(arguments, "partition", {""}, 1);
  const TextPtr& text = self.text();
  const std::string& cut = bound.text(0)->bytes();
  if (cut.empty()) fail("the separator of a partition must not be empty");
  runtime.budget.spend(1 + text->bytes().size() / 16);
  const size_t found =
      from_right ? find_last_text(runtime, text->bytes(), cut) : find_text(text->bytes(), cut);
  const auto part = [&](size_t begin, size_t end) {
    return Value(part_of(runtime, text, begin, end));
  };
  const size_t size = text->bytes().size();
  if (found == std::string::npos) {
    const Value nothing = part(0, 0);
    if (from_right) return runtime.tuple({nothing, nothing, self});
    return runtime.tuple({self, nothing, nothing});
  }
  return runtime.tuple(
      {part(0, found), part(found, found + cut.size()), part(found + cut.size(), size)});
}

// [start, stop) of a search in characters, as bytes; false when nothing can be there.
bool search_bounds(Runtime& runtime, const Bound& bound, const Text& text, size_t& begin,
                   size_t& end) {
  if (bound.has(1)) runtime.budget.spend(text.bytes().size() / 16);
  const auto length = static_cast<int64_t>(text.length());
  const auto index = [&](size_t i, int64_t otherwise) {
    if (!bound.some(i)) return otherwise;
    const int64_t at = bound.integer(i, otherwise);
    return at < 0 ? std::max<int64_t>(0, at + length) : at;
  };
  const int64_t start = index(1, 0);
  const int64_t stop = std::min(index(2, length), length);
  if (start > length || start > stop) return false;
  begin = text.position_of(static_cast<size_t>(start));
  end = text.position_of(static_cast<size_t>(stop));
  return true;
}

template <bool from_right>
int64_t find_index(Runtime& runtime, const Value& self, const Bound& bound) {
  const Text& text = *self.text();
  const std::string& wanted = bound.text(0)->bytes();
  runtime.budget.spend(1 + text.bytes().size() / 16);
  size_t begin = 0;
  size_t end = 0;
  if (!search_bounds(runtime, bound, text, begin, end)) return -1;
  const std::string_view in = std::string_view(text.bytes()).substr(begin, end - begin);
  const size_t found = from_right ? find_last_text(runtime, in, wanted) : find_text(in, wanted);
  return found == std::string_view::npos ? -1 : static_cast<int64_t>(text.index_of(begin + found));
}

template <bool from_right>
Value find(Runtime& runtime, const Value& self, Arguments& arguments) {
  const Bound bound(arguments, "find", {"", "", ""}, 1);
  return Value::integer(find_index<from_right>(runtime, self, bound));
}

template <bool from_right>
Value index(Runtime& runtime, const Value& self, Arguments& arguments) {
  const Bound bound(arguments, "index", {"", "", ""}, 1);
  const int64_t found = find_index<from_right>(runtime, self, bound);
  if (found < 0) fail("'index': the text is not found");
  return Value::integer(found);
}

Value count(Runtime& runtime, const Value& self, Arguments& arguments) {
  const Bound bound(arguments, "count", {"", "", ""}, 1);
  const Text& text = *self.text();
  const Text& wanted = *bound.text(0);
  runtime.budget.spend(1 + text.bytes().size() / 16);
  size_t begin = 0;
  size_t end = 0;
  if (!search_bounds(runtime, bound, text, begin, end)) return Value::integer(int64_t{0});
  const std::string_view in = std::string_view(text.bytes()).substr(begin, end - begin);
  if (wanted.empty()) return Value::integer(count_characters(in) + 1);
  int64_t found = 0;
  for (size_t at = find_text(in, wanted.bytes()); at != std::string_view::npos;
       at = find_text(in, wanted.bytes(), at + wanted.bytes().size())) {
    ++found;
  }
  return Value::integer(found);
}

template <bool at_end>
Value starts_or_ends(Runtime& runtime, const Value& self, Arguments& arguments) {
  const Bound bound(arguments, at_end ? "endswith" : "startswith", {"", "", ""}, 1);
  const Text& text = *self.text();
  runtime.budget.spend(1);
  size_t begin = 0;
  size_t end = 0;
  const bool possible = search_bounds(runtime, bound, text, begin, end);
  const auto matches = [&](const Value& wanted) {
    if (!wanted.is_text()) {
      fail("startswith and endswith take a string or a tuple of them, not '{}'", type_name(wanted));
    }
    if (!possible) return false;
    const std::string_view in = std::string_view(text.bytes()).substr(begin, end - begin);
    const std::string& affix = wanted.text()->bytes();
    return at_end ? in.ends_with(affix) : in.starts_with(affix);
  };
  if (!bound[0].is_list_or_tuple() || !bound[0].list().is_tuple()) return Value(matches(bound[0]));
  for (const Value& wanted : bound[0].list().items()) {
    if (matches(wanted)) return Value(true);
  }
  return Value(false);
}

template <bool at_end>
Value remove_affix(Runtime& runtime, const Value& self, Arguments& arguments) {
  const Bound bound(arguments, at_end ? "removesuffix" : "removeprefix", {""}, 1);
  const std::string& bytes = self.text()->bytes();
  const std::string& affix = bound.text(0)->bytes();
  if (at_end) {
    if (affix.empty() || !bytes.ends_with(affix)) return self;
    return Value(part_of(runtime, self.text(), 0, bytes.size() - affix.size()));
  }
  if (!bytes.starts_with(affix)) return self;
  return Value(part_of(runtime, self.text(), affix.size(), bytes.size()));
}

Value replace_method(Runtime& runtime, const Value& self, Arguments& arguments) {
  const Bound bound(arguments, "replace", {"", "", ""}, 2);
  const Text* with = bound.text(1).get();
  TextPtr escaped;
  if (self.text()->markup() && !with->markup()) {
    TextBuilder out(runtime.budget);
    append_escaped(out, *with);
    escaped = out.finish();
    with = escaped.get();
  }
  return Value(replace(runtime, *self.text(), *bound.text(0), *with, bound.integer(2, -1)));
}

Value join_method(Runtime& runtime, const Value& self, Arguments& arguments) {
  const Bound bound(arguments, "join", {""}, 1);
  const std::vector<Value> items = runtime.collect(bound[0]);
  for (const Value& item : items) {
    if (!item.is_text()) fail("'join' joins strings, not '{}'", type_name(item));
  }
  return Value(join(runtime, *self.text(), items));
}

template <Adjust how>
Value adjust_method(Runtime& runtime, const Value& self, Arguments& arguments) {
  const Bound bound(arguments, "center, ljust, rjust", {"", ""}, 1);
  static const Text kBlank(" ", Origin::kTemplate);
  const Text& fill = bound.has(1) ? *bound.text(1) : kBlank;
  if (fill.length() != 1) fail("the filling must be one character");
  return Value(adjust(runtime, self.text(), bound.integer(0, 0), fill, how));
}

Value zfill(Runtime& runtime, const Value& self, Arguments& arguments) {
  const Bound bound(arguments, "zfill", {""}, 1);
  const TextPtr& text = self.text();
  const int64_t lacking = bound.integer(0, 0) - static_cast<int64_t>(text->length());
  if (lacking <= 0) return self;
  const bool has_sign = text->bytes().starts_with('-') || text->bytes().starts_with('+');
  TextBuilder out(runtime.budget);
  out.append(*text, 0, has_sign ? 1 : 0);
  for (int64_t i = 0; i < lacking; ++i)
    out.append("0", Origin::kTemplate);
  out.append(*text, has_sign ? 1 : 0, text->bytes().size());
  return Value(out.finish());
}

Value expandtabs(Runtime& runtime, const Value& self, Arguments& arguments) {
  const Bound bound(arguments, "expandtabs", {"tabsize"}, 0);
  const int64_t size = bound.integer(0, 8);
  const Text& text = *self.text();
  const std::string& bytes = text.bytes();
  TextBuilder out(runtime.budget);
  int64_t column = 0;
  for (size_t at = 0; at < bytes.size();) {
    const size_t begin = at;
    const char32_t c = next_character(bytes, at);
    if (c == '\t') {
      const int64_t blanks = size > 0 ? size - column % size : 0;
      for (int64_t i = 0; i < blanks; ++i)
        out.append(" ", text.origin_at(begin));
      column += blanks;
      continue;
    }
    out.append(text, begin, at);
    column = c == '\n' || c == '\r' ? 0 : column + 1;
  }
  return Value(out.finish());
}

// Whether there are characters and all of them are so.
template <bool (*is_one)(char32_t)>
Value all_are(Runtime& runtime, const Value& self, Arguments& arguments) {
  const Bound bound(arguments, "isalpha and its like", {}, 0);
  const std::string& bytes = self.text()->bytes();
  runtime.budget.spend(1 + bytes.size() / 4);
  for (size_t at = 0; at < bytes.size();) {
    if (!is_one(next_character(bytes, at))) return Value(false);
  }
  return Value(!bytes.empty());
}

bool is_ascii(char32_t c) {
  return c < 0x80;
}

Value isascii(Runtime&, const Value& self, Arguments& arguments) {
  const Bound bound(arguments, "isascii", {}, 0);
  const std::string& bytes = self.text()->bytes();
  return Value(std::all_of(bytes.begin(), bytes.end(),
                           [](char c) { return is_ascii(static_cast<unsigned char>(c)); }));
}

Value isprintable(Runtime& runtime, const Value& self, Arguments& arguments) {
  if (self.text()->empty()) return Value(true);
  return all_are<is_printable>(runtime, self, arguments);
}

Value isidentifier(Runtime&, const Value& self, Arguments& arguments) {
  const Bound bound(arguments, "isidentifier", {}, 0);
  const std::string& bytes = self.text()->bytes();
  for (size_t at = 0; at < bytes.size();) {
    const bool first = at == 0;
    const char32_t c = next_character(bytes, at);
    if (!is_word(c) || (first && c != '_' && !is_alpha(c))) return Value(false);
  }
  return Value(!bytes.empty());
}

// Whether all letters with case are of that one, and there are some.
template <bool upper>
Value is_case(Runtime& runtime, const Value& self, Arguments& arguments) {
  const Bound bound(arguments, upper ? "isupper" : "islower", {}, 0);
  runtime.budget.spend(1 + self.text()->bytes().size() / 4);
  return Value(is_all_case(*self.text(), upper));
}

Value istitle(Runtime&, const Value& self, Arguments& arguments) {
  const Bound bound(arguments, "istitle", {}, 0);
  const std::string& bytes = self.text()->bytes();
  bool any = false;
  bool after_cased = false;
  for (size_t at = 0; at < bytes.size();) {
    const char32_t c = next_character(bytes, at);
    if (is_upper(c) || is_titlecase(c)) {
      if (after_cased) return Value(false);
      any = after_cased = true;
    } else if (is_lower(c)) {
      if (!after_cased) return Value(false);
      any = true;
    } else {
      after_cased = false;
    }
  }
  return Value(any);
}

Value format(Runtime& runtime, const Value& self, Arguments& arguments) {
  return Value(string_format(runtime, *self.text(), arguments));
}

Value encode_refused(Runtime&, const Value&, Arguments&) {
  fail("'encode' is not supported: a template makes text, not bytes");
}

constexpr std::array kMethods = std::to_array<MethodEntry>({
    {"strip", strip_method<Side::kBoth>},
    {"lstrip", strip_method<Side::kLeft>},
    {"rstrip", strip_method<Side::kRight>},
    {"split", split_method<false>},
    {"rsplit", split_method<true>},
    {"splitlines", splitlines},
    {"partition", partition<false>},
    {"rpartition", partition<true>},
    {"startswith", starts_or_ends<false>},
    {"endswith", starts_or_ends<true>},
    {"removeprefix", remove_affix<false>},
    {"removesuffix", remove_affix<true>},
    {"replace", replace_method},
    {"upper", case_method<Case::kUpper>},
    {"lower", case_method<Case::kLower>},
    {"casefold", case_method<Case::kFold>},
    {"title", case_method<Case::kTitle>},
    {"capitalize", case_method<Case::kCapitalize>},
    {"swapcase", case_method<Case::kSwap>},
    {"find", find<false>},
    {"rfind", find<true>},
    {"index", index<false>},
    {"rindex", index<true>},
    {"count", count},
    {"join", join_method},
    {"format", format},
    {"center", adjust_method<Adjust::kCenter>},
    {"ljust", adjust_method<Adjust::kLeft>},
    {"rjust", adjust_method<Adjust::kRight>},
    {"zfill", zfill},
    {"expandtabs", expandtabs},
    {"isalpha", all_are<is_alpha>},
    {"isdigit", all_are<is_digit>},
    {"isdecimal", all_are<is_decimal>},
    {"isnumeric", all_are<is_numeric>},
    {"isalnum", all_are<is_alnum>},
    {"isspace", all_are<is_space>},
    {"isascii", isascii},
    {"isprintable", isprintable},
    {"isidentifier", isidentifier},
    {"isupper", is_case<true>},
    {"islower", is_case<false>},
    {"istitle", istitle},
    {"encode", encode_refused},
});

}  // namespace

MethodPointer find_string_method(std::string_view name, std::string_view& shown) {
  const auto* found = std::find_if(kMethods.begin(), kMethods.end(),
                                   [&](const MethodEntry& entry) { return entry.name == name; });
  if (found == kMethods.end()) return nullptr;
  shown = found->name;
  return found->method;
}

}  // namespace windrow::jinja
