// CompiledGrammar::Machine: the recognizer of a grammar, the masks found so far, and the matchers
// whose states it must keep. Its lock is held for all functions but tables().
#pragma once

#include <atomic>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "grammar/distinct_lexemes.h"
#include "grammar/mask_walk.h"
#include "grammar/matcher.h"
#include "grammar/recognizer.h"

namespace windrow::grammar {

class CompiledGrammar::Machine {
 public:
  // Holds states that must not be forgotten: a matcher. An element of a doubly linked list.
  class StateHolder {
   public:
    virtual ~StateHolder() = default;

    // Appends pointers to all of them; each may get another number.
    virtual void list_states(std::vector<StateId*>& states) = 0;

   private:
    friend class Machine;
    StateHolder* previous_ = nullptr;
    StateHolder* next_ = nullptr;
  };

  class Lock {
   public:
    explicit Lock(Machine& machine) : machine_(machine) {
      machine_.waiting_.fetch_add(1, std::memory_order_relaxed);
      machine_.mutex_.lock();
      machine_.waiting_.fetch_sub(1, std::memory_order_relaxed);
    }
    ~Lock() { machine_.mutex_.unlock(); }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

   private:
    Machine& machine_;
  };

  Machine(std::shared_ptr<const Grammar> grammar, std::shared_ptr<const TokenTables> tables,
          const CompiledGrammarOptions& options);

  const TokenTables& tables() const { return *tables_; }
  Recognizer& recognizer() { return recognizer_; }

  // Null in a grammar without distinct lexemes.
  DistinctLexemes* distinct() { return distinct_.get(); }

  // Moves the point behind `byte`; see DistinctLexemes::step.
  bool step(TextPoint& point, std::string& bytes, uint8_t byte) {
    if (distinct_ != nullptr) return distinct_->step(point, bytes, byte);
    point.state = recognizer_.step(point.state, byte);
    return point.state != Recognizer::kDead;
  }

  // The one byte that can follow, as Recognizer::only_byte.
  std::optional<uint8_t> only_byte(const TextPoint& point, std::string& bytes);

  // Whether the grammar is too complex before the first byte.
  bool is_too_complex() const { return is_too_complex_; }

  // `holder` is removed before it is destroyed.
  void add(StateHolder& holder);
  void remove(StateHolder& holder);

  // States with the same key have the same mask.
  StateId mask_key(StateId state) { return recognizer_.clipped(state); }

  // Whether all states with this key come after some text.
  bool has_begun(StateId key) { return key != mask_key(Recognizer::kFirst); }

  // A mask by the state alone; the tokens that depend on the texts of distinct lexemes (MaskWalk).
  struct KnownMask {
    std::shared_ptr<const TokenMask> mask;
    std::shared_ptr<const std::vector<Token>> at_risk;  // null if there are none

    size_t at_risk_bytes() const {
      return at_risk == nullptr ? 0 : at_risk->capacity() * sizeof(Token);
    }
  };

  // Nothing if it is not cached.
  std::optional<KnownMask> known_mask(StateId key);

  // Caches the mask of a walk and returns it, with the end tokens if the text can end.
  KnownMask keep_mask(StateId key, MaskWalk& walk);
  const std::shared_ptr<const TokenMask>& empty_mask() const { return empty_mask_; }

  // Forgets states that no holder and no mask needs, if there are too many. States of holders get
  // new numbers.
  void limit_states();

  // Called without the lock: lets a thread that waits for it run.
  void yield_to_waiting() const;

  size_t memory_bytes() const;

 private:
  struct Kept {
    KnownMask known;
    bool used = false;  // since limit_masks() last looked at it
  };

  void limit_masks();

  std::mutex mutex_;
  std::atomic<int> waiting_ = 0;
  std::shared_ptr<const TokenTables> tables_;
  CompiledGrammarOptions options_;
  size_t grammar_bytes_;
  Recognizer recognizer_;
  std::unique_ptr<DistinctLexemes> distinct_;
  bool is_too_complex_;
  size_t states_bytes_limit_;
  StateHolder* first_holder_ = nullptr;

  boost::unordered_flat_map<StateId, Kept> masks_;
  std::deque<StateId> masks_order_;  // oldest first
  size_t at_risk_bytes_ = 0;         // in masks_
  std::shared_ptr<const TokenMask> empty_mask_;
};

}  // namespace windrow::grammar
