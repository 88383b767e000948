#include "grammar/mask_walk.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace windrow::grammar {
namespace {

// Other work, in nodes.
constexpr size_t kStepFound = 16;
constexpr size_t kTokensPerNode = 8;

// From here on it is less work to follow each text by itself.
constexpr uint32_t kTextsMany = 3;

// What is followed by itself is not joined with other readings of the same bytes, of which there
// may be very many in a long token: so this is done a few times on a path only.
constexpr uint8_t kTextsBeforeMax = 2;

// The rest of an escape may have so many more bytes than characters: "u00e9" is one, in five bytes.
constexpr uint32_t kEscapeBytes = 4;

// Whether all plain tokens below a node are allowed.
bool all_allowed_in_state(const PlainState& plain, const TokenTrie& trie, uint32_t number) {
  const TokenTrie::Node& node = trie.nodes()[number];
  if (((plain.free_after >> node.begun) & 1) != 0) return true;
  if (node.begun != 0) return false;
  // Of a node with 255 characters below it is not known how many more there are.
  const bool counted = node.chars_below < 255 || plain.free_chars == Grammar::kUnbounded;
  return (counted && plain.free_chars >= node.chars_below && plain.free_chars > 0) ||
         (trie.kinds_below(number) & plain.dangers).empty();
}

}  // namespace

MaskWalk::MaskWalk(const TokenTables& tables, Recognizer& recognizer, DistinctLexemes* distinct,
                   StateId whole, bool begun)
    : tables_(tables), distinct_(distinct), mask_(0) {
  // What distinct lexemes forbid is found from state to state.
  const bool apart = distinct == nullptr && recognizer.texts_count(whole) >= kTextsMany;
  const StateId state = apart ? recognizer.without_texts(whole) : whole;
  const PlainLoop loop = find_plain_loop(recognizer, state, tables.special_chars_max());
  if (loop.is_one) {
    mask_ = tables.plain_mask(loop.chars);
  } else if (const Position* lexeme = find_plain_lexeme(recognizer, state)) {
    const Automata& automata = recognizer.automata();
    mask_ = *tables.lexeme_masks().get(tables, automata.dfa(lexeme->automaton),
                                       automata.dfa_state(lexeme->automaton, lexeme->state),
                                       automata.all_facts(lexeme->automaton));
    limit_plain(recognizer, *lexeme);
  } else if (recognizer.goes_on(state)) {
    add_plain_jobs(recognizer, state, apart);
  } else {
    mask_ = TokenMask(tables.vocabulary_size());
  }
  // An ending of line breaks stands for tokens with text before them and for those without.
  const bool endings = loop.is_one && loop.same_behind && (begun || !recognizer.can_end(state));
  add_special_jobs(recognizer, state, endings ? tables.endings() : tables.special(), begun);
  const size_t depths =
      size_t{1} + std::max(tables.plain().depth_max(), tables.special().depth_max());
  if (apart) {
    // Nothing forbids tokens of the mask later.
    follow_texts(recognizer, whole, tables.plain(), TokenTrie::kNone);
    follow_texts(recognizer, whole, tables.special(), TokenTrie::kNone);
    for (Job& job : found_) {
      job.texts_before = 1;
      jobs_.push_back(job);
    }
    found_.clear();
  }
  states_.resize(depths);
  names_.resize(depths);
  ended_.resize(depths);
  risks_.resize(depths);
}

// Of the plain tokens that a lexeme allows, forbids those that have too many characters for its
// count: those from which no end can be reached with the characters that are left.
void MaskWalk::limit_plain(const Recognizer& recognizer, const Position& lexeme) {
  const Automata& automata = recognizer.automata();
  if (automata.is_free(lexeme.automaton, lexeme.state)) return;
  const CountedDfa& counted = *automata.counted(lexeme.automaton);
  const TokenMask free = tables_.plain_mask(counted.free_chars(lexeme.state, false));
  uint32_t chars_max = counted.chars_left(lexeme.state);
  if (counted.is_within_character(lexeme.state) && chars_max < CharCount::kEndless - kEscapeBytes)
    chars_max += kEscapeBytes;
  const TokenMask possible = tables_.plain_mask(chars_max);
  const std::span<uint64_t> words = mask_.words();
  for (size_t i = 0; i < words.size(); ++i) {
    uint64_t left = words[i] & possible.words()[i] & ~free.words()[i];
    words[i] &= free.words()[i];
    for (; left != 0; left &= left - 1) {
      const auto token = static_cast<Token>(i * 64 + static_cast<size_t>(std::countr_zero(left)));
      if (counted.goes_on_with(lexeme.state, tables_.bytes(token))) mask_.allow(token);
    }
  }
}

