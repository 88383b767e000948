#include "grammar/lexeme/numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/ensure.h"
#include "grammar/lexeme/char_dfa.h"
#include "grammar/lexeme/number_automata.h"
#include "grammar/lexeme/regex.h"

namespace windrow::grammar {
namespace {

constexpr int64_t kDigitsMax = 40;
constexpr int64_t kSafeDigits = 15;  // so many a double keeps apart
constexpr uint32_t kStepMax = 10'000;
constexpr size_t kMultipleStatesMax = 60'000;  // 6 digits for the largest steps
constexpr size_t kRestsMax = 100'000;          // remainders of a step, with all possible zeros
constexpr size_t kStatesMax = 200'000;
constexpr size_t kDeniedShownMax = 10;
constexpr size_t kJoinedStatesMax = 20'000;
constexpr size_t kLongFrom = 100;  // states of steps: with 15 digits, 1,500

struct Multiple {
  uint32_t step = 1;  // in units of 10^-places
  uint32_t places = 0;
  uint32_t zeros = 0;  // that stand behind the step
};

struct Limits {
  std::optional<NumberBound> min;
  std::optional<NumberBound> max;
  std::optional<Multiple> multiple;
  std::vector<Multiple> multiples_not;
  std::vector<DecimalDigits> denied;
};

Result<std::optional<NumberBound>> parse_bound(const std::optional<std::string>& text,
                                               bool excluded) {
  if (!text) return std::optional<NumberBound>();
  auto digits = DecimalDigits::parse(*text);
  if (!digits) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("the bound {} is no number; write it as JSON does", *text)};
  }
  return std::optional(NumberBound{std::move(*digits), excluded});
}

// The step as its digits without zeros at the end, times a power of ten; for integers, reduced.
Result<std::optional<Multiple>> parse_multiple(const std::optional<std::string>& text,
                                               bool integer) {
  if (!text) return std::optional<Multiple>();
  const auto digits = DecimalDigits::parse(*text);
  if (!digits || digits->negative || digits->is_zero()) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("multipleOf {}: it must be a number above zero", *text)};
  }
  const Error too_large{
      ErrorKind::kInvalid,
      fmt::format(
          "multipleOf {} cannot be enforced: without the zeros at either end its digits may "
          "be a number up to {} (less, the more places or zeros it has), and at most {} "
          "digits before the point, as in 12, 0.5, 0.01 or 1000000; make it simpler, or leave "
          "it out",
          *text, kStepMax, kSafeDigits)};
  const int64_t zeros =
      std::max<int64_t>(0, digits->point - static_cast<int64_t>(digits->digits.size()));
  if (digits->digits.size() > 18) return too_large;
  if (zeros > 0 && digits->integer_length() > kSafeDigits) return too_large;
  uint64_t step = 0;
  for (const char digit : digits->digits)
    step = step * 10 + static_cast<uint64_t>(digit - '0');
  int64_t places = digits->fraction_length();
  if (integer) {
    // n is a multiple of a / b in lowest terms when it is one of a.
    for (int64_t twos = places; twos > 0 && step % 2 == 0; --twos)
      step /= 2;
    for (int64_t fives = places; fives > 0 && step % 5 == 0; --fives)
      step /= 5;
    places = 0;
  }
  const bool many_states =
      step > 1 && step * (static_cast<uint64_t>(places) + 1) > kMultipleStatesMax;
  const bool many_rests = step * (static_cast<uint64_t>(zeros) + 1) > kRestsMax;
  if (step > kStepMax || places > kDigitsMax || many_states || many_rests) return too_large;
  return std::optional(Multiple{static_cast<uint32_t>(step), static_cast<uint32_t>(places),
                                static_cast<uint32_t>(zeros)});
}

Result<Limits> parse(const NumberBounds& bounds, bool integer) {
  const auto min = parse_bound(bounds.min, bounds.min_excluded);
  if (!min) return min.error();
  const auto max = parse_bound(bounds.max, bounds.max_excluded);
  if (!max) return max.error();
  const auto multiple = parse_multiple(bounds.multiple_of, integer);
  if (!multiple) return multiple.error();
  Limits limits{*min, *max, *multiple, {}, {}};
  for (const std::string& text : bounds.multiples_not) {
    const auto step = parse_multiple(text, integer);
    if (!step) return step.error();
    limits.multiples_not.push_back(**step);
  }
  for (const std::string& text : bounds.denied) {
    auto digits = DecimalDigits::parse(text);
    if (digits) limits.denied.push_back(*std::move(digits));
  }
  return limits;
}

