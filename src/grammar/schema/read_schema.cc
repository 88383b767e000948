#include "grammar/schema/schema_node.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "grammar/schema/conditions.h"
#include "grammar/schema/drafts.h"
#include "grammar/schema/keywords.h"
#include "grammar/schema/other_drafts.h"
#include "grammar/schema/references.h"
#include "grammar/schema/rules_reader.h"
#include "grammar/schema/unevaluated.h"

namespace windrow::grammar {
namespace {

namespace json = boost::json;

constexpr size_t kNodesMax = 100'000;
constexpr size_t kBranchesMax = 20'000;           // of one keyword
constexpr size_t kPointersBytesMax = 32'000'000;  // they grow with the depth
constexpr size_t kPointerShown = 200;
constexpr size_t kStepsBetweenQuestions = 256;

// Reads one place of the schema after the other; what a place refers to waits in a list, so the
// depth of a schema costs no stack.
class SchemaReader final : public Places {
 public:
  // All of them outlive this.
  SchemaReader(const json::value& root, Draft draft, References references,
               const SchemaOptions& options, const GiveUp& give_up)
      : root_(root),
        draft_(draft),
        references_(std::move(references)),
        options_(options),
        give_up_(give_up) {}

  Result<Schema> read() {
    schema_.root = place(root_, "#");
    for (size_t i = 0; i < waiting_.size(); ++i) {
      current_ = {waiting_[i], schema_[waiting_[i].id].pointer};
      if (Result<void> go_on = check(); !go_on) return go_on.error();
      if (Result<void> done = read_place(); !done) return done.error();
    }
    if (Result<void> ends = check_ends(); !ends) return ends.error();
    if (Result<void> drafts = other_drafts_.check(schema_); !drafts) return drafts.error();
    if (options_.only_objects) leave_only_objects();
    return std::move(schema_);
  }

  SchemaId place(const json::value& value, std::string pointer) override {
    return place_in(value, std::move(pointer), current_.resource);
  }

  SchemaId add(SchemaNode node) override {
    const SchemaId id = next_id();
    pointers_bytes_ += node.pointer.size();
    schema_.nodes.push_back(std::move(node));
    return id;
  }

  Result<void> check() override {
    if (schema_.nodes.size() + copied_ > kNodesMax) {
      return schema_error(current_.pointer.substr(0, kPointerShown),
                          fmt::format("the schema has more than {} parts", kNodesMax));
    }
    if (pointers_bytes_ > kPointersBytesMax) {
      return schema_error(current_.pointer.substr(0, kPointerShown),
                          "the schemas below this one are nested too deep");
    }
    if (steps_++ % kStepsBetweenQuestions != 0 || !give_up_ || !give_up_()) return {};
    return Error{ErrorKind::kUnavailable, "reading the schema took too long"};
  }

 private:
  struct Waiting {
    const json::value* value = nullptr;
    SchemaId id;
    References::Resource resource = References::kRoot;
  };
  struct Current : Waiting {
    std::string pointer;
  };

  SchemaId place_in(const json::value& value, std::string pointer, References::Resource outer) {
    const auto [found, is_new] = place_of_.try_emplace(&value, next_id());
    if (!is_new) return found->second;
    SchemaNode& node = schema_.nodes.emplace_back();
    pointers_bytes_ += pointer.size();
    node.pointer = std::move(pointer);
    waiting_.push_back({&value, found->second, references_.resource_of(value, outer)});
    return found->second;
  }

  SchemaId next_id() const { return SchemaId(static_cast<uint32_t>(schema_.nodes.size())); }

  Result<void> read_place() {
    const json::value& value = *current_.value;
    SchemaNode& node = schema_.nodes[current_.id.value()];
    if (value.is_bool()) {
      node.kind = value.get_bool() ? SchemaNode::Kind::kAlways : SchemaNode::Kind::kNever;
      return {};
    }
    if (!value.is_object()) {
      return schema_error(current_.pointer, "a schema is an object, true or false");
    }
    return read_object(value.get_object(), node);
  }

