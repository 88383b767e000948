#include "grammar/schema/number_rules.h"

#include <algorithm>

namespace windrow::grammar {
namespace {

Decimal successor(const Decimal& integer) {
  const auto small = integer.scaled(0);
  return small ? Decimal(*small + 1) : integer;  // too long to matter: errs on the side of yes
}

Decimal predecessor(const Decimal& integer) {
  const auto small = integer.scaled(0);
  return small ? Decimal(*small - 1) : integer;
}

// Whether one of the multiples of `step` is in [min, max].
bool any_multiple(const Decimal& step, const Decimal& min, const Decimal& max, int64_t places) {
  const auto by = step.scaled(places);
  const auto low = min.scaled(places);
  const auto high = max.scaled(places);
  if (!by || !low || !high) return true;
  const int64_t rest = *high % *by;
  const int64_t last = *high - (rest < 0 ? rest + *by : rest);
  return last >= *low;
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
  return !other.multiple_of || join_multiple(*other.multiple_of);
}

bool any_integer(const NumberRules& rules) {
  if (!rules.min || !rules.max) return true;
  Decimal low = rules.min->ceiling();
  Decimal high = rules.max->floor();
  if (rules.min_excluded && low == *rules.min) low = successor(low);
  if (rules.max_excluded && high == *rules.max) high = predecessor(high);
  if (low > high) return false;
  const auto step = integer_step(rules);
  return !step || !step->is_integer() || any_multiple(*step, low, high, 0);
}

bool any_number(const NumberRules& rules) {
  if (!rules.min || !rules.max) return true;
  if (*rules.min > *rules.max) return false;
  if (*rules.min == *rules.max && (rules.min_excluded || rules.max_excluded)) return false;
  if (!rules.multiple_of) return true;
  const int64_t places =
      std::max({rules.min->places(), rules.max->places(), rules.multiple_of->places()});
  auto low = rules.min->scaled(places);
  auto high = rules.max->scaled(places);
  if (!low || !high) return true;
  if (rules.min_excluded) ++*low;
  if (rules.max_excluded) --*high;
  return *low <= *high && any_multiple(*rules.multiple_of, Decimal::from_scaled(*low, places),
                                       Decimal::from_scaled(*high, places), places);
}

bool holds(const NumberRules& rules, const Decimal& number) {
  if (rules.min && (number < *rules.min || (rules.min_excluded && number == *rules.min))) {
    return false;
  }
  if (rules.max && (number > *rules.max || (rules.max_excluded && number == *rules.max))) {
    return false;
  }
  return !rules.multiple_of || number.is_multiple_of(*rules.multiple_of);
}

NumberBounds bounds_of(const NumberRules& rules, bool integers) {
  NumberBounds bounds{.min_excluded = rules.min_excluded, .max_excluded = rules.max_excluded};
  if (rules.min) bounds.min = rules.min->text();
  if (rules.max) bounds.max = rules.max->text();
  const auto step = integers ? integer_step(rules) : rules.multiple_of;
  if (step && !(integers && *step == Decimal(1))) bounds.multiple_of = step->text();
  return bounds;
}

}  // namespace windrow::grammar