bool is_free(const NumberBounds& bounds) {
  return !bounds.min && !bounds.max && !bounds.multiple_of && bounds.multiples_not.empty() &&
         bounds.denied.empty();
}

// Multiples may have fewer digits where each of them would need many states.
int64_t integer_digits_max(const Limits& limits, size_t steps_count) {
  if (!limits.multiple && limits.multiples_not.empty()) return kDigitsMax;
  int64_t wanted = kSafeDigits;
  if (steps_count > 0)
    wanted = std::min(wanted, static_cast<int64_t>(kMultipleStatesMax / steps_count));
  if (limits.min) wanted = std::max(wanted, limits.min->digits.integer_length());
  if (limits.max) wanted = std::max(wanted, limits.max->digits.integer_length());
  return std::min(wanted, kDigitsMax);
}

int64_t fraction_digits_max(const Limits& limits) {
  int64_t most = kDigitsMax;
  if (limits.multiple) most = std::min<int64_t>(most, limits.multiple->places);
  for (const auto& bound : {limits.min, limits.max}) {
    const bool close = bound && bound->excluded && !bound->digits.is_zero();
    if (!close || bound->digits.integer_length() >= kSafeDigits) continue;
    const int64_t beside =
        std::max(kSafeDigits - bound->digits.integer_length(), bound->digits.fraction_length());
    most = std::min(most, beside);
  }
  for (const DecimalDigits& number : limits.denied) {
    if (number.is_zero() || number.integer_length() >= kSafeDigits) continue;
    most = std::min(most, kSafeDigits - number.integer_length());
  }
  return most;
}

// From zero upwards.
std::optional<NumberRange> positive_range(const Limits& limits) {
  NumberRange range;
  if (limits.min && !limits.min->digits.negative) range.low = limits.min;
  if (limits.max) {
    if (limits.max->digits.negative) return std::nullopt;
    range.high = limits.max;
  }
  return range;
}

// The numbers below zero, without their sign.
std::optional<NumberRange> negative_range(const Limits& limits) {
  NumberRange range;
  range.low = NumberBound{{}, true};
  if (limits.max && limits.max->digits.negative) range.low = limits.max;
  if (limits.min) {
    if (!limits.min->digits.negative) return std::nullopt;
    range.high = limits.min;
  }
  return range;
}

Error nothing_there(const NumberBounds& bounds, bool integer) {
  std::string words = integer ? "integer" : "number";
  std::string_view before = "that is";
  const auto add = [&](std::string_view what, const std::optional<std::string>& value) {
    if (!value) return;
    words += fmt::format(" {} {} {}", before, what, *value);
    before = "and";
  };
  add(bounds.min_excluded ? "above" : "at least", bounds.min);
  add(bounds.max_excluded ? "below" : "at most", bounds.max);
  add("a multiple of", bounds.multiple_of);
  for (const std::string& step : bounds.multiples_not)
    add("no multiple of", step);
  for (size_t i = 0; i < std::min(bounds.denied.size(), kDeniedShownMax); ++i)
    add("not", bounds.denied[i]);
  return {ErrorKind::kInvalid, fmt::format("there is no {} and has at most {} digits; correct the "
                                           "bounds",
                                           words, kDigitsMax)};
}

// What the number of digits does not say by itself; no states if that is nothing.
RangeDfa multiples_of(const Multiple& multiple) {
  if (multiple.zeros > 0) return multiples_of_tens(multiple.step, multiple.zeros);
  if (multiple.step > 1) return multiples(multiple.step, multiple.places);
  return {};
}

// All numbers that are multiples, with every number of zeros behind.
RangeDfa every_multiple(const Multiple& multiple, bool integer) {
  const RangeDfa exact = multiple.zeros > 0 ? multiples_of_tens(multiple.step, multiple.zeros)
                                            : multiples(multiple.step, multiple.places);
  return integer ? exact : with_zeros_behind(exact, multiple.places > 0);
}

// An error of automata.
Error in_words(const Error& error) {
  if (error.kind != ErrorKind::kInvalid) return error;
  return {ErrorKind::kInvalid,
          "multipleOf with bounds of so many digits, or so many numbers that are excluded, "
          "cannot be enforced; make one of them smaller"};
}

// What multipleOf and its negations say, whatever the number of digits.
struct Steps {
  RangeDfa wanted;                 // no states: all numbers
  std::vector<RangeDfa> unwanted;  // those that are not subtracted from `wanted` yet
  size_t wanted_states = 0;        // before anything was subtracted
  bool none = false;               // no number is left

