// Lua's patterns (reference manual 6.4.1), matched within a budget of steps, because a hook does
// not reach into a C function and a pattern may take exponentially long. What matches, and what is
// said of a malformed pattern, is as in Lua 5.4. Pure; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace windrow::program {

// A part of the subject, or for "()" only a position.
struct PatternCapture {
  enum class Kind : uint8_t { kText, kPosition, kUnfinished };

  size_t begin = 0;  // counted from 0
  size_t end = 0;    // of a text
  Kind kind = Kind::kText;
};

// It is a text that find() may look for without a matcher.
bool has_specials(std::string_view pattern);

class PatternMatcher {
 public:
  // Both texts must outlive it. `pattern` is without the ^ of an anchored one: where a match may
  // begin is the caller's to decide. `steps`: how many all matches together may take; a step is
  // about as long as it takes to compare two characters.
  PatternMatcher(std::string_view subject, std::string_view pattern, int64_t steps);

  // Where the match ends that begins at `begin` (at most the length of the subject). Nothing: there
  // is none there, or there is a fault.
  std::optional<size_t> match_at(size_t begin);

  // What is wrong with the pattern, as Lua says it: "malformed pattern (ends with '%')". Empty:
  // nothing was, so far. A pattern is only read as far as it is needed.
  const std::string& fault() const { return fault_; }

  // The steps are used up, so match_at() has given up. No fault.
  bool is_exhausted() const { return steps_ < 0; }
  int64_t steps_left() const { return steps_; }

  // The captures of the last match.
  std::span<const PatternCapture> captures() const { return {captures_.data(), level_}; }

 private:
  static constexpr size_t kCapturesMax = 32;
  static constexpr int kDepthMax = 200;

  // Each returns where the match of the rest of the pattern from `p` ends that begins at `s`; null:
  // there is none, or the matcher has failed.
  const char* match(const char* s, const char* p);
  const char* match_rest(const char* s, const char* p);
  const char* match_item(const char* s, const char* p, const char*& next);
  const char* max_expand(const char* s, const char* p, const char* item_end);
  const char* min_expand(const char* s, const char* p, const char* item_end);
  const char* open_capture(const char* s, const char* p, PatternCapture::Kind kind);
  const char* close_capture(const char* s, const char* p);

  // The end of what matches one item at `s`.
  const char* match_balance(const char* s, const char* p);
  const char* match_capture(const char* s, char digit);
  bool is_frontier(const char* s, const char* set, const char* set_end);

  bool matches_one(const char* s, const char* p, const char* item_end);
  bool is_in_set(unsigned char c, const char* set, const char* set_end);

  // Behind the item that begins at `p`; null: it is malformed.
  const char* item_end(const char* p);

  // The character there, and 0 at the end.
  char subject_at(const char* s) const { return s < subject_end_ ? *s : '\0'; }
  char pattern_at(const char* p) const { return p < pattern_end_ ? *p : '\0'; }

  const char* fail(std::string fault);
  bool has_failed() const { return steps_ < 0 || !fault_.empty(); }

  const char* const subject_;
  const char* const subject_end_;
  const char* const pattern_;
  const char* const pattern_end_;
  int64_t steps_;
  int depth_left_ = kDepthMax;
  size_t level_ = 0;  // captures so far, open ones included
  std::array<PatternCapture, kCapturesMax> captures_{};
  std::string fault_;
};

}  // namespace windrow::program
