#include "jinja/text_functions.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "jinja/failure.h"
#include "jinja/runtime.h"
#include "jinja/unicode.h"

namespace windrow::jinja {
namespace {

bool is_one_of(char32_t c, const Text* characters) {
  if (characters == nullptr) return is_space(c);
  for (size_t at = 0; at < characters->bytes().size();) {
    if (next_character(characters->bytes(), at) == c) return true;
  }
  return false;
}

std::vector<Value> split_by_space(Runtime& runtime, const TextPtr& text, int64_t count) {
  const std::string& bytes = text->bytes();
  std::vector<Value> parts;
  const auto skip = [&](size_t at, bool spaces) {
    while (at < bytes.size()) {
      size_t next = at;
      if (is_space(next_character(bytes, next)) != spaces) break;
      at = next;
    }
    return at;
  };
  for (size_t begin = skip(0, true); begin < bytes.size();) {
    if (count >= 0 && static_cast<int64_t>(parts.size()) >= count) {
      parts.emplace_back(part_of(runtime, text, begin, bytes.size()));
      break;
    }
    const size_t end = skip(begin, false);
    parts.emplace_back(part_of(runtime, text, begin, end));
    begin = skip(end, true);
  }
  return parts;
}

// From the right, the last part first; the caller turns it round.
std::vector<Value> split_by_space_from_right(Runtime& runtime, const TextPtr& text, int64_t count) {
  const std::string& bytes = text->bytes();
  std::vector<Value> parts;
  const auto skip_back = [&](size_t at, bool spaces) {
    while (at > 0) {
      const size_t before = previous_position(bytes, at);
      size_t next = before;
      if (is_space(next_character(bytes, next)) != spaces) break;
      at = before;
    }
    return at;
  };
  for (size_t end = skip_back(bytes.size(), true); end > 0;) {
    if (static_cast<int64_t>(parts.size()) >= count) {
      parts.emplace_back(part_of(runtime, text, 0, end));
      break;
    }
    const size_t begin = skip_back(end, false);
    parts.emplace_back(part_of(runtime, text, begin, end));
    end = skip_back(begin, true);
  }
  return parts;
}

// How Python's lower() writes a capital sigma: at the end of a word it has another form.
bool is_final_sigma(std::string_view text, size_t begin, size_t end) {
  const auto is_cased = [](char32_t c) { return is_upper(c) || is_lower(c) || is_titlecase(c); };
  const auto is_ignorable = [](char32_t c) {
    return c == '\'' || c == '.' || c == ':' || c == U'\u00AD' || c == U'\u2019';
  };
  bool before = false;
  for (size_t at = begin; at > 0 && !before;) {
    at = previous_position(text, at);
    size_t next = at;
    const char32_t c = next_character(text, next);
    if (is_ignorable(c)) continue;
    if (!is_cased(c)) break;
    before = true;
  }
  if (!before) return false;
  for (size_t at = end; at < text.size();) {
    const char32_t c = next_character(text, at);
    if (is_ignorable(c)) continue;
    return !is_cased(c);
  }
  return true;
}

}  // namespace

TextPtr part_of(Runtime& runtime, const TextPtr& text, size_t begin, size_t end) {
  if (begin == 0 && end == text->bytes().size()) return text;
  TextBuilder out(runtime.budget);
  out.set_markup(text->markup());
  out.append(*text, begin, end);
  return out.finish();
}

size_t find_text(std::string_view text, std::string_view wanted, size_t from) {
  if (from > text.size()) return std::string_view::npos;
  if (wanted.empty()) return from;
  const char* begin = text.data() + from;
  const void* found = memmem(begin, text.size() - from, wanted.data(), wanted.size());
  if (found == nullptr) return std::string_view::npos;
  return from + static_cast<size_t>(static_cast<const char*>(found) - begin);
}

size_t find_last_text(Runtime& runtime, std::string_view text, std::string_view wanted) {
  runtime.budget.spend(1 + text.size() / 16 * (1 + wanted.size() / 16));
  return text.rfind(wanted);
}

TextPtr strip(Runtime& runtime, const TextPtr& text, const Text* characters, Side side) {
  const std::string& bytes = text->bytes();
  const uint64_t cost = characters == nullptr ? 1 : 1 + characters->length() / 4;
  size_t begin = 0;
  size_t end = bytes.size();
  if ((static_cast<int>(side) & static_cast<int>(Side::kLeft)) != 0) {
    while (begin < end) {
      runtime.budget.spend(cost);
      size_t next = begin;
      if (!is_one_of(next_character(bytes, next), characters)) break;
      begin = next;
    }
  }
  if ((static_cast<int>(side) & static_cast<int>(Side::kRight)) != 0) {
    while (end > begin) {
      runtime.budget.spend(cost);
      const size_t before = previous_position(bytes, end);
      size_t next = before;
      if (!is_one_of(next_character(bytes, next), characters)) break;
      end = before;
    }
  }
  return part_of(runtime, text, begin, end);
}

TextPtr change_case(Runtime& runtime, const Text& text, Case to) {
  const std::string& bytes = text.bytes();
  runtime.budget.spend(bytes.size() / 4);
  TextBuilder out(runtime.budget);
  out.set_markup(text.markup());
  bool starts = true;
  std::string changed;
  Origin origin = Origin::kTemplate;
  for (size_t at = 0; at < bytes.size();) {
    const size_t begin = at;
    const char32_t c = next_character(bytes, at);
    const Origin here = text.origin_at(begin);
    if (here != origin) {
      out.append(changed, origin);
      changed.clear();
      origin = here;
    }
    const auto lower = [&] {
      if (c == U'\u03A3' && is_final_sigma(bytes, begin, at)) {
        append_utf8(changed, U'\u03C2');
      } else {
        append_lower(changed, c);
      }
    };
    const bool is_cased = is_upper(c) || is_lower(c) || is_titlecase(c);
    if (to == Case::kUpper || (to == Case::kSwap && is_lower(c))) {
      append_upper(changed, c);
    } else if (to == Case::kFold) {
      append_casefold(changed, c);
    } else if (starts && (to == Case::kCapitalize || to == Case::kTitle)) {
      append_title(changed, c);
    } else if (to == Case::kSwap && !is_upper(c)) {
      append_utf8(changed, c);
    } else {
      lower();
    }
    starts = to == Case::kTitle && !is_cased;
  }
  out.append(changed, origin);
  return out.finish();
}

Value without_case(Runtime& runtime, const Value& value) {
  if (!value.is_text()) return value;
  return Value(change_case(runtime, *value.text(), Case::kLower));
}

bool is_all_case(const Text& text, bool upper) {
  const std::string& bytes = text.bytes();
  bool any = false;
  for (size_t at = 0; at < bytes.size();) {
    const char32_t c = next_character(bytes, at);
    if (is_titlecase(c) || (upper ? is_lower(c) : is_upper(c))) return false;
    any |= upper ? is_upper(c) : is_lower(c);
  }
  return any;
}

TextPtr replace(Runtime& runtime, const Text& text, const Text& old, const Text& with,
                int64_t count) {
  const std::string& bytes = text.bytes();
  const uint64_t most =
      count < 0 ? std::numeric_limits<uint64_t>::max() : static_cast<uint64_t>(count);
  runtime.budget.spend(1 + bytes.size() / 16);
  TextBuilder out(runtime.budget);
  out.set_markup(text.markup());
  size_t at = 0;
  uint64_t done = 0;
  if (old.empty()) {
    // Between all characters, and at both ends.
    while (done < most) {
      out.append(with);
      ++done;
      if (at >= bytes.size()) return out.finish();
      const size_t begin = at;
      next_character(bytes, at);
      out.append(text, begin, at);
    }
  } else {
    while (done < most) {
      const size_t found = find_text(bytes, old.bytes(), at);
      if (found == std::string::npos) break;
      out.append(text, at, found);
      out.append(with);
      at = found + old.bytes().size();
      ++done;
    }
  }
  out.append(text, at, bytes.size());
  return out.finish();
}

std::vector<Value> split(Runtime& runtime, const TextPtr& text, const Text* separator,
                         int64_t count, bool from_right) {
  if (separator == nullptr && (!from_right || count < 0))
    return split_by_space(runtime, text, count);
  std::vector<Value> parts;
  const std::string& bytes = text->bytes();
  if (separator == nullptr) {
    parts = split_by_space_from_right(runtime, text, count);
    std::reverse(parts.begin(), parts.end());
    return parts;
  }
  if (separator->empty()) fail("the separator of a split must not be empty");
  const std::string& cut = separator->bytes();
  runtime.budget.spend(1 + bytes.size() / 16);
  const auto another = [&] { return count < 0 || static_cast<int64_t>(parts.size()) < count; };
  if (!from_right) {
    size_t at = 0;
    while (another()) {
      const size_t found = find_text(bytes, cut, at);
      if (found == std::string::npos) break;
      parts.emplace_back(part_of(runtime, text, at, found));
      at = found + cut.size();
    }
    parts.emplace_back(part_of(runtime, text, at, bytes.size()));
    return parts;
  }
  size_t end = bytes.size();
  while (another() && end >= cut.size()) {
    const size_t found = find_last_text(runtime, std::string_view(bytes).substr(0, end), cut);
    if (found == std::string::npos) break;
    parts.emplace_back(part_of(runtime, text, found + cut.size(), end));
    end = found;
  }
  parts.emplace_back(part_of(runtime, text, 0, end));
  std::reverse(parts.begin(), parts.end());
  return parts;
}

std::vector<Value> split_lines(Runtime& runtime, const TextPtr& text, bool keep_ends) {
  const std::string& bytes = text->bytes();
  std::vector<Value> lines;
  for (size_t begin = 0; begin < bytes.size();) {
    size_t end = begin;
    size_t next = begin;
    bool ended = false;
    while (next < bytes.size() && !ended) {
      end = next;
      const char32_t c = next_character(bytes, next);
      ended = is_line_end(c);
      if (c == '\r' && next < bytes.size() && bytes[next] == '\n') ++next;
    }
    if (!ended || keep_ends) end = next;
    lines.emplace_back(part_of(runtime, text, begin, end));
    begin = next;
  }
  return lines;
}

TextPtr join(Runtime& runtime, const Text& separator, const std::vector<Value>& texts) {
  TextBuilder out(runtime.budget);
  bool first = true;
  for (const Value& text : texts) {
    if (!first) out.append(separator);
    first = false;
    append_text(runtime, out, text);
  }
  return out.finish();
}

TextPtr adjust(Runtime& runtime, const TextPtr& text, int64_t width, const Text& fill, Adjust how) {
  const int64_t lacking = width - static_cast<int64_t>(text->length());
  if (lacking <= 0) return text;
  int64_t left = 0;
  if (how == Adjust::kRight) left = lacking;
  // Where the odd one goes depends on the width, as in Python.
  if (how == Adjust::kCenter) left = lacking / 2 + (lacking & width & 1);
  TextBuilder out(runtime.budget);
  out.set_markup(text->markup());
  for (int64_t i = 0; i < left; ++i)
    out.append(fill);
  out.append(*text);
  for (int64_t i = left; i < lacking; ++i)
    out.append(fill);
  return out.finish();
}

namespace {

std::string_view escape_of(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&#34;";
    case '\'':
      return "&#39;";
    default:
      return {};
  }
}

}  // namespace

void append_escaped(TextBuilder& out, const Text& text) {
  const std::string& bytes = text.bytes();
  size_t plain = 0;
  for (size_t at = 0; at < bytes.size(); ++at) {
    const std::string_view escape = escape_of(bytes[at]);
    if (escape.empty()) continue;
    out.append(text, plain, at);
    out.append(escape, text.origin_at(at));
    plain = at + 1;
  }
  out.append(text, plain, bytes.size());
}

}  // namespace windrow::jinja