  bool takes() const { return wanted_states > 0; }
};

// While digits are not counted these automata are small, so they are joined first, as far as they
// stay small. kUnavailable: `give_up` returned true.
Result<Steps> steps_of(const Limits& limits, bool integer, const GiveUp& give_up) {
  // False: it would be large.
  const auto join = [&](RangeDfa& into, Combination what, const RangeDfa& other) -> Result<bool> {
    Result<RangeDfa> both = combine(into, other, what, kJoinedStatesMax, give_up);
    if (!both && both.error().kind == ErrorKind::kInvalid) return false;
    if (both) both = minimal(*both, give_up);
    if (!both) return both.error();
    into = *std::move(both);
    return true;
  };
  Steps steps;
  if (limits.multiple) steps.wanted = multiples_of(*limits.multiple);
  steps.wanted_states = steps.wanted.states_count();
  for (const Multiple& multiple : limits.multiples_not) {
    RangeDfa every = every_multiple(multiple, integer);
    Result<bool> joined = false;
    if (steps.takes()) {
      joined = join(steps.wanted, Combination::kFirstOnly, every);
    } else if (!steps.unwanted.empty()) {
      joined = join(steps.unwanted.back(), Combination::kEither, every);
    }
    if (!joined) return joined.error();
    if (!*joined) steps.unwanted.push_back(std::move(every));
  }
  steps.none = steps.takes() && steps.wanted.states_count() == 0;
  return steps;
}

// The numbers from zero up or below zero, without a sign, while rules are applied to them one by
// one.
class Half {
 public:
  Half(RangeDfa texts, bool integer, bool negative, const GiveUp& give_up)
      : texts_(std::move(texts)), integer_(integer), negative_(negative), give_up_(give_up) {}

  // kInvalid: too many states. kUnavailable: `give_up` returned true.
  Result<void> apply(const Limits& limits, const Steps& steps) {
    if (!limits.multiples_not.empty()) {
      int64_t digits = kSafeDigits;
      for (const auto& bound : {limits.min, limits.max}) {
        if (bound) digits = std::max(digits, bound->digits.integer_length());
      }
      const RangeDfa few = digits_at_most(static_cast<uint32_t>(std::min(digits, kDigitsMax)));
      if (Result<void> done = apply(Combination::kBoth, few); !done) return done;
    }
    if (steps.takes()) {
      if (Result<void> done = apply(Combination::kBoth, steps.wanted); !done) return done;
    }
    for (const RangeDfa& other : steps.unwanted) {
      if (Result<void> done = apply(Combination::kFirstOnly, other); !done) return done;
    }
    return deny(limits.denied);
  }

  const RangeDfa& texts() const { return texts_; }

 private:
  Result<void> apply(Combination what, const RangeDfa& other) {
    if (texts_.states_count() == 0) return {};
    Result<RangeDfa> both = combine(texts_, other, what, kStatesMax, give_up_);
    if (both) both = minimal(*both, give_up_);
    if (!both) return in_words(both.error());
    texts_ = *std::move(both);
    return {};
  }

  Result<void> deny(const std::vector<DecimalDigits>& numbers) {
    std::vector<std::string> texts;
    for (const DecimalDigits& number : numbers) {
      if (number.negative != negative_) continue;
      const int64_t places = number.fraction_length();
      if (number.integer_length() > kDigitsMax || places > (integer_ ? 0 : kDigitsMax)) continue;
      texts.push_back(number.shortest_text());
    }
    if (texts.empty()) return {};
    const Result<CharDfa> shortest = CharDfa::literals(
        std::vector<std::string_view>(texts.begin(), texts.end()), CharDfa::kStatesMax, give_up_);
    if (!shortest) return in_words(shortest.error());
    return apply(Combination::kFirstOnly,
                 integer_ ? shortest->ranges() : with_zeros_behind_each(shortest->ranges()));
  }

  RangeDfa texts_;
  bool integer_;
  bool negative_;
  const GiveUp& give_up_;
};

