#include "grammar/schema/grammar_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "grammar/schema/conjunctions.h"
#include "grammar/schema/readings.h"
#include "grammar/schema/schema_node.h"

namespace windrow::grammar {
namespace {

// Deeper nodes become rules and are written later, so that no schema overflows the stack.
constexpr size_t kDepthMax = 60;

}  // namespace

Result<Part> GrammarWriter::write_root(NodeId id) {
  Result<Part> root = write(id);
  if (!root) return root;
  if (Result<void> rest = write_waiting(); !rest) return rest.error();
  if (Result<void> agree = check_written(id); !agree) return agree.error();
  return root;
}

Result<void> GrammarWriter::write_waiting() {
  while (!waiting_.empty()) {
    const NodeId next = waiting_.back();
    waiting_.pop_back();
    written_[next].open = false;
    if (Result<Part> part = write(next); !part) return part.error();
  }
  return {};
}

// Only where there are such items is it worth the time.
Result<void> GrammarWriter::check_written(NodeId id) {
  return parts_.has_structured_lexeme() ? check_readings(conjunctions_, id) : Result<void>();
}

Result<std::optional<Part>> GrammarWriter::write_others(NodeId id) {
  Result<std::optional<Part>> part = others_of(id);
  if (!part) return part;
  if (Result<void> agree = check_written(id); !agree) return agree.error();
  return part;
}

Result<std::optional<Part>> GrammarWriter::others_of(NodeId id) {
  const Node& node = conjunctions_[id];
  std::vector<Part> choices;
  if (node.kind == Node::Kind::kChoice) {
    for (const NodeId choice : node.choices) {
      Result<std::optional<Part>> part = others_of(choice);
      if (!part) return part;
      if (*part) choices.push_back(**part);
    }
  } else if (node.allowed) {
    std::vector<const boost::json::value*> values = *node.allowed;
    std::erase_if(values, [](const boost::json::value* value) { return value->is_string(); });
    if (!values.empty()) {
      Result<Part> part = parts_.one_of(values, conjunctions_.give_up());
      if (!part) return schema_error(node.pointer, part.error());
      choices.push_back(*part);
    }
  } else if ((node.types & ~kStringType) != 0) {
    Node others = node;
    others.types &= static_cast<Types>(~kStringType);
    Result<Part> part = write_shape(others);
    if (!part) return part.error();
    if (Result<void> rest = write_waiting(); !rest) return rest.error();
    choices.push_back(*part);
  }
  if (choices.empty()) return std::optional<Part>();
  return std::optional(choices.size() == 1 ? choices.front()
                                           : parts_.builder().choice(std::move(choices)));
}

Result<Part> GrammarWriter::write(NodeId id) {
  Written& known = written_[id];
  if (known.part) return *known.part;
  const bool too_deep = depth_ > kDepthMax;
  if (known.open || too_deep) {
    if (!known.rule) known.rule = parts_.builder().rule(conjunctions_[id].pointer);
    if (!known.open) waiting_.push_back(id);
    known.open = true;
    return *known.rule;
  }
  if (Result<void> go_on = conjunctions_.check_give_up(); !go_on) return go_on.error();
  known.open = true;
  ++depth_;
  Result<Part> body = write_body(id);
  --depth_;
  if (!body) return body;
  Written& written = written_[id];
  if (written.rule) parts_.builder().define(*written.rule, *body);
  written.part = written.rule.value_or(*body);
  return *written.part;
}

Result<Part> GrammarWriter::write_body(NodeId id) {
  const Node& node = conjunctions_[id];
  if (node.kind == Node::Kind::kShape) return write_shape(node);
  if (node.kind == Node::Kind::kOpen) return conjunctions_.terms_of(id).error();  // it has failed
  std::vector<Part> choices;
  for (const NodeId choice : node.choices) {
    Result<Part> part = write(choice);
    if (!part) return part;
    choices.push_back(*part);
  }
  return choices.size() == 1 ? choices.front() : parts_.builder().choice(std::move(choices));
}

Result<Part> GrammarWriter::write_shape(const Node& node) {
  if (node.allowed) {
    Result<Part> part = parts_.one_of(*node.allowed, conjunctions_.give_up());
    return part ? part : schema_error(node.pointer, part.error());
  }
  GrammarBuilder& builder = parts_.builder();
  std::vector<Part> choices;
  if ((node.types & kNullType) != 0) choices.push_back(builder.text("null"));
  if ((node.types & kBooleanType) != 0) {
    choices.push_back(builder.text("true"));
    choices.push_back(builder.text("false"));
  }
  struct Writing {
    Types types;
    Result<Part> (GrammarWriter::*write)(const Node&);
  };
  for (const Writing& writing : {Writing{kNumberTypes, &GrammarWriter::write_number},
                                 Writing{kStringType, &GrammarWriter::write_string},
                                 Writing{kArrayType, &GrammarWriter::write_array},
                                 Writing{kObjectType, &GrammarWriter::write_object}}) {
    if ((node.types & writing.types) == 0) continue;
    Result<Part> part = (this->*writing.write)(node);
    if (!part) return part;
    const bool structured = (writing.types & (kArrayType | kObjectType)) != 0;
    choices.push_back(structured ? builder.container(*part) : *part);
  }
  return choices.size() == 1 ? choices.front() : builder.choice(std::move(choices));
}

Result<Part> GrammarWriter::write_number(const Node& node) {
  const bool integers = (node.types & kFractionType) == 0;
  NumberBounds bounds = bounds_of(node.numbers, integers);
  if ((node.types & kIntegerType) == 0) bounds.multiples_not.emplace_back("1");
  const std::pair key(bounds, integers);
  if (const auto found = numbers_.find(key); found != numbers_.end()) return found->second;
  Result<Part> part = write_bounds(bounds, integers);
  if (!part) return schema_error(node.pointer, part.error());
  return numbers_.emplace(key, *part).first->second;
}

Result<Part> GrammarWriter::write_bounds(const NumberBounds& bounds, bool integers) {
  GrammarBuilder& builder = parts_.builder();
  const GiveUp& give_up = conjunctions_.give_up();
  Result<std::optional<LongMultiples>> multiples = long_multiples(bounds, integers, give_up);
  if (!multiples) return multiples.error();
  if (!*multiples) {
    auto dfa = integers ? integer_dfa(bounds, give_up) : number_dfa(bounds, give_up);
    if (!dfa) return dfa.error();
    return builder.lexeme(*std::move(dfa));
  }
  const CharCount count{.max = (*multiples)->digits_max};
  std::vector<Part> signs;
  for (const bool negative : {false, true}) {
    const auto& digits = negative ? (*multiples)->negative : (*multiples)->positive;
    if (!digits) continue;
    auto counted = CountedDfa::make(digits, digits->states_count(), count);
    if (!counted) return counted.error();
    const Part part = builder.lexeme(*std::move(counted));
    signs.push_back(negative ? builder.sequence({builder.text("-"), part}) : part);
  }
  return signs.size() == 1 ? signs.front() : builder.choice(std::move(signs));
}

Result<Part> GrammarWriter::write_string(const Node& node) {
  const StringRules& rules = node.strings;
  if (rules.only_lengths()) {
    return parts_.string_of_length(rules.length_min, rules.length_max);
  }
  Result<const CountedTexts*> texts = conjunctions_.automata().texts(rules);
  if (!texts) return schema_error(node.pointer, texts.error());
  if (const auto found = strings_.find(*texts); found != strings_.end()) return found->second;
  Result<Part> part = parts_.string_in((*texts)->dfa, (*texts)->count);
  if (!part) return schema_error(node.pointer, part.error());
  return strings_.emplace(*texts, *part).first->second;
}

}  // namespace windrow::grammar
