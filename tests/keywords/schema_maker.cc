#include "keywords/schema_maker.h"

#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <utility>
#include <vector>

namespace windrow::keywords {
namespace {

namespace json = boost::json;

constexpr auto kFamilyNames = std::to_array<std::string_view>(
    {"NotScalars",       "NotObjects",   "NotArrays",      "NotNested",
     "OneOfScalars",     "OneOfObjects", "OneOfMixed",     "IfScalars",
     "IfObjects",        "IfChains",     "Dependencies",   "DependentRequired",
     "DependentSchemas", "MemberCounts", "UniqueScalars",  "UniqueMixed",
     "PropertyNames",    "Contains",     "ContainsBounds", "PatternProperties",
     "Values",           "References",   "Pairs",          "Anything"});
static_assert(kFamilyNames.size() == kFamilies);

constexpr auto kNames = std::to_array<std::string_view>({"a", "b", "c", "d", "x1", "x2", "yz"});
constexpr auto kNamePatterns =
    std::to_array<std::string_view>({"^x", "^[ab]$", "1$", "^.$", "b|c", "^[a-z]+$", "2"});
constexpr auto kTexts = std::to_array<std::string_view>(
    {"", "a", "b", "c", "ab", "ba", "abc", "x1", "x2", "é", "aé", "zz", "aaaa", "\"", "1"});
constexpr auto kTextPatterns = std::to_array<std::string_view>(
    {"^a", "b$", "^[a-c]*$", "^x[0-9]$", "^.{1,2}$", "a.*b", "é", "^(a|b)+$", "[^a]"});

template <size_t Size>
std::string_view one_of(const std::array<std::string_view, Size>& from, Random& random) {
  return from[random.below(Size)];
}

class SchemaMaker {
 public:
  explicit SchemaMaker(Random& random) : random_(random) {}

  json::value make(Family family) {
    json::object root = hidden(at_root(family));
    if (!definitions_.empty()) root["$defs"] = definitions_;
    if (family == Family::kDependencies) {
      root["$schema"] = "http://json-schema.org/draft-07/schema#";
    }
    return root;
  }

 private:
  using Add = void (SchemaMaker::*)(json::object&, int);

  json::object at_root(Family family) {
    switch (family) {
      case Family::kNotScalars:
        return with(random_.chance(0.7) ? typed_scalar() : json::object(),
                    [&](json::object& at) { at["not"] = scalar(); });
      case Family::kNotObjects:
        return with(object(1), [&](json::object& at) { at["not"] = part_of_object(); });
      case Family::kNotArrays:
        return with(array(1), [&](json::object& at) { at["not"] = array(1); });
      case Family::kNotNested:
        return with(random_.chance(0.5) ? object(1) : typed_scalar(),
                    [&](json::object& at) { at["not"] = nested(2); });
      case Family::kOneOfScalars:
        return with(random_.chance(0.3) ? typed_scalar() : json::object(),
                    [&](json::object& at) { at["oneOf"] = list(2, 4, [&] { return scalar(); }); });
      case Family::kOneOfObjects:
        return with(random_.chance(0.5) ? object(1) : json::object(), [&](json::object& at) {
          at["oneOf"] = list(2, 3, [&] { return part_of_object(); });
        });
      case Family::kOneOfMixed:
        return with(json::object(),
                    [&](json::object& at) { at["oneOf"] = list(2, 3, [&] { return any(2); }); });
      case Family::kIfScalars:
        return with(json::object(),
                    [&](json::object& at) { add_if(at, [&] { return scalar(); }); });
      case Family::kIfObjects:
        return with(object(1),
                    [&](json::object& at) { add_if(at, [&] { return part_of_object(); }); });
      case Family::kIfChains:
        return with(object(1), [&](json::object& at) {
          at["allOf"] = list(2, 3, [&] {
            json::object one;
            add_if(one, [&] { return part_of_object(); });
            return one;
          });
        });
      case Family::kDependencies:
        return with(object(1), [&](json::object& at) { add_dependencies(at, 1); });
      case Family::kDependentRequired:
        return with(object(1), [&](json::object& at) { add_dependent_required(at, 1); });
      case Family::kDependentSchemas:
        return with(object(1), [&](json::object& at) { add_dependent_schemas(at, 1); });
      case Family::kMemberCounts:
        return with(object(1), [&](json::object& at) { add_counts(at, 1); });
      case Family::kUniqueScalars:
        return with(array(0), [&](json::object& at) {
          at["items"] = scalar();
          at["uniqueItems"] = true;
        });
      case Family::kUniqueMixed:
        return with(array(1), [&](json::object& at) {
          if (random_.chance(0.9)) at["items"] = any(1);
          at["uniqueItems"] = true;
          if (random_.chance(0.4)) add_contains(at, 0);
        });
      case Family::kPropertyNames:
        return with(object(1), [&](json::object& at) { add_property_names(at, 1); });
      case Family::kContains:
        return with(array(1), [&](json::object& at) { at["contains"] = any(1); });
      case Family::kContainsBounds:
        return with(array(1), [&](json::object& at) { add_contains(at, 1); });
      case Family::kPatternProperties:
        return with(object(1), [&](json::object& at) { add_patterns(at, 1); });
      case Family::kValues:
        return with(any(1), [&](json::object& at) {
          at["enum"] = list(1, 5, [&] { return value(2); });
          add_some(at, 1);
        });
      case Family::kReferences:
        return references();
      case Family::kPairs:
        return with(random_.chance(0.7) ? object(1) : array(1), [&](json::object& at) {
          for (int64_t left = random_.between(2, 3); left > 0; --left)
            add_some(at, 1);
        });
      case Family::kAnything:
        return nested(3);
    }
    return {};
  }

