#include "grammar/schema/unevaluated.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace windrow::grammar {
namespace {

namespace json = boost::json;
using Target = References::Target;

// Schemas that are looked through for one keyword.
constexpr size_t kSchemasMax = 2'000;

// The members or items that schemas declare.
struct Declared {
  std::set<std::string, std::less<>> names;
  std::set<std::string, std::less<>> patterns;
  size_t items = 0;  // so many first ones
  bool all = false;

  bool covers(const Declared& other) const {
    return all || (!other.all && std::ranges::includes(names, other.names) &&
                   std::ranges::includes(patterns, other.patterns) && other.items <= items);
  }
};

class Gathering {
 public:
  Gathering(std::string_view keyword, Draft draft, const References& references)
      : about_items_(keyword == "unevaluatedItems"), draft_(draft), references_(references) {}

  // What always holds with `schema`, and apart from it what holds by a condition.
  Result<void> gather(const Target& schema, bool is_own) {
    open_.push_back({schema, is_own, true});
    while (!open_.empty()) {
      const Open next = std::move(open_.back());
      open_.pop_back();
      const json::object* object = next.schema.value->if_object();
      if (object == nullptr) continue;
      if (seen_.size() + seen_by_condition_.size() > kSchemasMax) {
        return schema_error(schema.pointer,
                            fmt::format("more than {} schemas hold with this one", kSchemasMax));
      }
      if (!(next.always ? seen_ : seen_by_condition_).insert(object).second) continue;
      if (Result<void> done = look_at(next, *object); !done) return done;
      if (next.always || always_.covers(by_condition_) || !conditional_at_.empty()) continue;
      conditional_at_ = next.schema.pointer;
    }
    return {};
  }

  const Declared& always() const { return always_; }

  // A schema that declares more than always() and does not always hold; "": there is none.
  std::string_view conditional_at() const {
    return always_.covers(by_condition_) ? std::string_view() : conditional_at_;
  }

 private:
  struct Open {
    Target schema;
    bool is_own = false;
    bool always = true;
  };

  Result<void> look_at(const Open& place, const json::object& object) {
    const bool alone = reference_stands_alone(draft_, object);
    if (!alone) declare(place, object);
    for (const auto& [name, value] : object) {
      // What the draft does not have says nothing about what the others are about.
      if (!has_keyword(draft_, name, value)) continue;
      if (name == "$ref" || (!alone && (name == "$dynamicRef" || name == "$recursiveRef"))) {
        if (!value.is_string()) continue;  // reported where it is read
        const std::string_view text = value.get_string();
        Result<Target> target = name == "$ref"
                                    ? references_.find(text, place.schema.resource)
                                    : references_.find_dynamic(name, text, place.schema.resource);
        if (!target) return schema_error(join(place, name), target.error());
        open_.push_back({*std::move(target), false, place.always});
      } else if (!alone) {
        open_parts(place, name, value);
      }
    }
    return {};
  }

  static std::string join(const Open& place, std::string_view step) {
    return fmt::format("{}/{}", place.schema.pointer, pointer_step(step));
  }

  void open_parts(const Open& place, std::string_view name, const json::value& value) {
    static constexpr auto kLists = std::to_array<std::string_view>({"allOf", "anyOf", "oneOf"});
    static constexpr auto kSingle = std::to_array<std::string_view>({"else", "if", "then"});
    const bool always = place.always && name == "allOf";
    const auto open = [&](const json::value& part, std::string pointer) {
      open_.push_back(
          {{&part, std::move(pointer), references_.resource_of(part, place.schema.resource)},
           false,
           always});
    };
    if (std::ranges::find(kSingle, name) != kSingle.end()) return open(value, join(place, name));
    if (name == "dependencies" || name == "dependentSchemas") {
      if (!value.is_object()) return;
      for (const auto& [key, part] : value.get_object())
        open(part, fmt::format("{}/{}", join(place, name), pointer_step(key)));
      return;
    }
    if (std::ranges::find(kLists, name) == kLists.end() || !value.is_array()) return;
    size_t index = 0;
    for (const json::value& part : value.get_array())
      open(part, fmt::format("{}/{}", join(place, name), index++));
  }

