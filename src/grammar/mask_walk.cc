#include "grammar/mask_walk.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace windrow::grammar {
namespace {

// Other work, in nodes.
constexpr size_t kStepFound = 16;
constexpr size_t kTokensPerNode = 8;

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
                   StateId state, bool begun)
    : tables_(tables), distinct_(distinct), mask_(0) {
  const PlainLoop loop = find_plain_loop(recognizer, state, tables.special_chars_max());
  if (loop.is_one) {
    mask_ = tables.plain_mask(loop.chars);
  } else if (const Position* lexeme = find_plain_lexeme(recognizer, state)) {
    const Automata& automata = recognizer.automata();
    mask_ = *tables.lexeme_masks().get(tables, automata.dfa(lexeme->automaton),
                                       automata.dfa_state(lexeme->automaton, lexeme->state),
                                       automata.all_facts(lexeme->automaton));
    limit_plain(recognizer, *lexeme);
  } else {
    add_plain_jobs(recognizer, state);
  }
  // An ending of line breaks stands for tokens with text before them and for those without.
  const bool endings = loop.is_one && loop.same_behind && (begun || !recognizer.can_end(state));
  add_special_jobs(recognizer, state, endings ? tables.endings() : tables.special(), begun);
  const size_t depths =
      size_t{1} + std::max(tables.plain().depth_max(), tables.special().depth_max());
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
  const TokenMask possible = tables_.plain_mask(counted.chars_left(lexeme.state));
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

void MaskWalk::add_plain_jobs(Recognizer& recognizer, StateId state) {
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
    } else if (!risk.begun && all_allowed_in_state(recognizer.plain(behind), trie, node)) {
      free.push_back(node);
      free_tokens += trie.subtree_tokens(node).size();
    } else {
      jobs.push_back(
          {.trie = &trie, .node = node, .state = behind, .risk = risk, .is_plain = true});
    }
  }
  const bool forbids = free_tokens * 2 > trie.tokens_count();
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
      const StateId state = before == Recognizer::kDead ? before : step(recognizer, node);
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
      if (job.is_plain && !in_name && !risk.begun &&
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
      depth_ = node.depth;
      risks_[depth_] = risk;
      states_[depth_] = state;
      ended_[depth_] =
          breaks || (state != Recognizer::kDead && !in_name && recognizer.can_end(state));
      ++at_;
    }
    used += (recognizer.steps_found() - steps_before) * kStepFound;
    if (at_ < end) return false;
    jobs_.pop_back();
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
  risks_[1] = job.risk;
  states_[1] = job.state;
  names_[1] = {.node = recognizer.name_node(job.state), .found = 1};
  ended_[1] = job.ended;
  depth_ = 1;
  at_ = job.node + 1;
  begun_ = true;
  return 1;
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
  if (!begun_) return;
  for (uint16_t depth = 1; depth <= depth_; ++depth)
    states.push_back(&states_[depth]);
}

}  // namespace windrow::grammar
