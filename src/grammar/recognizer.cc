#include "grammar/recognizer.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/hash.h"

namespace windrow::grammar {
namespace {

using Kind = Grammar::Node::Kind;

constexpr uint32_t kUnbounded = Grammar::kUnbounded;
constexpr uint32_t kLeave = UINT32_MAX;  // instead of a node, in what was seen

// Nodes, stacks and frames that one step may look at, besides twice the nodes there are. Grammars
// that can be read in thousands of ways need more than there is.
constexpr size_t kStepWorkMax = 100'000;
constexpr uint32_t kPlacesFew = 8;

uint32_t one_less(uint32_t times) {
  return times == 0 || times == kUnbounded ? times : times - 1;
}

}  // namespace

Recognizer::Recognizer(std::shared_ptr<const Grammar> grammar)
    : grammar_(std::move(grammar)),
      automata_(*grammar_),
      work_max_(kStepWorkMax + 2 * grammar_->nodes.size()) {
  find_classes();
  find_ranks();
  keep_only({});
}

// Depth first, by hand: grammars may be deep. No node opens itself, as none begins with itself.
void Recognizer::find_ranks() {
  const std::vector<Node>& nodes = grammar_->nodes;
  const auto opened_by = [&](const Node& node) {
    if (node.kind == Kind::kTexts || node.kind == Kind::kLexeme) return uint32_t{0};
    if (node.kind == Kind::kRepeat) return uint32_t{1};
    if (node.kind == Kind::kChoice) return node.count;
    uint32_t count = 0;
    while (count < node.count) {
      if (!nodes[grammar_->children[node.first + count++]].nullable) break;
    }
    return count;
  };
  struct Visit {
    uint32_t node;
    uint32_t next;
  };
  std::vector<bool> seen(nodes.size());
  auto rank = static_cast<uint32_t>(nodes.size());
  ranks_.assign(nodes.size(), 0);
  for (uint32_t start = 0; start < nodes.size(); ++start) {
    if (seen[start]) continue;
    seen[start] = true;
    std::vector<Visit> way = {{start, 0}};
    while (!way.empty()) {
      auto& [number, next] = way.back();
      const Node& node = nodes[number];
      if (next == opened_by(node)) {
        ranks_[number] = --rank;
        way.pop_back();
        continue;
      }
      const uint32_t child = grammar_->children[node.first + next++];
      if (seen[child]) continue;
      seen[child] = true;
      way.push_back({child, 0});
    }
  }
}

void Recognizer::find_classes() {
  uint32_t count = 1;
  std::vector<uint32_t> class_of(256, 0);
  const auto divide = [&](const auto& kind_of) {
    if (count == 256) return;
    std::vector<std::pair<uint32_t, uint32_t>> kinds;  // class and kind, in order of appearance
    std::vector<uint32_t> divided(256);
    for (uint32_t byte = 0; byte < 256; ++byte) {
      const std::pair kind(class_of[byte], uint32_t{kind_of(byte)});
      const auto at = std::find(kinds.begin(), kinds.end(), kind);
      divided[byte] = static_cast<uint32_t>(at - kinds.begin());
      if (at == kinds.end()) kinds.push_back(kind);
    }
    count = static_cast<uint32_t>(kinds.size());
    class_of = divided;
  };
  const std::vector<bool>& in_texts = grammar_->texts.bytes_used();
  divide([&](uint32_t byte) { return in_texts[byte] ? byte : 256; });
  for (const auto& dfa : grammar_->automata)
    divide([&](uint32_t byte) { return dfa->class_of[byte]; });

  byte_of_.assign(count, 0);
  bytes_in_.assign(count, 0);
  std::vector<bool> plain(count);
  for (unsigned byte = 0; byte < 256; ++byte) {
    const uint32_t byte_class = class_of[byte];
    class_of_[byte] = static_cast<uint8_t>(byte_class);
    byte_of_[byte_class] = static_cast<uint8_t>(byte);
    ++bytes_in_[byte_class];
    if (!begins_plain(static_cast<uint8_t>(byte)) || plain[byte_class]) continue;
    plain[byte_class] = true;
    plain_firsts_.push_back(static_cast<uint8_t>(byte));
  }
}

// --- what may come next ---------------------------------------------------------------------

void Recognizer::begin_closure() {
  seen_.clear();
  tasks_.clear();
  leaving_.clear();
  work_ = 0;
  found_.clear();
  found_end_ = false;
}

void Recognizer::arrive(const Place& place) {
  if (automata_.goes_on(place.automaton, place.state)) found_.push_back(place);
  if (automata_.accepts(place.automaton, place.state)) leave(place.stack);
}

void Recognizer::open(uint32_t node, StackId stack) {
  if (!seen_.add(uint64_t{node} << 32 | stack)) return;
  ++work_;
  tasks_.push_back({ranks_[node], node, stack});
  std::push_heap(tasks_.begin(), tasks_.end(), is_later);
}

void Recognizer::leave(StackId stack) {
  if (seen_.add(uint64_t{kLeave} << 32 | stack)) leaving_.push_back(stack);
}

// What is over first: nothing that is opened ends at once, so nothing more is over then.
void Recognizer::run_closure() {
  while (!leaving_.empty() && work_ <= work_max_) {
    const StackId stack = leaving_.back();
    leaving_.pop_back();
    resume(stack);
  }
  while (!tasks_.empty() && work_ <= work_max_)
    expand_first();
  if (work_ > work_max_) too_complex_ = true;
}

void Recognizer::expand_first() {
  const uint32_t node = tasks_.front().node;
  std::vector<StackId> stacks;
  while (!tasks_.empty() && tasks_.front().node == node) {
    stacks.push_back(tasks_.front().stack);
    std::pop_heap(tasks_.begin(), tasks_.end(), is_later);
    tasks_.pop_back();
  }
  if (stacks.size() == 1) return expand(node, stacks[0]);
  expand(node, stacks_.unite(std::move(stacks), work_, work_max_));
}

// The texts of a node that are not empty; where it may be empty, who asked goes on without it.
void Recognizer::expand(uint32_t number, StackId stack) {
  const Node& node = grammar_->nodes[number];
  const uint32_t* const children = grammar_->children.data() + node.first;
  switch (node.kind) {
    case Kind::kTexts:
      if (grammar_->texts.goes_on(node.first))
        found_.push_back({Automata::kTexts, node.first, stack});
      return;
    case Kind::kLexeme:
      if (automata_.goes_on(node.first + 1, 0)) found_.push_back({node.first + 1, 0, stack});
      return;
    case Kind::kSequence:
      for (uint32_t i = 0; i < node.count; ++i) {
        open(children[i], behind(number, i + 1, stack));
        if (!grammar_->nodes[children[i]].nullable) return;
      }
      return;
    case Kind::kChoice:
      for (uint32_t i = 0; i < node.count; ++i)
        open(children[i], stack);
      return;
    case Kind::kRepeat:
      open(children[0], again(number, one_less(node.min), one_less(node.max), stack));
      return;
  }
}

void Recognizer::resume(StackId stack) {
  work_ += stacks_.frames_count(stack);
  for (size_t i = 0; i < stacks_.frames_count(stack); ++i)
    go_on(stacks_.frame(stack, i));
}

void Recognizer::go_on(const Frame& frame) {
  if (frame.node == Stacks::kEndNode) {
    found_end_ = true;
    return;
  }
  const Node& node = grammar_->nodes[frame.node];
  const uint32_t* const children = grammar_->children.data() + node.first;
  if (node.kind == Kind::kRepeat) {
    if (frame.second > 0) {
      open(children[0],
           again(frame.node, one_less(frame.first), one_less(frame.second), frame.below));
    }
    if (frame.first == 0) leave(frame.below);
    return;
  }
  for (uint32_t i = frame.first; i < node.count; ++i) {
    open(children[i], behind(frame.node, i + 1, frame.below));
    if (!grammar_->nodes[children[i]].nullable) return;
  }
  leave(frame.below);
}

// Nothing is put on a stack for what is over, so recursion at an end needs none.
StackId Recognizer::behind(uint32_t sequence, uint32_t next_child, StackId below) {
  if (next_child == grammar_->nodes[sequence].count) return below;
  return stacks_.push({sequence, next_child, 0, below});
}

StackId Recognizer::again(uint32_t repeat, uint32_t needed, uint32_t allowed, StackId below) {
  if (allowed == 0) return below;
  return stacks_.push({repeat, needed, allowed, below});
}

StateId Recognizer::intern_found() {
  std::sort(found_.begin(), found_.end());
  size_t kept = 0;
  for (size_t at = 0; at < found_.size();) {
    size_t end = at + 1;
    while (end < found_.size() && found_[end].automaton == found_[at].automaton &&
           found_[end].state == found_[at].state)
      ++end;
    Place place = found_[at];
    if (end - at > 1) {
      std::vector<StackId> stacks;
      for (; at < end; ++at)
        stacks.push_back(found_[at].stack);
      place.stack = stacks_.unite(std::move(stacks), work_, work_max_);
    }
    at = end;
    found_[kept++] = place;
  }
  found_.resize(kept);
  return intern(found_, found_end_);
}

StateId Recognizer::intern(std::span<const Place> places, bool can_end) {
  const std::string_view bytes(reinterpret_cast<const char*>(places.data()),
                               places.size() * sizeof(Place));
  const uint64_t hash = hash64(bytes, can_end ? 1 : 0);
  const uint32_t found = table_.find(hash, [&](uint32_t id) {
    return states_[id].can_end == can_end && std::ranges::equal(this->places(id), places);
  });
  if (found != IdTable::kNone) return found;
  const StateId id = static_cast<StateId>(states_.size());
  states_.push_back({.places_from = static_cast<uint32_t>(places_.size()),
                     .places_count = static_cast<uint32_t>(places.size()),
                     .can_end = can_end});
  places_.insert(places_.end(), places.begin(), places.end());
  table_.insert(hash, id);
  return id;
}

StateId Recognizer::find_step(StateId state, uint32_t byte_class) {
  ++steps_found_;
  const uint32_t from = states_[state].places_from;
  const uint32_t count = states_[state].places_count;
  const auto next_of = [&](uint32_t place, uint32_t some_class) {
    const Place& at = places_[from + place];
    return automata_.next(at.automaton, at.state, byte_of_[some_class]);
  };
  begin_closure();
  next_states_.clear();
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t next = next_of(i, byte_class);
    next_states_.push_back(next);
    if (next != Automata::kDead)
      arrive({places_[from + i].automaton, next, places_[from + i].stack});
  }
  run_closure();
  const StateId to = intern_found();
  if (work_ > work_max_) {
    too_complex_ = true;
    return kDead;
  }

