// DistinctLexemes: steps of a Recognizer that also keep the texts of distinct lexemes apart
// (GrammarBuilder::distinct_lexeme). What was seen so far is not part of a state, for then no two
// states were the same: it is kept beside the state (DistinctTexts), and where it forbids a
// reading, the next state is the one without it.
//
// A reading goes on in a distinct lexeme only while the lexeme has more texts that begin like this
// than were seen; it goes anywhere only if none of the lexemes that must come then is used up
// (used_up.h). So nothing that is allowed leads to a dead end, if there are as many texts as are
// asked for.
//
// All readings of a text agree in which container they are, and where in it a distinct lexeme
// begins and ends; so one lexeme is read at a time, and what was seen is the same for all. If they
// do not, the text is given up (Recognizer::too_complex).
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "grammar/recognizer.h"
#include "grammar/seen_texts.h"
#include "grammar/used_up.h"

namespace windrow::grammar {

// The texts of distinct lexemes that were seen in the containers that are open, and the lexeme that
// is being read. Small; copies share what they have in common.
class DistinctTexts {
 private:
  friend class DistinctLexemes;

  // A container that has texts, and those around it.
  struct Container {
    uint32_t depth = 0;  // containers around it
    uint32_t count = 0;  // it, and those around it that have texts
    SeenTexts seen;
    std::shared_ptr<const std::vector<uint32_t>> used_up;  // automata; null if there are none
    std::shared_ptr<const Container> outer;
  };

  std::shared_ptr<const Container> innermost_;
  bool is_open_ = false;     // a distinct lexeme is being read
  bool can_end_ = false;     // its bytes so far are one of its texts
  size_t open_from_ = 0;     // where they begin in the bytes of all
  size_t bytes_count_ = 0;   // of all
  SeenTexts::Cursor place_;  // of the bytes so far among the texts seen
};

// A text up to here.
struct TextPoint {
  StateId state = Recognizer::kFirst;
  DistinctTexts texts;
};

// Used by one thread at a time, with its recognizer.
class DistinctLexemes {
 public:
  explicit DistinctLexemes(Recognizer& recognizer);

  // Moves the point behind `byte`. Returns false, and leaves anything in it, if no text of the
  // grammar goes on like this. `bytes` are those of all distinct lexemes up to the point, of which
  // any more are cut off; those of the byte are appended.
  bool step(TextPoint& point, std::string& bytes, uint8_t byte);

  // --- for masks

  // Whether the texts of a lexeme that can be read here begin like one that was seen.
  bool is_seen_place(const TextPoint& point) { return place_of(point).is_on(); }
  SeenTexts::Cursor place_of(const TextPoint& point);

  // Whether plain characters (plain_facts.h) can follow in this state as they like, whatever was
  // seen: they end no distinct lexeme and do not use up its texts.
  bool ignores_plain(StateId state);

  // Whether a distinct lexeme begins in this state.
  bool begins(StateId state) { return facts(state).begins; }
  // Whether so few texts of a distinct lexeme follow in this state that they may be used up.
  bool has_few_texts(StateId state) { return facts(state).few_texts; }
  // Whether a text of a distinct lexeme of `from` is complete behind `byte`.
  bool may_end(StateId from, uint8_t byte);
  // Whether `to`, behind `byte`, has positions that `from` did not lead to if texts were used up.
  bool may_block(StateId from, uint8_t byte, StateId to);

  size_t memory_bytes() const;

 private:
  // What is known of the distinct lexemes of a state.
  struct Facts {
    bool known = false;
    bool begins = false;  // a lexeme; nothing of it is read
    bool inside = false;  // a lexeme of which something is read
    bool few_texts = false;
    bool ignores_plain = true;
    bool complete = false;       // the text of a lexeme, unless it goes on
    bool differ = false;         // readings are in different containers or places
    uint32_t depth = 0;          // of the container of the lexemes
    uint32_t depth_max = 0;      // of all positions
    uint32_t from = 0;           // in indices_
    uint32_t count = 0;          // lexemes
    uint32_t blocked_count = 0;  // behind them: positions, if all that can be used up are
  };
  // By automaton and state.
  struct Automaton {
    std::vector<uint32_t> text_counts;
    std::vector<bool> ignores_plain;
  };
  using StepKey = std::tuple<StateId, uint8_t, uint64_t>;

  const Facts& facts(StateId state);
  void forget_old();
  Facts find_facts(StateId state);
  SeenTexts seen_in(const DistinctTexts& texts, uint32_t depth) const;
  bool find_bans(const Facts& facts, StateId state, uint8_t byte, SeenTexts::Cursor behind);
  bool uses_up(uint32_t automaton, uint32_t state, uint32_t texts, SeenTexts::Cursor place) const;
  StateId step_with_bans(StateId state, uint8_t byte, const Facts& facts);
  bool add_text(DistinctTexts& texts, uint32_t depth, std::string_view text) const;
  StateId without_blocked(const DistinctTexts::Container& container, StateId state);

  Recognizer& recognizer_;
  std::vector<Automaton> automata_;  // by number; empty if they are not distinct
  std::vector<uint32_t> few_;        // those that can be used up
  uint64_t numbering_ = 0;
  std::vector<Facts> facts_;       // by state
  std::vector<uint32_t> indices_;  // of positions of states
  boost::unordered_flat_map<StepKey, StateId> steps_;
  std::unique_ptr<UsedUp> all_used_up_;  // as if all of few_ were
  std::map<std::vector<uint32_t>, std::unique_ptr<UsedUp>> used_up_;
  std::vector<Recognizer::Ban> bans_;  // for the step in progress
  uint64_t bans_key_ = 0;
};

}  // namespace windrow::grammar