bool MaskWalk::follows_texts(const Recognizer& recognizer, const Job& job, StateId state) const {
  return distinct_ == nullptr && recognizer.texts_count(state) >= kTextsMany && !job.forbids &&
         job.texts_before < kTextsBeforeMax;
}

// Allows what follows along the texts of a state below a node (kNone: below the root). Returns how
// many places it looked at.
size_t MaskWalk::follow_texts(Recognizer& recognizer, StateId state, const TokenTrie& trie,
                              uint32_t node) {
  places_.clear();
  for (const Position& position : recognizer.positions(state)) {
    if (recognizer.is_in_text(position))
      places_.push_back({.place = position.state, .stack = position.stack});
  }
  return follow_places(recognizer, trie, node, 0);
}

// From the places in places_ from number `from` on; it leaves places_ as they were.
size_t MaskWalk::follow_places(Recognizer& recognizer, const TokenTrie& trie, uint32_t above,
                               size_t from) {
  const TextTrie& texts = recognizer.grammar().texts;
  const std::span<const TokenTrie::Node> nodes = trie.nodes();
  const size_t next = places_.size();
  for (size_t i = from; i < next; ++i) {
    const TextPlace at = places_[i];
    texts.for_each_edge(at.place, [&](uint8_t byte, TextTrie::Node to) {
      places_.push_back({.byte = byte, .place = to, .stack = at.stack});
    });
  }
  const auto by_byte = [](const TextPlace& a, const TextPlace& b) { return a.byte < b.byte; };
  const size_t end = places_.size();
  const std::span<TextPlace> found = std::span(places_).subspan(next);
  if (!std::ranges::is_sorted(found, by_byte)) std::ranges::sort(found, by_byte);

  size_t looked = end - next;
  uint32_t node = above == TokenTrie::kNone ? TokenTrie::kNone : above + 1;
  size_t last = next;
  for (size_t first = next; first < end; first = last) {
    const uint8_t byte = places_[first].byte;
    while (last < end && places_[last].byte == byte)
      ++last;
    if (above == TokenTrie::kNone) {
      node = trie.root_child(byte);
      if (node == TokenTrie::kNone) continue;
    } else {
      for (; node < nodes[above].end && nodes[node].byte < byte; node = nodes[node].end)
        ++looked;
      if (node == nodes[above].end) break;
      if (nodes[node].byte != byte) continue;
    }
    allow(trie.own_tokens(node));
    if (nodes[node].end == node + 1) continue;
    leave_texts(recognizer, trie, node, std::span(places_).subspan(first, last - first));
    for (size_t i = first; i < last; ++i)
      places_.push_back(TextPlace(places_[i]));
    looked += follow_places(recognizer, trie, node, end);
    places_.resize(end);
  }
  places_.resize(next);
  return looked;
}

// What follows texts that are over at a node is another job.
void MaskWalk::leave_texts(Recognizer& recognizer, const TokenTrie& trie, uint32_t node,
                           std::span<const TextPlace> places) {
  const TextTrie& texts = recognizer.grammar().texts;
  std::vector<StackId> stacks;
  for (const TextPlace& at : places) {
    if (texts.accepts(at.place)) stacks.push_back(at.stack);
  }
  if (stacks.empty()) return;
  const StateId behind = recognizer.after(stacks);
  found_.push_back({.trie = &trie,
                    .node = node,
                    .state = behind,
                    .ended = recognizer.can_end(behind),
                    .is_plain = &trie == &tables_.plain()});
}

