// Instances of generated schemas: valid ones, written compactly and in the order of the schema, and
// near misses, which are valid ones with one thing changed. A near miss may happen to be valid; a
// validator has to say. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/random.h"
#include "structured/shape.h"

namespace windrow::structured {

struct Instance {
  enum class Type : uint8_t { kScalar, kArray, kObject };

  Type type = Type::kScalar;
  std::string text;  // of a scalar: as JSON
  std::vector<std::string> names;
  std::vector<Instance> parts;
  const Shape* shape = nullptr;  // what it is one of; none: of anything
};

// Lives no longer than the schema.
Instance make_instance(const SchemaCase& schema, Random& random);

// Of all objects but those that are values of an enum or const.
void shuffle_members(Instance& instance, Random& random);

std::string compact(const Instance& instance);

// JSON in UTF-8, most of them; some are no JSON at all.
std::string near_miss(const Instance& instance, Random& random);

// Between quotes, escaped in the short form and no more than JSON asks for.
std::string json_text(const std::string& utf8);

}  // namespace windrow::structured
