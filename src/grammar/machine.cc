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

std::shared_ptr<const TokenMask> CompiledGrammar::Machine::known_mask(StateId key) {
  const auto found = masks_.find(key);
  if (found == masks_.end()) return nullptr;
  found->second.used = true;
  return found->second.mask;
}

std::shared_ptr<const TokenMask> CompiledGrammar::Machine::keep_mask(StateId key, TokenMask mask) {
  if (recognizer_.can_end(key)) {
    for (const Token token : tables_->end_tokens())
      mask.allow(token);
  }
  auto kept = std::make_shared<const TokenMask>(std::move(mask));
  if (masks_.try_emplace(key, Kept{.mask = kept}).second) masks_order_.push_back(key);
  limit_masks();
  return kept;
}

// Evicts the oldest, except those used since they were last looked at, which count as new again
// (second chance).
void CompiledGrammar::Machine::limit_masks() {
  const size_t each = sizeof(TokenMask) + empty_mask_->words().size_bytes() + 2 * sizeof(Kept);
  const size_t most = std::max<size_t>(1, options_.masks_bytes_max / each);
  while (masks_order_.size() > most) {
    const StateId oldest = masks_order_.front();
    masks_order_.pop_front();
    const auto found = masks_.find(oldest);
    if (found->second.used) {
      found->second.used = false;
      masks_order_.push_back(oldest);
    } else {
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
  return sizeof(*this) + grammar_bytes_ + recognizer_.memory_bytes() + masks;
}

}  // namespace windrow::grammar