// `only_allow`: never begins with all tokens.
void MaskWalk::add_plain_jobs(Recognizer& recognizer, StateId state, bool only_allow) {
  const TokenTrie& trie = tables_.plain();
  std::vector<Job> jobs;
  std::vector<uint32_t> free;
  std::vector<uint32_t> dead;
  size_t free_tokens = 0;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const uint32_t node = trie.root_child(static_cast<uint8_t>(byte));
    if (node == TokenTrie::kNone) continue;
    const StateId behind = recognizer.step(state, static_cast<uint8_t>(byte));
    const Risk risk = risk_behind({}, state, static_cast<uint8_t>(byte), behind);
    if (behind == Recognizer::kDead) {
      dead.push_back(node);
    } else if (!risk.begun && !risk.at_risk &&
               all_allowed_in_state(recognizer.plain(behind), trie, node)) {
      free.push_back(node);
      free_tokens += trie.subtree_tokens(node).size();
    } else {
      jobs.push_back(
          {.trie = &trie, .node = node, .state = behind, .risk = risk, .is_plain = true});
    }
  }
  const bool forbids = !only_allow && free_tokens * 2 > trie.tokens_count();
  mask_ = forbids ? tables_.plain_mask(Grammar::kUnbounded) : TokenMask(tables_.vocabulary_size());
  for (Job& job : jobs)
    job.forbids = forbids;
  for (const uint32_t node : forbids ? dead : free) {
    if (forbids) {
      forbid(trie.subtree_tokens(node));
    } else {
      allow(trie.subtree_tokens(node));
    }
  }
  jobs_ = std::move(jobs);
}

void MaskWalk::add_special_jobs(Recognizer& recognizer, StateId state, const TokenTrie& trie,
                                bool begun) {
  const bool ended = begun && recognizer.can_end(state);
  for (unsigned byte = 0; byte < 256; ++byte) {
    const uint32_t node = trie.root_child(static_cast<uint8_t>(byte));
    if (node == TokenTrie::kNone) continue;
    const StateId behind = recognizer.step(state, static_cast<uint8_t>(byte));
    const bool is_alive = behind != Recognizer::kDead;
    const bool breaks = ended && is_line_break(static_cast<char>(byte));
    if (!is_alive && !breaks) continue;
    jobs_.push_back({.trie = &trie,
                     .node = node,
                     .state = behind,
                     .ended = breaks || (is_alive && recognizer.can_end(behind)),
                     .risk = risk_behind({}, state, static_cast<uint8_t>(byte), behind)});
  }
}

bool MaskWalk::advance(Recognizer& recognizer, size_t nodes_max) {
  size_t used = 0;
  while (!jobs_.empty()) {
    const Job& job = jobs_.back();
    const TokenTrie& trie = *job.trie;
    const std::span<const TokenTrie::Node> nodes = trie.nodes();
    if (!begun_) used += begin(recognizer, job);
    const uint32_t end = nodes[job.node].end;
    const size_t steps_before = recognizer.steps_found();
    while (at_ < end && used < nodes_max) {
      const TokenTrie::Node& node = nodes[at_];
      const StateId before = states_[node.depth - 1U];
      StateId state = before == Recognizer::kDead ? before : step(recognizer, node);
      const bool in_name = state != Recognizer::kDead && names_[node.depth].found < node.depth;
      const bool breaks =
          !job.is_plain && ended_[node.depth - 1U] && is_line_break(static_cast<char>(node.byte));
      ++used;
      if (state == Recognizer::kDead && !breaks) {
        if (job.forbids) {
          forbid(trie.subtree_tokens(at_));
          used += trie.subtree_tokens(at_).size() / kTokensPerNode;
        }
        at_ = node.end;
        continue;
      }
      const Risk& risk_before = risks_[node.depth - 1U];
      const Risk risk = in_name ? risk_before : risk_behind(risk_before, before, node.byte, state);
      if (job.is_plain && !in_name && !risk.begun && !risk.at_risk &&
          all_allowed_in_state(recognizer.plain(state), trie, at_)) {
        if (!job.forbids) {
          allow(trie.subtree_tokens(at_));
          used += trie.subtree_tokens(at_).size() / kTokensPerNode;
        }
        at_ = node.end;
        continue;
      }
      if (!job.forbids) allow(trie.own_tokens(at_));
      if (risk.at_risk) add_at_risk(trie.own_tokens(at_));
      if (!in_name && follows_texts(recognizer, job, state)) {
        used += follow_texts(recognizer, state, trie, at_);
        state = recognizer.without_texts(state);
        names_[node.depth].node = recognizer.name_node(state);
      }
      depth_ = node.depth;
      risks_[depth_] = risk;
      states_[depth_] = state;
      ended_[depth_] =
          breaks || (state != Recognizer::kDead && !in_name && recognizer.can_end(state));
      ++at_;
    }
    used += (recognizer.steps_found() - steps_before) * kStepFound;
    if (at_ < end) return false;
    const auto before = static_cast<uint8_t>(job.texts_before + 1);
    jobs_.pop_back();
    for (Job& next : found_) {
      next.texts_before = before;
      jobs_.push_back(next);
    }
    found_.clear();
    begun_ = false;
    if (used >= nodes_max && !jobs_.empty()) return false;
  }
  return true;
}

