// Members in any order: which may come next, by those that are written.
#include <algorithm>
#include <vector>

#include "grammar/closure.h"

namespace windrow::grammar {
namespace {

// More members than this are never written.
constexpr uint32_t kOthersMax = uint32_t{1} << 30;

}  // namespace

struct Closure::MembersRoom {
  bool for_any = false;  // for any member that is not written; else only for required ones
  bool for_other = false;
  bool can_end = false;
};

// The last places of a maximum are kept for the required members.
Closure::MembersRoom Closure::room_for_members(uint32_t node, const MembersFrame& at) const {
  const Grammar::Node& of = grammar_.nodes[node];
  const Grammar::Members& members = grammar_.members[of.members];
  const MemberSets& sets = stacks_.member_sets();
  const uint32_t missing = sets.missing(at.written, members.required);
  const bool is_turn_of_others = members.in_order.empty() || missing == 0;
  MembersRoom room{
      .for_any = true,
      .for_other = members.has_other && is_turn_of_others && at.others < members.other_max,
      .can_end = missing == 0};
  if (of.min == 0 && of.max == Grammar::kUnbounded) return room;
  const uint32_t count = sets.size(at.written) + at.others;
  room.for_any = of.max == Grammar::kUnbounded || of.max - count > missing;
  room.for_other = room.for_other && room.for_any;
  room.can_end = missing == 0 && count >= of.min;
  return room;
}

// In an order: the set of all members but those that may come from a place in it on, up to the
// first that is required. The others count as written: they are over, or their turn has not come.
MemberSetId Closure::written_but_from(const Grammar::Members& members, size_t rank) {
  std::vector<uint32_t> words(members.required.size(), ~0U);
  if (members.count % 32 != 0) words.back() = (1U << (members.count % 32)) - 1;
  for (; rank < members.in_order.size(); ++rank) {
    const uint32_t member = members.in_order[rank];
    words[member / 32] &= ~(1U << (member % 32));
    if ((members.required[member / 32] >> (member % 32) & 1) != 0) break;
  }
  while (!words.empty() && words.back() == 0)
    words.pop_back();
  return stacks_.member_sets().intern(words);
}

// Nothing is written yet.
void Closure::begin_members(uint32_t number, StackId below) {
  const Grammar::Members& members = grammar_.members[grammar_.nodes[number].members];
  MembersFrame first;
  if (!members.in_order.empty()) first.written = written_but_from(members, 0);
  expand_members(number, first, below);
}

// Where names may come: they are one position, however many there are.
void Closure::expand_members(uint32_t number, const MembersFrame& at, StackId below) {
  const Grammar::Node& node = grammar_.nodes[number];
  const Grammar::Members& members = grammar_.members[node.members];
  const MembersRoom room = room_for_members(number, at);
  MembersFrame next = at;
  next.before_name = true;
  const Frame before = next.frame(number, below);
  if (may_write(before, {0, members.count}))
    positions_.push_back({Automata::kTexts, members.names, stacks_.push(before)});
  if (!room.for_other) return;
  next.before_name = false;
  if (!members.in_order.empty()) next.written = written_but_from(members, members.count);
  // How many there are matters up to here.
  uint32_t most = node.max == Grammar::kUnbounded ? node.min : node.max;
  if (members.other_max != Grammar::kUnbounded) most = std::max(most, members.other_max);
  next.others = std::min({at.others + 1, most, kOthersMax});
  open(grammar_.children[node.first], stacks_.push(next.frame(number, below)));
}

bool Closure::may_write(const Frame& before, TextTrie::Range range) const {
  const MemberSets& sets = stacks_.member_sets();
  const MembersFrame at = MembersFrame::of(before);
  if (room_for_members(before.node, at).for_any) return sets.lacks_some(at.written, range);
  const Grammar::Members& members = grammar_.members[grammar_.nodes[before.node].members];
  return sets.lacks_some(at.written, range, members.required);
}

bool Closure::is_left(StackId stack, TextTrie::Node node) const {
  const TextTrie::Range range = grammar_.names[node - grammar_.names_from];
  return std::ranges::any_of(stacks_.frames(stack),
                             [&](const Frame& frame) { return may_write(frame, range); });
}

bool Closure::may_write_other(const Frame& before) const {
  return room_for_members(before.node, MembersFrame::of(before)).for_other;
}

void Closure::resume_members(const Frame& frame) {
  MembersFrame at = MembersFrame::of(frame);
  if (at.before_name) return expand_members(frame.node, at, frame.below);
  const Grammar::Node& node = grammar_.nodes[frame.node];
  const Grammar::Members& members = grammar_.members[node.members];
  const MembersRoom room = room_for_members(frame.node, at);
  if (room.can_end) leave(frame.below);
  if (!members.has_separator) return expand_members(frame.node, at, frame.below);
  if (!room.for_other && !may_write(frame, {0, members.count})) return;
  at.before_name = true;
  open(grammar_.children[node.first + node.count - 1],
       stacks_.push(at.frame(frame.node, frame.below)));
}

// Readings in which no such name is left end here. A name that is whole opens its value.
void Closure::arrive_in_name(const Position& position) {
  const TextTrie::Range range = grammar_.names[position.state - grammar_.names_from];
  const bool goes_on = grammar_.texts.goes_on(position.state);
  const bool is_whole = grammar_.texts.accepts(position.state);
  const std::span<const Frame> frames = stacks_.frames(position.stack);
  work_ += frames.size();
  if (!is_whole && frames.size() == 1) {
    if (may_write(frames[0], range)) positions_.push_back(position);
    return;
  }
  const std::vector<Frame> all(frames.begin(), frames.end());
  std::vector<Frame> going_on;
  const TextTrie::Range longer{is_whole ? range.first + 1 : range.first, range.end};
  for (const Frame& frame : all) {
    if (goes_on && may_write(frame, longer)) going_on.push_back(frame);
    if (!is_whole || !may_write(frame, {range.first, range.first + 1})) continue;
    const Grammar::Node& node = grammar_.nodes[frame.node];
    const uint32_t values_from = node.first + (grammar_.members[node.members].has_other ? 1 : 0);
    const uint32_t value = grammar_.children[values_from + range.first];
    MembersFrame next = MembersFrame::of(frame);
    next.before_name = false;
    const Grammar::Members& members = grammar_.members[node.members];
    next.written = members.in_order.empty()
                       ? stacks_.member_sets().with(next.written, range.first)
                       : written_but_from(members, members.ranks[range.first] + size_t{1});
    const StackId behind = stacks_.push(next.frame(frame.node, frame.below));
    open(value, behind);
    if (grammar_.nodes[value].nullable) leave(behind);
  }
  if (going_on.empty()) return;
  const StackId stack = going_on.size() == all.size() ? position.stack : stacks_.intern(going_on);
  positions_.push_back({position.automaton, position.state, stack});
}

}  // namespace windrow::grammar