  // The place itself, or lying in a member, an item or a branch.
  json::object hidden(json::object at) {
    switch (random_.below(8)) {
      case 0:
        return {{"type", "object"}, {"properties", {{"a", std::move(at)}, {"b", scalar()}}}};
      case 1:
        return {{"type", "array"}, {"items", std::move(at)}, {"maxItems", random_.between(2, 4)}};
      case 2: {
        json::array branches;
        branches.push_back(std::move(at));
        branches.push_back(scalar());
        return {{"anyOf", std::move(branches)}};
      }
      case 3:
        definitions_["q"] = std::move(at);
        return {{"$ref", "#/$defs/q"}};
      default:
        return at;
    }
  }

  template <class Change>
  json::object with(json::object at, const Change& change) {
    change(at);
    return at;
  }

  template <class Make>
  json::array list(int64_t min, int64_t max, const Make& make) {
    json::array all;
    for (int64_t left = random_.between(min, max); left > 0; --left)
      all.push_back(make());
    return all;
  }

  // --- places without the keywords that are under test -------------------------------------------

  json::object typed_scalar() {
    switch (random_.below(5)) {
      case 0:
        return {{"type", "string"}};
      case 1:
        return {{"type", "integer"}, {"minimum", random_.between(-2, 2)}};
      case 2:
        return {{"type", "number"}, {"minimum", -2}, {"maximum", random_.between(2, 9)}};
      case 3: {
        json::array types{"string", "integer", "null"};
        return {{"type", std::move(types)}};
      }
      default:
        return {{"enum", list(2, 6, [&] { return small_scalar(random_); })}};
    }
  }

  json::object scalar() {
    json::object at;
    switch (random_.below(8)) {
      case 0:
      case 1:
        if (random_.chance(0.8)) at["type"] = "string";
        if (random_.chance(0.5)) at["pattern"] = one_of(kTextPatterns, random_);
        if (random_.chance(0.3)) at["minLength"] = random_.between(0, 2);
        if (random_.chance(0.3)) at["maxLength"] = random_.between(1, 4);
        return at;
      case 2:
      case 3:
        if (random_.chance(0.8)) at["type"] = random_.chance(0.6) ? "integer" : "number";
        if (random_.chance(0.5)) {
          at[random_.chance(0.7) ? "minimum" : "exclusiveMinimum"] = small_number(random_);
        }
        if (random_.chance(0.4)) {
          at[random_.chance(0.7) ? "maximum" : "exclusiveMaximum"] = small_number(random_);
        }
        if (random_.chance(0.3))
          at["multipleOf"] =
              random_.chance(0.7) ? json::value(random_.between(2, 3)) : json::value(0.5);
        return at;
      case 4:
        return {{"const", small_scalar(random_)}};
      case 5:
        return {{"enum", list(1, 4, [&] { return small_scalar(random_); })}};
      case 6:
        return {{"type", random_.chance(0.5) ? "null" : "boolean"}};
      default:
        return {{"type", type_names()}};
    }
  }

