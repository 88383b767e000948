// Values in one spelling each, so that equal values have equal texts: for names and items that must
// differ. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "grammar/lexeme/byte_dfa.h"
#include "grammar/lexeme/char_dfa.h"

namespace windrow::grammar {

// JSON strings with their quotes. A character is escaped only if JSON demands it: in the short form
// if there is one, else as \u001f with small letters. As json_quoted() writes them.
CharDfa quoted_texts(const CharDfa& texts);

enum class NumberKind : uint8_t { kIntegers, kNumbers, kFractions };

// The texts of `numbers` (JSON numbers) that are written as Decimal::text() writes them: no
// exponent, no needless zero, no point in an integer. Only numbers that every reader tells apart:
// at most 15 digits (where there are none, 20), and below one at least 0.000001. Empty: there are
// none. kInvalid: too many states.
Result<CharDfa> single_numbers(const ByteDfa& numbers, NumberKind kind);

// How many texts there are; nothing if they are more than `most`.
std::optional<uint32_t> texts_count(const CharDfa& texts, uint32_t most);

}  // namespace windrow::grammar
