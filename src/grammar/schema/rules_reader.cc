#include "grammar/schema/rules_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "grammar/schema/format_meaning.h"
#include "grammar/schema/json_values.h"
#include "grammar/schema/keywords.h"
#include "grammar/schema/references.h"
#include "grammar/schema/schema_node.h"

namespace windrow::grammar {
namespace {

namespace json = boost::json;
using Use = FormatMeaning::Use;

constexpr int64_t kCountMax = 1'000'000'000;
constexpr size_t kNamesMax = 50'000;  // of one keyword

struct TypeName {
  std::string_view name;
  Types types;
};
constexpr auto kNamesOfTypes = std::to_array<TypeName>({{"null", kNullType},
                                                        {"boolean", kBooleanType},
                                                        {"integer", kIntegerType},
                                                        {"number", kNumberTypes},
                                                        {"string", kStringType},
                                                        {"array", kArrayType},
                                                        {"object", kObjectType}});

class RulesReader {
 public:
  RulesReader(const json::object& object, std::string_view pointer, const RulesOptions& options,
              Places& places)
      : object_(object), pointer_(pointer), options_(options), places_(places) {}

  Result<std::optional<Rules>> read() {
    if (const json::value* type = object_.if_contains("type")) {
      if (Result<void> done = read_type(*type); !done) return done.error();
    }
    for (const auto& [name, value] : object_) {
      if (Result<void> go_on = places_.check(); !go_on) return go_on.error();
      if (Result<void> done = read_keyword(name, value); !done) return done.error();
    }
    if (!says_something_) return std::optional<Rules>();
    if (Result<void> done = read_contains(); !done) return done.error();
    const ArrayRules& arrays = rules_.arrays;
    if (arrays.unique && arrays.count_max && *arrays.count_max <= 1)
      rules_.arrays.edit().unique = false;
    const bool declares = object_.contains("properties") || object_.contains("patternProperties");
    if (declares && !options_.schema.open && !rules_.objects->additional &&
        !object_.contains("unevaluatedProperties"))
      rules_.objects.edit().closed = true;
    return std::optional(std::move(rules_));
  }

 private:
  using Reading = Result<void> (RulesReader::*)(const json::value&);
  struct Entry {
    std::string_view name;
    Reading reading;
  };

  std::string at(std::string_view name) const {
    return fmt::format("{}/{}", pointer_, pointer_step(name));
  }
  Error wrong(std::string_view what) const { return schema_error(at(keyword_), what); }

  Result<void> read_keyword(std::string_view name, const json::value& value) {
    keyword_ = name;
    const Keyword* keyword = find_keyword(name);
    if (keyword == nullptr) return read_unknown(name, value);
    if (keyword->use == KeywordUse::kIgnored) return {};
    // What it says is of no value that `type` allows. A format may be one of integers.
    if ((keyword->types & rules_.types) == 0 && name != "format") return {};
    static constexpr auto kEntries = std::to_array<Entry>({
        {"additionalItems", &RulesReader::read_additional_items},
        {"additionalProperties", &RulesReader::read_additional_properties},
        {"const", &RulesReader::read_const},
        {"enum", &RulesReader::read_enum},
        {"exclusiveMaximum", &RulesReader::read_exclusive_maximum},
        {"exclusiveMinimum", &RulesReader::read_exclusive_minimum},
        {"format", &RulesReader::read_format},
        {"items", &RulesReader::read_items},
        {"maxItems", &RulesReader::read_max_items},
        {"maxLength", &RulesReader::read_max_length},
        {"maxProperties", &RulesReader::read_max_properties},
        {"maximum", &RulesReader::read_maximum},
        {"minItems", &RulesReader::read_min_items},
        {"minLength", &RulesReader::read_min_length},
        {"minProperties", &RulesReader::read_min_properties},
        {"minimum", &RulesReader::read_minimum},
        {"multipleOf", &RulesReader::read_multiple_of},
        {"nullable", &RulesReader::read_nullable},
        {"pattern", &RulesReader::read_pattern},
        {"patternProperties", &RulesReader::read_pattern_properties},
        {"prefixItems", &RulesReader::read_prefix_items},
        {"properties", &RulesReader::read_properties},
        {"propertyNames", &RulesReader::read_property_names},
        {"required", &RulesReader::read_required},
        {"uniqueItems", &RulesReader::read_unique_items},
    });
    if (name == "type" || name == "contains") {  // one is read before, one behind all others
      says_something_ = true;
      return {};
    }
    const auto entry = std::ranges::find(kEntries, name, &Entry::name);
    if (entry == kEntries.end()) return {};  // $ref, allOf, if and the like: read_schema
    says_something_ = true;
    return (this->*entry->reading)(value);
  }

