// Tells a misspelt keyword from a name of another vocabulary, such as an annotation. Pure.
//
// A name is taken for a misspelt keyword when its value could be that keyword's and
// - it has the same letters, whatever their case and the signs between: `Required`, `min_length`,
//   `type:`; or
// - it is one insertion, deletion, substitution or swap of neighbours away from the keyword, two
// for
//   keywords of ten characters and more: `minLenght`, `additonalProperties`. Of `if`, `not`, `then`
//   and `else` only swaps count, since too many words are one letter away.
//
// Names that begin with "_", "@" or "//" are never taken so: that is how keywords are switched off.
// Annotations are no candidates: `decription` says as little of what is valid as `description`.
#pragma once

#include <boost/json/value.hpp>
#include <string_view>

#include "grammar/schema/keywords.h"

namespace windrow::grammar {

// The keyword that `name`, which is none, was probably meant to be; null: none.
const Keyword* misspelt_keyword(std::string_view name, const boost::json::value& value);

}  // namespace windrow::grammar
