#include "program/lua/lua_patterns.h"

#include <cstring>
#include <utility>

#include "base/ensure.h"

namespace windrow::program {
namespace {

using CaptureKind = PatternCapture::Kind;

constexpr char kEscape = '%';

bool is_upper(unsigned char c) {
  return c >= 'A' && c <= 'Z';
}
bool is_lower(unsigned char c) {
  return c >= 'a' && c <= 'z';
}
bool is_digit(unsigned char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(unsigned char c) {
  return is_upper(c) || is_lower(c);
}
bool is_graphic(unsigned char c) {
  return c > ' ' && c < 0x7F;
}

// Whether `c` is of the class %`name`, in the C locale.
bool is_in_class(unsigned char c, char name) {
  const bool is_complement = is_upper(static_cast<unsigned char>(name));
  bool is_in = false;
  switch (is_complement ? name - 'A' + 'a' : name) {
    case 'a':
      is_in = is_letter(c);
      break;
    case 'c':
      is_in = c < ' ' || c == 0x7F;
      break;
    case 'd':
      is_in = is_digit(c);
      break;
    case 'g':
      is_in = is_graphic(c);
      break;
    case 'l':
      is_in = is_lower(c);
      break;
    case 'p':
      is_in = is_graphic(c) && !is_letter(c) && !is_digit(c);
      break;
    case 's':
      is_in = c == ' ' || (c >= '\t' && c <= '\r');
      break;
    case 'u':
      is_in = is_upper(c);
      break;
    case 'w':
      is_in = is_letter(c) || is_digit(c);
      break;
    case 'x':
      is_in = is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
      break;
    case 'z':
      is_in = c == 0;
      break;  // deprecated, and still in Lua
    default:
      return static_cast<unsigned char>(name) == c;
  }
  return is_in != is_complement;
}

}  // namespace

bool has_specials(std::string_view pattern) {
  return pattern.find_first_of("^$*+?.([%-") != std::string_view::npos;
}

PatternMatcher::PatternMatcher(std::string_view subject, std::string_view pattern, int64_t steps)
    : subject_(subject.data()),
      subject_end_(subject.data() + subject.size()),
      pattern_(pattern.data()),
      pattern_end_(pattern.data() + pattern.size()),
      steps_(steps) {}

std::optional<size_t> PatternMatcher::match_at(size_t begin) {
  const auto size = static_cast<size_t>(subject_end_ - subject_);
  ENSURE(begin <= size, "a match at {} of {} characters", begin, size);
  if (has_failed()) return std::nullopt;
  level_ = 0;
  depth_left_ = kDepthMax;
  const char* end = match(subject_ + begin, pattern_);
  if (end == nullptr || has_failed()) return std::nullopt;
  return static_cast<size_t>(end - subject_);
}

const char* PatternMatcher::fail(std::string fault) {
  if (!has_failed()) fault_ = std::move(fault);
  return nullptr;
}

const char* PatternMatcher::match(const char* s, const char* p) {
  // Lua limits its C stack so, and says so; a pattern that fails there fails here.
  if (depth_left_-- == 0) return fail("pattern too complex");
  const char* end = match_rest(s, p);
  ++depth_left_;
  return end;
}

const char* PatternMatcher::match_rest(const char* s, const char* p) {
  while (p != pattern_end_) {
    if (--steps_ < 0) return nullptr;
    switch (*p) {
      case '(':
        if (pattern_at(p + 1) == ')') return open_capture(s, p + 2, CaptureKind::kPosition);
        return open_capture(s, p + 1, CaptureKind::kUnfinished);
      case ')':
        return close_capture(s, p + 1);
      case '$':
        if (p + 1 == pattern_end_) return s == subject_end_ ? s : nullptr;
        break;
      case kEscape: {
        const char kind = pattern_at(p + 1);
        if (kind == 'b') {
          s = match_balance(s, p + 2);
          if (s == nullptr) return nullptr;
          p += 4;
          continue;
        }
        if (kind == 'f') {
          const char* set = p + 2;
          if (pattern_at(set) != '[') return fail("missing '[' after '%f' in pattern");
          p = item_end(set);
          if (p == nullptr || !is_frontier(s, set, p - 1)) return nullptr;
          continue;
        }
        if (is_digit(static_cast<unsigned char>(kind))) {
          s = match_capture(s, kind);
          if (s == nullptr) return nullptr;
          p += 2;
          continue;
        }
        break;
      }
      default:
        break;
    }
    const char* next = nullptr;
    s = match_item(s, p, next);
    if (next == nullptr) return s;
    p = next;
  }
  return s;
}

// One item and its repetition. `next`: the rest of the pattern is still to be matched; null: the
// result is the end of it all.
const char* PatternMatcher::match_item(const char* s, const char* p, const char*& next) {
  const char* end = item_end(p);
  if (end == nullptr) return nullptr;
  const char repetition = pattern_at(end);
  if (!matches_one(s, p, end)) {
    if (repetition != '*' && repetition != '?' && repetition != '-') return nullptr;
    next = end + 1;
    return s;
  }
  switch (repetition) {
    case '?': {
      const char* whole = match(s + 1, end + 1);
      if (whole != nullptr || has_failed()) return whole;
      next = end + 1;
      return s;
    }
    case '+':
      return max_expand(s + 1, p, end);
    case '*':
      return max_expand(s, p, end);
    case '-':
      return min_expand(s, p, end);
    default:
      next = end;
      return s + 1;
  }
}

const char* PatternMatcher::max_expand(const char* s, const char* p, const char* item_end) {
  const char* last = s;
  while (matches_one(last, p, item_end)) {
    if (--steps_ < 0) return nullptr;
    ++last;
  }
  for (;; --last) {
    const char* end = match(last, item_end + 1);
    if (end != nullptr || has_failed() || last == s) return end;
  }
}

const char* PatternMatcher::min_expand(const char* s, const char* p, const char* item_end) {
  for (;; ++s) {
    const char* end = match(s, item_end + 1);
    if (end != nullptr || has_failed()) return end;
    if (--steps_ < 0 || !matches_one(s, p, item_end)) return nullptr;
  }
}

const char* PatternMatcher::open_capture(const char* s, const char* p, CaptureKind kind) {
  if (level_ == kCapturesMax) return fail("too many captures");
  captures_[level_] = {.begin = static_cast<size_t>(s - subject_), .end = 0, .kind = kind};
  ++level_;
  const char* end = match(s, p);
  if (end == nullptr) --level_;
  return end;
}

const char* PatternMatcher::close_capture(const char* s, const char* p) {
  size_t open = level_;
  while (open > 0 && captures_[open - 1].kind != CaptureKind::kUnfinished)
    --open;
  if (open == 0) return fail("invalid pattern capture");
  PatternCapture& capture = captures_[open - 1];
  capture.end = static_cast<size_t>(s - subject_);
  capture.kind = CaptureKind::kText;
  const char* end = match(s, p);
  if (end == nullptr) capture.kind = CaptureKind::kUnfinished;
  return end;
}

const char* PatternMatcher::match_balance(const char* s, const char* p) {
  if (p >= pattern_end_ - 1) return fail("malformed pattern (missing arguments to '%b')");
  if (s == subject_end_ || *s != p[0]) return nullptr;
  int64_t open = 1;
  while (++s < subject_end_) {
    if (--steps_ < 0) return nullptr;
    if (*s == p[1]) {
      if (--open == 0) return s + 1;
    } else if (*s == p[0]) {
      ++open;
    }
  }
  return nullptr;
}

const char* PatternMatcher::match_capture(const char* s, char digit) {
  const int index = digit - '1';
  if (index < 0 || static_cast<size_t>(index) >= level_ ||
      captures_[static_cast<size_t>(index)].kind == CaptureKind::kUnfinished) {
    return fail(std::string("invalid capture index %") + digit);
  }
  const PatternCapture& capture = captures_[static_cast<size_t>(index)];
  // In Lua a position is longer than any text.
  if (capture.kind == CaptureKind::kPosition) return nullptr;
  constexpr size_t kBytesOfStep = 16;
  const size_t size = capture.end - capture.begin;
  if (static_cast<size_t>(subject_end_ - s) < size) return nullptr;
  steps_ -= static_cast<int64_t>(size / kBytesOfStep);
  return std::memcmp(subject_ + capture.begin, s, size) == 0 ? s + size : nullptr;
}

bool PatternMatcher::is_frontier(const char* s, const char* set, const char* set_end) {
  const char before = s == subject_ ? '\0' : s[-1];
  return !is_in_set(static_cast<unsigned char>(before), set, set_end) &&
         is_in_set(static_cast<unsigned char>(subject_at(s)), set, set_end);
}

bool PatternMatcher::matches_one(const char* s, const char* p, const char* item_end) {
  if (s >= subject_end_) return false;
  const auto c = static_cast<unsigned char>(*s);
  switch (*p) {
    case '.':
      return true;
    case kEscape:
      return is_in_class(c, p[1]);
    case '[':
      return is_in_set(c, p, item_end - 1);
    default:
      return static_cast<unsigned char>(*p) == c;
  }
}

// `set`: its [; `set_end`: its ].
bool PatternMatcher::is_in_set(unsigned char c, const char* set, const char* set_end) {
  const char* p = set + 1;
  const bool is_complement = *p == '^';
  if (is_complement) ++p;
  for (; p < set_end; ++p) {
    --steps_;
    if (*p == kEscape) {
      ++p;
      if (is_in_class(c, *p)) return !is_complement;
    } else if (p[1] == '-' && p + 2 < set_end) {
      if (static_cast<unsigned char>(p[0]) <= c && c <= static_cast<unsigned char>(p[2]))
        return !is_complement;
      p += 2;
    } else if (static_cast<unsigned char>(*p) == c) {
      return !is_complement;
    }
  }
  return is_complement;
}

const char* PatternMatcher::item_end(const char* p) {
  const char first = *p++;
  if (first == kEscape) {
    if (p == pattern_end_) return fail("malformed pattern (ends with '%')");
    return p + 1;
  }
  if (first != '[') return p;
  if (pattern_at(p) == '^') ++p;
  do {  // a ] that is the first of the set is part of it
    if (p == pattern_end_) return fail("malformed pattern (missing ']')");
    --steps_;
    if (*p++ == kEscape && p < pattern_end_) ++p;
  } while (pattern_at(p) != ']');
  return p + 1;
}

}  // namespace windrow::program