  const bool is_first = states_[state].row == nullptr;
  if (is_first) {
    states_[state].row = new_row();
    if (count > kPlacesFew) find_dead(state);
  }
  StateId* const row = states_[state].row;
  row[byte_class] = to;
  // Who asks twice in a state is likely to ask for all bytes, and those that lead everywhere to the
  // same are cheaper to see now than to find one by one.
  if (is_first || count > kPlacesFew) return to;
  for (uint32_t other = 0; other < classes_count(); ++other) {
    if (row[other] != kUnknown) continue;
    uint32_t i = 0;
    while (i < count && next_of(i, other) == next_states_[i])
      ++i;
    if (i == count) row[other] = to;
  }
  return to;
}

StateId* Recognizer::new_row() {
  if (rows_in_block_ == kRowsPerBlock) {
    row_blocks_.push_back(
        std::make_unique_for_overwrite<StateId[]>(kRowsPerBlock * classes_count()));
    rows_in_block_ = 0;
  }
  StateId* const row = row_blocks_.back().get() + rows_in_block_ * classes_count();
  ++rows_in_block_;
  std::fill_n(row, classes_count(), kUnknown);
  return row;
}

// Of many places most die with most bytes: once through them instead of once for each byte.
void Recognizer::find_dead(StateId state) {
  std::vector<bool> alive(classes_count());
  for (const Place& place : places(state)) {
    if (place.automaton == Automata::kTexts) {
      grammar_->texts.for_each_byte(place.state,
                                    [&](uint8_t byte) { alive[class_of_[byte]] = true; });
      continue;
    }
    for (uint32_t i = 0; i < classes_count(); ++i) {
      if (automata_.next(place.automaton, place.state, byte_of_[i]) != Automata::kDead)
        alive[i] = true;
    }
  }
  StateId* const row = states_[state].row;
  for (uint32_t i = 0; i < classes_count(); ++i) {
    if (!alive[i]) row[i] = kDead;
  }
}

