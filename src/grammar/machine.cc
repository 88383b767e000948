#include "grammar/machine.h"

#include <algorithm>
#include <thread>
#include <utility>

namespace windrow::grammar {

CompiledGrammar::Machine::Machine(std::shared_ptr<const Grammar> grammar,
                                  std::shared_ptr<const TokenTables> tables,
                                  const CompiledGrammarOptions& options)
    : tables_(std::move(tables)),
      options_(options),
      grammar_bytes_(grammar->bytes),
      // More than the bytes of any token.
      recognizer_(std::move(grammar), static_cast<uint32_t>(tables_->token_bytes_max()) + 1),
      distinct_(recognizer_.grammar().has_distinct ? std::make_unique<DistinctLexemes>(recognizer_)
                                                   : nullptr),
      is_too_complex_(recognizer_.too_complex()),
      states_bytes_limit_(std::max(options.states_bytes_max, 2 * recognizer_.memory_bytes())),
      empty_mask_(std::make_shared<TokenMask>(tables_->vocabulary_size())) {}

void CompiledGrammar::Machine::add(StateHolder& holder) {
  holder.next_ = first_holder_;
  if (first_holder_ != nullptr) first_holder_->previous_ = &holder;
  first_holder_ = &holder;
}

void CompiledGrammar::Machine::remove(StateHolder& holder) {
  if (holder.next_ != nullptr) holder.next_->previous_ = holder.previous_;
  (holder.previous_ != nullptr ? holder.previous_->next_ : first_holder_) = holder.next_;
}

std::optional<uint8_t> CompiledGrammar::Machine::only_byte(const TextPoint& point,
                                                           std::string& bytes) {
  if (distinct_ == nullptr) return recognizer_.only_byte(point.state);
  std::optional<uint8_t> only;
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (recognizer_.step(point.state, static_cast<uint8_t>(byte)) == Recognizer::kDead) continue;
    TextPoint behind = point;
    if (!distinct_->step(behind, bytes, static_cast<uint8_t>(byte))) continue;
    if (only) return std::nullopt;
    only = static_cast<uint8_t>(byte);
  }
  return only;
}

std::optional<CompiledGrammar::Machine::KnownMask> CompiledGrammar::Machine::known_mask(
    StateId key) {
  const auto found = masks_.find(key);
  if (found == masks_.end()) return std::nullopt;
  found->second.used = true;
  return found->second.known;
}

CompiledGrammar::Machine::KnownMask CompiledGrammar::Machine::keep_mask(StateId key,
                                                                        MaskWalk& walk) {
  TokenMask mask = walk.take();
  std::vector<Token> at_risk = walk.take_at_risk();
  if (recognizer_.can_end(key)) {
    for (const Token token : tables_->end_tokens())
      mask.allow(token);
  }
  KnownMask known{.mask = std::make_shared<const TokenMask>(std::move(mask)), .at_risk = {}};
  if (!at_risk.empty()) {
    std::ranges::sort(at_risk, {}, [this](Token token) { return tables_->bytes(token); });
    known.at_risk = std::make_shared<const std::vector<Token>>(std::move(at_risk));
  }
  if (masks_.try_emplace(key, Kept{.known = known}).second) {
    masks_order_.push_back(key);
    at_risk_bytes_ += known.at_risk_bytes();
  }
  limit_masks();
  return known;
}

// Evicts the oldest, except those used since they were last looked at, which count as new again
// (second chance).
void CompiledGrammar::Machine::limit_masks() {
  const size_t each = sizeof(TokenMask) + empty_mask_->words().size_bytes() + 2 * sizeof(Kept);
  const auto too_large = [&] {
    return masks_order_.size() * each + at_risk_bytes_ > options_.masks_bytes_max;
  };
  while (masks_order_.size() > 1 && too_large()) {
    const StateId oldest = masks_order_.front();
    masks_order_.pop_front();
    const auto found = masks_.find(oldest);
    if (found->second.used) {
      found->second.used = false;
      masks_order_.push_back(oldest);
    } else {
      at_risk_bytes_ -= found->second.known.at_risk_bytes();
      masks_.erase(found);
    }
  }
}

void CompiledGrammar::Machine::limit_states() {
  if (recognizer_.memory_bytes() <= states_bytes_limit_) return;
  std::vector<StateId*> states;
  for (StateHolder* holder = first_holder_; holder != nullptr; holder = holder->next_)
    holder->list_states(states);
  std::deque<StateId> keys = masks_order_;
  for (StateId& key : masks_order_)
    states.push_back(&key);
  recognizer_.keep_only(states);
  boost::unordered_flat_map<StateId, Kept> masks;
  for (size_t i = 0; i < keys.size(); ++i)
    masks.emplace(masks_order_[i], std::move(masks_.at(keys[i])));
  masks_ = std::move(masks);
  // More states may be needed than the limit allows; then the next check comes only after as many
  // again.
  states_bytes_limit_ = std::max(options_.states_bytes_max, 2 * recognizer_.memory_bytes());
}

void CompiledGrammar::Machine::yield_to_waiting() const {
  if (waiting_.load(std::memory_order_relaxed) > 0) std::this_thread::yield();
}

size_t CompiledGrammar::Machine::memory_bytes() const {
  const size_t masks =
      masks_.size() * (sizeof(Kept) + sizeof(TokenMask) + empty_mask_->words().size_bytes());
  const size_t distinct = distinct_ == nullptr ? 0 : distinct_->memory_bytes() + at_risk_bytes_;
  return sizeof(*this) + grammar_bytes_ + recognizer_.memory_bytes() + masks + distinct;
}

}  // namespace windrow::grammar
