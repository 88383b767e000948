#include "grammar/schema/grammar_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "grammar/schema/conjunctions.h"
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

Result<std::optional<Part>> GrammarWriter::write_others(NodeId id) {
  const Node& node = conjunctions_[id];
  std::vector<Part> choices;
  if (node.kind == Node::Kind::kChoice) {
    for (const NodeId choice : node.choices) {
      Result<std::optional<Part>> part = write_others(choice);
      if (!part) return part;
      if (*part) choices.push_back(**part);
    }
  } else if (node.allowed) {
    std::vector<const boost::json::value*> values = *node.allowed;
    std::erase_if(values, [](const boost::json::value* value) { return value->is_string(); });
    if (!values.empty()) choices.push_back(parts_.one_of(values));
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
  std::vector<Part> choices;
  for (const NodeId choice : node.choices) {
    Result<Part> part = write(choice);
    if (!part) return part;
    choices.push_back(*part);
  }
  return choices.size() == 1 ? choices.front() : parts_.builder().choice(std::move(choices));
}

Result<Part> GrammarWriter::write_shape(const Node& node) {
  if (node.allowed) return parts_.one_of(*node.allowed);
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
    choices.push_back(*part);
  }
  return choices.size() == 1 ? choices.front() : builder.choice(std::move(choices));
}

Result<Part> GrammarWriter::write_number(const Node& node) {
  const bool integers = (node.types & kFractionType) == 0;
  const NumberBounds bounds = bounds_of(node.numbers, integers);
  const std::pair key(bounds, integers);
  if (const auto found = numbers_.find(key); found != numbers_.end()) return found->second;
  auto dfa = integers ? integer_dfa(bounds) : number_dfa(bounds);
  if (!dfa) return schema_error(node.pointer, dfa.error().message);
  return numbers_.emplace(key, parts_.builder().lexeme(*std::move(dfa))).first->second;
}

Result<Part> GrammarWriter::write_string(const Node& node) {
  const StringRules& rules = node.strings;
  if (rules.patterns.empty() && rules.formats.empty()) {
    return parts_.string_of_length(rules.length_min, rules.length_max);
  }
  Result<const CharDfa*> texts = conjunctions_.automata().texts(rules);
  if (!texts) return schema_error(node.pointer, texts.error().message);
  const auto [found, is_new] = strings_.try_emplace(*texts);
  if (is_new) found->second = parts_.string_in(**texts);
  return found->second;
}

// The items that have rules of their own one by one, then all others as a repetition.
Result<Part> GrammarWriter::write_array(const Node& node) {
  const ArrayShape& shape = node.arrays;
  GrammarBuilder& builder = parts_.builder();
  std::optional<uint32_t> most = shape.count_max;
  std::vector<Part> prefix;
  for (const Terms& terms : shape.prefix) {
    if (most && prefix.size() >= *most) break;
    Result<NodeId> id = conjunctions_.find(terms);
    if (!id) return id.error();
    if (!conjunctions_.possible(*id)) {
      most = static_cast<uint32_t>(prefix.size());
      break;
    }
    Result<Part> item = write(*id);
    if (!item) return item;
    prefix.push_back(parts_.spaced(*item));
  }
  const auto count = static_cast<uint32_t>(prefix.size());
  const uint32_t least = shape.count_min > count ? shape.count_min - count : 0;
  std::optional<Part> rest;
  if (!most || *most > count) {
    Result<NodeId> id = conjunctions_.find(shape.rest);
    if (!id) return id.error();
    if (conjunctions_.possible(*id)) {
      Result<Part> item = write(*id);
      if (!item) return item;
      rest = parts_.spaced(*item);
    }
  }
  const Part opening = parts_.mark("[");
  const Part closing = parts_.mark("]");
  const Part comma = parts_.mark(",");
  const auto more = [&](Part item, uint32_t from, std::optional<uint32_t> to) {
    return builder.sequence({builder.repeat(builder.sequence({comma, item}), from, to), closing});
  };
  std::optional<uint32_t> left;
  if (most) left = *most - count;
  if (prefix.empty()) {
    if (!rest) return builder.sequence({opening, closing});
    if (left) *left -= 1;
    const Part some = builder.sequence({*rest, more(*rest, least > 0 ? least - 1 : 0, left)});
    return builder.sequence({opening, least > 0 ? some : builder.choice({closing, some})});
  }
  Part tail = rest ? more(*rest, least, left) : closing;
  for (uint32_t i = count; i-- > 0;) {
    const Part with =
        i == 0 ? builder.sequence({prefix[i], tail}) : builder.sequence({comma, prefix[i], tail});
    tail = i < shape.count_min ? with : builder.choice({closing, with});
  }
  return builder.sequence({opening, tail});
}

