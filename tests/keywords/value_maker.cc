#include "keywords/value_maker.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "keywords/schema_maker.h"

namespace windrow::keywords {
namespace {

namespace json = boost::json;

constexpr int kDepthMax = 6;

int64_t integer(const json::value* value, int64_t otherwise) {
  if (value == nullptr || !value->is_number()) return otherwise;
  return value->is_double() ? static_cast<int64_t>(value->get_double())
                            : value->to_number<int64_t>();
}

json::value small_value(Random& random, int depth) {
  const uint64_t draw = random.below(depth > 0 ? 6 : 4);
  if (draw < 4) return small_scalar(random);
  if (draw == 4) {
    json::array made;
    for (uint64_t left = random.below(4); left > 0; --left)
      made.push_back(small_value(random, depth - 1));
    return made;
  }
  json::object made;
  for (uint64_t left = random.below(4); left > 0; --left)
    made[small_names()[random.below(small_names().size())]] = small_value(random, depth - 1);
  return made;
}

class ValueMaker {
 public:
  ValueMaker(const json::value& root, Random& random) : root_(root), random_(random) {}

  json::value make(const json::value& schema, int depth) {
    const json::object* at = schema.if_object();
    if (at == nullptr || at->empty() || depth <= 0) return small_value(random_, 1);
    if (const json::value* only = at->if_contains("const"); only && random_.chance(0.9))
      return *only;
    if (const json::value* some = at->if_contains("enum");
        some && !some->get_array().empty() && random_.chance(0.8)) {
      return some->get_array()[random_.below(some->get_array().size())];
    }
    json::value value = own(*at, depth);
    for (const json::value* other : beside(*at))
      value = merged(std::move(value), make(*other, depth - 1), !says_type(*at));
    return value;
  }

 private:
  static bool says_type(const json::object& at) { return at.contains("type"); }

  // Other places that the same value might follow.
  std::vector<const json::value*> beside(const json::object& at) {
    std::vector<const json::value*> all;
    const auto pick_of = [&](const json::value& list) {
      const json::array& parts = list.get_array();
      if (!parts.empty()) all.push_back(&parts[random_.below(parts.size())]);
    };
    if (const json::value* target = at.if_contains("$ref")) all.push_back(find(*target));
    for (const char* choice : {"anyOf", "oneOf"}) {
      if (const json::value* parts = at.if_contains(choice)) pick_of(*parts);
    }
    if (const json::value* parts = at.if_contains("allOf")) {
      for (const json::value& part : parts->get_array())
        all.push_back(&part);
    }
    const json::value* condition = at.if_contains("if");
    if (condition != nullptr && random_.chance(0.6)) {
      all.push_back(condition);
      if (const json::value* then = at.if_contains("then")) all.push_back(then);
    } else if (condition != nullptr && at.contains("else")) {
      all.push_back(&at.at("else"));
    }
    if (const json::value* no = at.if_contains("not"); no && random_.chance(0.15))
      all.push_back(no);
    for (const char* keyword : {"dependentSchemas", "dependencies"}) {
      const json::value* dependent = at.if_contains(keyword);
      if (dependent == nullptr) continue;
      for (const auto& [name, schema] : dependent->get_object()) {
        if (!schema.is_array() && random_.chance(0.6)) all.push_back(&schema);
      }
    }
    return all;
  }

  const json::value* find(const json::value& reference) {
    const std::string_view text(reference.get_string());
    constexpr std::string_view kDefinitions = "#/$defs/";
    if (!text.starts_with(kDefinitions)) return &root_;
    return &root_.at("$defs").at(text.substr(kDefinitions.size()));
  }

  json::value own(const json::object& at, int depth) {
    const std::string_view type = type_of(at);
    if (type == "object") return object(at, depth);
    if (type == "array") return array(at, depth);
    if (type == "string") return text(at);
    if (type == "integer" || type == "number") return number(at, type == "integer");
    if (type == "boolean") return random_.chance(0.5);
    if (type == "null") return nullptr;
    return small_value(random_, 1);
  }

  std::string_view type_of(const json::object& at) {
    if (const json::value* type = at.if_contains("type")) {
      if (type->is_string()) return std::string_view(type->get_string());
      const json::array& types = type->get_array();
      if (!types.empty()) return std::string_view(types[random_.below(types.size())].get_string());
    }
    const auto any_of = [&](std::initializer_list<std::string_view> names) {
      return std::ranges::any_of(names, [&](std::string_view name) { return at.contains(name); });
    };
    if (any_of({"properties", "required", "patternProperties", "minProperties", "propertyNames",
                "dependentRequired"})) {
      return "object";
    }
    if (any_of({"items", "prefixItems", "contains", "uniqueItems", "maxItems"})) return "array";
    if (any_of({"pattern", "minLength", "maxLength"})) return "string";
    if (any_of({"minimum", "maximum", "multipleOf"})) return "number";
    return "";
  }

