#include "engine/structure/answer_guide.h"

#include <algorithm>
#include <utility>

#include "grammar/plain_facts.h"

namespace windrow::engine {

using ReasoningPart = ReasoningGate::Part;

namespace {

// The node at which `bytes` end. They are not empty.
uint32_t node_of(const grammar::TokenTrie& trie, std::string_view bytes) {
  const auto nodes = trie.nodes();
  uint32_t node = trie.root_child(static_cast<uint8_t>(bytes.front()));
  for (size_t i = 1; i < bytes.size() && node != grammar::TokenTrie::kNone; ++i) {
    const uint32_t end = nodes[node].end;
    uint32_t child = node + 1;
    while (child < end && nodes[child].byte != static_cast<uint8_t>(bytes[i]))
      child = nodes[child].end;
    node = child < end ? child : grammar::TokenTrie::kNone;
  }
  return node;
}

// Whether a token is the text of a node followed by line breaks.
bool breaks_off(const grammar::TokenTrie& trie, uint32_t from) {
  const auto nodes = trie.nodes();
  for (uint32_t node = from + 1; node < nodes[from].end;) {
    if (!grammar::is_line_break(static_cast<char>(nodes[node].byte))) {
      node = nodes[node].end;
      continue;
    }
    if (!trie.own_tokens(node).empty()) return true;
    ++node;
  }
  return false;
}

// Whether a longer token that begins with `bytes` may come; `behind` has accepted `bytes`.
bool goes_on(const grammar::TokenTrie& trie, std::string_view bytes, grammar::Matcher& behind) {
  const uint32_t from = node_of(trie, bytes);
  if (from == grammar::TokenTrie::kNone) return false;
  if (behind.can_end() && breaks_off(trie, from)) return true;
  const auto nodes = trie.nodes();
  size_t taken = 0;  // bytes beyond `bytes`
  bool found = false;
  for (uint32_t node = from + 1; node < nodes[from].end && !found;) {
    const size_t depth = nodes[node].depth - bytes.size() - 1;
    behind.rollback(taken - depth);
    taken = depth;
    const char byte = static_cast<char>(nodes[node].byte);
    if (!behind.accept_bytes({&byte, 1})) {
      node = nodes[node].end;
      continue;
    }
    ++taken;
    found = !trie.own_tokens(node).empty();
    ++node;
  }
  behind.rollback(taken);
  return found;
}

}  // namespace

AnswerGuide::AnswerGuide(std::shared_ptr<const AnswerForm> form)
    : form_(std::move(form)), matcher_(form_->grammar) {
  if (form_->call_triggers) {
    free_.emplace(form_->call_triggers, form_->reasoning, form_->prompt_end);
    return;
  }
  if (form_->reasoning_masks && form_->reasoning_masks->usable())
    gate_ = ReasoningGate(form_->reasoning, form_->prompt_end);
  if (!form_->said_before.empty() && form_->prompt_end.ends_with(form_->said_before))
    matcher_.accept_bytes(form_->escapes.escape(form_->said_before));
}

std::shared_ptr<const grammar::TokenMask> AnswerGuide::mask_within(size_t nodes_max) {
  if (free_) return free_->mask();
  const ReasoningPart part = gate_.part();
  if (part == ReasoningPart::kSpeech) return matcher_.mask_within(nodes_max);
  const bool beside =
      part == ReasoningPart::kBetween || (part == ReasoningPart::kOpening && may_be_said_);
  if (!beside) {
    // The mask lives as long as the form.
    return {form_, &form_->reasoning_masks->at(part, gate_.progress())};
  }
  const auto said = matcher_.mask_within(nodes_max);
  return said ? mask_beside_reasoning(*said) : nullptr;
}

std::shared_ptr<const grammar::TokenMask> AnswerGuide::mask_beside_reasoning(
    const grammar::TokenMask& said) const {
  const ReasoningMasks& masks = *form_->reasoning_masks;
  auto both = std::make_shared<grammar::TokenMask>(said);
  const auto words = both->words();
  if (gate_.part() == ReasoningPart::kBetween) {
    const auto not_first = masks.begins_with_break().words();
    for (size_t w = 0; w < words.size(); ++w)
      words[w] &= ~not_first[w];
  }
  const auto more = masks.at(gate_.part(), gate_.progress()).words();
  for (size_t w = 0; w < words.size(); ++w)
    words[w] |= more[w];
  return both;
}

// Where the grammar does not accept the text behind a trigger, the answer stays free.
void AnswerGuide::accept_free(Token token, std::string_view text) {
  const std::optional<CallDetector::Reached> reached =
      free_->take(text, form_->grammar->tables().bytes(token));
  if (reached && matcher_.accept_bytes(reached->trigger->begun + reached->rest)) free_.reset();
}

bool AnswerGuide::accept(Token token, std::string_view text) {
  if (free_) {
    accept_free(token, text);
    return true;
  }
  if (gate_.part() == ReasoningPart::kSpeech) return matcher_.accept(token);
  if (gate_.part() == ReasoningPart::kReasoning) ++thought_tokens_;
  if (gate_.part() == ReasoningPart::kOpening) return accept_opening(token, text);
  const bool free = form_->reasoning_masks->at(gate_.part(), gate_.progress()).allows(token);
  const bool first_word = gate_.part() == ReasoningPart::kBetween && !free &&
                          !form_->reasoning_masks->begins_with_break().allows(token);
  if (!free && !(first_word && matcher_.accept(token))) return false;
  gate_.take(text);
  return true;
}

// The text so far may be the opening mark, or said, or both.
bool AnswerGuide::accept_opening(Token token, std::string_view text) {
  const bool said = may_be_said_ && matcher_.accept(token);
  const bool mark =
      form_->reasoning_masks->at(ReasoningPart::kOpening, gate_.progress()).allows(token);
  if (!said && !mark) return false;
  may_be_said_ = said;
  gate_.take(text);
  if (gate_.part() != ReasoningPart::kOpening && gate_.part() != ReasoningPart::kSpeech) {
    // It was the mark.
    matcher_.rollback(matcher_.accepted_count());
    may_be_said_ = true;
  }
  return true;
}

bool AnswerGuide::can_end() const {
  if (free_) return true;
  const ReasoningPart part = gate_.part();
  const bool may_be = part == ReasoningPart::kSpeech || part == ReasoningPart::kBetween;
  return (may_be || (part == ReasoningPart::kOpening && may_be_said_)) && matcher_.can_end();
}

bool AnswerGuide::must_end() const {
  if (free_) return false;
  if (gate_.part() == ReasoningPart::kSpeech) return matcher_.must_end();
  // A text that may turn out to be reasoning leaves a choice.
  return false;
}

std::string AnswerGuide::closing_text() const {
  const bool full = form_->thought_tokens_max && thought_tokens_ >= *form_->thought_tokens_max;
  if (free_ || !full || gate_.part() != ReasoningPart::kReasoning) return {};
  // The next message would otherwise think again.
  if (form_->reasoning.kind == chat::ReasoningFormat::Kind::kChannels)
    return "<|end|><|start|>assistant<|channel|>final<|message|>";
  return form_->reasoning.close;
}

std::string AnswerGuide::forced_text(size_t bytes_max) const {
  return gate_.part() == ReasoningPart::kSpeech && !free_ ? matcher_.forced_bytes(bytes_max)
                                                          : std::string();
}

bool AnswerGuide::ends_behind(std::string_view text) const {
  grammar::Matcher ahead = matcher_;
  return ahead.accept_bytes(text) && ahead.must_end();
}

// Finding a whole mask may take long: only tokens that begin with the rest of the text are looked
// at, as far as the grammar accepts them.
bool AnswerGuide::may_cross_end(std::string_view text, size_t at) const {
  grammar::Matcher behind = matcher_;
  if (!behind.accept_bytes(text)) return false;
  const grammar::TokenTables& tables = form_->grammar->tables();
  const std::string_view rest = text.substr(at);
  return goes_on(tables.plain(), rest, behind) || goes_on(tables.special(), rest, behind);
}

std::optional<size_t> AnswerGuide::speech_begin() const {
  if (gate_.part() == ReasoningPart::kOpening) return std::nullopt;
  return gate_.speech_begin();
}

chat::SplitAnswer AnswerGuide::split(std::string_view text) const {
  const ReasoningPart part = gate_.part();
  if (part == ReasoningPart::kSpeech && gate_.speech_begin() == 0)
    return {.reasoning = std::nullopt, .content = std::string(text)};
  if (part == ReasoningPart::kOpening)
    return {.reasoning = std::nullopt, .content = std::string(text)};
  const size_t begin = std::min(gate_.speech_begin(), text.size());
  chat::SplitAnswer split =
      chat::split_reasoning(form_->reasoning, form_->prompt_end, text.substr(0, begin));
  split.content = text.substr(begin);
  return split;
}

}  // namespace windrow::engine
