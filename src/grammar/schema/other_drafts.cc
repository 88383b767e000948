#include "grammar/schema/other_drafts.h"

#include <fmt/format.h>

#include <cstddef>

namespace windrow::grammar {
namespace {

// Calls `visit` for each place that this one refers to.
template <class Visit>
void for_each_part(const SchemaNode& node, Visit visit) {
  for (const SchemaId part : node.parts)
    visit(part);
  const ArrayRules& arrays = node.rules.arrays;
  for (const SchemaId item : arrays.prefix)
    visit(item);
  if (arrays.items) visit(*arrays.items);
  for (const ContainsRule& rule : arrays.contains)
    visit(rule.schema);
  const ObjectRules& objects = node.rules.objects;
  for (const auto* members : {&objects.properties, &objects.patterns}) {
    for (const auto& [name, value] : *members)
      visit(value);
  }
  if (objects.additional) visit(*objects.additional);
  for (const SchemaId names : objects.names)
    visit(names);
}

}  // namespace

Result<void> OtherDrafts::check(const Schema& schema) const {
  if (keywords_.empty() || judged_.empty()) return {};
  std::vector<bool> reached(schema.nodes.size(), false);
  std::vector<SchemaId> open = judged_;
  while (!open.empty()) {
    const SchemaId id = open.back();
    open.pop_back();
    if (reached[id.value()]) continue;
    reached[id.value()] = true;
    for_each_part(schema[id], [&](SchemaId part) {
      if (!reached[part.value()]) open.push_back(part);
    });
  }
  for (const auto& [place, name] : keywords_) {
    if (!reached[place.value()]) continue;
    return schema_error(
        fmt::format("{}/{}", schema[place].pointer, name),
        "the draft of this schema does not have this keyword, and within not, if "
        "and oneOf that changes what is valid; name in $schema a draft that has it");
  }
  return {};
}

}  // namespace windrow::grammar