  json::array type_names() {
    json::array all{"string", "integer", "null", "boolean", "number"};
    while (all.size() > 1 && (all.size() > 3 || random_.chance(0.5)))
      all.erase(all.begin() + static_cast<ptrdiff_t>(random_.below(all.size())));
    return all;
  }

  json::object object(int depth) {
    json::object at;
    if (random_.chance(0.85)) at["type"] = "object";
    json::object members;
    for (const std::string_view name : some_names(0, 4))
      members[name] =
          depth > 0 && random_.chance(0.2) ? json::value(any(depth - 1)) : member(depth);
    if (!members.empty()) at["properties"] = std::move(members);
    if (random_.chance(0.5)) at["required"] = names(0, 2);
    if (random_.chance(0.35)) {
      at["additionalProperties"] =
          random_.chance(0.4) ? json::value(random_.chance(0.3)) : json::value(scalar());
    }
    if (random_.chance(0.12)) add_patterns(at, 0);
    return at;
  }

  json::value member(int depth) {
    if (random_.chance(0.1)) return true;
    if (depth > 0 && random_.chance(0.1)) return array(depth - 1);
    return scalar();
  }

  // What a branch or a condition says of an object: often only one thing.
  json::object part_of_object() {
    json::object at;
    const uint64_t draw = random_.below(5);
    if (draw == 0) return {{"required", names(1, 2)}};
    if (draw <= 2) {
      json::object members;
      for (const std::string_view name : some_names(1, 2))
        members[name] = scalar();
      at["properties"] = std::move(members);
      if (random_.chance(0.6)) at["required"] = names(1, 1);
      return at;
    }
    return object(0);
  }

  json::object array(int depth) {
    json::object at;
    if (random_.chance(0.9)) at["type"] = "array";
    const auto item = [&]() -> json::object {
      return depth > 0 && random_.chance(0.3) ? any(depth - 1) : scalar();
    };
    if (random_.chance(0.7)) at["items"] = item();
    if (random_.chance(0.3)) at["prefixItems"] = list(1, 2, item);
    if (random_.chance(0.3)) at["minItems"] = random_.between(0, 2);
    if (random_.chance(0.6)) at["maxItems"] = random_.between(2, 5);
    return at;
  }

  json::object any(int depth) {
    if (depth <= 0) return scalar();
    const uint64_t draw = random_.below(6);
    return draw < 2 ? scalar() : draw < 5 ? object(depth - 1) : array(depth - 1);
  }

  json::value value(int depth) {
    const uint64_t draw = random_.below(depth > 0 ? 6 : 4);
    if (draw < 4) return small_scalar(random_);
    if (draw == 4) return list(0, 3, [&] { return value(depth - 1); });
    json::object made;
    for (const std::string_view name : some_names(0, 3))
      made[name] = value(depth - 1);
    return made;
  }

  // In the order of the set or not.
  std::vector<std::string_view> some_names(int64_t min, int64_t max) {
    std::vector<std::string_view> all(kNames.begin(), kNames.end());
    std::vector<std::string_view> some;
    const bool sorted = random_.chance(0.7);
    for (int64_t left = random_.between(min, max); left > 0; --left) {
      const auto at = all.begin() + static_cast<ptrdiff_t>(random_.below(all.size()));
      some.push_back(*at);
      all.erase(at);
    }
    if (!sorted) return some;
    std::vector<std::string_view> in_order;
    for (const std::string_view name : kNames) {
      for (const std::string_view one : some) {
        if (one == name) in_order.push_back(name);
      }
    }
    return in_order;
  }

