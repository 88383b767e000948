// Objects whose members come in any order.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "grammar/schema/conjunctions.h"
#include "grammar/schema/object_writer.h"
#include "grammar/schema/schema_node.h"
#include "grammar/schema/single_spelling.h"

namespace windrow::grammar {
namespace {

// With fewer undeclared names, all of them could be used up.
constexpr uint32_t kNamesCountedMax = 1'000;

// How many undeclared names there are; nothing: more than ever come.
Result<std::optional<uint32_t>> names_count(const Node& node,
                                            const std::vector<NameClass>& classes) {
  CharDfa all = CharDfa::nothing();
  for (const NameClass& one : classes) {
    if (!one.names) return std::optional<uint32_t>();
    Result<CharDfa> both = all.unite(*one.names);
    if (!both) return schema_error(node.pointer, both.error());
    all = *std::move(both);
  }
  return texts_count(all, std::max(kNamesCountedMax, node.objects.count_min));
}

}  // namespace

Result<Part> ObjectWriter::write_in_any_order(const Node& node) {
  const ObjectShape& shape = node.objects;
  if (!shape.some.empty()) {
    return schema_error(
        node.pointer,
        "a negated rule that some member must break cannot be enforced with members "
        "in any order; leave \"property_order\" out, or the rule");
  }
  Result<std::vector<MemberParts>> written = write_members(node);
  if (!written) return written.error();
  Result<std::vector<NameClass>> classes = name_classes(conjunctions_, node);
  if (!classes) return classes.error();

  GrammarBuilder::Members members;
  for (const MemberParts& member : *written) {
    members.named.push_back({.name = parts_.name_text(member.name),
                             .value = parts_.behind_name(member.value),
                             .required = member.required});
  }
  const auto required =
      static_cast<size_t>(std::ranges::count_if(*written, &MemberParts::required));
  if (shape.count_min > required) members.count_min = shape.count_min;
  if (shape.count_max && (!classes->empty() || *shape.count_max < written->size()))
    members.count_max = shape.count_max;
  const bool counts = members.count_min > 0 || members.count_max;
  if (counts) {  // then names whose values never end must not count
    for (size_t i = classes->size(); i-- > 0;) {
      Result<bool> ends = endings_.ends((*classes)[i].value);
      if (!ends) return ends.error();
      if (!*ends) classes->erase(classes->begin() + static_cast<ptrdiff_t>(i));
    }
  }
  Result<std::optional<Part>> undeclared = write_undeclared(*classes, counts);
  if (!undeclared) return undeclared.error();
  members.other = *undeclared;
  if (counts) {
    Result<std::optional<uint32_t>> most = names_count(node, *classes);
    if (!most) return most.error();
    members.other_max = *most;
    if (*most && members.count_min > written->size() + **most) {
      return parts_.no_text(
          schema_error(node.pointer,
                       fmt::format("at least {} members are demanded, and there are only {} names; "
                                   "make minProperties smaller, or allow more names in properties "
                                   "or propertyNames",
                                   members.count_min, written->size() + **most)));
    }
  }
  members.separator = parts_.mark(",");
  GrammarBuilder& builder = parts_.builder();
  return builder.sequence(
      {parts_.mark("{"), builder.members(std::move(members)), parts_.mark("}")});
}

}  // namespace windrow::grammar
