#include "grammar/schema/object_writer.h"

#include <algorithm>

#include "grammar/schema/counted_object.h"

namespace windrow::grammar {
namespace {

// From here on the names of an object are one tree, in which a text is at one place, not at one in
// each name.
constexpr size_t kWideFrom = 8;

// Whether bounds on the number of members or demands may exclude an object with valid members.
bool counts_members(const ObjectShape& shape) {
  const auto required = std::ranges::count_if(shape.members, &Member::required);
  return shape.count_min > required || shape.count_max || !shape.some.empty();
}

}  // namespace

Result<Part> ObjectWriter::write(const Node& node) {
  if (order_ == PropertyOrder::kAny) return write_in_any_order(node);
  if (!counts_members(node.objects)) return write_plain(node);
  return CountedObject(conjunctions_, endings_, parts_, write_value_, node).write();
}

Result<std::vector<ObjectWriter::MemberParts>> ObjectWriter::write_members(const Node& node) {
  std::vector<MemberParts> members;
  for (const Member& member : node.objects.members) {
    Result<NodeId> id = conjunctions_.find_member(node, member.name);
    if (!id) return id.error();
    if (!conjunctions_.possible(*id)) continue;  // it is not required: then there were no object
    Result<Part> value = write_value_(*id);
    if (!value) return value.error();
    members.push_back({member.name, member.required, parts_.spaced(*value)});
  }
  return members;
}

// One member with a name that is not declared; nothing where there can be none.
Result<std::optional<Part>> ObjectWriter::write_undeclared(const std::vector<NameClass>& classes,
                                                           bool distinct) {
  std::vector<Part> choices;
  for (const NameClass& one : classes) {
    Result<Part> value = write_value_(one.value);
    if (!value) return value.error();
    const CharDfa* const names = one.names ? &*one.names : nullptr;
    const Part name = distinct ? parts_.distinct_name_in(names) : parts_.name_in(names);
    choices.push_back(parts_.builder().sequence({name, parts_.spaced(*value)}));
  }
  if (choices.empty()) return std::optional<Part>();
  return std::optional(choices.size() == 1 ? choices.front()
                                           : parts_.builder().choice(std::move(choices)));
}

Part ObjectWriter::write_wide(const std::vector<MemberParts>& members,
                              const std::optional<Part>& undeclared) {
  GrammarBuilder::Members parts{
      .other = undeclared, .separator = parts_.mark(","), .in_order = true};
  for (const MemberParts& member : members) {
    parts.named.push_back({.name = parts_.name_text(member.name),
                           .value = parts_.behind_name(member.value),
                           .required = member.required});
  }
  GrammarBuilder& builder = parts_.builder();
  return builder.sequence({parts_.mark("{"), builder.members(std::move(parts)), parts_.mark("}")});
}

// From the last member to the first: the texts that may follow another member (`after`), and
// when none does (`first`). Each member is in both at most once, so the parts stay few.
Result<Part> ObjectWriter::write_plain(const Node& node) {
  GrammarBuilder& builder = parts_.builder();
  Result<std::vector<MemberParts>> members = write_members(node);
  if (!members) return members.error();
  Result<std::vector<NameClass>> classes = name_classes(conjunctions_, node);
  if (!classes) return classes.error();
  Result<std::optional<Part>> undeclared = write_undeclared(*classes, false);
  if (!undeclared) return undeclared.error();

  if (members->size() >= kWideFrom) return write_wide(*members, *undeclared);

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
