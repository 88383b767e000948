#include <fmt/format.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <iterator>
#include <utility>
#include <vector>

#include "schema/keywords.h"
#include "schema/program.h"
#include "schema/resources.h"

namespace windrow::schema {
namespace {

namespace json = boost::json;

constexpr int kSchemaDepthMax = 256;
constexpr size_t kNodesMax = 100'000;
constexpr size_t kPatternsMax = 1000;  // different ones

bool nested_too_deep(const json::value& root) {
  std::vector<std::pair<const json::value*, int>> left = {{&root, 1}};
  while (!left.empty()) {
    const auto [value, depth] = left.back();
    left.pop_back();
    if (depth > kSchemaDepthMax) return true;
    if (const json::array* array = value->if_array()) {
      for (const json::value& item : *array)
        left.emplace_back(&item, depth + 1);
    } else if (const json::object* object = value->if_object()) {
      for (const json::key_value_pair& member : *object)
        left.emplace_back(&member.value(), depth + 1);
    }
  }
  return false;
}

class Compiler {
 public:
  Compiler(Program& program, const Resources& resources, std::string_view draft)
      : program_(program),
        resources_(resources),
        dialect_(dialect_of(draft)),
        says_draft_(draft.starts_with("json-schema.org/draft/")),
        is_2020_(dialect_ == Dialect::kReferenceBeside &&
                 draft != "json-schema.org/draft/2019-09/schema") {}

  void compile(const json::value& root) {
    program_.root = node_of(root, "");
    // Targets of $ref are compiled here and not where they are met, so that no chain of references
    // overflows the stack.
    while (!waiting_.empty()) {
      auto [node, schema] = waiting_.back();
      waiting_.pop_back();
      fill(*node, *schema);
    }
    if (program_.closed_by_default) complete_conditions();
  }

 private:
  // Whether then or else is chosen changes which names count, also where one of them is not there.
  void complete_conditions() {
    const size_t count = program_.nodes.size();
    for (size_t i = 0; i < count; ++i) {
      Node& node = program_.nodes[i];
      if (node.condition == nullptr) continue;
      if (node.consequence == nullptr) node.consequence = new_node(node.at + "/then");
      if (node.alternative == nullptr) node.alternative = new_node(node.at + "/else");
    }
  }

  // Made at once, filled later where it is not inside of what is being filled.
  Node* node_of(const json::value& schema, const std::string& at) {
    const auto [entry, is_new] = nodes_.emplace(&schema, nullptr);
    if (!is_new) {
      entry->second->shared = true;
      return entry->second;
    }
    if (!schema.is_object() && !schema.is_bool())
      throw Refusal{at, "must be a schema: an object, true or false"};
    Node* node = new_node(at);
    nodes_[&schema] = node;
    waiting_.emplace_back(node, &schema);
    return node;
  }

  Node* new_node(const std::string& at) {
    if (program_.nodes.size() >= kNodesMax)
      throw Refusal{at, fmt::format("has more than {} schemas in it", kNodesMax)};
    Node& node = program_.nodes.emplace_back();
    node.at = at;
    return &node;
  }

  void fill(Node& node, const json::value& schema) {
    if (const bool* holds = schema.if_bool()) {
      node.never = !*holds;
      return;
    }
    const json::object& object = schema.get_object();
    check_names(node, object, schema);
    if (const json::value* reference = object.if_contains("$ref")) {
      refer(node, *reference, schema);
      if (dialect_ != Dialect::kReferenceBeside) return;
    }
    for (const json::key_value_pair& member : object) {
      const std::string at = node.at + pointer_step(member.key());
      const KeywordInfo* info = find_keyword(member.key());
      if (info == nullptr) continue;  // an annotation
      if (info->keyword == Keyword::kDynamicReference) {
        refer_dynamically(node, member, schema, at);
        continue;
      }
      if (!apply_general(node, info->keyword, member.value(), at) &&
          !apply_to_scalars(node, info->keyword, member.value(), at) &&
          !apply_to_arrays(node, info->keyword, member.value(), at)) {
        apply_to_objects(node, info->keyword, member.value(), at);
      }
    }
    if (const json::value* format = object.if_contains("format");
        format != nullptr && integer_range(format->get_string()))
      settle_number_format(node, format->get_string());
    if (dialect_ == Dialect::kDraft04 && node.number != nullptr)
      settle_switches(*node.number, object);
    if (node.array != nullptr) settle_items(*node.array, object, node.at);
    if (const json::value* nullable = object.if_contains("nullable"))
      allow_null(node, *nullable, object);
  }

