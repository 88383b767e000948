#include "grammar/schema/testing/definition_order.h"

#include <algorithm>

#include "grammar/schema/json_values.h"
#include "grammar/schema/references.h"

namespace windrow::grammar::testing {
namespace {

namespace json = boost::json;

// A place of the schema, and the resource it is in.
struct Place {
  const json::value* schema = nullptr;
  References::Resource resource = References::kRoot;
};
using Places = std::vector<Place>;

class Order {
 public:
  // Of a schema that compiles, so its references are in order.
  explicit Order(const json::value& root)
      : references_(*References::collect(root, draft_of(root).value_or(Draft::k2020))) {}

  json::value of(const Places& places, const json::value& value, int depth) {
    Places all;
    for (const Place& place : places)
      add(place, all);
    if (depth == 0) return value;
    if (const json::object* object = value.if_object()) return of_object(all, *object, depth);
    if (const json::array* array = value.if_array()) {
      json::array result;
      for (size_t i = 0; i < array->size(); ++i) {
        result.push_back(of(items(all, i), (*array)[i], depth - 1));
      }
      return result;
    }
    return value;
  }

 private:
  // The place and all that is said of the same value, in the order of the text.
  void add(Place place, Places& all) {
    const json::object* object = place.schema->if_object();
    const auto same = [&](const Place& other) { return other.schema == place.schema; };
    if (object == nullptr || std::ranges::any_of(all, same)) return;
    place.resource = references_.resource_of(*place.schema, place.resource);
    const size_t at = all.size();
    all.push_back(place);
    Places before;
    bool own_properties = false;
    bool chosen = false;
    const auto more = [&](const Place& part) {
      Places parts;
      add(part, parts);
      Places& into = own_properties || !object->contains("properties") ? all : before;
      for (const Place& one : parts) {
        if (std::ranges::none_of(all, [&](const Place& p) { return p.schema == one.schema; })) {
          into.push_back(one);
        }
      }
    };
    for (const auto& [name, member] : *object) {
      if (name == "properties") own_properties = true;
      if (name == "$ref" && member.is_string()) {
        const auto target = references_.find(member.get_string(), place.resource);
        if (target) more({target->value, target->resource});
      }
      if ((name == "$dynamicRef" || name == "$recursiveRef") && member.is_string()) {
        const auto target = references_.find_dynamic(name, member.get_string(), place.resource);
        if (target) more({target->value, target->resource});
      }
      if ((name == "then" || name == "else") && object->contains("if") && !chosen) {
        chosen = true;
        for (const char* branch : {"then", "else"}) {
          if (const json::value* part = object->if_contains(branch)) more({part, place.resource});
        }
      }
      if ((name == "dependencies" || name == "dependentSchemas") && member.is_object()) {
        for (const auto& [key, part] : member.get_object())
          more({&part, place.resource});
      }
      if ((name == "allOf" || name == "anyOf" || name == "oneOf") && member.is_array()) {
        for (const json::value& part : member.get_array())
          more({&part, place.resource});
      }
      if (name == "if" || name == "then" || name == "else" || name == "not") {
        more({&member, place.resource});
      }
      if ((name == "dependentSchemas" || name == "dependencies") && member.is_object()) {
        for (const auto& [dependent, part] : member.get_object())
          more({&part, place.resource});
      }
    }
    all.insert(all.begin() + static_cast<ptrdiff_t>(at), before.begin(), before.end());
  }

  json::value of_object(const Places& all, const json::object& object, int depth) {
    std::vector<std::string> names;
    const auto add_name = [&](std::string_view name) {
      if (object.contains(name) && std::ranges::find(names, name) == names.end()) {
        names.emplace_back(name);
      }
    };
    for (const Place& place : all) {
      if (const json::object* same = constant(place.schema->get_object(), object)) {
        for (const auto& [name, value] : *same)
          add_name(name);
      }
    }
    for (const Place& place : all) {
      const json::value* declared = place.schema->get_object().if_contains("properties");
      if (declared == nullptr || !declared->is_object()) continue;
      for (const auto& [name, schema] : declared->get_object())
        add_name(name);
    }
    const auto add_names = [&](const json::value* list) {
      if (list == nullptr || !list->is_array()) return;
      for (const json::value& name : list->get_array()) {
        if (name.is_string()) add_name(name.get_string());
      }
    };
    for (const Place& place : all) {
      add_names(place.schema->get_object().if_contains("required"));
      // With a member there is what depends on it, and before it.
      for (const char* keyword : {"dependencies", "dependentRequired"}) {
        const json::value* dependencies = place.schema->get_object().if_contains(keyword);
        if (dependencies == nullptr || !dependencies->is_object()) continue;
        for (const auto& [name, list] : dependencies->get_object()) {
          if (!list.is_array() || !object.contains(name)) continue;
          add_names(&list);
          add_name(name);
        }
      }
    }
    for (const auto& [name, value] : object)
      add_name(name);
    json::object result;
    for (const std::string& name : names) {
      result.emplace(name, of(member(all, name), object.at(name), depth - 1));
    }
    return result;
  }

