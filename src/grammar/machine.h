// CompiledGrammar::Machine: the recognizer of a grammar, the masks found so far, and the matchers
// that have places in it. Everything but tables() is under its lock.
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
  // Somebody who has states that must stay.
  class Rooted {
   public:
    virtual ~Rooted() = default;
    virtual void list_states(std::vector<StateId*>& states) = 0;

   private:
    friend class Machine;
    Rooted* before_ = nullptr;
    Rooted* behind_ = nullptr;
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

  // Before its first byte.
  bool is_too_complex() const { return is_too_complex_; }

  void add(Rooted& rooted);
  void remove(Rooted& rooted);

  // States with the same key have the same mask.
  StateId mask_key(StateId state) { return recognizer_.clipped(state, bytes_reach_); }

  // Whether there is some text for sure where a mask has this key.
  bool has_begun(StateId key) { return key != mask_key(Recognizer::kFirst); }

  std::shared_ptr<const TokenMask> known_mask(StateId key);

  // With end tokens, when the text can end.
  std::shared_ptr<const TokenMask> keep_mask(StateId key, TokenMask mask);
  const std::shared_ptr<const TokenMask>& empty_mask() const { return empty_mask_; }

  // Forgets states that nobody needs when there are too many. Numbers change in whoever is rooted.
  void limit_states();

  // Without the lock: those who wait for it get it.
  void let_others() const;

  size_t memory_bytes() const;

 private:
  struct Kept {
    std::shared_ptr<const TokenMask> mask;
    bool used = false;  // since it was last looked at for that
  };

  void limit_masks();

  std::mutex mutex_;
  std::atomic<int> waiting_ = 0;
  std::shared_ptr<const TokenTables> tables_;
  CompiledGrammarOptions options_;
  size_t grammar_bytes_;
  uint32_t bytes_reach_;  // more than the bytes of any token
  Recognizer recognizer_;
  bool is_too_complex_;
  size_t states_bytes_limit_;
  Rooted* first_rooted_ = nullptr;

  boost::unordered_flat_map<StateId, Kept> masks_;
  std::deque<StateId> masks_order_;  // the oldest first
  std::shared_ptr<const TokenMask> empty_mask_;
};

}  // namespace windrow::grammar