  Result<void> read_unknown(std::string_view name, const json::value& value) const {
    if (options_.container(name)) return {};
    if (const auto id = identifier_of(options_.draft, object_); id && id->keyword == name)
      return {};
    if (options_.schema.unknown == UnknownWords::kRefuse) {
      return wrong(
          fmt::format("\"{}\" is no keyword that is known, and ignoring it could let "
                      "through what it forbids; remove it, or call it \"x-{}\"",
                      name, name));
    }
    if (const Keyword* meant = misspelt_keyword(name, value)) {
      return wrong(
          fmt::format("\"{}\" is no keyword; if \"{}\" is meant, write it so, and if the "
                      "name is right, call it \"x-{}\"",
                      name, meant->name, name));
    }
    warn("this is no keyword of JSON Schema, and has no effect");
    return {};
  }

  // A warning about a format, or an error.
  Result<void> without_effect(std::string_view what, std::string_view advice) const {
    if (options_.schema.unknown == UnknownWords::kRefuse)
      return wrong(fmt::format("{}; {}", what, advice));
    warn(fmt::format("{}, and has no effect; {}", what, advice));
    return {};
  }

  void warn(std::string_view what) const {
    if (options_.schema.warn) options_.schema.warn(wrong(what).message);
  }

  Result<void> read_type(const json::value& value) {
    keyword_ = "type";
    Types types = 0;
    const auto add = [&](const json::value& name) {
      if (!name.is_string()) return false;
      const auto found =
          std::ranges::find(kNamesOfTypes, std::string_view(name.get_string()), &TypeName::name);
      if (found == kNamesOfTypes.end()) return false;
      types |= found->types;
      return true;
    };
    bool known = !value.is_array() && add(value);
    if (const json::array* list = value.if_array()) {
      known = !list->empty() && std::ranges::all_of(*list, add);
    }
    if (!known) {
      return wrong(
          "type is one of null, boolean, integer, number, string, array, object, or a list of "
          "them");
    }
    rules_.types = types;
    return {};
  }

  Result<void> read_nullable(const json::value& value) {
    if (!value.is_bool()) return wrong("nullable is true or false");
    if (!value.get_bool()) return {};
    if (!object_.contains("type")) {
      return wrong(
          "nullable adds null to the type beside it, and there is none; use anyOf with "
          "{\"type\": \"null\"}");
    }
    rules_.types |= kNullType;
    return {};
  }

  Result<void> allow(std::vector<const json::value*> values) {
    if (!rules_.allowed) {
      rules_.allowed = std::move(values);
      return {};
    }
    ValueSet(values).keep_common(*rules_.allowed);
    return {};
  }
  Result<void> read_const(const json::value& value) { return allow({&value}); }
  Result<void> read_enum(const json::value& value) {
    if (!value.is_array()) return wrong("enum is a list of values");
    std::vector<const json::value*> values;
    for (const json::value& one : value.get_array())
      values.push_back(&one);
    return allow(std::move(values));
  }

  // --- numbers ---

  Result<Decimal> number(const json::value& value) const {
    const auto decimal = Decimal::of(value);
    if (!decimal) return wrong(fmt::format("{} is a number that can be handled", keyword_));
    return *decimal;
  }
  Result<void> read_minimum(const json::value& value) {
    auto bound = number(value);
    if (!bound) return bound.error();
    rules_.numbers.edit().raise_min(*bound, false);
    return {};
  }
  Result<void> read_maximum(const json::value& value) {
    auto bound = number(value);
    if (!bound) return bound.error();
    rules_.numbers.edit().lower_max(*bound, false);
    return {};
  }
  // In draft 04 a switch of the bound beside it.
  Result<bool> is_switched(const json::value& value, std::string_view bound) const {
    if (!value.is_bool()) return false;
    if (options_.draft == Draft::k04) return value.get_bool() && object_.contains(bound);
    return wrong(
        fmt::format("{0} is a number; true and false are draft 04's: write {0} in place of {1}, or "
                    "name draft 04 in $schema",
                    keyword_, bound));
  }
  Result<void> read_exclusive_minimum(const json::value& value) {
    const Result<bool> switched = is_switched(value, "minimum");
    if (!switched) return switched.error();
    if (value.is_bool() && !*switched) return {};
    auto bound = number(*switched ? object_.at("minimum") : value);
    if (!bound) return bound.error();
    rules_.numbers.edit().raise_min(*bound, true);
    return {};
  }
  Result<void> read_exclusive_maximum(const json::value& value) {
    const Result<bool> switched = is_switched(value, "maximum");
    if (!switched) return switched.error();
    if (value.is_bool() && !*switched) return {};
    auto bound = number(*switched ? object_.at("maximum") : value);
    if (!bound) return bound.error();
    rules_.numbers.edit().lower_max(*bound, true);
    return {};
  }
  Result<void> read_multiple_of(const json::value& value) {
    auto step = number(value);
    if (!step) return step.error();
    if (step->is_zero() || step->is_negative()) return wrong("multipleOf is above 0");
    rules_.numbers.edit().multiple_of = *step;
    return {};
  }

