#include "schema/pattern.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "schema/char_set.h"

namespace windrow::schema {
namespace {

constexpr uint64_t kRepeatMax = 1000;  // RE2's
// Far beyond what people write, and small enough that RE2's own recursion stays shallow.
constexpr int kGroupDepthMax = 200;
constexpr size_t kPatternBytesMax = 64 << 10;

bool is_pattern_digit(char32_t c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char32_t c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

std::optional<uint32_t> hex_digit(char32_t c) {
  if (is_pattern_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

class Translator {
 public:
  explicit Translator(std::u32string text) : text_(std::move(text)) {}

  Result<std::string> translate();

 private:
  // The kind of the last piece: only some can be repeated.
  enum class Last : uint8_t { kNothing, kAtom, kAssertion, kRepeated };

  bool at_end() const { return at_ >= text_.size(); }
  char32_t peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : 0;
  }
  bool starts_with(std::u32string_view prefix) const {
    return std::u32string_view(text_).substr(at_).starts_with(prefix);
  }

  // The first thing that is wrong stays.
  bool fail(std::string reason) {
    if (!error_) error_ = fmt::format("{} (character {})", reason, at_ + 1);
    return false;
  }

  bool piece();
  bool open_group();
  bool close_group();
  bool assertion(std::string_view re2, size_t length);
  bool escape();
  bool char_class();
  bool class_atom(CharSet& set, std::optional<char32_t>& single);
  bool quantifier();
  std::optional<uint64_t> number();

  // After a backslash. The first of these that knows it takes it; false without an error: it does
  // not. `set` gets what a class escape means.
  bool class_escape(CharSet& set);
  bool property_escape(bool negated, CharSet& set);
  std::optional<char32_t> character_escape();
  std::optional<char32_t> unicode_escape();
  std::optional<char32_t> hex(size_t digits);

  void emit(char32_t c);
  void emit_range(const Range& range);
  void emit(const CharSet& set, bool negated);

  const std::u32string text_;
  size_t at_ = 0;
  std::string out_;
  std::optional<std::string> error_;
  Last last_ = Last::kNothing;
  int depth_ = 0;
};

Result<std::string> Translator::translate() {
  while (!at_end() && piece()) {
  }
  if (!error_ && depth_ > 0) fail("a \"(\" is not closed");
  if (error_) return Error{ErrorKind::kInvalid, *std::move(error_)};
  return std::move(out_);
}

bool Translator::piece() {
  switch (peek()) {
    case '(':
      return open_group();
    case ')':
      return close_group();
    case '|':
      ++at_;
      out_ += '|';
      last_ = Last::kNothing;
      return true;
    case '^':
      return assertion("\\A", 1);
    case '$':
      return assertion("\\z", 1);
    case '.':
      ++at_;
      emit(CharSet{kLineEnds, ""}, true);
      break;
    case '[':
      ++at_;
      if (!char_class()) return false;
      break;
    case '\\':
      return escape();
    case '*':
    case '+':
    case '?':
      return quantifier();
    case '{':
      if (peek(1) == ',' || is_pattern_digit(peek(1))) return quantifier();
      [[fallthrough]];
    default:
      emit(text_[at_++]);
  }
  last_ = Last::kAtom;
  return true;
}

bool Translator::open_group() {
  if (starts_with(U"(?=") || starts_with(U"(?!"))
    return fail("lookahead is not supported; write it without (?=...) and (?!...)");
  if (starts_with(U"(?<=") || starts_with(U"(?<!"))
    return fail("lookbehind is not supported; write it without (?<=...) and (?<!...)");
  if (starts_with(U"(?:")) {
    at_ += 3;
  } else if (starts_with(U"(?<")) {
    const size_t end = text_.find(U'>', at_);
    const size_t first = at_ + 3;
    if (end == std::u32string::npos || end == first) return fail("a group's name is not closed");
    for (size_t i = first; i < end; ++i) {
      const char32_t c = text_[i];
      if (!is_letter(c) && c != '_' && c != '$' && c < 0x80 && !(i > first && is_pattern_digit(c)))
        return fail("a group's name is no identifier");
    }
    at_ = end + 1;
  } else if (starts_with(U"(?")) {
    return fail("a group of this kind is not known");
  } else {
    ++at_;
  }
  if (++depth_ > kGroupDepthMax) return fail("groups are nested too deep");
  out_ += "(?:";
  last_ = Last::kNothing;
  return true;
}

bool Translator::close_group() {
  if (depth_ == 0) return fail("a \")\" closes nothing");
  --depth_;
  ++at_;
  out_ += ')';
  last_ = Last::kAtom;
  return true;
}

bool Translator::assertion(std::string_view re2, size_t length) {
  at_ += length;
  out_ += re2;
  last_ = Last::kAssertion;
  return true;
}

bool Translator::escape() {
  ++at_;
  if (at_end()) return fail("a backslash stands at the end");
  if (peek() == 'b') return assertion("\\b", 1);
  // RE2 also finds such places within the bytes of one character.
  if (peek() == 'B') return fail("\\B is not supported");
  CharSet set;
  last_ = Last::kAtom;
  if (class_escape(set)) {
    emit(set, false);
    return true;
  }
  if (error_) return false;
  const std::optional<char32_t> c = character_escape();
  if (!c) return false;
  emit(*c);
  return true;
}

bool Translator::class_escape(CharSet& set) {
  const auto add = [&](const Ranges& ranges) {
    set.ranges.insert(set.ranges.end(), ranges.begin(), ranges.end());
    ++at_;
    return true;
  };
  switch (peek()) {
    case 'd':
      return add(kDigits);
    case 'D':
      return add(complement(kDigits));
    case 'w':
      return add(kWord);
    case 'W':
      return add(complement(kWord));
    case 's':
      return add(kSpace);
    case 'S':
      return add(complement(kSpace));
    case 'p':
    case 'P':
      return property_escape(peek() == 'P', set);
    default:
      return false;
  }
}

bool Translator::property_escape(bool negated, CharSet& set) {
  const size_t end = peek(1) == '{' ? text_.find(U'}', at_) : std::u32string::npos;
  if (end == std::u32string::npos) return fail("\\p needs a property in braces");
  std::string name;
  for (size_t i = at_ + 2; i < end; ++i)
    name += text_[i] < 0x80 ? static_cast<char>(text_[i]) : '?';
  if (name == "Any" || name == "ASCII" || name == "Assigned") {
    if (name == "Assigned") return fail("\\p{Assigned} is not supported");
    const Ranges ranges = {{0, name == "Any" ? kLastCharacter : 0x7F}};
    const Ranges meant = negated ? complement(ranges) : ranges;
    set.ranges.insert(set.ranges.end(), meant.begin(), meant.end());
  } else if (const std::optional<std::string> property = property_of(name)) {
    set.properties += fmt::format("\\{}{{{}}}", negated ? 'P' : 'p', *property);
  } else {
    return fail(fmt::format("\\p{{{}}} is not supported", name));
  }
  at_ = end + 1;
  return true;
}

std::optional<char32_t> Translator::character_escape() {
  const char32_t c = peek();
  const auto take = [&](char32_t meant) {
    ++at_;
    return meant;
  };
  switch (c) {
    case 't':
      return take('\t');
    case 'n':
      return take('\n');
    case 'v':
      return take('\v');
    case 'f':
      return take('\f');
    case 'r':
      return take('\r');
    case '0':
      if (!is_pattern_digit(peek(1))) return take(0);
      break;
    case 'c':
      if (!is_letter(peek(1))) break;
      at_ += 2;
      return text_[at_ - 1] % 32;
    case 'x':
      ++at_;
      return hex(2);
    case 'u':
      ++at_;
      return unicode_escape();
    case 'k':
      fail("a back reference is not supported");
      return std::nullopt;
    default:
      if (c < 0x80 && !is_letter(c) && !is_pattern_digit(c) && c != '_') return take(c);
      if (c == '_') return take(c);
      break;
  }
  if (is_pattern_digit(c)) {
    fail("a back reference or an octal number is not supported");
  } else {
    fail(fmt::format("\\{} has no meaning in ECMA-262",
                     c < 0x80 ? std::string(1, static_cast<char>(c)) : std::string("...")));
  }
  return std::nullopt;
}

std::optional<char32_t> Translator::hex(size_t digits) {
  char32_t value = 0;
  for (size_t i = 0; i < digits; ++i) {
    const std::optional<uint32_t> digit = at_end() ? std::nullopt : hex_digit(peek());
    if (!digit) {
      fail("an escape lacks hexadecimal digits");
      return std::nullopt;
    }
    value = value * 16 + *digit;
    ++at_;
  }
  return value;
}

// Behind "\u": four digits, two such that make a pair, or digits in braces.
std::optional<char32_t> Translator::unicode_escape() {
  char32_t value = 0;
  if (peek() == '{') {
    const size_t end = text_.find(U'}', at_);
    const size_t digits = end == std::u32string::npos ? 0 : end - at_ - 1;
    ++at_;
    for (size_t i = 0; i < digits; ++i) {
      const std::optional<char32_t> digit = hex(1);
      if (!digit) return std::nullopt;
      value = value * 16 + *digit;
      if (value > kLastCharacter) break;
    }
    if (digits == 0 || value > kLastCharacter) {
      fail("an escape names no character");
      return std::nullopt;
    }
    ++at_;
  } else {
    const std::optional<char32_t> first = hex(4);
    if (!first) return std::nullopt;
    value = *first;
    if (value >= 0xD800 && value < 0xDC00 && peek() == '\\' && peek(1) == 'u') {
      at_ += 2;
      const std::optional<char32_t> second = hex(4);
      if (!second) return std::nullopt;
      if (*second >= 0xDC00 && *second < 0xE000)
        value = 0x10000 + ((value - 0xD800) << 10) + (*second - 0xDC00);
    }
  }
  if (value >= 0xD800 && value < 0xE000) {
    fail("half a surrogate pair is no character");
    return std::nullopt;
  }
  return value;
}

// Behind "[".
bool Translator::char_class() {
  const bool negated = peek() == '^' && !at_end();
  if (negated) ++at_;
  CharSet set;
  while (peek() != ']' || at_end()) {
    if (at_end()) return fail("a \"[\" is not closed");
    std::optional<char32_t> first;
    if (!class_atom(set, first)) return false;
    const bool ranges = peek() == '-' && at_ + 1 < text_.size() && peek(1) != ']';
    if (!ranges) {
      if (first) set.ranges.push_back({*first, *first});
      continue;
    }
    ++at_;
    std::optional<char32_t> last;
    if (!class_atom(set, last)) return false;
    if (!first || !last) return fail("a class such as \\d cannot be the end of a range");
    if (*first > *last) return fail("a range goes backwards");
    set.ranges.push_back({*first, *last});
  }
  ++at_;
  emit(set, negated);
  return true;
}

// One character, or a class that is put into `set`.
bool Translator::class_atom(CharSet& set, std::optional<char32_t>& single) {
  if (at_end()) return fail("a \"[\" is not closed");
  if (peek() != '\\') {
    single = text_[at_++];
    return true;
  }
  ++at_;
  if (at_end()) return fail("a backslash stands at the end");
  if (peek() == 'b') {
    ++at_;
    single = '\b';
    return true;
  }
  if (class_escape(set)) return true;
  if (error_) return false;
  single = character_escape();
  return single.has_value();
}

bool Translator::quantifier() {
  if (last_ != Last::kAtom) return fail("there is nothing to repeat");
  if (peek() != '{') {
    out_ += static_cast<char>(text_[at_++]);
  } else {
    ++at_;
    const std::optional<uint64_t> least = number();
    std::optional<uint64_t> most = least;
    const bool ranges = peek() == ',';
    if (ranges) {
      ++at_;
      most = number();
    }
    if (!least || peek() != '}' || at_end())
      return fail("a number of repetitions is not as {2}, {2,} or {2,5}; write \\{ for a brace");
    if (most && *most < *least) return fail("a number of repetitions goes backwards");
    if (std::max(*least, most.value_or(0)) > kRepeatMax)
      return fail(fmt::format("more than {} repetitions are not supported", kRepeatMax));
    ++at_;
    out_ += fmt::format("{{{}{}{}}}", *least, ranges ? "," : "",
                        ranges && most ? fmt::format("{}", *most) : "");
  }
  // Lazy or not, what is found is found.
  if (peek() == '?' && !at_end()) ++at_;
  last_ = Last::kRepeated;
  return true;
}

std::optional<uint64_t> Translator::number() {
  if (!is_pattern_digit(peek())) return std::nullopt;
  uint64_t value = 0;
  for (; is_pattern_digit(peek()); ++at_)
    value = std::min<uint64_t>(value * 10 + (peek() - '0'), 1'000'000);
  return value;
}

void Translator::emit(char32_t c) {
  if (is_letter(c) || is_pattern_digit(c)) {
    out_ += static_cast<char>(c);
  } else {
    out_ += fmt::format("\\x{{{:X}}}", static_cast<uint32_t>(c));
  }
}

void Translator::emit_range(const Range& range) {
  emit(range.first);
  if (range.first == range.last) return;
  out_ += '-';
  emit(range.last);
}

void Translator::emit(const CharSet& set, bool negated) {
  const bool empty = set.ranges.empty() && set.properties.empty();
  // RE2 has no empty class: nothing is what is outside of everything.
  out_ += negated != empty ? "[^" : "[";
  if (empty) emit_range({0, kLastCharacter});
  for (const Range& range : set.ranges)
    emit_range(range);
  out_ += set.properties;
  out_ += ']';
}

}  // namespace

Result<std::string> ecma_to_re2(std::string_view ecma) {
  if (ecma.size() > kPatternBytesMax)
    return Error{ErrorKind::kInvalid, fmt::format("is longer than {} bytes", kPatternBytesMax)};
  std::optional<std::u32string> text = code_points(ecma);
  if (!text) return Error{ErrorKind::kInvalid, "is no UTF-8"};
  return Translator(*std::move(text)).translate();
}

Result<Pattern> Pattern::compile(std::string_view ecma) {
  Result<std::string> translated = ecma_to_re2(ecma);
  if (!translated) return translated.error();
  RE2::Options options;
  options.set_log_errors(false);
  options.set_never_capture(true);
  auto program = std::make_shared<const RE2>(translated.value(), options);
  if (!program->ok()) {
    return Error{ErrorKind::kInvalid, program->error_code() == RE2::ErrorPatternTooLarge
                                          ? "is too large to be judged"
                                      : program->error_code() == RE2::ErrorRepeatSize
                                          ? "repeats too often: counted repetitions within each "
                                            "other may come to 1000; make them smaller"
                                          : fmt::format("cannot be judged ({})", program->error())};
  }
  return Pattern(std::string(ecma), std::move(program));
}

Pattern::Pattern(std::string source, std::shared_ptr<const re2::RE2> program)
    : source_(std::move(source)), program_(std::move(program)) {}

bool Pattern::found_in(std::string_view text) const {
  const re2::StringPiece piece(text.data(), text.size());
  return program_->Match(piece, 0, piece.size(), RE2::UNANCHORED, nullptr, 0);
}

size_t Pattern::size() const {
  return static_cast<size_t>(program_->ProgramSize());
}

}  // namespace windrow::schema
