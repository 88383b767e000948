// Regular expressions as JSON Schema has them (ECMA-262 with the flag `u`), said in the syntax of
// RE2. Pure, and without recursion: no pattern is too deep.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace windrow::schema {

// An expression for RE2 in UTF-8 that is found in exactly the texts in which `ecma` is found.
// kInvalid, with the position, for what is no expression and for what RE2 cannot do: looking ahead
// or behind, back references, \B, repetition beyond 1,000. Some of what browsers let pass is read
// as they do (a lone "}" or "]", an escaped punctuation mark); what has a different meaning
// elsewhere
// (\A, \Z, \Q, "{,5}") is refused, for nobody knows what was meant.
Result<std::string> ecma_to_re2(std::string_view ecma);

}  // namespace windrow::schema