  // --- strings ---

  Result<int64_t> count(const json::value& value) const {
    const auto decimal = Decimal::of(value);
    if (!decimal || !decimal->is_integer() || decimal->is_negative()) {
      return wrong(fmt::format("{} is an integer, 0 or more", keyword_));
    }
    return std::min(decimal->scaled(0).value_or(INT64_MAX), kCountMax);
  }
  Result<void> at_least(uint32_t& bound, const json::value& value) const {
    auto least = count(value);
    if (!least) return least.error();
    if (*least == kCountMax) return wrong(fmt::format("{} is more than is handled", keyword_));
    bound = static_cast<uint32_t>(*least);
    return {};
  }
  Result<void> at_most(std::optional<uint32_t>& bound, const json::value& value) const {
    auto most = count(value);
    if (!most) return most.error();
    if (*most < kCountMax) bound = static_cast<uint32_t>(*most);
    return {};
  }
  Result<void> read_min_length(const json::value& value) {
    return at_least(rules_.strings.edit().length_min, value);
  }
  Result<void> read_max_length(const json::value& value) {
    return at_most(rules_.strings.edit().length_max, value);
  }
  Result<void> read_pattern(const json::value& value) {
    if (!value.is_string()) return wrong("pattern is a text");
    rules_.strings.edit().patterns.emplace_back(value.get_string());
    return {};
  }

  Result<void> read_format(const json::value& value) {
    if (!value.is_string()) return wrong("format is a text");
    const std::string name(value.get_string());
    const FormatMeaning meaning = format_meaning(name, rules_.types, object_);
    switch (meaning.use) {
      case FormatMeaning::Use::kTexts:
        rules_.strings.edit().formats.push_back(name);
        return {};
      case FormatMeaning::Use::kIntegers:
        rules_.numbers.edit().raise_min(*Decimal::parse(meaning.min), false);
        rules_.numbers.edit().lower_max(*Decimal::parse(meaning.max), false);
        return {};
      case FormatMeaning::Use::kNothing:
        return {};
      case FormatMeaning::Use::kNeedsInteger:
        return without_effect(fmt::format("the format \"{}\" is one of integers", name),
                              "write \"type\": \"integer\" beside it");
      case FormatMeaning::Use::kUnknown:
        break;
    }
    return without_effect(fmt::format("the format \"{}\" is not known", name),
                          "say with pattern what it means");
  }

  // --- arrays ---

  Result<void> read_min_items(const json::value& value) {
    return at_least(rules_.arrays.edit().count_min, value);
  }
  Result<void> read_max_items(const json::value& value) {
    return at_most(rules_.arrays.edit().count_max, value);
  }
  Result<void> read_prefix_items(const json::value& value) {
    if (!value.is_array()) return wrong(fmt::format("{} is a list of schemas", keyword_));
    if (keyword_ == "prefixItems" && options_.draft < Draft::k2020 && object_.contains("items")) {
      return wrong(
          "what items means beside it depends on the draft, and $schema names one without "
          "prefixItems; name draft 2020-12");
    }
    size_t index = 0;
    for (const json::value& item : value.get_array()) {
      if (Result<void> go_on = places_.check(); !go_on) return go_on;
      rules_.arrays.edit().prefix.push_back(
          places_.place(item, fmt::format("{}/{}", at(keyword_), index++)));
    }
    return {};
  }
  Result<void> read_items(const json::value& value) {
    if (!value.is_array()) {
      rules_.arrays.edit().items = places_.place(value, at("items"));
      return {};
    }
    if (object_.contains("prefixItems")) {
      return wrong("a list of items is what prefixItems is now; use one of them");
    }
    return read_prefix_items(value);
  }
  Result<void> read_additional_items(const json::value& value) {
    if (object_.contains("prefixItems")) {
      return wrong("what is behind prefixItems is said by items");
    }
    const json::value* items = object_.if_contains("items");
    if (items == nullptr || !items->is_array()) return {};  // then it means nothing
    rules_.arrays.edit().items = places_.place(value, at("additionalItems"));
    return {};
  }

