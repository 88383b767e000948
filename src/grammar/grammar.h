// Grammar: the texts that are allowed, as lexemes joined by sequence, choice, repetition and rules.
// Built once by a GrammarBuilder, immutable afterwards and shared between threads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "base/result.h"
#include "grammar/lexeme/byte_dfa.h"

namespace windrow::grammar {

class Grammar;

// A part of a grammar that is being built; may be used in several places.
using Part = Id<struct PartTag, uint32_t>;

struct GrammarLimits {
  size_t parts_max = 200'000;
  size_t bytes_max = 64u << 20;  // of all automata and texts
};

// Used by one thread at a time.
class GrammarBuilder {
 public:
  GrammarBuilder();
  ~GrammarBuilder();
  GrammarBuilder(const GrammarBuilder&) = delete;
  GrammarBuilder& operator=(const GrammarBuilder&) = delete;

  Part nothing();  // the empty text
  Part text(std::string_view bytes);
  Part lexeme(std::shared_ptr<const ByteDfa> dfa);
  Part sequence(std::vector<Part> parts);
  Part choice(std::vector<Part> parts);  // at least one; the empty text by nothing()
  Part repeat(Part body, uint32_t min, std::optional<uint32_t> max);

  // A rule may be used before it is defined, and in its own definition. `name` is for messages.
  Part rule(std::string name);
  void define(Part rule, Part body);

  size_t parts_count() const;

  // kInvalid: a rule that is not defined, that begins with itself (left recursion), or that has no
  // text (it never ends); or a grammar beyond the limits. Alternatives without a text are taken
  // out first. The builder is used up.
  Result<std::shared_ptr<const Grammar>> finish(Part root, const GrammarLimits& limits = {});

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace windrow::grammar