std::optional<uint8_t> Recognizer::only_byte(StateId state) {
  std::optional<uint8_t> only;
  for (uint32_t byte_class = 0; byte_class < classes_count(); ++byte_class) {
    if (step_class(state, byte_class) == kDead) continue;
    if (only || bytes_in_[byte_class] > 1) return std::nullopt;
    only = byte_of_[byte_class];
  }
  return only;
}

// --- counters -------------------------------------------------------------------------------

StateId Recognizer::clipped(StateId state, uint32_t reach) {
  if (states_[state].clipped != kUnknown) return states_[state].clipped;
  std::vector<Place> same(places(state).begin(), places(state).end());
  for (Place& place : same)
    place.stack = clipped_stack(place.stack, reach);
  std::sort(same.begin(), same.end());
  const StateId id = intern(same, states_[state].can_end);
  states_[state].clipped = id;
  states_[id].clipped = id;
  return id;
}

// What lies below first, by hand: stacks may be deep.
StackId Recognizer::clipped_stack(StackId wanted, uint32_t reach) {
  if (clipped_stacks_.empty()) clipped_stacks_.push_back(Stacks::kEnd);
  const auto known = [&](StackId stack) {
    return stack < clipped_stacks_.size() ? clipped_stacks_[stack] : kUnknown;
  };
  std::vector<StackId> todo = {wanted};
  std::vector<Frame> frames;
  while (!todo.empty()) {
    const StackId stack = todo.back();
    const size_t before = todo.size();
    frames.assign(stacks_.frames(stack).begin(), stacks_.frames(stack).end());
    if (known(stack) == kUnknown) {
      for (const Frame& frame : frames) {
        if (known(frame.below) == kUnknown) todo.push_back(frame.below);
      }
      if (todo.size() > before) continue;
      for (Frame& frame : frames) {
        frame.below = known(frame.below);
        if (frame.node == Stacks::kEndNode || grammar_->nodes[frame.node].kind != Kind::kRepeat)
          continue;
        frame.first = std::min(frame.first, reach);
        if (frame.second != kUnbounded) frame.second = std::min(frame.second, reach);
      }
      std::sort(frames.begin(), frames.end());
      frames.erase(std::unique(frames.begin(), frames.end()), frames.end());
      const StackId id = stacks_.intern(frames);
      clipped_stacks_.resize(stacks_.count(), kUnknown);
      clipped_stacks_[stack] = id;
      clipped_stacks_[id] = id;
    }
    todo.pop_back();
  }
  return known(wanted);
}