  json::value object(const json::object& at, int depth) {
    json::object made;
    const json::value* required = at.if_contains("required");
    const auto wanted = [&](std::string_view name) {
      if (required == nullptr) return false;
      return std::ranges::any_of(required->get_array(),
                                 [&](const json::value& one) { return one.get_string() == name; });
    };
    if (const json::value* members = at.if_contains("properties")) {
      for (const auto& [name, schema] : members->get_object()) {
        if (random_.chance(wanted(name) ? 0.95 : 0.5)) made[name] = make(schema, depth - 1);
      }
    }
    if (required != nullptr) {
      for (const json::value& name : required->get_array()) {
        if (!made.contains(name.get_string())) add(at, name.get_string(), made, depth);
      }
    }
    const int64_t count_min = integer(at.if_contains("minProperties"), 0);
    for (int64_t tries = 0; tries < 4; ++tries) {
      if (static_cast<int64_t>(made.size()) >= count_min && random_.chance(0.6)) break;
      const std::string_view name = small_names()[random_.below(small_names().size())];
      if (!made.contains(name)) add(at, name, made, depth);
    }
    return made;
  }

  // A member that is not declared.
  void add(const json::object& at, std::string_view name, json::object& made, int depth) {
    const json::value* rest = at.if_contains("additionalProperties");
    const json::value* patterns = at.if_contains("patternProperties");
    if (patterns != nullptr && !patterns->get_object().empty() && random_.chance(0.6)) {
      const json::object& all = patterns->get_object();
      rest = &(all.begin() + static_cast<ptrdiff_t>(random_.below(all.size())))->value();
    }
    made[name] = rest != nullptr ? make(*rest, depth - 1) : small_value(random_, 1);
  }

  json::value array(const json::object& at, int depth) {
    json::array made;
    const int64_t min = integer(at.if_contains("minItems"), 0);
    const int64_t max = integer(at.if_contains("maxItems"), min + 3);
    const int64_t count = random_.between(min, std::max(min, std::min(max, min + 4)));
    const json::value* prefix = at.if_contains("prefixItems");
    const json::value* items = at.if_contains("items");
    const json::value* some = at.if_contains("contains");
    for (int64_t i = 0; i < count; ++i) {
      const auto index = static_cast<size_t>(i);
      if (prefix != nullptr && index < prefix->get_array().size()) {
        made.push_back(make(prefix->get_array()[index], depth - 1));
      } else if (some != nullptr && random_.chance(0.4)) {
        made.push_back(make(*some, depth - 1));
      } else {
        made.push_back(items != nullptr ? make(*items, depth - 1) : small_value(random_, 1));
      }
    }
    return made;
  }

  json::value text(const json::object& at) {
    const auto length_min = static_cast<size_t>(integer(at.if_contains("minLength"), 0));
    for (int tries = 0; tries < 4; ++tries) {
      const std::string_view made = small_texts()[random_.below(small_texts().size())];
      if (made.size() >= length_min) return json::value(made);
    }
    return "aab";
  }

  json::value number(const json::object& at, bool whole) {
    const int64_t min =
        integer(at.if_contains("minimum"), integer(at.if_contains("exclusiveMinimum"), -2));
    const int64_t max =
        integer(at.if_contains("maximum"), integer(at.if_contains("exclusiveMaximum"), min + 8));
    const int64_t drawn = random_.between(min, std::max(min, max));
    if (!whole && random_.chance(0.3)) return static_cast<double>(drawn) + 0.5;
    return drawn;
  }

  // A value that follows both, as far as joining members can do it.
  json::value merged(json::value left, json::value right, bool replace) {
    if (left.is_object() && right.is_object()) {
      for (const auto& [name, value] : right.get_object()) {
        if (!left.get_object().contains(name) || random_.chance(0.5)) {
          left.get_object()[name] = value;
        }
      }
      return left;
    }
    return replace || random_.chance(0.3) ? right : left;
  }

  const json::value& root_;
  Random& random_;
};

void collect(json::value& value, std::vector<json::value*>& all) {
  all.push_back(&value);
  if (json::object* object = value.if_object()) {
    for (auto& [name, member] : *object)
      collect(member, all);
  } else if (json::array* array = value.if_array()) {
    for (json::value& item : *array)
      collect(item, all);
  }
}

void change(json::object& object, Random& random) {
  if (!object.empty() && random.chance(0.5)) {
    object.stable_erase(object.begin() + static_cast<ptrdiff_t>(random.below(object.size())));
  } else {
    object[small_names()[random.below(small_names().size())]] = small_value(random, 1);
  }
}

void change(json::array& array, Random& random) {
  const auto some = [&] {
    return array.begin() + static_cast<ptrdiff_t>(random.below(array.size()));
  };
  switch (array.empty() ? 3 : random.below(4)) {
    case 0:
      array.erase(some());
      return;
    case 1: {
      json::value again = *some();
      array.push_back(std::move(again));
      return;
    }
    case 2:
      std::swap(*some(), *some());
      return;
    default:
      array.push_back(small_value(random, 1));
  }
}

}  // namespace

json::value value_near(const json::value& root, const json::value& schema, Random& random) {
  return ValueMaker(root, random).make(schema, kDepthMax);
}

json::value changed(json::value value, Random& random) {
  std::vector<json::value*> all;
  collect(value, all);
  json::value& at = *all[random.below(all.size())];
  if (json::object* object = at.if_object(); object != nullptr && random.chance(0.85)) {
    change(*object, random);
  } else if (json::array* array = at.if_array(); array != nullptr && random.chance(0.85)) {
    change(*array, random);
  } else {
    at = small_value(random, 1);
  }
  return value;
}

}  // namespace windrow::keywords