  Result<void> read_object(const json::object& object, SchemaNode& node) {
    const bool is_root = current_.value == &root_;
    if (Result<void> checked = check_names(object, is_root); !checked) return checked.error();
    if (reference_stands_alone(draft_, object)) return read_lone_reference(object, node);
    note_drafts(object);
    Result<std::optional<Rules>> rules = read_rules(
        object, current_.pointer,
        {.schema = options_,
         .draft = draft_,
         .container =
             [&](std::string_view name) { return is_root && references_.leads_into(name); }},
        *this);
    if (!rules) return rules.error();

    // In the order of the text, so that properties are in it too.
    const Types types = *rules ? (*rules)->types : kAllTypes;
    std::vector<SchemaId> parts;
    size_t rules_at = parts.size();
    bool chosen = false;
    for (const auto& [name, value] : object) {
      if (name == "properties") rules_at = parts.size();
      if (name == "then" || name == "else") {
        if (!std::exchange(chosen, true))
          add_to(parts, read_condition(object, current_.pointer, *this));
        continue;
      }
      if (name == "dependencies" || name == "dependentRequired" || name == "dependentSchemas") {
        Result<std::vector<SchemaId>> more =
            read_dependencies(name, object, types, current_.pointer, *this);
        if (!more) return more.error();
        parts.insert(parts.end(), more->begin(), more->end());
        continue;
      }
      Result<std::optional<SchemaId>> part = read_applicator(name, value);
      if (!part) return part.error();
      add_to(parts, *part);
    }
    for (const std::string_view name : {"unevaluatedItems", "unevaluatedProperties"}) {
      if (!object.contains(name)) continue;
      Result<std::optional<SchemaId>> part =
          read_unevaluated(name, {current_.value, current_.pointer, current_.resource}, types,
                           draft_, references_, *this);
      if (!part) return part.error();
      add_to(parts, *part);
      if (!*part) continue;
      const Rules& copies = schema_[**part].rules;
      copied_ += copies.objects->properties.size() + copies.arrays->prefix.size();
    }
    if (parts.empty()) {
      if (*rules) {
        node.kind = SchemaNode::Kind::kRules;
        node.rules = *std::move(*rules);
      }
      return {};
    }
    if (*rules) {
      const SchemaId own = add({.kind = SchemaNode::Kind::kRules,
                                .pointer = current_.pointer,
                                .rules = *std::move(*rules)});
      parts.insert(parts.begin() + static_cast<ptrdiff_t>(rules_at), own);
    }
    node.kind = SchemaNode::Kind::kAll;
    node.parts = std::move(parts);
    return {};
  }

  // Of the whole value; a `$ref` to the root has the schema as it is.
  void leave_only_objects() {
    SchemaNode objects{.kind = SchemaNode::Kind::kRules, .pointer = "#"};
    objects.rules.types = kObjectType;
    const SchemaId only = add(std::move(objects));
    schema_.root =
        add({.kind = SchemaNode::Kind::kAll, .pointer = "#", .parts = {only, schema_.root}});
  }

  void note_drafts(const json::object& object) {
    for (const auto& [name, value] : object) {
      if (!has_keyword(draft_, name, value)) other_drafts_.add_keyword(current_.id, name);
    }
    // By a draft without it, an if would say nothing at all.
    const json::value* condition = object.if_contains("if");
    const bool chooses = object.contains("then") || object.contains("else");
    if (condition != nullptr && chooses && draft_ >= Draft::k07)
      other_drafts_.add_judged(place(*condition, current_.pointer + "/if"));
    const json::value* found = object.if_contains("contains");
    if (found != nullptr && object.contains("maxContains") && draft_ >= Draft::k2019)
      other_drafts_.add_judged(place(*found, current_.pointer + "/contains"));
  }

  static void add_to(std::vector<SchemaId>& parts, std::optional<SchemaId> part) {
    if (part) parts.push_back(*part);
  }

  Result<void> read_lone_reference(const json::object& object, SchemaNode& node) {
    for (const auto& [name, value] : object) {
      const Keyword* keyword = find_keyword(name);
      if (name == "$ref" || keyword == nullptr || keyword->use == KeywordUse::kIgnored) continue;
      if (!options_.warn) break;
      options_.warn(schema_error(fmt::format("{}/{}", current_.pointer, pointer_step(name)),
                                 "beside $ref it has no effect in the draft that $schema names; "
                                 "put both into an allOf")
                        .message);
    }
    Result<std::optional<SchemaId>> target = read_applicator("$ref", object.at("$ref"));
    if (!target) return target.error();
    node.kind = SchemaNode::Kind::kAll;
    node.parts = {**target};
    return {};
  }

  Result<void> check_names(const json::object& object, bool is_root) const {
    if (reference_stands_alone(draft_, object)) return {};
    const auto identifier = identifier_of(draft_, object);
    for (const std::string_view name :
         {identifier ? identifier->keyword : std::string_view("$id"), std::string_view("$anchor"),
          std::string_view("$dynamicAnchor")}) {
      if (!object.contains(name) || references_.is_named(*current_.value)) continue;
      return schema_error(
          fmt::format("{}/{}", current_.pointer, name),
          fmt::format("{} names a schema only where a keyword holds schemas; move this schema into "
                      "\"$defs\", or remove its {}",
                      name, name));
    }
    const bool says_draft =
        root_.is_object() && root_.get_object().contains("$schema") && draft_of(root_);
    if (!is_root && !says_draft && object.contains("$id") && object.contains("$ref")) {
      return schema_error(current_.pointer + "/$ref",
                          "what $ref means beside $id depends on the draft; name one in $schema, "
                          "put the $ref into an allOf, or remove the $id");
    }
    return {};
  }

