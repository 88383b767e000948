#include "grammar/schema/distinct_values.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "grammar/lexeme/numbers.h"
#include "grammar/schema/json_values.h"
#include "grammar/schema/single_spelling.h"
#include "grammar/schema/structured_texts.h"

namespace windrow::grammar {
namespace {

namespace json = boost::json;

constexpr size_t kDistinctStatesMax = 100'000;

Error not_written(const Node& node, const Error& error) {
  if (error.kind != ErrorKind::kInvalid) return error;  // the work was given up
  return schema_error(node.pointer, "items of uniqueItems are compared by their texts, and " +
                                        error.message + ", or leave uniqueItems out");
}

}  // namespace

Result<Part> DistinctValues::write(NodeId id) {
  if (const auto found = written_.find(id); found != written_.end()) return found->second.part;
  Result<CharDfa> dfa = texts(id);
  if (!dfa) return dfa.error();
  if (has_structured(id)) parts_.note_structured_lexeme();
  if (!orders_agree()) {
    return schema_error(conjunctions_[id].pointer,
                        "items of uniqueItems are compared by their texts, and their schemas have "
                        "the same properties in different orders; give them one order");
  }
  few_ = few_ && texts_count(*dfa, values_max_);
  if (few_) {
    Result<CharDfa> both = all_.unite(*dfa, kDistinctStatesMax);
    if (!both) return not_written(conjunctions_[id], both.error());
    all_ = *std::move(both);
  }
  const auto none = [&] {
    return parts_.no_text(schema_error(conjunctions_[id].pointer, "there is no value left"));
  };
  const Part part = dfa->empty() ? none() : parts_.distinct(*dfa);
  written_.emplace(id, Written{part, *std::move(dfa)});
  return part;
}

std::optional<uint32_t> DistinctValues::count() const {
  return few_ ? texts_count(all_, values_max_) : std::nullopt;
}

std::optional<uint32_t> DistinctValues::count(NodeId id) const {
  return texts_count(written_.at(id).texts, values_max_);
}

bool DistinctValues::may_overlap(NodeId left, NodeId right) const {
  if (left == right) return true;
  const Result<CharDfa> both = written_.at(left).texts.intersect(written_.at(right).texts);
  return !both || !both->empty();
}

Result<CharDfa> DistinctValues::texts(NodeId id) {
  const Node& node = conjunctions_[id];
  if (has_structured(id)) {
    StructuredTexts structured(conjunctions_, parts_,
                               [this](const Node& shape) { return scalars(shape); });
    Result<CharDfa> all = structured.texts(id, pointer_);
    orders_.insert(orders_.end(), structured.orders().begin(), structured.orders().end());
    return all;
  }
  if (node.kind == Node::Kind::kShape) return scalars(node);
  CharDfa all;
  for (const NodeId choice : node.choices) {
    Result<CharDfa> some = texts(choice);
    if (!some) return some;
    Result<CharDfa> both = all.unite(*some, kDistinctStatesMax);
    if (!both) return not_written(node, both.error());
    all = *std::move(both);
  }
  return all;
}

// Arrays or objects that are no enum.
bool DistinctValues::has_structured(NodeId id) const {
  const Node& node = conjunctions_[id];
  if (node.kind == Node::Kind::kShape) {
    return !node.allowed && (node.types & (kArrayType | kObjectType)) != 0;
  }
  return std::ranges::any_of(node.choices, [&](NodeId choice) { return has_structured(choice); });
}

// The values of a shape but such arrays and objects.
Result<CharDfa> DistinctValues::scalars(const Node& node) {
  if (node.allowed) return literals(*node.allowed);
  std::vector<std::string_view> words;
  if ((node.types & kNullType) != 0) words.insert(words.end(), {"null"});
  if ((node.types & kBooleanType) != 0) words.insert(words.end(), {"true", "false"});
  CharDfa all = words.empty() ? CharDfa() : CharDfa::literals(words);
  const auto add = [&](const Result<CharDfa>& more) -> Result<void> {
    if (!more) return not_written(node, more.error());
    Result<CharDfa> both = all.unite(*more, kDistinctStatesMax);
    if (!both) return not_written(node, both.error());
    all = *std::move(both);
    return {};
  };
  if ((node.types & kNumberTypes) != 0) {
    const NumberKind kind = (node.types & kFractionType) == 0  ? NumberKind::kIntegers
                            : (node.types & kIntegerType) == 0 ? NumberKind::kFractions
                                                               : NumberKind::kNumbers;
    const bool integers = kind == NumberKind::kIntegers;
    const NumberBounds bounds = bounds_of(node.numbers, integers);
    const GiveUp& give_up = conjunctions_.give_up();
    const auto numbers = integers ? integer_dfa(bounds, give_up) : number_dfa(bounds, give_up);
    if (!numbers) return not_written(node, numbers.error());
    if (Result<void> added = add(single_numbers(**numbers, kind)); !added) return added.error();
  }
  if ((node.types & kStringType) != 0) {
    Result<CharDfa> texts = conjunctions_.automata().automaton(node.strings);
    if (!texts) return not_written(node, texts.error());
    if (Result<void> added = add(parts_.quoted(*texts)); !added) return added.error();
  }
  return all;
}

CharDfa DistinctValues::literals(const std::vector<const json::value*>& values) {
  std::vector<std::string> texts;
  for (const json::value* value : values)
    texts.push_back(spelled(*value));
  return CharDfa::literals(std::vector<std::string_view>(texts.begin(), texts.end()));
}

// Values that are equal have the spelling of the first one.
std::string DistinctValues::spelled(const json::value& value) {
  if (!value.is_structured()) return compact_json(value);
  const auto key = value_key(value);
  if (key) {
    if (const auto found = spellings_.find(*key); found != spellings_.end()) return found->second;
  }
  parts_.note_structured_lexeme();
  std::string text;
  const auto begin_next = [&] {
    if (!text.empty()) text += parts_.comma_text();
  };
  if (const json::array* array = value.if_array()) {
    for (const json::value& item : *array) {
      begin_next();
      text += spelled(item);
    }
    text = "[" + text + "]";
  } else {
    Order order;
    for (const auto& [name, member] : value.get_object()) {
      begin_next();
      text += json_quoted(name);
      text += parts_.colon_text();
      text += spelled(member);
      order.emplace_back(name);
    }
    text = "{" + text + "}";
    literal_orders_.push_back(std::move(order));
  }
  if (key) spellings_.emplace(*key, text);
  return text;
}

// Otherwise an object could be written in two orders, and be equal all the same. Objects of enums
// have one spelling among themselves.
bool DistinctValues::orders_agree() const {
  const auto agree = [](const Order& left, const Order& right) {
    size_t from = 0;
    for (const std::string& name : left) {
      const auto found = std::ranges::find(right, name);
      if (found == right.end()) continue;
      const auto at = static_cast<size_t>(found - right.begin());
      if (at < from) return false;
      from = at;
    }
    return true;
  };
  for (size_t i = 0; i < orders_.size(); ++i) {
    const auto agrees = [&](const Order& other) { return agree(orders_[i], other); };
    if (!std::all_of(orders_.begin() + static_cast<ptrdiff_t>(i) + 1, orders_.end(), agrees) ||
        !std::ranges::all_of(literal_orders_, agrees)) {
      return false;
    }
  }
  return true;
}

}  // namespace windrow::grammar