Result<std::vector<GrammarWriter::MemberParts>> GrammarWriter::write_members(const Node& node) {
  std::vector<MemberParts> members;
  for (const Member& member : node.objects.members) {
    Result<NodeId> id = conjunctions_.find_member(node, member.name);
    if (!id) return id.error();
    if (!conjunctions_.possible(*id)) continue;  // it is not required: then there were no object
    Result<Part> value = write(*id);
    if (!value) return value.error();
    members.push_back({member.name, member.required, parts_.spaced(*value)});
  }
  return members;
}

// One member with a name that is not declared; nothing where there can be none.
Result<std::optional<Part>> GrammarWriter::write_undeclared(const Node& node) {
  Result<std::vector<NameClass>> classes = name_classes(conjunctions_, node);
  if (!classes) return classes.error();
  std::vector<Part> choices;
  for (const NameClass& one : *classes) {
    Result<Part> value = write(one.value);
    if (!value) return value.error();
    const Part name = parts_.name_in(one.names ? &*one.names : nullptr);
    choices.push_back(parts_.builder().sequence({name, parts_.spaced(*value)}));
  }
  if (choices.empty()) return std::optional<Part>();
  return std::optional(choices.size() == 1 ? choices.front()
                                           : parts_.builder().choice(std::move(choices)));
}

// From the last member to the first: the texts that may follow another member (`after`), and
// when none does (`first`). Each member is in both at most once, so the parts stay few.
Result<Part> GrammarWriter::write_object(const Node& node) {
  GrammarBuilder& builder = parts_.builder();
  Result<std::vector<MemberParts>> members = write_members(node);
  if (!members) return members.error();
  Result<std::optional<Part>> undeclared = write_undeclared(node);
  if (!undeclared) return undeclared.error();

  const Part closing = parts_.mark("}");
  std::vector<Part> after{closing};  // in reverse
  Part first = closing;
  const auto joined = [&](const std::vector<Part>& reversed) {
    return reversed.size() == 1 ? reversed.front()
                                : builder.sequence({reversed.rbegin(), reversed.rend()});
  };
  if (*undeclared) {
    const Part more = builder.sequence({parts_.mark(","), **undeclared});
    after.push_back(builder.repeat(more, 0, std::nullopt));
    first = builder.choice({closing, builder.sequence({**undeclared, joined(after)})});
  }
  // The first member cannot come after the first required one.
  const auto needed = std::ranges::find_if(*members, &MemberParts::required);
  const auto begins_max = static_cast<size_t>(needed - members->begin());
  for (size_t i = members->size(); i-- > 0;) {
    const MemberParts& member = (*members)[i];
    const bool begins = i <= begins_max;
    if (begins || !member.required) after = {joined(after)};
    const Part rest = after.front();  // where it is used, it is all of `after`
    if (begins) {
      const Part begin = builder.sequence({parts_.name(member.name), member.value, rest});
      first = member.required ? begin : builder.choice({begin, first});
    }
    if (i == 0) break;
    if (member.required) {
      after.push_back(member.value);
      after.push_back(parts_.comma_name(member.name));
      continue;
    }
    const Part with = builder.sequence({parts_.comma_name(member.name), member.value, rest});
    after = {builder.choice({with, rest})};
  }
  return builder.sequence({parts_.mark("{"), first});
}

}  // namespace windrow::grammar