Result<std::shared_ptr<const ByteDfa>> bounded(const NumberBounds& bounds, bool integer,
                                               const GiveUp& give_up) {
  const auto limits = parse(bounds, integer);
  if (!limits) return limits.error();
  const Result<Steps> steps = steps_of(*limits, integer, give_up);
  if (!steps) return steps.error();
  if (steps->none) return nothing_there(bounds, integer);
  const auto half = [&](std::optional<NumberRange> range, bool negative) -> Half {
    if (!range) return {RangeDfa(), integer, negative, give_up};
    range->integer_digits_max = integer_digits_max(*limits, steps->wanted_states);
    range->fraction_digits_max = integer ? 0 : fraction_digits_max(*limits);
    return {minimal(magnitudes(*range)), integer, negative, give_up};
  };
  Half positive = half(positive_range(*limits), false);
  if (Result<void> done = positive.apply(*limits, *steps); !done) return done.error();
  Half negative = half(negative_range(*limits), true);
  if (Result<void> done = negative.apply(*limits, *steps); !done) return done.error();
  const Result<RangeDfa> both = minimal(with_sign(positive.texts(), negative.texts()), give_up);
  if (!both) return both.error();
  if (both->states_count() == 0) return nothing_there(bounds, integer);
  return byte_dfa(*both);
}

// From zero up to any number, if that is the only bound.
bool counts_digits_only(const Limits& limits) {
  return !limits.max && limits.denied.empty() && (!limits.min || limits.min->digits.is_zero());
}

std::shared_ptr<const ByteDfa> of_pattern(std::string_view pattern) {
  const auto dfa = regex_dfa(pattern, RegexMeaning::kWhole);
  ENSURE(dfa.has_value(), "{}: {}", pattern, dfa.error().message);
  return utf8_dfa(*dfa);
}

}  // namespace

Result<std::optional<LongMultiples>> long_multiples(const NumberBounds& bounds, bool integer,
                                                    const GiveUp& give_up) {
  const std::optional<LongMultiples> none;
  if (!bounds.multiple_of && bounds.multiples_not.empty()) return none;
  const auto limits = parse(bounds, integer);
  if (!limits) return limits.error();
  const bool has_fractions = !integer && (!limits->multiple || limits->multiple->places > 0);
  if (has_fractions || !counts_digits_only(*limits)) return none;
  const Result<Steps> steps = steps_of(*limits, integer, give_up);
  if (!steps) return steps.error();
  const bool takes = steps->takes();
  if (steps->none || steps->unwanted.size() != (takes ? 0U : 1U)) return none;
  const RangeDfa& rests = takes ? steps->wanted : steps->unwanted.front();
  if (rests.states_count() < kLongFrom) return none;

  const auto half = [&](bool zero) -> Result<std::shared_ptr<const ByteDfa>> {
    const Combination what = takes ? Combination::kBoth : Combination::kFirstOnly;
    Result<RangeDfa> texts = combine(integers(zero), rests, what, kStatesMax, give_up);
    if (texts) texts = minimal(*texts, give_up);
    if (!texts) return in_words(texts.error());
    return texts->states_count() == 0 ? nullptr : byte_dfa(*texts);
  };
  const bool from_zero = limits->min.has_value();
  Result<std::shared_ptr<const ByteDfa>> positive = half(!from_zero || !limits->min->excluded);
  if (!positive) return positive.error();
  LongMultiples made{.positive = *std::move(positive), .digits_max = kSafeDigits};
  if (!from_zero) {
    Result<std::shared_ptr<const ByteDfa>> negative = half(false);
    if (!negative) return negative.error();
    made.negative = *std::move(negative);
  }
  if (!made.positive && !made.negative) return nothing_there(bounds, integer);
  return std::optional(std::move(made));
}

Result<std::shared_ptr<const ByteDfa>> integer_dfa(const NumberBounds& bounds,
                                                   const GiveUp& give_up) {
  static const auto any = of_pattern("0|-?[1-9][0-9]{0,39}");
  if (is_free(bounds)) return any;
  return bounded(bounds, true, give_up);
}

Result<std::shared_ptr<const ByteDfa>> number_dfa(const NumberBounds& bounds,
                                                  const GiveUp& give_up) {
  // Exponents up to where 40 digits are still below the largest double, 1.79...e308; for one digit,
  // up to 307, and to 1.6...e308.
  static const auto any = of_pattern(
      R"(-?(?:(?:0|[1-9]\d{0,39})(?:\.\d{1,40})?(?:[eE](?:-\d{1,4}|\+?)"
      R"((?:0{0,3}\d|0{0,2}\d\d|0?1\d\d|0?2[0-5]\d|0?26[0-8])))?)"
      R"(|\d(?:\.\d{1,40})?[eE]\+?0?(?:2\d\d|30[0-7])|[01](?:\.[0-6]\d{0,39})?[eE]\+?0?308))");
  if (is_free(bounds)) return any;
  return bounded(bounds, false, give_up);
}

}  // namespace windrow::grammar