  // The same object, as enum or const write it.
  static const json::object* constant(const json::object& schema, const json::object& object) {
    const json::value* only = schema.if_contains("const");
    if (only != nullptr && same_value(*only, object)) return &only->get_object();
    const json::value* some = schema.if_contains("enum");
    if (some == nullptr || !some->is_array()) return nullptr;
    for (const json::value& one : some->get_array()) {
      if (same_value(one, object)) return &one.get_object();
    }
    return nullptr;
  }

  static Places member(const Places& all, std::string_view name) {
    Places values;
    for (const Place& place : all) {
      const json::object& object = place.schema->get_object();
      for (const char* keyword : {"properties", "patternProperties"}) {
        const json::value* members = object.if_contains(keyword);
        if (members == nullptr || !members->is_object()) continue;
        for (const auto& [own, schema] : members->get_object()) {
          if (own == name || std::string_view(keyword) != "properties") {
            values.push_back({&schema, place.resource});
          }
        }
      }
      const json::value* additional = object.if_contains("additionalProperties");
      if (additional != nullptr) values.push_back({additional, place.resource});
    }
    return values;
  }

  static Places items(const Places& all, size_t index) {
    Places values;
    for (const Place& place : all) {
      const json::object& object = place.schema->get_object();
      bool in_list = false;
      for (const char* keyword : {"prefixItems", "items"}) {
        const json::value* list = object.if_contains(keyword);
        if (list == nullptr || !list->is_array()) continue;
        in_list = index < list->get_array().size();
        if (in_list) values.push_back({&list->get_array()[index], place.resource});
      }
      for (const char* keyword : {"items", "additionalItems", "contains"}) {
        const json::value* rest = object.if_contains(keyword);
        const bool of_all = std::string_view(keyword) == "contains";
        if (rest != nullptr && !rest->is_array() && (of_all || !in_list)) {
          values.push_back({rest, place.resource});
        }
      }
    }
    return values;
  }

  References references_;
};

// All texts, object by object; the first is the value's own order.
std::vector<std::string> orders(const json::value& value, size_t texts_max) {
  std::vector<std::string> texts;
  if (const json::array* array = value.if_array()) {
    texts = {"["};
    for (size_t i = 0; i < array->size(); ++i) {
      std::vector<std::string> longer;
      for (const std::string& text : texts) {
        for (const std::string& item : orders((*array)[i], texts_max)) {
          if (longer.size() < texts_max) longer.push_back(text + (i > 0 ? "," : "") + item);
        }
      }
      texts = std::move(longer);
    }
    for (std::string& text : texts)
      text += ']';
    return texts;
  }
  const json::object* object = value.if_object();
  if (object == nullptr) return {compact_json(value)};
  std::vector<size_t> order(object->size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  do {
    std::vector<std::string> some{"{"};
    for (size_t i = 0; i < order.size(); ++i) {
      const auto& member = *(object->begin() + static_cast<ptrdiff_t>(order[i]));
      std::vector<std::string> longer;
      for (const std::string& text : some) {
        for (const std::string& inner : orders(member.value(), texts_max)) {
          if (longer.size() >= texts_max) break;
          longer.push_back(text + (i > 0 ? "," : "") + json_quoted(member.key()) + ":" + inner);
        }
      }
      some = std::move(longer);
    }
    for (const std::string& text : some) {
      if (texts.size() < texts_max) texts.push_back(text + "}");
    }
  } while (texts.size() < texts_max && std::ranges::next_permutation(order).found);
  return texts;
}

}  // namespace

json::value in_definition_order(const json::value& schema, const json::value& value) {
  constexpr int kDepthMax = 64;
  return Order(schema).of({{&schema, References::kRoot}}, value, kDepthMax);
}

std::vector<std::string> texts_in_any_order(const json::value& value, size_t texts_max) {
  return orders(value, texts_max);
}

}  // namespace windrow::grammar::testing