  json::array names(int64_t min, int64_t max) {
    json::array all;
    for (const std::string_view name : some_names(min, max))
      all.push_back(json::value(name));
    return all;
  }

  // --- the keywords under test
  // ---------------------------------------------------------------------

  template <class Make>
  void add_if(json::object& at, const Make& make) {
    at["if"] = make();
    if (random_.chance(0.8))
      at["then"] = random_.chance(0.1) ? json::value(false) : json::value(make());
    if (random_.chance(0.6))
      at["else"] = random_.chance(0.1) ? json::value(false) : json::value(make());
  }

  void add_not(json::object& at, int depth) {
    at["not"] = at.contains("items") || at.contains("maxItems") ? array(depth) : part_of_object();
  }

  void add_one_of(json::object& at, int depth) {
    const bool arrays = at.contains("items") || at.contains("maxItems");
    at["oneOf"] = list(2, 3, [&] { return arrays ? array(depth) : part_of_object(); });
  }

  void add_any_of(json::object& at, int depth) {
    at["anyOf"] = list(2, 3, [&] { return random_.chance(0.5) ? part_of_object() : any(depth); });
  }

  void add_condition(json::object& at, int /*depth*/) {
    add_if(at, [&] { return part_of_object(); });
  }

  void add_dependencies(json::object& at, int depth) {
    json::object all;
    for (const std::string_view name : some_names(1, 3)) {
      all[name] = random_.chance(0.5) ? json::value(names(0, 2)) : json::value(dependent(depth));
    }
    at["dependencies"] = std::move(all);
  }

  void add_dependent_required(json::object& at, int /*depth*/) {
    json::object all;
    for (const std::string_view name : some_names(1, 3))
      all[name] = names(0, 2);
    at["dependentRequired"] = std::move(all);
  }

  void add_dependent_schemas(json::object& at, int depth) {
    json::object all;
    for (const std::string_view name : some_names(1, 3))
      all[name] = dependent(depth);
    at["dependentSchemas"] = std::move(all);
  }

  json::value dependent(int /*depth*/) {
    if (random_.chance(0.1)) return random_.chance(0.5);
    return part_of_object();
  }

  void add_counts(json::object& at, int /*depth*/) {
    if (random_.chance(0.6)) at["minProperties"] = random_.between(1, 3);
    if (random_.chance(0.6)) at["maxProperties"] = random_.between(1, 4);
  }

  void add_unique(json::object& at, int /*depth*/) { at["uniqueItems"] = true; }

  void add_property_names(json::object& at, int /*depth*/) {
    switch (random_.below(5)) {
      case 0:
        at["propertyNames"] = {{"pattern", one_of(kNamePatterns, random_)}};
        return;
      case 1:
        at["propertyNames"] = {{"maxLength", random_.between(1, 2)}};
        return;
      case 2:
        at["propertyNames"] = {{"enum", names(1, 5)}};
        return;
      case 3: {
        json::object no{{"enum", names(1, 3)}};
        at["propertyNames"] = {{"not", std::move(no)}};
        return;
      }
      default: {
        json::array both;
        both.push_back({{"pattern", one_of(kNamePatterns, random_)}});
        both.push_back({{"const", one_of(kNames, random_)}});
        at["propertyNames"] = {{"anyOf", std::move(both)}};
      }
    }
  }

  void add_contains(json::object& at, int depth) {
    at["contains"] = random_.chance(0.1) ? json::value(true) : json::value(any(depth));
    if (random_.chance(0.6)) at["minContains"] = random_.between(0, 3);
    if (random_.chance(0.6)) at["maxContains"] = random_.between(1, 3);
  }

  void add_patterns(json::object& at, int /*depth*/) {
    json::object all;
    for (int64_t left = random_.between(1, 2); left > 0; --left)
      all[one_of(kNamePatterns, random_)] =
          random_.chance(0.1) ? json::value(false) : json::value(scalar());
    at["patternProperties"] = std::move(all);
    if (random_.chance(0.6)) {
      at["additionalProperties"] =
          random_.chance(0.5) ? json::value(random_.chance(0.2)) : json::value(scalar());
    }
  }

