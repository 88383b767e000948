#include "grammar/schema/conjunctions.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace windrow::grammar {
namespace {

constexpr size_t kPatternsMax = 6;
constexpr size_t kListedStatesMax = 200'000;  // of the names of an enum

class Classes {
 public:
  Classes(Conjunctions& conjunctions, const Node& node)
      : conjunctions_(conjunctions), node_(node) {}

  Result<std::vector<NameClass>> find() {
    const ObjectShape& shape = node_.objects;
    for (const ObjectShape::Source& source : shape.sources) {
      for (const auto& [pattern, value] : source.rules->patterns) {
        if (std::ranges::find(patterns_, pattern) == patterns_.end()) patterns_.push_back(pattern);
      }
    }
    if (patterns_.size() > kPatternsMax) {
      return schema_error(pointer(), fmt::format("{} patterns for the names of one object; up to "
                                                 "{} are handled",
                                                 patterns_.size(), kPatternsMax));
    }
    if (patterns_.empty()) {
      Result<bool> any = any_undeclared();
      if (!any) return any.error();
      if (!*any) return std::move(classes_);
    }
    if (patterns_.empty() && shape.members.empty() && shape.forbidden.empty() &&
        shape.names.empty()) {
      Result<void> added = add(std::nullopt, {});
      if (!added) return added.error();
      return std::move(classes_);
    }
    std::vector<std::string_view> taken(shape.forbidden.begin(), shape.forbidden.end());
    for (const Member& member : shape.members)
      taken.push_back(member.name);
    Result<CharDfa> names = undeclared_names(std::move(taken));
    if (!names) return schema_error(node_.pointer + "/properties", names.error());
    if (Result<void> split = split_by(*names, {}); !split) return split.error();
    return std::move(classes_);
  }

 private:
  std::string pointer() const { return node_.pointer + "/patternProperties"; }

  // Whether a value may have a name that matches no pattern. In closed objects none may, and the
  // automaton of the other names, which is the largest part of many objects, need not be made.
  Result<bool> any_undeclared() {
    const auto terms = conjunctions_.undeclared(node_.objects, {}, {});
    if (!terms) return false;
    Result<NodeId> value = conjunctions_.find(*terms);
    if (!value) return value.error();
    return conjunctions_.possible(*value);
  }

  Result<CharDfa> undeclared_names(std::vector<std::string_view> taken) {
    Result<CharDfa> others = conjunctions_.automata().all_but(std::move(taken));
    if (!others || node_.objects.names.empty()) return others;
    Result<NodeId> id = conjunctions_.find(node_.objects.names);
    if (!id) return id.error();
    Result<CharDfa> valid = string_texts(conjunctions_, *id);
    if (!valid) return valid;
    return valid->intersect(*others, CharDfa::kStatesMax, conjunctions_.give_up());
  }

  // `matched`: for the patterns so far, whether all of `names` match.
  Result<void> split_by(const CharDfa& names, std::vector<bool> matched) {
    if (names.empty()) return {};
    if (matched.size() == patterns_.size()) return add(names, matched);
    if (Result<void> go_on = conjunctions_.check_give_up(); !go_on) return go_on;
    Result<const CharDfa*> pattern = conjunctions_.automata().pattern(patterns_[matched.size()]);
    if (!pattern) return schema_error(pointer(), pattern.error());
    Result<CharDfa> inside =
        names.intersect(**pattern, CharDfa::kStatesMax, conjunctions_.give_up());
    if (!inside) return schema_error(pointer(), inside.error());
    Result<CharDfa> outside =
        names.without(**pattern, CharDfa::kStatesMax, conjunctions_.give_up());
    if (!outside) return schema_error(pointer(), outside.error());
    matched.push_back(true);
    if (Result<void> split = split_by(*inside, matched); !split) return split;
    matched.back() = false;
    return split_by(*outside, matched);
  }

  Result<void> add(std::optional<CharDfa> names, const std::vector<bool>& matched) {
    const auto terms = conjunctions_.undeclared(node_.objects, patterns_, matched);
    if (!terms) return {};
    Result<NodeId> value = conjunctions_.find(*terms);
    if (!value) return value.error();
    if (!conjunctions_.possible(*value)) return {};
    const auto same = std::ranges::find(classes_, *value, &NameClass::value);
    if (same == classes_.end()) {
      classes_.push_back({std::move(names), *value, *terms});
      return {};
    }
    Result<CharDfa> both = same->names->unite(*names, CharDfa::kStatesMax, conjunctions_.give_up());
    if (!both) return schema_error(pointer(), both.error());
    same->names = *std::move(both);
    return {};
  }

  Conjunctions& conjunctions_;
  const Node& node_;
  std::vector<std::string> patterns_;
  std::vector<NameClass> classes_;
};

}  // namespace

Result<CharDfa> string_texts(Conjunctions& conjunctions, NodeId id) {
  const Node& node = conjunctions[id];
  CharDfa all;
  if (node.kind == Node::Kind::kChoice) {
    for (const NodeId choice : node.choices) {
      Result<CharDfa> some = string_texts(conjunctions, choice);
      if (!some) return some;
      Result<CharDfa> both = all.unite(*some, CharDfa::kStatesMax, conjunctions.give_up());
      if (!both) return schema_error(node.pointer, both.error());
      all = *std::move(both);
    }
    return all;
  }
  if (node.kind == Node::Kind::kNone) return all;
  if (node.allowed) {
    std::vector<std::string_view> texts;
    for (const boost::json::value* value : *node.allowed) {
      if (value->is_string()) texts.push_back(value->get_string());
    }
    if (texts.empty()) return all;
    Result<CharDfa> made = CharDfa::literals(texts, kListedStatesMax, conjunctions.give_up());
    if (!made) return schema_error(node.pointer, made.error());
    return made;
  }
  if ((node.types & kStringType) == 0) return all;
  Result<CharDfa> texts = conjunctions.automata().automaton(node.strings);
  if (!texts) return schema_error(node.pointer, texts.error());
  return texts;
}

Result<std::vector<NameClass>> name_classes(Conjunctions& conjunctions, const Node& node) {
  return Classes(conjunctions, node).find();
}

}  // namespace windrow::grammar