  void declare(const Open& place, const json::object& object) {
    Declared& all = place.always ? always_ : by_condition_;
    if (about_items_) return declare_items(place, object, all);
    const auto add = [&](const char* keyword, auto& names) {
      const json::value* members = object.if_contains(keyword);
      if (members == nullptr || !members->is_object()) return;
      for (const auto& [name, value] : members->get_object())
        names.emplace(name);
    };
    add("properties", all.names);
    add("patternProperties", all.patterns);
    if (object.contains("additionalProperties")) all.all = true;
    if (!place.is_own && object.contains("unevaluatedProperties")) all.all = true;
  }

  void declare_items(const Open& place, const json::object& object, Declared& all) {
    const json::value* items = object.if_contains("items");
    const json::value* prefix = object.if_contains("prefixItems");
    if (prefix != nullptr && !has_keyword(draft_, "prefixItems", *prefix)) prefix = nullptr;
    for (const json::value* list : {prefix, items}) {
      if (list != nullptr && list->is_array())
        all.items = std::max(all.items, list->get_array().size());
    }
    const bool is_list = items != nullptr && items->is_array();
    if (items != nullptr && !is_list) all.all = true;
    if (is_list && object.contains("additionalItems")) all.all = true;
    if (!place.is_own && object.contains("unevaluatedItems")) all.all = true;
    // Which items it finds depends on the items.
    if (object.contains("contains") && draft_ >= Draft::k2020) {
      by_condition_.all = true;
      if (conditional_at_.empty()) conditional_at_ = join(place, "contains");
    }
  }

  bool about_items_;
  Draft draft_;
  const References& references_;
  std::vector<Open> open_;
  std::unordered_set<const json::object*> seen_;
  std::unordered_set<const json::object*> seen_by_condition_;
  Declared always_;
  Declared by_condition_;
  std::string conditional_at_;
};

}  // namespace

Result<std::optional<SchemaId>> read_unevaluated(std::string_view keyword, const Target& schema,
                                                 Types types, Draft draft,
                                                 const References& references, Places& places) {
  const bool about_items = keyword == "unevaluatedItems";
  const json::value& value = schema.value->get_object().at(keyword);
  const Types about = about_items ? kArrayType : kObjectType;
  const bool allows_all = value.is_bool() && value.get_bool();
  if (allows_all || (types & about) == 0) return std::optional<SchemaId>();
  Gathering gathering(keyword, draft, references);
  if (Result<void> done = gathering.gather(schema, true); !done) return done.error();
  const std::string pointer = fmt::format("{}/{}", schema.pointer, keyword);
  if (const std::string_view at = gathering.conditional_at(); !at.empty()) {
    return schema_error(
        pointer,
        fmt::format("\"{}\" cannot be enforced; what it is about depends on whether {} holds: "
                    "declare beside it what that declares, or write {} in each branch",
                    keyword, at, about_items ? "items" : "additionalProperties"));
  }
  const Declared& declared = gathering.always();
  if (declared.all) return std::optional<SchemaId>();
  SchemaNode node{.kind = SchemaNode::Kind::kRules, .pointer = pointer};
  const SchemaId anything = places.add({.kind = SchemaNode::Kind::kAlways, .pointer = pointer});
  if (about_items) {
    node.rules.arrays.edit().prefix.assign(declared.items, anything);
    node.rules.arrays.edit().items = places.place(value, pointer);
  } else {
    for (const std::string& name : declared.names)
      node.rules.objects.edit().properties.emplace_back(name, anything);
    for (const std::string& pattern : declared.patterns)
      node.rules.objects.edit().patterns.emplace_back(pattern, anything);
    node.rules.objects.edit().additional = places.place(value, pointer);
  }
  return std::optional(places.add(std::move(node)));
}

}  // namespace windrow::grammar