// The state after the byte of a node, whose parent leads somewhere. Where that is within a name,
// the last state that was found, before it.
StateId MaskWalk::step(Recognizer& recognizer, const TokenTrie::Node& node) {
  const InName& before = names_[node.depth - 1U];
  InName& here = names_[node.depth];
  here = {.node = TextTrie::kNone, .found = node.depth, .byte = node.byte};
  StateId state = states_[node.depth - 1U];
  if (before.node != TextTrie::kNone) {
    const TextTrie::Node next = recognizer.name_step(state, before.node, node.byte);
    if (next == TextTrie::kNone) return Recognizer::kDead;
    if (!recognizer.grammar().texts.accepts(next)) {
      here.node = next;
      here.found = before.found;
      return state;
    }
    for (uint16_t depth = before.found + 1U; depth < node.depth; ++depth)
      state = recognizer.step(state, names_[depth].byte);
  }
  state = recognizer.step(state, node.byte);
  here.node = recognizer.name_node(state);
  return state;
}

size_t MaskWalk::begin(Recognizer& recognizer, const Job& job) {
  if (!job.forbids) allow(job.trie->own_tokens(job.node));
  if (job.risk.at_risk) add_at_risk(job.trie->own_tokens(job.node));
  depth_ = job.trie->nodes()[job.node].depth;
  risks_[depth_] = job.risk;
  ended_[depth_] = job.ended;
  StateId& state = states_[depth_] = job.state;
  size_t used = 1;
  if (follows_texts(recognizer, job, state)) {
    used += follow_texts(recognizer, state, *job.trie, job.node);
    state = recognizer.without_texts(state);
  }
  names_[depth_] = {.node = recognizer.name_node(state), .found = depth_};
  at_ = job.node + 1;
  begun_ = true;
  return used;
}

// `to` is the state behind `byte`; both states may be kDead.
MaskWalk::Risk MaskWalk::risk_behind(Risk before, StateId from, uint8_t byte, StateId to) {
  if (distinct_ == nullptr) return {};
  Risk risk = before;
  if (risk.begun && !risk.at_risk && distinct_->may_end(from, byte)) risk.at_risk = true;
  if (distinct_->begins(to)) risk.begun = true;
  if (!risk.at_risk &&
      ((risk.begun && distinct_->has_few_texts(to)) || distinct_->may_block(from, byte, to)))
    risk.at_risk = true;
  return risk;
}

void MaskWalk::add_at_risk(std::span<const Token> tokens) {
  at_risk_.insert(at_risk_.end(), tokens.begin(), tokens.end());
}

void MaskWalk::allow(std::span<const Token> tokens) {
  for (const Token token : tokens)
    mask_.allow(token);
}

void MaskWalk::forbid(std::span<const Token> tokens) {
  for (const Token token : tokens)
    mask_.forbid(token);
}

void MaskWalk::list_states(std::vector<StateId*>& states) {
  for (Job& job : jobs_)
    states.push_back(&job.state);
  for (Job& job : found_)
    states.push_back(&job.state);
  if (!begun_) return;
  const Job& job = jobs_.back();
  for (uint16_t depth = job.trie->nodes()[job.node].depth; depth <= depth_; ++depth)
    states.push_back(&states_[depth]);
}

}  // namespace windrow::grammar
