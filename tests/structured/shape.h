// Shape: what a generated schema means, as a tree. The JSON of the schema, its valid instances and
// its near misses are made from it, so none of them depends on a reader of schemas.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "structured/pattern.h"

namespace windrow::structured {

struct Shape;
using ShapePtr = std::shared_ptr<const Shape>;

enum class Kind : uint8_t {
  kObject,
  kArray,  // and what tuples are
  kString,
  kInteger,
  kNumber,
  kBoolean,
  kNull,
  kValues,     // enum, or const
  kEither,     // anyOf, or oneOf
  kAll,        // allOf of objects
  kReference,  // to a definition, or to the root
  kAnything,
};

// How null joins what a shape allows.
enum class Nullable : uint8_t { kNo, kTypeList, kAnyOf, kKeyword };

// units * 10^-decimals, exactly.
struct Decimal {
  int64_t units = 0;
  int decimals = 0;

  std::string text() const;
};

struct Member {
  std::string name;
  ShapePtr shape;
  bool required = true;
};

struct NamePattern {
  Pattern names;
  ShapePtr shape;
};

struct Shape {
  Kind kind = Kind::kNull;
  Nullable nullable = Nullable::kNo;
  std::string title;
  std::string description;
  bool annotated = false;  // has keywords, names and a format that mean nothing

  // kObject. `additional`: what members of other names are; none: there are none.
  std::vector<Member> members;
  std::vector<NamePattern> patterns;
  ShapePtr additional;

  // kArray. `items`: what follows the first ones; none: nothing may.
  std::vector<ShapePtr> first_items;
  ShapePtr items;
  uint64_t size_min = 0;  // items, or characters of a string
  std::optional<uint64_t> size_max;

  // kString
  std::optional<Pattern> pattern;
  std::string example;  // where both a pattern and a length are asked for
  std::string format;
  bool split = false;  // its keywords stand in two parts of an allOf

  // kInteger, kNumber
  std::optional<Decimal> min;
  std::optional<Decimal> max;
  bool min_excluded = false;
  bool max_excluded = false;
  int64_t multiple_of = 0;  // none

  // kValues: JSON texts, compact. One of them may be a const.
  std::vector<std::string> values;
  bool is_const = false;

  // kEither: the ways; kAll: the parts, objects or references to some.
  std::vector<ShapePtr> parts;
  bool one_of = false;

  // kReference: the name of a definition; empty: the root.
  std::string definition;
  bool wrapped = false;  // alone in an allOf
};

struct Definition {
  std::string name;
  ShapePtr shape;
};

struct SchemaCase {
  std::string name;  // for messages: "level 3, seed 17"
  int level = 0;
  ShapePtr root;
  std::vector<Definition> definitions;
  bool draft7 = false;  // written in draft-07's spelling

  const Shape& resolve(const Shape& shape) const;  // what a reference stands for in the end

  // The members of an object or of an allOf, each once, in the order of the schema.
  std::vector<Member> members_of(const Shape& shape) const;
};

}  // namespace windrow::structured
