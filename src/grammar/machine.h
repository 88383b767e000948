// CompiledGrammar::Machine: the recognizer of a grammar, the masks found so far, and the matchers
// whose states it must keep. Its lock is held for all functions but tables().
#pragma once

#include <atomic>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

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

  // Whether the grammar is too complex before the first byte.
  bool is_too_complex() const { return is_too_complex_; }

  // `holder` is removed before it is destroyed.
  void add(StateHolder& holder);
  void remove(StateHolder& holder);

  // States with the same key have the same mask.
  StateId mask_key(StateId state) { return recognizer_.clipped(state); }

  // Whether all states with this key come after some text.
  bool has_begun(StateId key) { return key != mask_key(Recognizer::kFirst); }

  // Null if it is not cached.
  std::shared_ptr<const TokenMask> known_mask(StateId key);

  // Caches a mask and returns it, with the end tokens if the text can end.
  std::shared_ptr<const TokenMask> keep_mask(StateId key, TokenMask mask);
  const std::shared_ptr<const TokenMask>& empty_mask() const { return empty_mask_; }

  // Forgets states that no holder and no mask needs, if there are too many. States of holders get
  // new numbers.
  void limit_states();

  // Called without the lock: lets a thread that waits for it run.
  void yield_to_waiting() const;

  size_t memory_bytes() const;

 private:
  struct Kept {
    std::shared_ptr<const TokenMask> mask;
    bool used = false;  // since limit_masks() last looked at it
  };

  void limit_masks();

  std::mutex mutex_;
  std::atomic<int> waiting_ = 0;
  std::shared_ptr<const TokenTables> tables_;
  CompiledGrammarOptions options_;
  size_t grammar_bytes_;
  Recognizer recognizer_;
  bool is_too_complex_;
  size_t states_bytes_limit_;
  StateHolder* first_holder_ = nullptr;

  boost::unordered_flat_map<StateId, Kept> masks_;
  std::deque<StateId> masks_order_;  // oldest first
  std::shared_ptr<const TokenMask> empty_mask_;
};

}  // namespace windrow::grammar
