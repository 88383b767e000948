#include "grammar/schema/conditions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <set>
#include <unordered_map>
#include <utility>

#include "grammar/schema/references.h"

namespace windrow::grammar {
namespace {

namespace json = boost::json;
using Kind = SchemaNode::Kind;
using Names = std::vector<std::string>;

constexpr size_t kDependenciesMax = 10'000;

// Objects without these members, and all other values.
Rules without(Names names) {
  Rules rules;
  rules.objects.edit().forbidden = std::move(names);
  return rules;
}

// Objects with these members.
Rules with(Names names) {
  Rules rules;
  rules.types = kObjectType;
  rules.objects.edit().required = std::move(names);
  return rules;
}

class DependencyReader {
 public:
  DependencyReader(std::string_view keyword, const json::object& object, Types types,
                   std::string pointer, Places& places)
      : keyword_(keyword), types_(types), pointer_(std::move(pointer)), places_(places) {
    const json::value* required = object.if_contains("required");
    const json::array* names = required != nullptr ? required->if_array() : nullptr;
    if (names == nullptr) return;
    for (const json::value& name : *names) {
      if (name.is_string()) required_.emplace(name.get_string());
    }
  }

  Result<std::vector<SchemaId>> read(const json::value& value) {
    if (!value.is_object()) {
      return schema_error(pointer_,
                          fmt::format("{} is an object with a member for each name", keyword_));
    }
    if (value.get_object().size() > kDependenciesMax) {
      return schema_error(pointer_, fmt::format("{} names; up to {} are handled",
                                                value.get_object().size(), kDependenciesMax));
    }
    for (const auto& [name, demand] : value.get_object()) {
      if (Result<void> go_on = places_.check(); !go_on) return go_on.error();
      Result<void> done =
          demand.is_array() ? read_names(name, demand.get_array()) : read_schema_of(name, demand);
      if (!done) return done.error();
    }
    for (Group& group : groups_) {
      if (Result<void> go_on = places_.check(); !go_on) return go_on.error();
      add_choice(std::move(group));
    }
    return std::move(parts_);
  }

 private:
  // An object with one of `names` has all of `demanded`.
  struct Group {
    Names names;
    Names demanded;
  };

  std::string at(std::string_view name) const {
    return fmt::format("{}/{}", pointer_, pointer_step(name));
  }

  Result<void> read_names(std::string_view name, const json::array& list) {
    if (keyword_ == "dependentSchemas") {
      return schema_error(at(name), "this is a schema; a list of names is for dependentRequired");
    }
    Group group{.names = {std::string(name)}};
    std::set<std::string_view> seen{name};
    std::string key;
    for (const json::value& other : list) {
      if (!other.is_string()) return schema_error(at(name), "this is a list of names");
      const std::string_view demanded = other.get_string();
      if (required_.contains(demanded) || !seen.insert(demanded).second) continue;
      group.demanded.emplace_back(demanded);
      key += fmt::format("{}:{}", demanded.size(), demanded);
    }
    if (group.demanded.empty()) return {};
    const auto [same, is_new] = group_of_.try_emplace(std::move(key), groups_.size());
    if (is_new) {
      groups_.push_back(std::move(group));
    } else {
      groups_[same->second].names.emplace_back(name);
    }
    return {};
  }

  // One choice for all names that demand the same: there are as many combinations of choices as
  // the product of their branches.
  void add_choice(Group group) {
    const auto is_required = [&](const std::string& name) { return required_.contains(name); };
    if (std::ranges::any_of(group.names, is_required)) {
      Rules rules;
      rules.objects.edit().required = std::move(group.demanded);
      parts_.push_back(add_rules(std::move(rules)));
      return;
    }
    Names absent = group.names;
    Names present = group.demanded;
    if (group.names.size() == 1) {
      present.push_back(group.names.front());
    } else if (group.demanded.size() == 1) {
      absent.push_back(group.demanded.front());
    }
    const SchemaId none = add_rules(without(std::move(absent)));
    add_any({none, add_rules(with(std::move(present)))});
  }

  Result<void> read_schema_of(std::string_view name, const json::value& demand) {
    if (keyword_ == "dependentRequired") {
      return schema_error(at(name), "this is a list of names; a schema is for dependentSchemas");
    }
    if (demand.is_bool() && demand.get_bool()) return {};
    const SchemaId schema = places_.place(demand, at(name));
    if (types_ == kObjectType && required_.contains(name)) {
      parts_.push_back(schema);
      return {};
    }
    const SchemaId absent = add_rules(without({std::string(name)}));
    if (demand.is_bool()) {
      parts_.push_back(absent);
      return {};
    }
    const SchemaId has_it = add_rules(with({std::string(name)}));
    add_any({absent,
             places_.add({.kind = Kind::kAll, .pointer = at(name), .parts = {has_it, schema}})});
    return {};
  }

  SchemaId add_rules(Rules rules) {
    return places_.add({.kind = Kind::kRules, .pointer = pointer_, .rules = std::move(rules)});
  }

  void add_any(std::vector<SchemaId> branches) {
    parts_.push_back(
        places_.add({.kind = Kind::kAny, .pointer = pointer_, .parts = std::move(branches)}));
  }

  std::string_view keyword_;
  Types types_;
  std::string pointer_;
  Places& places_;
  std::set<std::string, std::less<>> required_;
  std::vector<Group> groups_;
  std::unordered_map<std::string, size_t> group_of_;  // by what is demanded
  std::vector<SchemaId> parts_;
};

}  // namespace

std::optional<SchemaId> read_condition(const json::object& object, const std::string& pointer,
                                       Places& places) {
  const json::value* condition = object.if_contains("if");
  const bool chooses = object.contains("then") || object.contains("else");
  if (condition == nullptr || !chooses) return std::nullopt;
  const std::string at = pointer + "/if";
  const SchemaId judge = places.place(*condition, at);
  const auto branch = [&](Kind kind, const char* name) {
    const SchemaId tested = places.add({.kind = kind, .pointer = at, .parts = {judge}});
    const json::value* outcome = object.if_contains(name);
    if (outcome == nullptr) return tested;
    const std::string place = fmt::format("{}/{}", pointer, name);
    const SchemaId chosen = places.place(*outcome, place);
    return places.add({.kind = Kind::kAll, .pointer = place, .parts = {chosen, tested}});
  };
  const SchemaId met = branch(Kind::kJudged, "then");
  const SchemaId unmet = branch(Kind::kNot, "else");
  return places.add({.kind = Kind::kAny, .pointer = at, .parts = {met, unmet}});
}

Result<std::vector<SchemaId>> read_dependencies(std::string_view keyword,
                                                const json::object& object, Types types,
                                                const std::string& pointer, Places& places) {
  if ((types & kObjectType) == 0) return std::vector<SchemaId>();
  return DependencyReader(keyword, object, types, fmt::format("{}/{}", pointer, keyword), places)
      .read(object.at(keyword));
}

}  // namespace windrow::grammar
