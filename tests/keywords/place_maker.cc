#include "keywords/place_maker.h"

#include <utility>

#include "keywords/schema_maker.h"

namespace windrow::keywords {

namespace json = boost::json;

namespace {

constexpr auto kTextPatterns = std::to_array<std::string_view>(
    {"^a", "b$", "^[a-c]*$", "^x[0-9]$", "^.{1,2}$", "a.*b", "é", "^(a|b)+$", "[^a]"});

}  // namespace

json::object PlaceMaker::typed_scalar() {
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

json::object PlaceMaker::scalar() {
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

json::array PlaceMaker::type_names() {
  json::array all{"string", "integer", "null", "boolean", "number"};
  while (all.size() > 1 && (all.size() > 3 || random_.chance(0.5)))
    all.erase(all.begin() + static_cast<ptrdiff_t>(random_.below(all.size())));
  return all;
}

json::object PlaceMaker::object(int depth) {
  json::object at;
  if (random_.chance(0.85)) at["type"] = "object";
  json::object members;
  for (const std::string_view name : some_names(0, 4))
    members[name] = depth > 0 && random_.chance(0.2) ? json::value(any(depth - 1)) : member(depth);
  if (!members.empty()) at["properties"] = std::move(members);
  if (random_.chance(0.5)) at["required"] = names(0, 2);
  if (random_.chance(0.35)) {
    at["additionalProperties"] =
        random_.chance(0.4) ? json::value(random_.chance(0.3)) : json::value(scalar());
  }
  if (random_.chance(0.12)) add_patterns(at, 0);
  return at;
}

json::value PlaceMaker::member(int depth) {
  if (random_.chance(0.1)) return true;
  if (depth > 0 && random_.chance(0.1)) return array(depth - 1);
  return scalar();
}

// What a branch or a condition says of an object: often only one thing.
json::object PlaceMaker::part_of_object() {
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

json::object PlaceMaker::array(int depth) {
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

json::object PlaceMaker::any(int depth) {
  if (depth <= 0) return scalar();
  const uint64_t draw = random_.below(6);
  return draw < 2 ? scalar() : draw < 5 ? object(depth - 1) : array(depth - 1);
}

json::value PlaceMaker::value(int depth) {
  const uint64_t draw = random_.below(depth > 0 ? 6 : 4);
  if (draw < 4) return small_scalar(random_);
  if (draw == 4) return list(0, 3, [&] { return value(depth - 1); });
  json::object made;
  for (const std::string_view name : some_names(0, 3))
    made[name] = value(depth - 1);
  return made;
}

// In the order of the set or not.
std::vector<std::string_view> PlaceMaker::some_names(int64_t min, int64_t max) {
  std::vector<std::string_view> all(kSmallNames.begin(), kSmallNames.end());
  std::vector<std::string_view> some;
  const bool sorted = random_.chance(0.7);
  for (int64_t left = random_.between(min, max); left > 0; --left) {
    const auto at = all.begin() + static_cast<ptrdiff_t>(random_.below(all.size()));
    some.push_back(*at);
    all.erase(at);
  }
  if (!sorted) return some;
  std::vector<std::string_view> in_order;
  for (const std::string_view name : kSmallNames) {
    for (const std::string_view one : some) {
      if (one == name) in_order.push_back(name);
    }
  }
  return in_order;
}

json::array PlaceMaker::names(int64_t min, int64_t max) {
  json::array all;
  for (const std::string_view name : some_names(min, max))
    all.push_back(json::value(name));
  return all;
}

void PlaceMaker::add_patterns(json::object& at, int /*depth*/) {
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

}  // namespace windrow::keywords
