// CountedObject: the objects of a node whose members are counted, or that demands some member. One
// for each node; used by one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "grammar/schema/conjunctions.h"
#include "grammar/schema/endings.h"
#include "grammar/schema/json_parts.h"
#include "grammar/schema/member_states.h"
#include "grammar/schema/write_node.h"

namespace windrow::grammar {

class CountedObject {
 public:
  // All outlive this.
  CountedObject(Conjunctions& conjunctions, Endings& endings, JsonParts& parts,
                const WriteNode& write_value, const Node& node)
      : conjunctions_(conjunctions),
        endings_(endings),
        parts_(parts),
        write_value_(write_value),
        node_(node) {}

  // Errors as Conjunctions::find(); kInvalid also: too many demands or states.
  Result<Part> write();

 private:
  // A SomeMember. Its names as an automaton; nothing: any name.
  struct Demand {
    std::optional<CharDfa> names;
    std::optional<Term> value;  // nothing: any value

    // The undeclared names with which a member may meet it, and how many there are; nothing: so
    // many that others never use them up.
    CharDfa meeting;
    bool any_meets = false;  // any name
    std::optional<uint32_t> names_count;
  };

  // A value, and the demands that a member with it meets, as MemberOffer has them.
  struct ValueOffer {
    uint32_t meets = 0;
    uint32_t on_purpose = 0;
    Part value;
  };

  // Undeclared names of which each demand has all or none.
  struct NameCell {
    std::optional<CharDfa> names;  // nothing: any name
    uint32_t demands = 0;          // that have the names
    std::vector<ValueOffer> offers;

    // Demands that some member with such a name meets.
    uint32_t meetable() const;
  };

  Result<void> read_demands();
  Result<std::optional<CharDfa>> names_of(const SomeMemberShape& some);
  Result<void> add_declared(const Member& member);
  Result<void> add_undeclared();
  Result<std::vector<NameCell>> split(const NameClass& names) const;
  Result<void> take_names(const NameCell& cell);
  Result<void> check_few_names(const std::vector<NameCell>& cells) const;
  void add_cell(const NameCell& cell);
  Result<bool> has_value(NodeId id);
  Result<std::vector<ValueOffer>> offers(const Terms& terms, uint32_t demands);
  void add_offer(const MemberOffer& offer);
  void drop_useless_bounds();

  Conjunctions& conjunctions_;
  Endings& endings_;
  JsonParts& parts_;
  const WriteNode& write_value_;
  const Node& node_;
  std::vector<Demand> demands_;
  MemberRules rules_;
  CharDfa undeclared_names_;
  bool any_name_ = false;
};

}  // namespace windrow::grammar