  void check_names(const Node& node, const json::object& object, const json::value& schema) const {
    if (dialect_ != Dialect::kReferenceBeside && object.contains("$ref")) return;
    for (const std::string_view name : {"$id", "$anchor", "$dynamicAnchor"}) {
      if (!object.contains(name) || resources_.knows(schema)) continue;
      throw Refusal{fmt::format("{}/{}", node.at, name),
                    "names a schema only where a keyword holds schemas; move it into $defs"};
    }
    if (&node != program_.root && !says_draft_ && object.contains("$id") &&
        object.contains("$ref")) {
      throw Refusal{node.at + "/$ref",
                    "means different things beside $id in different drafts; put the $ref into an "
                    "allOf, or remove the $id"};
    }
  }

  void refer(Node& node, const json::value& reference, const json::value& schema) {
    const std::string at = node.at + "/$ref";
    if (!reference.is_string()) throw Refusal{at, "must be a string"};
    Result<Resources::Place> place = resources_.find(reference.get_string(), schema);
    if (!place) throw Refusal{at, place.error().message};
    node.reference = node_of(*place.value().schema, place.value().pointer);
  }

  // It holds together with the node, as a part of allOf does.
  void refer_dynamically(Node& node, const json::key_value_pair& reference,
                         const json::value& schema, const std::string& at) {
    if (!reference.value().is_string()) throw Refusal{at, "must be a string"};
    Result<Resources::Place> place =
        resources_.find_dynamic(reference.key(), reference.value().get_string(), schema);
    if (!place) throw Refusal{at, place.error().message};
    node.all_of.push_back(node_of(*place.value().schema, place.value().pointer));
    if ((reference.key() == "$dynamicRef") != is_2020_)
      node.of_other_drafts.push_back(node.all_of.back());
  }

  bool apply_general(Node& node, Keyword keyword, const json::value& value, const std::string& at);
  bool apply_to_scalars(Node& node, Keyword keyword, const json::value& value,
                        const std::string& at);
  bool apply_to_arrays(Node& node, Keyword keyword, const json::value& value,
                       const std::string& at);
  void apply_to_objects(Node& node, Keyword keyword, const json::value& value,
                        const std::string& at);

  static void settle_switches(NumberRules& rules, const json::object& schema);
  static void settle_number_format(Node& node, std::string_view format);
  static void allow_null(Node& node, const json::value& nullable, const json::object& schema);
  void settle_items(ArrayRules& rules, const json::object& schema, const std::string& at);
  void add_dependencies(ObjectRules& rules, std::string_view keyword, const json::value& value,
                        const std::string& at);

  std::vector<const Node*> nodes_of(const json::value& value, const std::string& at) {
    const json::array* array = value.if_array();
    if (array == nullptr) throw Refusal{at, "must be an array of schemas"};
    std::vector<const Node*> result;
    result.reserve(array->size());
    for (size_t i = 0; i < array->size(); ++i)
      result.push_back(node_of((*array)[i], fmt::format("{}/{}", at, i)));
    return result;
  }

  std::vector<const Node*> choices_of(const json::value& value, const std::string& at) {
    std::vector<const Node*> result = nodes_of(value, at);
    if (result.empty()) throw Refusal{at, "must not be empty"};
    return result;
  }

