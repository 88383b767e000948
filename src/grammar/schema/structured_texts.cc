#include "grammar/schema/structured_texts.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "grammar/schema/json_values.h"

namespace windrow::grammar {
namespace {

constexpr size_t kNfaStatesMax = 200'000;
constexpr size_t kTextsStatesMax = 50'000;
constexpr size_t kObjectsMax = 200;
constexpr size_t kNestedMax = 40;
constexpr uint32_t kUnrolledMax = 200;  // items that are counted one by one

Error not_comparable(std::string_view pointer, std::string_view what) {
  return schema_error(
      pointer, "items of uniqueItems are compared by their texts, which cannot be done with " +
                   std::string(what) + ", or leave uniqueItems out");
}

Error not_comparable(const Node& node, std::string_view what) {
  return not_comparable(node.pointer, std::string(what) + "; change that");
}

}  // namespace

Result<CharDfa> StructuredTexts::texts(NodeId id, std::string_view pointer) {
  const Result<NodeId> anything = conjunctions_.find({});
  if (!anything) return anything.error();
  anything_ = *anything;
  holder_ = pointer;
  const State from = nfa_.add_state();
  const State to = nfa_.add_state();
  if (Result<void> added = add(id, from, to); !added) return added.error();
  const Result<RangeDfa> dfa =
      nfa_.determinise({.first = from, .accepting = to}, kTextsStatesMax, conjunctions_.give_up());
  if (!dfa && dfa.error().kind == ErrorKind::kUnavailable) return dfa.error();
  if (!dfa) return not_comparable(conjunctions_[id], "as many different texts as they have");
  return CharDfa(*dfa);
}

Result<void> StructuredTexts::add(NodeId id, State from, State to) {
  const Node& node = conjunctions_[id];
  if (node.kind == Node::Kind::kNone) return {};
  if (Result<void> go_on = conjunctions_.check_give_up(); !go_on) return go_on;
  if (id == anything_) {
    return not_comparable(holder_,
                          "items that are or hold values of any kind; give them a schema with the "
                          "types that they may have");
  }
  if (open_.contains(id)) return not_comparable(node, "a schema that refers to itself");
  if (open_.size() > kNestedMax) return not_comparable(node, "values nested so deeply");
  if (nfa_.states_count() > kNfaStatesMax || orders_.size() > kObjectsMax) {
    return not_comparable(node, "values of so many different forms");
  }
  open_.insert(id);
  Result<void> added;
  if (node.kind == Node::Kind::kShape) added = add_shape(node, from, to);
  for (const NodeId choice : node.choices) {
    if (added) added = add(choice, from, to);
  }
  open_.erase(id);
  return added;
}

Result<void> StructuredTexts::add_shape(const Node& node, State from, State to) {
  const bool structured = !node.allowed && (node.types & (kArrayType | kObjectType)) != 0;
  if (node.allowed || (node.types & ~(kArrayType | kObjectType)) != 0) {
    Result<CharDfa> scalars = scalars_(node);
    if (!scalars) return scalars.error();
    add_texts(*scalars, from, to);
  }
  if (structured && (node.types & kArrayType) != 0) {
    if (Result<void> added = add_array(node, from, to); !added) return added;
  }
  if (structured && (node.types & kObjectType) != 0) return add_object(node, from, to);
  return {};
}

Result<void> StructuredTexts::add_object(const Node& node, State from, State to) {
  const ObjectShape& shape = node.objects;
  if (shape.counts_names()) {
    return not_comparable(node, "minProperties, maxProperties or negated rules for members");
  }
  Result<std::vector<NameClass>> undeclared = name_classes(conjunctions_, node);
  if (!undeclared) return undeclared.error();
  if (!undeclared->empty()) {
    return not_comparable(node, "objects that may have other properties than the declared ones");
  }
  std::vector<std::string> order;
  std::optional<State> first = after_text("{", from);  // no member yet
  std::optional<State> later;                          // behind a member
  for (const Member& member : shape.members) {
    Result<NodeId> value = conjunctions_.find_member(node, member.name);
    if (!value) return value.error();
    if (conjunctions_.possible(*value)) order.push_back(member.name);
    const State begin = nfa_.add_state();
    const State end = nfa_.add_state();
    const std::string name = json_quoted(member.name) + std::string(parts_.colon_text());
    if (first) add_text(name, *first, begin);
    if (later) add_text(std::string(parts_.comma_text()) + name, *later, begin);
    holder_ = node.pointer;
    if (Result<void> added = add(*value, begin, end); !added) return added;
    if (member.required) {
      first.reset();
    } else if (later) {
      nfa_.add_free_edge(*later, end);
    }
    later = end;
  }
  orders_.push_back(std::move(order));
  if (first) add_text("}", *first, to);
  if (later) add_text("}", *later, to);
  return {};
}

Result<void> StructuredTexts::add_array(const Node& node, State from, State to) {
  const ArrayShape& shape = node.arrays;
  if (shape.unique || !shape.contains.empty()) {
    return not_comparable(node, "contains or uniqueItems within items");
  }
  const size_t counted =
      std::max<size_t>({shape.prefix.size(), shape.count_min, shape.count_max.value_or(0)});
  if (counted > kUnrolledMax) return not_comparable(node, "bounds on items that are so large");
  State state = after_text("[", from);
  size_t count = 0;
  for (; count < counted && (!shape.count_max || count < *shape.count_max); ++count) {
    if (count >= shape.count_min) add_text("]", state, to);
    const Terms& terms = count < shape.prefix.size() ? shape.prefix[count] : shape.rest;
    holder_ = node.pointer;
    Result<State> next = add_item(terms, count == 0, state);
    if (!next) return next.error();
    state = *next;
  }
  add_text("]", state, to);
  if (shape.count_max) return {};
  holder_ = node.pointer;
  if (count == 0) {
    Result<State> next = add_item(shape.rest, true, state);
    if (!next) return next.error();
    state = *next;
    add_text("]", state, to);
  }
  holder_ = node.pointer;
  Result<State> next = add_item(shape.rest, false, state);
  if (!next) return next.error();
  nfa_.add_free_edge(*next, state);
  return {};
}

Result<StructuredTexts::State> StructuredTexts::add_item(const Terms& terms, bool is_first,
                                                         State from) {
  Result<NodeId> item = conjunctions_.find(terms);
  if (!item) return item.error();
  const State end = nfa_.add_state();
  const State begin = is_first ? from : after_text(parts_.comma_text(), from);
  if (Result<void> added = add(*item, begin, end); !added) return added.error();
  return end;
}

void StructuredTexts::add_texts(const CharDfa& texts, State from, State to) {
  std::vector<State> states;
  for (size_t i = 0; i < texts.states_count(); ++i)
    states.push_back(nfa_.add_state());
  if (states.empty()) return;
  nfa_.add_free_edge(from, states[0]);
  for (CharDfa::State state = 0; state < states.size(); ++state) {
    if (texts.accepts(state)) nfa_.add_free_edge(states[state], to);
    for (const CharDfa::Edge& edge : texts.edges(state))
      nfa_.add_edge(states[state], edge.on, states[edge.to]);
  }
}

void StructuredTexts::add_text(std::string_view text, State from, State to) {
  const CharDfa literal = CharDfa::literals(std::array{text});
  State state = from;
  CharDfa::State at = 0;
  for (size_t left = literal.states_count() - 1; left > 0; --left) {
    const CharDfa::Edge& edge = literal.edges(at).front();
    const State next = left == 1 ? to : nfa_.add_state();
    nfa_.add_edge(state, edge.on, next);
    state = next;
    at = edge.to;
  }
}

StructuredTexts::State StructuredTexts::after_text(std::string_view text, State from) {
  const State to = nfa_.add_state();
  add_text(text, from, to);
  return to;
}

}  // namespace windrow::grammar
