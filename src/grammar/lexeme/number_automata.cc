#include "grammar/lexeme/number_automata.h"

#include <algorithm>
#include <array>
#include <span>

#include "grammar/lexeme/hash_tables.h"

namespace windrow::grammar {
namespace {

constexpr int64_t kExponentMax = 1'000'000;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Takes the digits at the front away.
std::string_view take_digits(std::string_view& text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
  const std::string_view found = text.substr(0, static_cast<size_t>(end - text.begin()));
  text.remove_prefix(found.size());
  return found;
}

bool take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

// The digits after the letter `e`.
std::optional<int64_t> take_exponent(std::string_view& text) {
  const bool negative = take(text, '-');
  if (!negative) take(text, '+');
  const std::string_view digits = take_digits(text);
  if (digits.empty()) return std::nullopt;
  int64_t exponent = 0;
  for (const char digit : digits)
    exponent = std::min(exponent * 10 + (digit - '0'), kExponentMax);
  return negative ? -exponent : exponent;
}

}  // namespace

std::optional<DecimalDigits> DecimalDigits::parse(std::string_view text) {
  DecimalDigits result;
  result.negative = take(text, '-');
  const std::string_view integer = take_digits(text);
  if (integer.empty() || (integer.size() > 1 && integer[0] == '0')) return std::nullopt;
  std::string_view fraction;
  if (take(text, '.')) {
    fraction = take_digits(text);
    if (fraction.empty()) return std::nullopt;
  }
  int64_t exponent = 0;
  if (take(text, 'e') || take(text, 'E')) {
    const auto taken = take_exponent(text);
    if (!taken) return std::nullopt;
    exponent = *taken;
  }
  if (!text.empty()) return std::nullopt;

  result.digits = std::string(integer) + std::string(fraction);
  result.digits.erase(result.digits.find_last_not_of('0') + 1);
  const size_t zeros = std::min(result.digits.find_first_not_of('0'), result.digits.size());
  result.digits.erase(0, zeros);
  if (result.is_zero()) return DecimalDigits();
  result.point = static_cast<int64_t>(integer.size()) - static_cast<int64_t>(zeros) + exponent;
  return result;
}

std::string DecimalDigits::shortest_text() const {
  std::string text;
  for (int64_t i = 0; i < integer_length(); ++i)
    text += integer_digit(i);
  if (text.empty()) text = "0";
  if (fraction_length() > 0) text += '.';
  for (int64_t i = 0; i < fraction_length(); ++i)
    text += fraction_digit(i);
  return text;
}

namespace {

constexpr char32_t kPointSign = U'.';

// How the digits so far compare with a bound, from the first digit on.
enum class Order : uint32_t { kLess, kEqual, kGreater };

enum class Phase : uint32_t {
  kBegin,
  kZero,      // `0`
  kInteger,   // `12`
  kPoint,     // `12.`
  kFraction,  // `12.5`
};

struct Place {
  Phase phase = Phase::kBegin;
  uint32_t count = 0;  // digits of the integer, then those behind the point
  Order low = Order::kEqual;
  Order high = Order::kEqual;

  std::array<uint32_t, 4> numbers() const {
    return {static_cast<uint32_t>(phase), count, static_cast<uint32_t>(low),
            static_cast<uint32_t>(high)};
  }
  static Place of(std::span<const uint32_t> numbers) {
    return {static_cast<Phase>(numbers[0]), numbers[1], static_cast<Order>(numbers[2]),
            static_cast<Order>(numbers[3])};
  }
};

Order compared(char digit, char with) {
  return digit < with ? Order::kLess : digit > with ? Order::kGreater : Order::kEqual;
}

class Magnitudes {
 public:
  explicit Magnitudes(const NumberRange& range) : range_(range) {}

  RangeDfa run() {
    places_.intern(Place().numbers());
    for (uint32_t i = 0; i < places_.size(); ++i) {
      const Place place = Place::of(places_.get(i));
      result_.begin_state(accepts(place));
      if (may_have_point(place)) go(kPointSign, behind_point(place));
      for (char digit = '0'; digit <= '9'; ++digit) {
        if (const auto next = behind(place, digit)) go(static_cast<char32_t>(digit), *next);
      }
    }
    return std::move(result_);
  }

