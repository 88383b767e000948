// CompiledGrammar: a grammar over a vocabulary, with the masks found so far. Matcher: the state of
// one answer in it, which tells the tokens that may come next.
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
  size_t masks_bytes_max = 24u << 20;   // cached masks; evicted ones are found anew
  size_t states_bytes_max = 20u << 20;  // cached states and transitions that no matcher needs
};

// Thread-safe: its matchers may be used by different threads. A long operation of one of them (a
// mask) blocks the others for a slice of it at most.
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

// Used by one thread at a time. A copy is a fork: both continue from here independently.
class Matcher {
 public:
  explicit Matcher(std::shared_ptr<CompiledGrammar> grammar);
  ~Matcher();
  Matcher(const Matcher& other);
  Matcher& operator=(const Matcher& other);
  Matcher(Matcher&&) noexcept;
  Matcher& operator=(Matcher&&) noexcept;

  // Appends a token to the text. Returns false and changes nothing if the mask does not allow it.
  // Nothing is accepted after an end token, or after a token that completes the text and continues
  // with line breaks.
  //
  // Models are trained to write the last characters of an answer and a line break after it as one
  // token ("}\n"). If such tokens were forbidden, a model would take the next best one, which is
  // often a longer text: so they are allowed, and the line breaks are not part of the text.
  bool accept(Token token);

  // How many bytes of the last accepted token are line breaks after the end of the text.
  size_t bytes_behind_end() const;

  // The same for a token with these bytes. Accepts all of them or none.
  bool accept_bytes(std::string_view bytes);

  // Undoes the last `tokens_count` successful calls of accept and accept_bytes.
  void rollback(size_t tokens_count);
  size_t accepted_count() const;

  bool can_end() const;   // the text so far is one of the grammar's
  bool must_end() const;  // and no longer one begins with it

  // The grammar can be read in so many ways here that following them has no end in sight. Then no
  // token is allowed, and none accepted.
  bool too_complex() const;

  // The tokens that may come next, from the cache or found now; with end tokens if the text can
  // end.
  std::shared_ptr<const TokenMask> mask();
  // The same, looking at `nodes_max` nodes of the trie at most. Null if that did not suffice; the
  // next call continues from there.
  std::shared_ptr<const TokenMask> mask_within(size_t nodes_max);

  // What every text of the grammar continues with here, for jump-forward decoding: `bytes_max`
  // bytes at most, maybe none. It stops where the text could end, and within a character only at
  // `bytes_max`.
  std::string forced_bytes(size_t bytes_max) const;

 private:
  bool accept_end(std::string_view bytes);

  struct Cursor;
  std::unique_ptr<Cursor> cursor_;
};

}  // namespace windrow::grammar
