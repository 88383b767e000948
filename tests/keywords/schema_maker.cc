#include "keywords/schema_maker.h"

#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <utility>

#include "keywords/place_maker.h"

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

constexpr auto kTexts = std::to_array<std::string_view>(
    {"", "a", "b", "c", "ab", "ba", "abc", "x1", "x2", "é", "aé", "zz", "aaaa", "\"", "1"});

class SchemaMaker : private PlaceMaker {
 public:
  explicit SchemaMaker(Random& random) : PlaceMaker(random) {}

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
        both.push_back({{"const", one_of(kSmallNames, random_)}});
        at["propertyNames"] = {{"anyOf", std::move(both)}};
      }
    }
  }

  void add_contains(json::object& at, int depth) {
    at["contains"] = random_.chance(0.1) ? json::value(true) : json::value(any(depth));
    if (random_.chance(0.6)) at["minContains"] = random_.between(0, 3);
    if (random_.chance(0.6)) at["maxContains"] = random_.between(1, 3);
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
      members[one_of(kSmallNames, random_)] = reference();
      if (random_.chance(0.4)) {
        json::object items{{"type", "array"}, {"items", reference()}, {"maxItems", 2}};
        members[one_of(kSmallNames, random_)] = std::move(items);
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
  return kSmallNames;
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