  Result<void> read_unique_items(const json::value& value) {
    if (!value.is_bool()) return wrong("uniqueItems is true or false");
    if (value.get_bool()) rules_.arrays.edit().unique = true;
    return {};
  }

  // contains with minContains and maxContains, which have no effect without it.
  Result<void> read_contains() {
    const json::value* contains = object_.if_contains("contains");
    if (contains == nullptr || (rules_.types & kArrayType) == 0) return {};
    ContainsRule rule;
    for (const std::string_view name : {"minContains", "maxContains"}) {
      const json::value* bound = object_.if_contains(name);
      if (bound == nullptr) continue;
      keyword_ = name;
      if (options_.draft < Draft::k2019) {
        return wrong(fmt::format(
            "{} came with draft 2019-09, and $schema names an older one, where it has no effect; "
            "remove it, or name draft 2019-09 or later",
            name));
      }
      Result<void> done =
          name == "minContains" ? at_least(rule.min, *bound) : at_most(rule.max, *bound);
      if (!done) return done;
    }
    if (rule.min == 0 && !rule.max) return {};
    rule.schema = places_.place(*contains, at("contains"));
    rules_.arrays.edit().contains.push_back(rule);
    return {};
  }

  // --- objects ---

  Result<void> read_min_properties(const json::value& value) {
    return at_least(rules_.objects.edit().count_min, value);
  }
  Result<void> read_max_properties(const json::value& value) {
    return at_most(rules_.objects.edit().count_max, value);
  }
  Result<void> read_property_names(const json::value& value) {
    if (allows_every_name(value)) return {};
    rules_.objects.edit().names.push_back(places_.place(value, at("propertyNames")));
    return {};
  }

  Result<void> check_names_count(size_t count) const {
    if (count <= kNamesMax) return {};
    return wrong(fmt::format("{} names; up to {} are handled", count, kNamesMax));
  }

  Result<void> read_members(const json::value& value,
                            std::vector<std::pair<std::string, SchemaId>>& members) {
    if (!value.is_object()) return wrong(fmt::format("{} is an object of schemas", keyword_));
    if (Result<void> few = check_names_count(value.get_object().size()); !few) return few;
    for (const auto& [name, schema] : value.get_object()) {
      if (Result<void> go_on = places_.check(); !go_on) return go_on;
      members.emplace_back(
          name, places_.place(schema, fmt::format("{}/{}", at(keyword_), pointer_step(name))));
    }
    return {};
  }
  Result<void> read_properties(const json::value& value) {
    return read_members(value, rules_.objects.edit().properties);
  }
  Result<void> read_pattern_properties(const json::value& value) {
    return read_members(value, rules_.objects.edit().patterns);
  }
  Result<void> read_additional_properties(const json::value& value) {
    rules_.objects.edit().additional = places_.place(value, at("additionalProperties"));
    return {};
  }
  Result<void> read_required(const json::value& value) {
    const auto is_text = [](const json::value& name) { return name.is_string(); };
    if (!value.is_array() || !std::ranges::all_of(value.get_array(), is_text)) {
      return wrong("required is a list of names");
    }
    if (Result<void> few = check_names_count(value.get_array().size()); !few) return few;
    for (const json::value& name : value.get_array()) {
      rules_.objects.edit().required.emplace_back(name.get_string());
    }
    return {};
  }

  const json::object& object_;
  std::string_view pointer_;
  const RulesOptions& options_;
  Places& places_;
  std::string_view keyword_;
  bool says_something_ = false;
  Rules rules_;
};

}  // namespace

Result<std::optional<Rules>> read_rules(const json::object& object, std::string_view pointer,
                                        const RulesOptions& options, Places& places) {
  return RulesReader(object, pointer, options, places).read();
}

}  // namespace windrow::grammar