  const Pattern* pattern_of(std::string_view text, const std::string& at) {
    const auto [entry, is_new] = patterns_.emplace(text, nullptr);
    if (is_new) {
      if (patterns_.size() > kPatternsMax)
        throw Refusal{at, fmt::format("is one of more than {} patterns", kPatternsMax)};
      Result<Pattern> pattern = Pattern::compile(text);
      if (!pattern) throw Refusal{at, "the pattern: " + pattern.error().message};
      entry->second = &program_.patterns.emplace_back(std::move(pattern).value());
    }
    return entry->second;
  }

  template <class Rules>
  static Rules& made(std::unique_ptr<Rules>& rules) {
    if (rules == nullptr) rules = std::make_unique<Rules>();
    return *rules;
  }

  Program& program_;
  const Resources& resources_;
  const Dialect dialect_;
  const bool says_draft_;
  const bool is_2020_;  // or no draft that is known
  boost::unordered_flat_map<const json::value*, Node*> nodes_;
  std::vector<std::pair<Node*, const json::value*>> waiting_;
  boost::unordered_flat_map<std::string, const Pattern*> patterns_;
};

bool Compiler::apply_general(Node& node, Keyword keyword, const json::value& value,
                             const std::string& at) {
  switch (keyword) {
    case Keyword::kAnnotation:
    case Keyword::kReference:
    case Keyword::kNullable:
      return true;
    case Keyword::kDefinitions:
      object_of(value, at);  // its members are compiled when something refers to them
      return true;
    case Keyword::kType:
      node.types = types_of(value, at);
      return true;
    case Keyword::kEnum: {
      const json::array* array = value.if_array();
      if (array == nullptr) throw Refusal{at, "must be an array"};
      std::vector<Value>& options = node.options.emplace();
      for (const json::value& one : *array)
        options.push_back(value_of(one, at));
      // By hash, for finding.
      std::sort(options.begin(), options.end(),
                [](const Value& a, const Value& b) { return a.hash() < b.hash(); });
      return true;
    }
    case Keyword::kConst:
      node.constant = value_of(value, at);
      return true;
    case Keyword::kAllOf:
      std::ranges::copy(choices_of(value, at), std::back_inserter(node.all_of));
      return true;
    case Keyword::kAnyOf:
      node.any_of = choices_of(value, at);
      return true;
    case Keyword::kOneOf:
      node.one_of = choices_of(value, at);
      return true;
    case Keyword::kNot:
      node.negated = node_of(value, at);
      return true;
    case Keyword::kIf:
      node.condition = node_of(value, at);
      return true;
    case Keyword::kThen:
      node.consequence = node_of(value, at);
      return true;
    case Keyword::kElse:
      node.alternative = node_of(value, at);
      return true;
    default:
      return false;
  }
}

bool Compiler::apply_to_scalars(Node& node, Keyword keyword, const json::value& value,
                                const std::string& at) {
  switch (keyword) {
    case Keyword::kMinimum:
      made(node.number).minimum = number_of(value, at);
      return true;
    case Keyword::kMaximum:
      made(node.number).maximum = number_of(value, at);
      return true;
    case Keyword::kExclusiveMinimum:
    case Keyword::kExclusiveMaximum: {
      NumberRules& rules = made(node.number);
      if (dialect_ == Dialect::kDraft04 && value.is_bool()) return true;  // settle_switches
      (keyword == Keyword::kExclusiveMinimum ? rules.exclusive_minimum : rules.exclusive_maximum) =
          number_of(value, at);
      return true;
    }
    case Keyword::kMultipleOf: {
      Decimal divisor = number_of(value, at);
      if (divisor.is_zero() || divisor.is_negative()) throw Refusal{at, "must be above 0"};
      made(node.number).multiple_of = std::move(divisor);
      return true;
    }
    case Keyword::kMinLength:
      made(node.string).min_length = count_of(value, at);
      return true;
    case Keyword::kMaxLength:
      made(node.string).max_length = count_of(value, at);
      return true;
    case Keyword::kPattern:
      if (!value.is_string()) throw Refusal{at, "must be a string"};
      made(node.string).pattern = pattern_of(value.get_string(), at);
      return true;
    case Keyword::kFormat: {
      if (!value.is_string()) throw Refusal{at, "must be a string"};
      // Formats of numbers are handled with the type; unknown ones are annotations.
      if (const std::optional<Format> format = format_of(value.get_string()))
        made(node.string).format = format;
      return true;
    }
    default:
      return false;
  }
}

bool Compiler::apply_to_arrays(Node& node, Keyword keyword, const json::value& value,
                               const std::string& at) {
  switch (keyword) {
    case Keyword::kPrefixItems:
    case Keyword::kItems:
    case Keyword::kAdditionalItems:
      made(node.array);  // settle_items looks at the three together
      return true;
    case Keyword::kContains:
      made(node.array).contains = node_of(value, at);
      node.array->contains_evaluates = is_2020_;
      return true;
    case Keyword::kMinContains:
      made(node.array).min_contains = count_of(value, at);
      return true;
    case Keyword::kMaxContains:
      made(node.array).max_contains = count_of(value, at);
      return true;
    case Keyword::kMinItems:
      made(node.array).min_items = count_of(value, at);
      return true;
    case Keyword::kMaxItems:
      made(node.array).max_items = count_of(value, at);
      return true;
    case Keyword::kUnevaluatedItems:
      made(node.array).unevaluated = node_of(value, at);
      return true;
    case Keyword::kUniqueItems:
      made(node.array).unique = flag_of(value, at);
      return true;
    default:
      return false;
  }
}

void Compiler::apply_to_objects(Node& node, Keyword keyword, const json::value& value,
                                const std::string& at) {
  ObjectRules& rules = made(node.object);
  switch (keyword) {
    case Keyword::kProperties:
      rules.declares_any = true;
      for (const json::key_value_pair& one : object_of(value, at))
        rules.properties.emplace(one.key(), node_of(one.value(), at + pointer_step(one.key())));
      break;
    case Keyword::kPatternProperties:
      rules.declares_any = true;
      for (const json::key_value_pair& one : object_of(value, at)) {
        const std::string place = at + pointer_step(one.key());
        rules.patterns.emplace_back(pattern_of(one.key(), place), node_of(one.value(), place));
      }
      break;
    case Keyword::kAdditionalProperties:
      rules.additional = node_of(value, at);
      break;
    case Keyword::kUnevaluatedProperties:
      rules.unevaluated = node_of(value, at);
      break;
    case Keyword::kPropertyNames:
      rules.names = node_of(value, at);
      break;
    case Keyword::kRequired:
      rules.required = names_of(value, at);
      break;
    case Keyword::kMinProperties:
      rules.min_properties = count_of(value, at);
      break;
    case Keyword::kMaxProperties:
      rules.max_properties = count_of(value, at);
      break;
    case Keyword::kDependencies:
      add_dependencies(rules, "dependencies", value, at);
      break;
    case Keyword::kDependentRequired:
      for (const json::key_value_pair& one : object_of(value, at)) {
        if (!one.value().is_array())
          throw Refusal{at + pointer_step(one.key()), "must be an array of names"};
      }
      add_dependencies(rules, "dependentRequired", value, at);
      break;
    case Keyword::kDependentSchemas:
      for (const json::key_value_pair& one : object_of(value, at)) {
        if (one.value().is_array()) throw Refusal{at + pointer_step(one.key()), "must be a schema"};
      }
      add_dependencies(rules, "dependentSchemas", value, at);
      break;
    default:
      break;
  }
}

void Compiler::add_dependencies(ObjectRules& rules, std::string_view keyword,
                                const json::value& value, const std::string& at) {
  for (const json::key_value_pair& one : object_of(value, at)) {
    const std::string place = at + pointer_step(one.key());
    Dependency dependency{std::string(keyword), std::string(one.key()), {}, nullptr};
    if (one.value().is_array()) {
      dependency.required = names_of(one.value(), place);
    } else {
      dependency.schema = node_of(one.value(), place);
    }
    rules.dependencies.push_back(std::move(dependency));
  }
}

// `items` is the schema of all items, or of those behind `prefixItems`; up to 2019-09 it may be a
// list as `prefixItems` is now, and then `additionalItems` is what `items` is now.
void Compiler::settle_items(ArrayRules& rules, const json::object& schema, const std::string& at) {
  const json::value* prefix = schema.if_contains("prefixItems");
  const json::value* items = schema.if_contains("items");
  const json::value* additional = schema.if_contains("additionalItems");
  const auto set_prefix = [&](std::string_view keyword, const json::value& value) {
    rules.prefix = nodes_of(value, fmt::format("{}/{}", at, keyword));
    rules.prefix_keyword = keyword;
  };
  const auto set_rest = [&](std::string_view keyword, const json::value& value) {
    rules.rest = node_of(value, fmt::format("{}/{}", at, keyword));
    rules.rest_keyword = keyword;
  };
  if (prefix != nullptr) set_prefix("prefixItems", *prefix);
  rules.prefix_evaluates = prefix == nullptr || is_2020_;
  if (items != nullptr && items->is_array()) {
    if (prefix != nullptr) throw Refusal{at + "/items", "must be one schema beside prefixItems"};
    set_prefix("items", *items);
    if (additional != nullptr) set_rest("additionalItems", *additional);
    return;
  }
  if (items != nullptr) set_rest("items", *items);
  // Without a list it says nothing, but it has to be a schema.
  if (additional != nullptr) node_of(*additional, at + "/additionalItems");
}

// Draft 04: true makes the bound beside it an exclusive one.
void Compiler::settle_switches(NumberRules& rules, const json::object& schema) {
  const auto is_on = [&](std::string_view keyword) {
    const json::value* value = schema.if_contains(keyword);
    return value != nullptr && value->is_bool() && value->get_bool();
  };
  if (is_on("exclusiveMinimum")) std::swap(rules.minimum, rules.exclusive_minimum);
  if (is_on("exclusiveMaximum")) std::swap(rules.maximum, rules.exclusive_maximum);
}

// OpenAPI's formats of numbers: those of integers are ranges if the type is integer.
void Compiler::settle_number_format(Node& node, std::string_view format) {
  const bool fractions = node.types == 0 || (node.types & kNumberType) != 0;
  const bool integers = (node.types & kIntegerType) != 0;
  const auto range = integer_range(format);
  if (range && integers && !fractions) made(node.number).format_range = *range;
}

// OpenAPI 3.0: one more type. It has no meaning without the others.
void Compiler::allow_null(Node& node, const json::value& nullable, const json::object& schema) {
  const std::string at = node.at + "/nullable";
  if (!flag_of(nullable, at)) return;
  if (!schema.contains("type")) throw Refusal{at, "has no meaning without type beside it"};
  node.types |= kNullType;
}

}  // namespace

Result<std::shared_ptr<const Program>> compile_program(const json::value& schema,
                                                       const ValidatorOptions& options) {
  const auto refused = [](const Refusal& refusal) {
    return Error{ErrorKind::kInvalid, fmt::format("at #{}: {}", refusal.pointer, refusal.what)};
  };
  if (nested_too_deep(schema))
    return refused({"", fmt::format("is nested deeper than {}", kSchemaDepthMax)});
  auto program = std::make_shared<Program>();
  program->closed_by_default = options.closed_by_default;
  try {
    const std::string_view draft = draft_name(schema);
    const Result<Resources> resources = Resources::collect(schema, dialect_of(draft));
    if (!resources) return resources.error();
    Compiler(*program, resources.value(), draft).compile(schema);
  } catch (const Refusal& refusal) {
    return refused(refusal);
  }
  if (std::optional<Entanglement> found = resolve_entanglement(*program))
    return refused({std::move(found->pointer), std::move(found->what)});
  return std::shared_ptr<const Program>(std::move(program));
}

}  // namespace windrow::schema
