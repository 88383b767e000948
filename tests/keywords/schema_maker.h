// Random schemas, each about one family of keywords. Names, texts and numbers come from small sets,
// so that places of a schema often disagree about one value, branches overlap, and a changed value
// is often just wrong. Pure; the same random numbers give the same schema.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/random.h"

namespace windrow::keywords {

enum class Family : uint8_t {
  kNotScalars,
  kNotObjects,
  kNotArrays,
  kNotNested,
  kOneOfScalars,
  kOneOfObjects,
  kOneOfMixed,
  kIfScalars,
  kIfObjects,
  kIfChains,
  kDependencies,  // of draft 07
  kDependentRequired,
  kDependentSchemas,
  kMemberCounts,
  kUniqueScalars,
  kUniqueMixed,
  kPropertyNames,
  kContains,
  kContainsBounds,
  kPatternProperties,
  kValues,  // const and enum under other rules
  kReferences,
  kPairs,  // two or three keywords at one place
  kAnything,
};
inline constexpr int kFamilies = 24;

std::string_view family_name(Family family);

boost::json::value random_schema(Family family, Random& random);

// What schemas and values are made of.
std::span<const std::string_view> small_names();
std::span<const std::string_view> small_texts();
boost::json::value small_number(Random& random);
boost::json::value small_scalar(Random& random);

}  // namespace windrow::keywords
