#include "grammar/schema/distinct_values.h"

#include <string_view>
#include <utility>
#include <vector>

#include "grammar/lexeme/numbers.h"
#include "grammar/schema/json_values.h"
#include "grammar/schema/single_spelling.h"

namespace windrow::grammar {
namespace {

namespace json = boost::json;

constexpr size_t kDistinctStatesMax = 100'000;
constexpr uint32_t kCountedMax = 1'000;

}  // namespace

Result<Part> DistinctValues::write(NodeId id) {
  if (const auto found = written_.find(id); found != written_.end()) return found->second;
  Result<CharDfa> dfa = texts(id);
  if (!dfa) return dfa.error();
  Result<CharDfa> both = all_.unite(*dfa, kDistinctStatesMax);
  if (!both) return schema_error(conjunctions_[id].pointer, both.error().message);
  all_ = *std::move(both);
  const Part part = dfa->empty() ? parts_.no_text() : parts_.distinct(*dfa);
  return written_.emplace(id, part).first->second;
}

std::optional<uint32_t> DistinctValues::count() const {
  return texts_count(all_, kCountedMax);
}

Result<CharDfa> DistinctValues::texts(NodeId id) {
  const Node& node = conjunctions_[id];
  if (node.kind == Node::Kind::kShape) return texts_of_shape(node);
  CharDfa all;
  for (const NodeId choice : node.choices) {
    Result<CharDfa> some = texts(choice);
    if (!some) return some;
    Result<CharDfa> both = all.unite(*some, kDistinctStatesMax);
    if (!both) return schema_error(node.pointer, both.error().message);
    all = *std::move(both);
  }
  return all;
}

Result<CharDfa> DistinctValues::texts_of_shape(const Node& node) {
  if (node.allowed) return literals(*node.allowed);
  if ((node.types & (kArrayType | kObjectType)) != 0) {
    return schema_error(
        node.pointer,
        "arrays and objects as items of uniqueItems cannot be enforced, unless they are an enum; "
        "give the items another type (string, number, boolean, null) or leave uniqueItems out");
  }
  std::vector<std::string_view> words;
  if ((node.types & kNullType) != 0) words.insert(words.end(), {"null"});
  if ((node.types & kBooleanType) != 0) words.insert(words.end(), {"true", "false"});
  CharDfa all = words.empty() ? CharDfa() : CharDfa::literals(words);
  const auto add = [&](const Result<CharDfa>& more) -> Result<void> {
    if (!more) return schema_error(node.pointer, more.error().message);
    Result<CharDfa> both = all.unite(*more, kDistinctStatesMax);
    if (!both) return schema_error(node.pointer, both.error().message);
    all = *std::move(both);
    return {};
  };
  if ((node.types & kNumberTypes) != 0) {
    const NumberKind kind = (node.types & kFractionType) == 0  ? NumberKind::kIntegers
                            : (node.types & kIntegerType) == 0 ? NumberKind::kFractions
                                                               : NumberKind::kNumbers;
    const bool integers = kind == NumberKind::kIntegers;
    const NumberBounds bounds = bounds_of(node.numbers, integers);
    const auto numbers = integers ? integer_dfa(bounds) : number_dfa(bounds);
    if (!numbers) return schema_error(node.pointer, numbers.error().message);
    if (Result<void> added = add(single_numbers(**numbers, kind)); !added) return added.error();
  }
  if ((node.types & kStringType) != 0) {
    Result<const CharDfa*> texts = conjunctions_.automata().texts(node.strings);
    if (!texts) return schema_error(node.pointer, texts.error().message);
    if (Result<void> added = add(parts_.quoted(**texts)); !added) return added.error();
  }
  return all;
}

// Of values that are equal, the first one's spelling.
Result<CharDfa> DistinctValues::literals(const std::vector<const json::value*>& values) {
  std::vector<std::string> texts;
  for (const json::value* value : values) {
    std::string text = parts_.text_of(*value);
    if (const auto key = value->is_structured() ? value_key(*value) : std::nullopt) {
      text = spellings_.try_emplace(*key, std::move(text)).first->second;
    }
    texts.push_back(std::move(text));
  }
  return CharDfa::literals(std::vector<std::string_view>(texts.begin(), texts.end()));
}

}  // namespace windrow::grammar