 private:
  void go(char32_t symbol, const Place& next) {
    result_.add_edge({symbol, symbol}, places_.intern(next.numbers()).first);
  }

  bool may_have_point(const Place& place) const {
    return range_.fraction_digits_max > 0 &&
           (place.phase == Phase::kZero || place.phase == Phase::kInteger);
  }

  // The integer is complete: how it compares with the bound's.
  static Order of_integer(const std::optional<NumberBound>& bound, const Place& place,
                          Order so_far) {
    if (!bound) return Order::kEqual;
    const int64_t length = place.phase == Phase::kZero ? 0 : place.count;
    const int64_t bound_length = bound->digits.integer_length();
    if (length != bound_length) return length < bound_length ? Order::kLess : Order::kGreater;
    return so_far;
  }

  Place behind_point(const Place& place) const {
    return {Phase::kPoint, 0, of_integer(range_.low, place, place.low),
            of_integer(range_.high, place, place.high)};
  }

  std::optional<Place> behind(const Place& place, char digit) const {
    Place next = place;
    switch (place.phase) {
      case Phase::kZero:
        return std::nullopt;
      case Phase::kBegin:
        if (digit == '0') return Place{.phase = Phase::kZero};
        next.phase = Phase::kInteger;
        break;
      case Phase::kInteger:
        break;
      case Phase::kPoint:
      case Phase::kFraction:
        if (place.count == range_.fraction_digits_max) return std::nullopt;
        next.phase = Phase::kFraction;
        break;
    }
    const int64_t i = next.count++;
    const bool fraction = next.phase == Phase::kFraction;
    if (!fraction && next.count > integer_digits_max()) return std::nullopt;
    const auto follow = [&](const std::optional<NumberBound>& bound, Order& order) {
      if (!bound || order != Order::kEqual) return;
      order = compared(digit,
                       fraction ? bound->digits.fraction_digit(i) : bound->digits.integer_digit(i));
    };
    follow(range_.low, next.low);
    follow(range_.high, next.high);
    return next;
  }

  int64_t integer_digits_max() const {
    if (!range_.high) return range_.integer_digits_max;
    return std::min(range_.integer_digits_max, range_.high->digits.integer_length());
  }

  bool accepts(const Place& place) const {
    if (place.phase == Phase::kBegin || place.phase == Phase::kPoint) return false;
    const Order low = ended(range_.low, place, place.low);
    const Order high = ended(range_.high, place, place.high);
    if (range_.low && (low == Order::kLess || (low == Order::kEqual && range_.low->excluded)))
      return false;
    return !range_.high ||
           !(high == Order::kGreater || (high == Order::kEqual && range_.high->excluded));
  }

  // Nothing is written behind `place`: zeros only, as it were.
  static Order ended(const std::optional<NumberBound>& bound, const Place& place, Order so_far) {
    if (!bound) return Order::kEqual;
    const bool fraction = place.phase == Phase::kFraction;
    const Order order = fraction ? so_far : of_integer(bound, place, so_far);
    const int64_t places = fraction ? place.count : 0;
    if (order == Order::kEqual && bound->digits.fraction_length() > places) return Order::kLess;
    return order;
  }

  const NumberRange& range_;
  Interner places_;
  RangeDfa result_;
};

// All digits as one integer, its remainder, and how many of them stand behind the point.
class Multiples {
 public:
  Multiples(uint32_t step, uint32_t places) : step_(step), places_(places), power_(places + 1, 1) {
    for (uint32_t i = 1; i <= places; ++i)
      power_[i] = power_[i - 1] * 10 % step;
  }

