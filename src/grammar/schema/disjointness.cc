#include <algorithm>
#include <vector>

#include "grammar/schema/conjunctions.h"

namespace windrow::grammar {
namespace {

constexpr size_t kShapesMax = 16;  // of one side of a comparison

class Disjointness {
 public:
  explicit Disjointness(Conjunctions& conjunctions) : conjunctions_(conjunctions) {}

  Result<bool> are_disjoint(NodeId left, NodeId right) {
    std::vector<const Node*> lefts;
    std::vector<const Node*> rights;
    if (!collect(left, lefts) || !collect(right, rights)) return false;
    for (const Node* one : lefts) {
      for (const Node* other : rights) {
        if (Result<void> go_on = conjunctions_.check_give_up(); !go_on) return go_on.error();
        Result<bool> apart = are_shapes_disjoint(*one, *other);
        if (!apart || !*apart) return apart;
      }
    }
    return true;
  }

 private:
  // The shapes of a node. False if they are too many or not known yet.
  bool collect(NodeId id, std::vector<const Node*>& shapes) const {
    const Node& node = conjunctions_[id];
    switch (node.kind) {
      case Node::Kind::kNone:
        return true;
      case Node::Kind::kOpen:
        return false;
      case Node::Kind::kShape:
        shapes.push_back(&node);
        return shapes.size() <= kShapesMax;
      case Node::Kind::kChoice:
        return node.choices.size() <= kShapesMax &&
               std::ranges::all_of(node.choices,
                                   [&](NodeId choice) { return collect(choice, shapes); });
    }
    return false;
  }

  bool values_apart(const Node& a, const Node& b) {
    return a.allowed && b.allowed &&
           !conjunctions_.allowed_by(a).has_common(conjunctions_.allowed_by(b));
  }

  Result<bool> are_shapes_disjoint(const Node& left, const Node& right) {
    const auto common = static_cast<Types>(left.types & right.types);
    if (common == 0 || values_apart(left, right)) return true;
    if (common != kObjectType) return false;
    Result<bool> apart = has_needed_member_apart(left, right);
    if (!apart || *apart) return apart;
    return lacks_needed_member(right, left);
  }

  // `node` cannot have a member that `other` needs.
  Result<bool> lacks_needed_member(const Node& other, const Node& node) {
    for (const Member& member : other.objects.members) {
      if (!member.required) continue;
      Result<bool> missing = conjunctions_.cannot_have(node.objects, member.name);
      if (!missing || *missing) return missing;
    }
    return false;
  }

  // A member that `left` needs is not allowed in `right`, or has values that are apart.
  Result<bool> has_needed_member_apart(const Node& left, const Node& right) {
    for (const Member& member : left.objects.members) {
      if (!member.required) continue;
      if (Result<void> go_on = conjunctions_.check_give_up(); !go_on) return go_on.error();
      Result<bool> missing = conjunctions_.cannot_have(right.objects, member.name);
      if (!missing || *missing) return missing;
      const auto other = std::ranges::find(right.objects.members, member.name, &Member::name);
      if (other == right.objects.members.end() || !other->required) continue;
      Result<NodeId> a = conjunctions_.find_member(left, member.name);
      if (!a) return a.error();
      Result<NodeId> b = conjunctions_.find_member(right, member.name);
      if (!b) return b.error();
      const Node& one = conjunctions_[*a];
      const Node& two = conjunctions_[*b];
      if (one.kind != Node::Kind::kShape || two.kind != Node::Kind::kShape) continue;
      if ((one.types & two.types) == 0 || values_apart(one, two)) return true;
    }
    return false;
  }

  Conjunctions& conjunctions_;
};

}  // namespace

Result<bool> are_disjoint(Conjunctions& conjunctions, NodeId left, NodeId right) {
  return Disjointness(conjunctions).are_disjoint(left, right);
}

}  // namespace windrow::grammar
