// Random schemas of rising difficulty, with only the keywords that Windrow claims to enforce. Pure:
// the same seed and level give the same schema.
//
//   1  flat objects, all of it required        5  anyOf, oneOf, allOf, tuples
//   2  optional members, enums, null           6  references, recursion, free and patterned names
//   3  objects and arrays within each other    7  all of it, deeper, harder patterns, odd names
//   4  bounds, lengths, patterns, formats      8  objects of 50 to 200 members, as platforms have
#pragma once

#include "base/random.h"
#include "structured/shape.h"

namespace windrow::structured {

inline constexpr int kLevels = 8;

SchemaCase make_schema(int level, uint64_t seed);

}  // namespace windrow::structured