  RangeDfa run() {
    met_.intern(std::array{uint32_t{0}, kNone});
    for (uint32_t i = 0; i < met_.size(); ++i) {
      const uint32_t rest = met_.get(i)[0];
      const uint32_t behind_point = met_.get(i)[1];
      const uint32_t done = behind_point == kNone ? 0 : behind_point;
      result_.begin_state(rest * power_[places_ - done] % step_ == 0);
      if (behind_point == kNone && places_ > 0) go(kPointSign, rest, 0);
      if (behind_point != kNone && behind_point == places_) continue;
      for (uint32_t digit = 0; digit <= 9; ++digit) {
        const uint32_t next = (rest * 10 + digit) % step_;
        go(U'0' + digit, next, behind_point == kNone ? kNone : behind_point + 1);
      }
    }
    return minimal(result_);
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;  // no point yet

  void go(char32_t symbol, uint32_t rest, uint32_t behind_point) {
    result_.add_edge({symbol, symbol}, met_.intern(std::array{rest, behind_point}).first);
  }

  uint32_t step_;
  uint32_t places_;
  std::vector<uint32_t> power_;  // remainders of powers of ten
  Interner met_;
  RangeDfa result_;
};

// How many zeros stand at the end, `zeros` at most, and the remainder of what is before these.
class MultiplesOfTens {
 public:
  MultiplesOfTens(uint32_t step, uint32_t zeros) : step_(step), zeros_(zeros), power_{1 % step} {
    for (uint32_t i = 1; i <= zeros + 1; ++i)
      power_.push_back(power_.back() * 10 % step);
  }

  RangeDfa run() {
    met_.intern(std::array{uint32_t{0}, zeros_});  // nothing is zero, and that has zeros enough
    for (uint32_t i = 0; i < met_.size(); ++i) {
      const uint32_t rest = met_.get(i)[0];
      const uint32_t ended = met_.get(i)[1];
      result_.begin_state(rest == 0 && ended == zeros_);
      if (ended < zeros_) {
        go(U'0', rest, ended + 1);
      } else {
        go(U'0', rest * 10 % step_, zeros_);
      }
      for (uint32_t digit = 1; digit <= 9; ++digit)
        go(U'0' + digit, (rest * power_[ended + 1] + digit) % step_, 0);
    }
    return minimal(result_);
  }

 private:
  void go(char32_t symbol, uint32_t rest, uint32_t ended) {
    result_.add_edge({symbol, symbol}, met_.intern(std::array{rest, ended}).first);
  }

  uint32_t step_;
  uint32_t zeros_;
  std::vector<uint32_t> power_;  // remainders of powers of ten
  Interner met_;
  RangeDfa result_;
};

// A state of the shortest spellings, and whether only zeros were written since one of them ended.
class ZerosBehind {
 public:
  explicit ZerosBehind(const RangeDfa& shortest) : shortest_(shortest) {}

  RangeDfa run() {
    if (shortest_.states_count() == 0) return {};
    go_to({0, Phase::kInteger});
    for (uint32_t i = 0; i < met_.size(); ++i) {
      const At at{met_.get(i)[0], static_cast<Phase>(met_.get(i)[1])};
      result_.begin_state(at.phase == Phase::kZeros || ended(at));
      if (at.phase == Phase::kInteger)
        go(kPointSign, {next(at, kPointSign), ended(at) ? Phase::kPoint : Phase::kFraction});
      for (char32_t digit = U'0'; digit <= U'9'; ++digit)
        go(digit, {next(at, digit), behind(at, digit == U'0')});
    }
    return minimal(result_);
  }

 private:
  enum class Phase : uint32_t {
    kInteger,
    kFraction,
    kPoint,  // the integer is one of the numbers, and at least one zero has to follow
    kZeros,  // what is written is one of the numbers
  };
  struct At {
    RangeDfa::State state = 0;  // kDead: of no other number
    Phase phase = Phase::kInteger;
  };

  bool ended(const At& at) const {
    return at.state != RangeDfa::kDead && shortest_.accepting[at.state];
  }

  RangeDfa::State next(const At& at, char32_t symbol) const {
    return at.state == RangeDfa::kDead ? RangeDfa::kDead : shortest_.next(at.state, symbol);
  }

  Phase behind(const At& at, bool zero) const {
    if (at.phase == Phase::kInteger) return Phase::kInteger;
    return zero && (at.phase != Phase::kFraction || ended(at)) ? Phase::kZeros : Phase::kFraction;
  }

  void go(char32_t symbol, const At& to) {
    const bool is_prefix = to.phase == Phase::kPoint || to.phase == Phase::kZeros;
    if (to.state == RangeDfa::kDead && !is_prefix) return;
    result_.add_edge({symbol, symbol}, go_to(to));
  }