// --- memory ---------------------------------------------------------------------------------

size_t Recognizer::memory_bytes() const {
  return sizeof(*this) + automata_.memory_bytes() + stacks_.memory_bytes() +
         clipped_stacks_.capacity() * sizeof(StackId) + states_.capacity() * sizeof(State) +
         places_.capacity() * sizeof(Place) +
         row_blocks_.size() * kRowsPerBlock * classes_count() * sizeof(StateId) +
         table_.memory_bytes();
}

void Recognizer::keep_only(std::span<StateId* const> kept) {
  const Stacks old_stacks = std::exchange(stacks_, Stacks());
  const std::vector<State> old_states = std::exchange(states_, {});
  const std::vector<Place> old_places = std::exchange(places_, {});
  clipped_stacks_ = {};
  row_blocks_.clear();
  rows_in_block_ = kRowsPerBlock;
  table_.clear();

  intern({}, false);  // kDead
  begin_closure();
  found_end_ = grammar_->nodes[grammar_->root].nullable;
  open(grammar_->root, Stacks::kEnd);
  run_closure();
  intern_found();  // kFirst

  // Which stacks are needed, from above; then they are made anew from below.
  std::vector<bool> needed(old_stacks.count());
  for (const StateId* state : kept) {
    const State& old = old_states[*state];
    for (uint32_t i = 0; i < old.places_count; ++i)
      needed[old_places[old.places_from + i].stack] = true;
  }
  for (size_t stack = needed.size(); stack-- > 1;) {
    if (!needed[stack]) continue;
    for (const Frame& frame : old_stacks.frames(static_cast<StackId>(stack)))
      needed[frame.below] = true;
  }
  std::vector<StackId> new_stacks(needed.size(), Stacks::kEnd);
  std::vector<Frame> frames;
  for (size_t stack = 1; stack < needed.size(); ++stack) {
    if (!needed[stack]) continue;
    const std::span<const Frame> old = old_stacks.frames(static_cast<StackId>(stack));
    frames.assign(old.begin(), old.end());
    for (Frame& frame : frames)
      frame.below = new_stacks[frame.below];
    std::sort(frames.begin(), frames.end());
    new_stacks[stack] = stacks_.intern(frames);
  }
  std::vector<Place> places;
  for (StateId* state : kept) {
    const State& old = old_states[*state];
    if (*state == kDead) continue;
    places.assign(old_places.begin() + old.places_from,
                  old_places.begin() + old.places_from + old.places_count);
    for (Place& place : places)
      place.stack = new_stacks[place.stack];
    std::sort(places.begin(), places.end());
    *state = intern(places, old.can_end);
  }
}

}  // namespace windrow::grammar
