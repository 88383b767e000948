// GrammarBuilder: builds a Grammar, the set of texts that an answer may be, from literal texts and
// lexemes by sequence, choice, repetition and rules. A Grammar is immutable and shared between
// threads. Functions for parts of two common forms: one of several texts, a regular expression.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "base/result.h"
#include "grammar/lexeme/byte_dfa.h"
#include "grammar/lexeme/counted_dfa.h"
#include "grammar/lexeme/give_up.h"

namespace windrow::grammar {

class Grammar;

// A part of a grammar that is being built; may be used more than once.
using Part = Id<struct PartTag, uint32_t>;

struct GrammarLimits {
  size_t parts_max = 200'000;
  size_t bytes_max = 64u << 20;  // all automata and texts together
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
  Part lexeme(std::shared_ptr<const CountedDfa> dfa);

  // A lexeme whose text differs from those of all distinct lexemes before it in the same container,
  // not counting containers within it: the items of an array with uniqueItems, the names of an
  // object whose members are counted. Each value has one text in `dfa`, and none is empty
  // (lexeme/distinct_texts.h).
  //
  // A grammar with distinct lexemes has all of its arrays and objects in containers, but for
  // literal texts: so all readings of a text agree in which container they are, and where in it a
  // distinct lexeme begins and ends. Else a row is given up (Matcher::too_complex).
  //
  // Where no text of the lexeme is left, what leads to it is not allowed either. But a grammar that
  // needs a number of distinct texts must have so many (text_counts): the i-th a choice of i.
  Part distinct_lexeme(std::shared_ptr<const ByteDfa> dfa);

  // An array or object, brackets included, or whatever else distinct lexemes are compared within.
  // Behind a container, something comes before the next one that is in the same container. Costs
  // nothing in a grammar without distinct lexemes.
  Part container(Part body);

  Part sequence(std::vector<Part> parts);
  Part choice(std::vector<Part> parts);  // at least one part

  // `body` at least `min` times, and at most `max` times if there is a maximum.
  Part repeat(Part body, uint32_t min, std::optional<uint32_t> max);

  // A member of an object: its name, with all that stands before its value, and the value.
  struct NamedPart {
    std::string name;  // not empty
    Part value;
    bool required = false;
  };

  // Members in any order: each named one at most once, the required ones in any case, and `other`
  // any number of times, or at most `other_max` times; between two of them the separator. Neither
  // `other` nor the separator has the empty text. Names are different. There are at least
  // `count_min` members, and at most `count_max`.
  struct Members {
    std::vector<NamedPart> named;
    std::optional<Part> other;
    std::optional<uint32_t> other_max;
    std::optional<Part> separator;
    uint32_t count_min = 0;
    std::optional<uint32_t> count_max;

    // Named members come in the order of `named`, and `other` ones behind them. There are no bounds
    // on the count then.
    bool in_order = false;
  };
  Part members(Members members);

  // A rule may be used before it is defined, and in its own definition. `name` is for error
  // messages. Each rule is defined once.
  Part rule(std::string name);
  void define(Part rule, Part body);

  size_t parts_count() const;

  // The grammar of all texts of `root`. Uses up the builder. Alternatives that have no text,
  // because they never end, are removed first. kInvalid: a rule is not defined, begins with itself
  // (left recursion) or has no text; or the grammar is larger than `limits`. kUnavailable:
  // `give_up` returned true.
  Result<std::shared_ptr<const Grammar>> finish(Part root, const GrammarLimits& limits = {},
                                                const GiveUp& give_up = {});

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// Exactly one of these texts, in UTF-8 or any other bytes. kInvalid: there is none, or they are
// larger than `limits` allow.
Result<Part> choice_part(GrammarBuilder& builder, std::span<const std::string> texts,
                         const GrammarLimits& limits = {});

// A text that matches the expression (lexeme/regex.h) as a whole. kInvalid: what is wrong with the
// expression, and at which character; or that no text matches it.
Result<Part> regex_part(GrammarBuilder& builder, std::string_view pattern);

}  // namespace windrow::grammar
