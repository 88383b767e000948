#include "structured/shape.h"

#include <algorithm>
#include <cstdlib>

#include "base/ensure.h"

namespace windrow::structured {

std::string Decimal::text() const {
  std::string digits = std::to_string(std::llabs(units));
  if (decimals > 0) {
    const auto behind = static_cast<size_t>(decimals);
    if (digits.size() <= behind) digits.insert(0, behind + 1 - digits.size(), '0');
    digits.insert(digits.size() - behind, 1, '.');
    while (digits.back() == '0')
      digits.pop_back();
    if (digits.back() == '.') digits.pop_back();
  }
  return units < 0 ? "-" + digits : digits;
}

const Shape& SchemaCase::resolve(const Shape& shape) const {
  const Shape* found = &shape;
  while (found->kind == Kind::kReference) {
    if (found->definition.empty()) {
      found = root.get();
      continue;
    }
    const auto definition =
        std::find_if(definitions.begin(), definitions.end(),
                     [&](const Definition& one) { return one.name == found->definition; });
    ENSURE(definition != definitions.end(), "a reference to a definition that was not made");
    found = definition->shape.get();
  }
  return *found;
}

std::vector<Member> SchemaCase::members_of(const Shape& shape) const {
  const Shape& object = resolve(shape);
  if (object.kind != Kind::kAll) return object.members;
  std::vector<Member> members;
  for (const ShapePtr& part : object.parts) {
    for (const Member& member : members_of(*part)) {
      const auto known = std::find_if(members.begin(), members.end(), [&](const Member& other) {
        return other.name == member.name;
      });
      if (known == members.end()) {
        members.push_back(member);
      } else {  // a later part says it more closely
        known->shape = member.shape;
        known->required = known->required || member.required;
      }
    }
  }
  return members;
}

}  // namespace windrow::structured
