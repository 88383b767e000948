// MemberStates: an object whose members are counted, or that demands members of some kind, as parts
// of a grammar. A state is which declared member comes next, how many members there are, and which
// demands are met; from each, the text behind it is one part. Knows nothing of schemas. Used by one
// thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "grammar/grammar.h"

namespace windrow::grammar {

// A name and a value. Demands are bits.
struct MemberOffer {
  uint32_t meets = 0;
  uint32_t on_purpose = 0;   // of those, the ones for which another offer is narrowed to this one
  uint32_t behind = 0;       // demands that must be met before this one may be taken
  uint32_t behind_idle = 0;  // the same, unless this one meets a demand that was not met yet
  Part first;                // as the first member
  Part later;                // behind another one: with its comma
};

struct DeclaredMember {
  bool required = false;
  std::vector<MemberOffer> offers;
};

struct MemberRules {
  std::vector<DeclaredMember> declared;  // come first, in this order
  std::vector<MemberOffer> undeclared;   // any number of them, in any order
  std::optional<uint32_t> undeclared_max;
  uint32_t demands = 0;  // all of them must be met
  uint32_t count_min = 0;
  std::optional<uint32_t> count_max;
};

class MemberStates {
 public:
  // `builder` outlives this.
  MemberStates(GrammarBuilder& builder, MemberRules rules, Part closing)
      : builder_(builder), rules_(std::move(rules)), closing_(closing) {}

  // All members and what closes the object. Nothing: there is no such object. kInvalid, a message
  // without a pointer: too many states.
  Result<std::optional<Part>> write();

 private:
  struct State {
    uint32_t count = 0;  // not more than cap_
    uint32_t met = 0;
    uint32_t taken = 0;  // undeclared names, where there are few and the minimum is not reached

    friend auto operator<=>(const State&, const State&) = default;
  };
  using Tails = std::map<State, Part>;

  Result<std::vector<std::vector<State>>> reachable() const;
  Result<Tails> undeclared_tails(const std::vector<State>& starts);
  std::optional<Part> undeclared_tail(State state, const Tails& tails);
  std::optional<Part> free_tail(State state);
  std::optional<Part> declared_tail(const DeclaredMember& member, State state, const Tails& next);
  std::optional<State> after(State state, const MemberOffer& offer) const;
  std::optional<State> after_undeclared(State state, const MemberOffer& offer) const;
  Part one_of(std::vector<Part> parts);

  GrammarBuilder& builder_;
  MemberRules rules_;
  Part closing_;
  uint32_t cap_ = 1;  // more members are as many
};

}  // namespace windrow::grammar