  // One keyword more.
  void add_some(json::object& at, int depth) {
    constexpr auto kOfObjects = std::to_array<Add>(
        {&SchemaMaker::add_not, &SchemaMaker::add_one_of, &SchemaMaker::add_any_of,
         &SchemaMaker::add_condition, &SchemaMaker::add_dependent_required,
         &SchemaMaker::add_dependent_schemas, &SchemaMaker::add_counts,
         &SchemaMaker::add_property_names, &SchemaMaker::add_patterns});
    constexpr auto kOfArrays =
        std::to_array<Add>({&SchemaMaker::add_not, &SchemaMaker::add_one_of,
                            &SchemaMaker::add_unique, &SchemaMaker::add_contains});
    const bool arrays =
        at.contains("items") || at.contains("maxItems") || at.contains("prefixItems");
    const Add add = arrays ? kOfArrays[random_.below(kOfArrays.size())]
                           : kOfObjects[random_.below(kOfObjects.size())];
    (this->*add)(at, depth);
  }

  // Any keyword anywhere.
  json::object nested(int depth) {
    if (depth <= 0) return scalar();
    const auto inner = [&] { return nested(depth - 1); };
    switch (random_.below(8)) {
      case 0:
        return {{"not", inner()}};
      case 1:
        return {{"anyOf", list(2, 3, inner)}};
      case 2:
        return {{"oneOf", list(2, 3, inner)}};
      case 3:
        return {{"allOf", list(2, 2, inner)}};
      case 4:
        return with(json::object(), [&](json::object& at) { add_if(at, inner); });
      default:
        return with(random_.chance(0.7) ? object(depth - 1) : array(depth - 1),
                    [&](json::object& at) { add_some(at, depth - 1); });
    }
  }

  // Places that refer to each other, through members and items.
  json::object references() {
    const auto reference = [&]() -> json::object {
      constexpr auto kTargets = std::to_array<std::string_view>({"#/$defs/p", "#/$defs/r"});
      return {{"$ref", one_of(kTargets, random_)}};
    };
    for (const char* name : {"p", "r"}) {
      json::object at = object(0);
      json::object members;
      if (const json::value* own = at.if_contains("properties")) members = own->get_object();
      members[one_of(kNames, random_)] = reference();
      if (random_.chance(0.4)) {
        json::object items{{"type", "array"}, {"items", reference()}, {"maxItems", 2}};
        members[one_of(kNames, random_)] = std::move(items);
      }
      at["properties"] = std::move(members);
      at.erase("required");
      add_some(at, 0);
      json::array either;
      either.push_back(std::move(at));
      either.push_back(scalar());
      if (random_.chance(0.5)) {
        definitions_[name] = {{random_.chance(0.5) ? "anyOf" : "oneOf", std::move(either)}};
      } else {
        definitions_[name] = either[0];
      }
    }
    json::object root = reference();
    if (random_.chance(0.3)) root["not"] = reference();
    if (random_.chance(0.3)) root["required"] = names(1, 1);
    return root;
  }

  Random& random_;
  json::object definitions_;
};

}  // namespace

std::string_view family_name(Family family) {
  return kFamilyNames[static_cast<size_t>(family)];
}

json::value random_schema(Family family, Random& random) {
  return SchemaMaker(random).make(family);
}

std::span<const std::string_view> small_names() {
  return kNames;
}

std::span<const std::string_view> small_texts() {
  return kTexts;
}

json::value small_number(Random& random) {
  if (random.chance(0.2)) return static_cast<double>(random.between(-2, 6)) + 0.5;
  return random.between(-2, 8);
}

json::value small_scalar(Random& random) {
  switch (random.below(6)) {
    case 0:
      return nullptr;
    case 1:
      return random.chance(0.5);
    case 2:
    case 3:
      return small_number(random);
    default:
      return json::value(one_of(kTexts, random));
  }
}

}  // namespace windrow::keywords