  // Nothing: this keyword is none that puts schemas together.
  Result<std::optional<SchemaId>> read_applicator(std::string_view name, const json::value& value) {
    const std::string pointer = current_.pointer + "/" + std::string(name);
    if (name == "$ref" || name == "$dynamicRef" || name == "$recursiveRef") {
      if (!value.is_string()) return schema_error(pointer, fmt::format("{} is a text", name));
      const std::string_view text = value.get_string();
      auto target = name == "$ref" ? references_.find(text, current_.resource)
                                   : references_.find_dynamic(name, text, current_.resource);
      if (!target) return schema_error(pointer, target.error());
      return std::optional(place_in(*target->value, target->pointer, target->resource));
    }
    if (name == "not") {
      const SchemaId part = place(value, pointer);
      other_drafts_.add_judged(part);
      return std::optional(
          add({.kind = SchemaNode::Kind::kNot, .pointer = pointer, .parts = {part}}));
    }
    SchemaNode::Kind kind = SchemaNode::Kind::kAll;
    if (name == "anyOf") {
      kind = SchemaNode::Kind::kAny;
    } else if (name == "oneOf") {
      kind = SchemaNode::Kind::kOne;
    } else if (name != "allOf") {
      return std::optional<SchemaId>();
    }
    if (!value.is_array() || value.get_array().empty()) {
      return schema_error(pointer, fmt::format("{} is a list of schemas, at least one", name));
    }
    if (value.get_array().size() > kBranchesMax) {
      return schema_error(pointer, fmt::format("{} schemas; up to {} are handled",
                                               value.get_array().size(), kBranchesMax));
    }
    SchemaNode node{.kind = kind, .pointer = pointer};
    size_t index = 0;
    for (const json::value& part : value.get_array()) {
      if (Result<void> go_on = check(); !go_on) return go_on.error();
      node.parts.push_back(place(part, fmt::format("{}/{}", pointer, index++)));
      if (kind == SchemaNode::Kind::kOne) other_drafts_.add_judged(node.parts.back());
    }
    return std::optional(add(std::move(node)));
  }

  // A schema that is part of itself, with no object or array between, says nothing.
  Result<void> check_ends() const {
    enum class Seen : uint8_t { kNo, kOpen, kDone };
    std::vector<Seen> seen(schema_.nodes.size(), Seen::kNo);
    std::vector<std::pair<uint32_t, size_t>> path;
    for (uint32_t first = 0; first < schema_.nodes.size(); ++first) {
      if (seen[first] == Seen::kNo) path.emplace_back(first, 0);
      while (!path.empty()) {
        const auto [id, next] = path.back();
        const SchemaNode& node = schema_.nodes[id];
        seen[id] = Seen::kOpen;
        if (next == node.parts.size()) {
          seen[id] = Seen::kDone;
          path.pop_back();
          continue;
        }
        ++path.back().second;
        const uint32_t part = node.parts[next].value();
        if (seen[part] == Seen::kOpen) {
          return schema_error(schema_.nodes[part].pointer,
                              "the schema refers to itself with no object or array between, so it "
                              "never says what it is");
        }
        if (seen[part] == Seen::kNo) path.emplace_back(part, 0);
      }
    }
    return {};
  }

  const json::value& root_;
  Draft draft_;
  References references_;
  const SchemaOptions& options_;
  const GiveUp& give_up_;
  Schema schema_;
  std::unordered_map<const json::value*, SchemaId> place_of_;
  std::vector<Waiting> waiting_;
  Current current_;
  size_t pointers_bytes_ = 0;
  size_t steps_ = 0;
  OtherDrafts other_drafts_;
  size_t copied_ = 0;  // members and items that were copied for unevaluatedProperties and -Items
};

}  // namespace

Error schema_error(std::string_view pointer, std::string_view what) {
  return {ErrorKind::kInvalid, fmt::format("at {}: {}", pointer, what)};
}

Error schema_error(std::string_view pointer, const Error& error) {
  return error.kind == ErrorKind::kInvalid ? schema_error(pointer, error.message) : error;
}

Result<Schema> read_schema(const json::value& schema, const SchemaOptions& options,
                           const GiveUp& give_up) {
  const std::optional<Draft> draft = draft_of(schema);
  if (names_old_draft(schema)) {
    return schema_error("#/$schema",
                        "drafts before 04 have other keywords for what is demanded, which are not "
                        "enforced here; convert the schema to draft 07 or later");
  }
  if (!draft) {
    constexpr std::string_view kUnknown = "this is no version of JSON Schema that is known here";
    if (options.unknown == UnknownWords::kRefuse)
      return schema_error("#/$schema", fmt::format("{}; name one, or leave it out", kUnknown));
    if (options.warn) {
      options.warn(schema_error("#/$schema",
                                fmt::format("{}; the schema is read as draft 2020-12", kUnknown))
                       .message);
    }
  }
  const Draft read_as = draft.value_or(Draft::k2020);
  Result<References> references = References::collect(schema, read_as, give_up);
  if (!references) return references.error();
  return SchemaReader(schema, read_as, *std::move(references), options, give_up).read();
}

}  // namespace windrow::grammar
