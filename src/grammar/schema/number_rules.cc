#include "grammar/schema/number_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <numeric>

#include "base/random.h"

namespace windrow::grammar {
namespace {

constexpr int64_t kScaledDigitsMax = 18;  // any such number is an int64_t
constexpr int64_t kScaledZerosMax = 1'000;
constexpr int64_t kDecimalExponentMax = 1'000'000;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

Decimal::Decimal(bool negative, std::string digits, int64_t exponent)
    : negative_(negative), digits_(std::move(digits)), exponent_(exponent) {
  digits_.erase(0, std::min(digits_.find_first_not_of('0'), digits_.size()));
  while (!digits_.empty() && digits_.back() == '0') {
    digits_.pop_back();
    ++exponent_;
  }
  if (digits_.empty()) {
    negative_ = false;
    exponent_ = 0;
  }
}

Decimal::Decimal(int64_t value)
    : Decimal(value < 0,
              std::to_string(value < 0 ? uint64_t{0} - static_cast<uint64_t>(value)
                                       : static_cast<uint64_t>(value)),
              0) {}

std::optional<Decimal> Decimal::parse(std::string_view text) {
  size_t at = 0;
  const auto digits = [&] {
    std::string found;
    while (at < text.size() && is_digit(text[at]))
      found += text[at++];
    return found;
  };
  const bool negative = text.starts_with('-');
  if (negative) ++at;
  std::string all = digits();
  if (all.empty()) return std::nullopt;
  int64_t exponent = 0;
  if (at < text.size() && text[at] == '.') {
    ++at;
    const std::string behind = digits();
    if (behind.empty()) return std::nullopt;
    exponent = -static_cast<int64_t>(behind.size());
    all += behind;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    const bool down = at < text.size() && text[at] == '-';
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    const std::string power = digits();
    if (power.empty() || power.size() > 7) return std::nullopt;
    const int64_t shift = std::strtoll(power.c_str(), nullptr, 10);
    if (shift > kDecimalExponentMax) return std::nullopt;
    exponent += down ? -shift : shift;
  }
  if (at != text.size()) return std::nullopt;
  return Decimal(negative, std::move(all), exponent);
}

std::optional<Decimal> Decimal::of(const boost::json::value& value) {
  if (value.is_int64()) return Decimal(value.get_int64());
  if (value.is_uint64()) return Decimal(false, std::to_string(value.get_uint64()), 0);
  if (value.is_double() && std::isfinite(value.get_double())) {
    return parse(fmt::format("{}", value.get_double()));
  }
  return std::nullopt;
}

Decimal Decimal::floor() const {
  if (is_integer()) return *this;
  const int64_t whole = static_cast<int64_t>(digits_.size()) + exponent_;
  std::string digits = whole > 0 ? digits_.substr(0, static_cast<size_t>(whole)) : "0";
  if (negative_) {  // away from zero, one more
    size_t at = digits.size();
    while (at > 0 && digits[at - 1] == '9')
      digits[--at] = '0';
    if (at == 0) {
      digits.insert(digits.begin(), '1');
    } else {
      ++digits[at - 1];
    }
  }
  return {negative_, std::move(digits), 0};
}

Decimal Decimal::ceiling() const {
  if (is_integer()) return *this;
  Decimal mirrored = *this;
  mirrored.negative_ = !negative_;
  const Decimal below = mirrored.floor();
  return {!below.negative_, below.digits_, below.exponent_};
}

std::optional<bool> Decimal::multiple_of(const Decimal& step) const {
  const int64_t scale = std::max(places(), step.places());
  const auto by = step.scaled(scale);
  const int64_t zeros = exponent_ + scale;
  if (!by || *by <= 0 || zeros > kScaledZerosMax) return std::nullopt;
  int64_t rest = 0;
  const auto add = [&](int64_t digit) {
    rest = static_cast<int64_t>((static_cast<uint128>(rest) * 10 + static_cast<uint128>(digit)) %
                                static_cast<uint128>(*by));
  };
  for (const char digit : digits_)
    add(digit - '0');
  for (int64_t i = 0; i < zeros; ++i)
    add(0);
  return rest == 0;
}

std::optional<int64_t> Decimal::scaled(int64_t places) const {
  if (is_zero()) return 0;
  const int64_t zeros = exponent_ + places;
  if (zeros < 0 || zeros > kScaledDigitsMax) return std::nullopt;
  if (static_cast<int64_t>(digits_.size()) + zeros > kScaledDigitsMax) return std::nullopt;
  const std::string all = digits_ + std::string(static_cast<size_t>(zeros), '0');
  const int64_t size = std::strtoll(all.c_str(), nullptr, 10);
  return negative_ ? -size : size;
}

Decimal Decimal::from_scaled(int64_t value, int64_t places) {
  Decimal result(value);
  if (!result.is_zero()) result.exponent_ -= places;
  return result;
}

std::string Decimal::text() const {
  if (is_zero()) return "0";
  const std::string sign = negative_ ? "-" : "";
  const auto size = static_cast<int64_t>(digits_.size());
  const int64_t point = size + exponent_;  // so many digits stand before it
  if (point >= size && point <= 21) {
    return sign + digits_ + std::string(static_cast<size_t>(point - size), '0');
  }
  if (point > 0 && point <= 21) {
    const auto at = static_cast<size_t>(point);
    return sign + digits_.substr(0, at) + "." + digits_.substr(at);
  }
  if (point > -6 && point <= 0) {
    return sign + "0." + std::string(static_cast<size_t>(-point), '0') + digits_;
  }
  const std::string rest = size > 1 ? "." + digits_.substr(1) : "";
  return fmt::format("{}{}{}e{}{}", sign, digits_.substr(0, 1), rest, point > 0 ? "+" : "-",
                     std::abs(point - 1));
}

std::strong_ordering operator<=>(const Decimal& left, const Decimal& right) {
  const auto sign = [](const Decimal& d) { return d.is_zero() ? 0 : d.negative_ ? -1 : 1; };
  if (sign(left) != sign(right) || sign(left) == 0) return sign(left) <=> sign(right);
  const Decimal& larger = left.negative_ ? right : left;  // if positive is to mean greater
  const Decimal& smaller = left.negative_ ? left : right;
  const auto point = [](const Decimal& d) {
    return static_cast<int64_t>(d.digits_.size()) + d.exponent_;
  };
  if (point(larger) != point(smaller)) return point(larger) <=> point(smaller);
  return larger.digits_.compare(smaller.digits_) <=> 0;
}

std::optional<Decimal> least_common_multiple(const Decimal& left, const Decimal& right) {
  const int64_t places = std::max(left.places(), right.places());
  const auto a = left.scaled(places);
  const auto b = right.scaled(places);
  if (!a || !b || *a <= 0 || *b <= 0) return std::nullopt;
  int64_t product = 0;
  if (__builtin_mul_overflow(*a / std::gcd(*a, *b), *b, &product)) return std::nullopt;
  return Decimal::from_scaled(product, places);
}

namespace {

constexpr int64_t kTriesMax = 4'000;

// By multiples_not or denied; `undecided` if a multiple has too many digits.
bool is_excluded(const NumberRules& rules, const Decimal& number, bool undecided) {
  const auto is_multiple = [&](const Decimal& step) {
    return number.multiple_of(step).value_or(undecided);
  };
  return std::ranges::any_of(rules.multiples_not, is_multiple) ||
         std::ranges::binary_search(rules.denied, number);
}

// Whether all multiples of `step` are excluded.
bool all_excluded(const NumberRules& rules, const Decimal& step) {
  return std::ranges::any_of(rules.multiples_not,
                             [&](const Decimal& other) { return step.is_multiple_of(other); });
}

void add_missing(std::vector<Decimal>& all, const std::vector<Decimal>& more) {
  for (const Decimal& one : more) {
    if (std::ranges::find(all, one) == all.end()) all.push_back(one);
  }
}

Decimal successor(const Decimal& integer) {
  const auto small = integer.scaled(0);
  return small ? Decimal(*small + 1) : integer;  // too long to matter: errs on the side of yes
}

Decimal predecessor(const Decimal& integer) {
  const auto small = integer.scaled(0);
  return small ? Decimal(*small - 1) : integer;
}

// Whether one of the multiples of `step` is in [min, max] and not excluded by `rules`.
bool any_multiple(const NumberRules& rules, const Decimal& step, const Decimal& min,
                  const Decimal& max, int64_t places) {
  const auto by = step.scaled(places);
  const auto low = min.scaled(places);
  const auto high = max.scaled(places);
  if (!by || !low || !high) return true;
  const int64_t rest = *low % *by;
  const int64_t first = *low + (rest > 0 ? *by - rest : -rest);
  const int64_t tries_max = kTriesMax + static_cast<int64_t>(rules.denied.size());
  for (int64_t tried = 0, value = first; value <= *high; value += *by, ++tried) {
    if (tried == tries_max) return true;
    if (!is_excluded(rules, Decimal::from_scaled(value, places), false)) return true;
  }
  return false;
}

// The least number that is an integer and a multiple.
std::optional<Decimal> integer_step(const NumberRules& rules) {
  if (!rules.multiple_of) return std::nullopt;
  return least_common_multiple(*rules.multiple_of, Decimal(1)).value_or(*rules.multiple_of);
}

}  // namespace

void NumberRules::raise_min(const Decimal& bound, bool excluded) {
  if (!min || bound > *min) {
    min = bound;
    min_excluded = excluded;
  } else if (bound == *min) {
    min_excluded = min_excluded || excluded;
  }
}

void NumberRules::lower_max(const Decimal& bound, bool excluded) {
  if (!max || bound < *max) {
    max = bound;
    max_excluded = excluded;
  } else if (bound == *max) {
    max_excluded = max_excluded || excluded;
  }
}

bool NumberRules::join_multiple(const Decimal& other) {
  if (!multiple_of) {
    multiple_of = other;
    return true;
  }
  const auto both = least_common_multiple(*multiple_of, other);
  if (both) multiple_of = *both;
  return both.has_value();
}

bool NumberRules::join(const NumberRules& other) {
  if (other.min) raise_min(*other.min, other.min_excluded);
  if (other.max) lower_max(*other.max, other.max_excluded);
  add_missing(multiples_not, other.multiples_not);
  if (!other.denied.empty()) {
    std::vector<Decimal> both;
    both.reserve(denied.size() + other.denied.size());
    std::set_union(std::make_move_iterator(denied.begin()), std::make_move_iterator(denied.end()),
                   other.denied.begin(), other.denied.end(), std::back_inserter(both));
    denied = std::move(both);
  }
  return !other.multiple_of || join_multiple(*other.multiple_of);
}

bool any_integer(const NumberRules& rules) {
  const Decimal step = integer_step(rules).value_or(Decimal(1));
  if (all_excluded(rules, step)) return false;
  if (!rules.min || !rules.max) return true;
  Decimal low = rules.min->ceiling();
  Decimal high = rules.max->floor();
  if (rules.min_excluded && low == *rules.min) low = successor(low);
  if (rules.max_excluded && high == *rules.max) high = predecessor(high);
  if (low > high) return false;
  return !step.is_integer() || any_multiple(rules, step, low, high, 0);
}

bool any_number(const NumberRules& rules) {
  if (rules.multiple_of && all_excluded(rules, *rules.multiple_of)) return false;
  if (!rules.min || !rules.max) return true;
  if (*rules.min > *rules.max) return false;
  if (*rules.min == *rules.max) {
    if (rules.min_excluded || rules.max_excluded) return false;
    if (rules.multiple_of && !rules.min->multiple_of(*rules.multiple_of).value_or(true))
      return false;
    return !is_excluded(rules, *rules.min, false);
  }
  if (!rules.multiple_of) return true;
  const int64_t places =
      std::max({rules.min->places(), rules.max->places(), rules.multiple_of->places()});
  auto low = rules.min->scaled(places);
  auto high = rules.max->scaled(places);
  if (!low || !high) return true;
  if (rules.min_excluded) ++*low;
  if (rules.max_excluded) --*high;
  return *low <= *high &&
         any_multiple(rules, *rules.multiple_of, Decimal::from_scaled(*low, places),
                      Decimal::from_scaled(*high, places), places);
}

bool holds(const NumberRules& rules, const Decimal& number) {
  if (rules.min && (number < *rules.min || (rules.min_excluded && number == *rules.min))) {
    return false;
  }
  if (rules.max && (number > *rules.max || (rules.max_excluded && number == *rules.max))) {
    return false;
  }
  if (rules.multiple_of && !number.is_multiple_of(*rules.multiple_of)) return false;
  return !is_excluded(rules, number, true);
}

bool implies(const NumberRules& rules, const NumberRules& other) {
  NumberRules both = rules;
  both.multiple_of.reset();
  NumberRules more = other;
  more.multiple_of.reset();
  both.join(more);
  const bool multiple =
      !other.multiple_of ||
      (rules.multiple_of && rules.multiple_of->is_multiple_of(*other.multiple_of));
  return multiple && both.min == rules.min && both.max == rules.max &&
         both.min_excluded == rules.min_excluded && both.max_excluded == rules.max_excluded &&
         both.multiples_not.size() == rules.multiples_not.size() &&
         both.denied.size() == rules.denied.size();
}

namespace {

// A step of which the multiples of `known` are multiples where they are of `step`, without the
// factors that all of them have: of the multiples of 3, those of 6 are those of 2.
Decimal without_known_factors(const Decimal& step, const Decimal& known) {
  const int64_t places = std::max(step.places(), known.places());
  const auto all = step.scaled(places);
  const auto has = known.scaled(places);
  if (!all || !has || *all <= 0 || *has <= 0) return step;
  int64_t kept = *all / std::gcd(*all, *has);
  if (kept == 1) return step;  // all multiples are: there is nothing to simplify
  // A prime that the step has more often is needed as often as the step has it.
  int64_t rest = *all / kept;
  for (int64_t more = std::gcd(rest, kept); more > 1; more = std::gcd(rest, kept)) {
    kept *= more;
    rest /= more;
  }
  return Decimal::from_scaled(kept, places);
}

// The same exclusions of the multiples of `step`, each as simple as it can be, and without those
// that others contain. Automata of fewer and smaller numbers are smaller by the product.
std::vector<Decimal> needed_exclusions(const std::vector<Decimal>& steps,
                                       const std::optional<Decimal>& step) {
  std::vector<Decimal> all;
  for (const Decimal& one : steps)
    all.push_back(step ? without_known_factors(one, *step) : one);
  std::vector<Decimal> needed;
  for (size_t i = 0; i < all.size(); ++i) {
    bool contained = false;
    for (size_t j = 0; j < all.size() && !contained; ++j) {
      const bool other = all[i] == all[j] ? j < i : i != j;
      contained = other && all[i].is_multiple_of(all[j]);
    }
    if (!contained) needed.push_back(all[i]);
  }
  return needed;
}

}  // namespace

NumberBounds bounds_of(const NumberRules& rules, bool integers) {
  NumberBounds bounds{.min_excluded = rules.min_excluded, .max_excluded = rules.max_excluded};
  if (rules.min) bounds.min = rules.min->text();
  if (rules.max) bounds.max = rules.max->text();
  const auto step = integers ? integer_step(rules) : rules.multiple_of;
  if (step && !(integers && *step == Decimal(1))) bounds.multiple_of = step->text();
  for (const Decimal& other : needed_exclusions(rules.multiples_not, step))
    bounds.multiples_not.push_back(other.text());
  for (const Decimal& number : rules.denied)
    bounds.denied.push_back(number.text());
  return bounds;
}

}  // namespace windrow::grammar