  uint32_t go_to(const At& to) {
    return met_.intern(std::array{to.state, static_cast<uint32_t>(to.phase)}).first;
  }

  const RangeDfa& shortest_;
  Interner met_;
  RangeDfa result_;
};

}  // namespace

RangeDfa magnitudes(const NumberRange& range) {
  return Magnitudes(range).run();
}

RangeDfa multiples(uint32_t step, uint32_t places) {
  return Multiples(step, places).run();
}

RangeDfa multiples_of_tens(uint32_t step, uint32_t zeros) {
  return MultiplesOfTens(step, zeros).run();
}

RangeDfa with_zeros_behind(const RangeDfa& multiples, bool has_point) {
  RangeDfa result;
  const auto point = static_cast<RangeDfa::State>(multiples.states_count());
  const RangeDfa::State zeros = point + 1;
  for (RangeDfa::State state = 0; state < multiples.states_count(); ++state) {
    const bool ended = multiples.accepting[state];
    result.begin_state(ended);
    if (ended && !has_point) result.add_edge({kPointSign, kPointSign}, point);
    // Where the fraction is complete, nothing else may follow.
    if (ended && has_point && multiples.edges_of(state).empty()) {
      result.add_edge({U'0', U'0'}, zeros);
    }
    for (const RangeDfa::Edge& edge : multiples.edges_of(state))
      result.add_edge(edge.on, edge.to);
  }
  result.begin_state(false);
  result.add_edge({U'0', U'0'}, zeros);
  result.begin_state(true);
  result.add_edge({U'0', U'0'}, zeros);
  return minimal(result);
}

RangeDfa with_zeros_behind_each(const RangeDfa& shortest) {
  return ZerosBehind(shortest).run();
}

RangeDfa integers(bool zero) {
  RangeDfa result;
  constexpr RangeDfa::State kDigits = 1;
  constexpr RangeDfa::State kZero = 2;
  result.begin_state(false);
  if (zero) result.add_edge({U'0', U'0'}, kZero);
  result.add_edge({U'1', U'9'}, kDigits);
  result.begin_state(true);
  result.add_edge({U'0', U'9'}, kDigits);
  if (zero) result.begin_state(true);
  return result;
}

RangeDfa digits_at_most(uint32_t count) {
  RangeDfa result;
  // The states in which so many digits are left.
  const auto before_point = [&](uint32_t left) { return RangeDfa::State{2 * (count - left)}; };
  const auto behind_point = [&](uint32_t left) { return before_point(left) + 1; };
  for (uint32_t left = count + 1; left-- > 0;) {
    result.begin_state(true);
    result.add_edge({kPointSign, kPointSign}, behind_point(left));
    if (left == count) {
      result.add_edge({U'0', U'0'}, before_point(left));
      if (left > 0) result.add_edge({U'1', U'9'}, before_point(left - 1));
    } else if (left > 0) {
      result.add_edge({U'0', U'9'}, before_point(left - 1));
    }
    result.begin_state(true);
    if (left > 0) result.add_edge({U'0', U'9'}, behind_point(left - 1));
  }
  return minimal(result);
}

RangeDfa with_sign(const RangeDfa& positive, const RangeDfa& negative) {
  RangeDfa result;
  const auto positive_from = RangeDfa::State{1};
  const auto negative_from = static_cast<RangeDfa::State>(1 + positive.states_count());
  result.begin_state(false);
  if (negative.states_count() > 0) result.add_edge({U'-', U'-'}, negative_from);
  if (positive.states_count() > 0) {
    for (const RangeDfa::Edge& edge : positive.edges_of(0))
      result.add_edge(edge.on, edge.to + positive_from);
  }
  const auto append = [&result](const RangeDfa& part, RangeDfa::State from) {
    for (RangeDfa::State state = 0; state < part.states_count(); ++state) {
      result.begin_state(part.accepting[state]);
      for (const RangeDfa::Edge& edge : part.edges_of(state))
        result.add_edge(edge.on, edge.to + from);
    }
  };
  append(positive, positive_from);
  append(negative, negative_from);
  return result;
}

}  // namespace windrow::grammar
