// JsonParts: the tokens of JSON as parts of a grammar: strings, names, punctuation, each with the
// white space that may follow it. Used by one thread at a time.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "grammar/grammar.h"
#include "grammar/lexeme/byte_dfa.h"
#include "grammar/lexeme/char_dfa.h"
#include "grammar/lexeme/text_lengths.h"
#include "grammar/schema/schema_grammar.h"

namespace windrow::grammar {

class JsonParts {
 public:
  // `builder` outlives this.
  JsonParts(GrammarBuilder& builder, Whitespace whitespace)
      : builder_(builder),
        flexible_(whitespace == Whitespace::kFlexible),
        spaced_(whitespace == Whitespace::kSpaced) {}

  // Strings may not have these texts, except those of an enum.
  void leave_out(CharDfa texts) { left_out_ = std::move(texts); }

  Part mark(std::string_view mark);        // with white space after it, except `]` and `}`
  Part spaced(Part value);                 // a value and white space
  Part name(std::string_view name);        // `"name":`
  Part comma_name(std::string_view name);  // `,"name":`
  Part name_in(const CharDfa* names);      // one of these names (null: any) and the colon

  // The same, and it differs from all distinct names before it in the object. Not empty.
  Part distinct_name_in(const CharDfa* names);

  // A member in two pieces, for GrammarBuilder::members(): its name as a text, and all behind it,
  // for a value with the white space after it.
  std::string name_text(std::string_view name) const;
  Part behind_name(Part value);

  Part any_string();
  Part string_of_length(uint32_t min, std::optional<uint32_t> max);
  Part string_in(const CharDfa& texts);  // not empty

  // The same with so many characters; there is such a text. kInvalid: they cannot be counted.
  Result<Part> string_in(const CharDfa& texts, const CharCount& count);
  Part value(const boost::json::value& value);

  // Not empty. kInvalid, without a pointer: the texts among them need too many states.
  // kUnavailable: `give_up` returned true.
  Result<Part> one_of(std::span<const boost::json::value* const> values, const GiveUp& give_up);

  // A part without a text, and why it has none; remembered for the error of a schema that has none
  // because of it.
  Part no_text(Error why);
  const std::optional<Error>& why_no_text() const { return why_no_text_; }  // the first

  // For values that must differ, in one spelling each: the texts of strings with their quotes, what
  // stands between items and members, and all such values as a part. Not empty.
  CharDfa quoted(const CharDfa& texts) const;
  std::string_view comma_text() const { return flexible_ || spaced_ ? ", " : ","; }
  std::string_view colon_text() const { return flexible_ || spaced_ ? ": " : ":"; }
  Part distinct(const CharDfa& texts);

  // Whether arrays or objects are among them (readings.h).
  void note_structured_lexeme() { has_structured_lexeme_ = true; }
  bool has_structured_lexeme() const { return has_structured_lexeme_; }

  GrammarBuilder& builder() { return builder_; }

 private:
  Part text(const std::string& bytes);
  CharDfa without_left_out(const CharDfa& texts) const;
  Part space();

  GrammarBuilder& builder_;
  bool flexible_;
  bool spaced_;
  bool has_structured_lexeme_ = false;
  std::map<std::string, Part, std::less<>> texts_;
  std::optional<Part> space_;
  std::optional<Part> any_string_;
  CharDfa left_out_;
  std::optional<Error> why_no_text_;
};

}  // namespace windrow::grammar
