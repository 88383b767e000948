// CompiledGrammar: a grammar over a vocabulary, with the masks found so far. Matcher: one answer's
// place in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/grammar.h"
#include "grammar/token_mask.h"
#include "grammar/token_tables.h"

namespace windrow::grammar {

struct CompiledGrammarOptions {
  size_t masks_bytes_max = 32u << 20;   // masks that are kept; then they are found anew
  size_t states_bytes_max = 32u << 20;  // what is known of states that no matcher needs
};

// Thread-safe: its matchers may be on different threads. Long work on one of them (a mask) never
// holds the others for more than a slice of it.
class CompiledGrammar {
 public:
  CompiledGrammar(std::shared_ptr<const Grammar> grammar, std::shared_ptr<const TokenTables> tables,
                  const CompiledGrammarOptions& options = {});
  ~CompiledGrammar();
  CompiledGrammar(const CompiledGrammar&) = delete;
  CompiledGrammar& operator=(const CompiledGrammar&) = delete;

  const TokenTables& tables() const;
  size_t memory_bytes() const;

 private:
  friend class Matcher;
  class Machine;
  std::unique_ptr<Machine> machine_;
};

// Used by one thread at a time. A copy is a fork: both go on from here by themselves.
class Matcher {
 public:
  explicit Matcher(std::shared_ptr<CompiledGrammar> grammar);
  ~Matcher();
  Matcher(const Matcher& other);
  Matcher& operator=(const Matcher& other);
  Matcher(Matcher&&) noexcept;
  Matcher& operator=(Matcher&&) noexcept;

  // The text goes on by this token. False, and nothing has changed, when the mask has it not.
  // Nothing is accepted any more after an end token, or after a token that brings the text to its
  // end and goes on with line breaks.
  //
  // Models are trained to write the last characters of an answer and a line break behind it with
  // one token ("}\n"). Without such tokens a model takes the next best one, which is often a longer
  // text: so they are allowed, and the line breaks are no part of the text.
  bool accept(Token token);

  // So many bytes of the last accepted token are line breaks behind the end of the text.
  size_t bytes_behind_end() const;

  // As if a token had these bytes. Whole or not at all.
  bool accept_bytes(std::string_view bytes);

  // Takes back the last so many accepted tokens (calls of accept and accept_bytes).
  void rollback(size_t tokens_count);
  size_t accepted_count() const;

  bool can_end() const;   // the text so far is one of the grammar's
  bool must_end() const;  // and no longer one begins with it

  // The grammar can be read in so many ways here that going through them has no end in sight. Then
  // no token is allowed, and none accepted.
  bool too_complex() const;

  // The tokens that may come next, found or remembered. With a limit of trie nodes to look at:
  // nothing when it did not suffice; the next call goes on from there. End tokens are in it when
  // the text can end.
  std::shared_ptr<const TokenMask> mask();
  std::shared_ptr<const TokenMask> mask_within(size_t nodes_max);

  // What follows here in every text of the grammar: at most `bytes_max` bytes, maybe none. It stops
  // where the text could end, and may stop within a character only at `bytes_max`.
  std::string forced_bytes(size_t bytes_max) const;

 private:
  bool accept_end(std::string_view bytes);

  struct Place;
  std::unique_ptr<Place> place_;
};

}  // namespace windrow::grammar
