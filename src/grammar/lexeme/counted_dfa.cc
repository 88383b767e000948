#include "grammar/lexeme/counted_dfa.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace windrow::grammar {

namespace {

// No answer has so many characters.
constexpr uint32_t kCountLarge = 1'000'000;

}  // namespace

// The largest count whose states can all be numbered.
uint32_t CountedDfa::count_max(size_t states) {
  return static_cast<uint32_t>((uint64_t{kDead} - 1) / std::max<size_t>(states, 1) - 2);
}

Result<std::shared_ptr<const CountedDfa>> CountedDfa::make(std::shared_ptr<const ByteDfa> dfa,
                                                           size_t between,
                                                           const CharCount& wanted) {
  Result<TextLengths> lengths = TextLengths::find(*dfa, between, wanted);
  if (!lengths) return lengths.error();
  CharCount count = wanted;
  if (count.min <= lengths->shortest(0)) count.min = 0;
  if (count.max >= lengths->longest(0)) count.max = CharCount::kEndless;
  const size_t states = dfa->states_count();
  const uint32_t most = count_max(states);
  if (count.max != CharCount::kEndless && most >= kCountLarge)
    count.max = std::min(count.max, most);
  const uint32_t last = count.max == CharCount::kEndless ? count.min : count.max;
  if (std::max(last, count.min) > most) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("beside this pattern or format, lengths can be enforced up to {}, not "
                             "{}; leave minLength and maxLength out, or make them smaller",
                             most, std::max(last, count.min))};
  }
  const auto made = std::make_shared<CountedDfa>(Private(), *std::move(lengths));
  made->dfa_ = std::move(dfa);
  made->count_ = count;
  made->states_ = static_cast<uint32_t>(states);
  made->between_ = static_cast<uint32_t>(between);
  made->done_ = last + 1;
  return std::shared_ptr<const CountedDfa>(made);
}

CountedDfa::State CountedDfa::next(State state, uint8_t byte) const {
  const ByteDfa::State to = dfa_->next(place(state), byte);
  if (to == ByteDfa::kDead) return kDead;
  uint32_t count = count_of(state);
  if (count == done_) return done_ * states_ + to;
  if (to < between_) {
    if (count == count_.max) return kDead;
    if (count_.max != CharCount::kEndless || count < count_.min) ++count;
  }
  const uint32_t least = min_left(count);
  const uint32_t most = max_left(count);
  if (!lengths_.any(to, least, most)) return kDead;
  if (lengths_.shortest(to) >= least && lengths_.longest(to) <= most) count = done_;
  return count * states_ + to;
}

bool CountedDfa::accepts(State state) const {
  return dfa_->accepting[place(state)] && count_of(state) >= count_.min;
}

bool CountedDfa::goes_on(State state) const {
  const ByteDfa::State at = place(state);
  for (uint32_t byte = 0; byte < 256; ++byte) {
    if (dfa_->next(at, static_cast<uint8_t>(byte)) != ByteDfa::kDead &&
        next(state, static_cast<uint8_t>(byte)) != kDead)
      return true;
  }
  return false;
}

bool CountedDfa::goes_on_with(State state, std::string_view bytes) const {
  for (const char byte : bytes) {
    state = next(state, static_cast<uint8_t>(byte));
    if (state == kDead) return false;
  }
  return true;
}

bool CountedDfa::max_is_far(State state, uint32_t reach) const {
  const uint32_t most = max_left(count_of(state));
  return most == CharCount::kEndless ||
         most >= uint64_t{reach} + lengths_.ahead(place(state)).shortest_max;
}

bool CountedDfa::keeps_min(State state) const {
  const TextLengths::Ahead& ahead = lengths_.ahead(place(state));
  return min_left(count_of(state)) == 0 || (ahead.all_endless && !ahead.gaps);
}

CountedDfa::State CountedDfa::clipped(State state, uint32_t reach) const {
  const uint32_t count = count_of(state);
  if (count == done_ || !max_is_far(state, reach)) return state;
  const uint32_t least = min_left(count);
  if (least == 0) return count_.min * states_ + place(state);
  // Texts that end before the minimum lead nowhere, and so far no text can end.
  const TextLengths::Ahead& ahead = lengths_.ahead(place(state));
  if (!ahead.gaps && least > uint64_t{reach} + ahead.longest_max) return place(state);
  return state;
}

bool CountedDfa::is_free(State state, uint32_t reach) const {
  return count_of(state) == done_ || (max_is_far(state, reach) && keeps_min(state));
}

bool CountedDfa::ends_alike(State state, uint32_t reach) const {
  const uint32_t count = count_of(state);
  return count == done_ || min_left(count) == 0 || min_left(count) >= reach;
}

uint32_t CountedDfa::chars_left(State state) const {
  const uint32_t count = count_of(state);
  return count == done_ ? lengths_.longest(place(state)) : max_left(count);
}

uint32_t CountedDfa::free_chars(State state, bool stays) const {
  if (count_of(state) == done_) return CharCount::kEndless;
  if (!keeps_min(state)) return 0;
  const uint32_t most = max_left(count_of(state));
  if (most == CharCount::kEndless) return most;
  const ByteDfa::State at = place(state);
  const uint32_t needed = stays ? lengths_.shortest(at) : lengths_.ahead(at).shortest_max;
  return most > needed ? most - needed : 0;
}

}  // namespace windrow::grammar
