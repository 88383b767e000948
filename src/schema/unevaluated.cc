#include "schema/unevaluated.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace windrow::schema {
namespace {

class Evaluated {
 public:
  Evaluated(Judgement& judgement, const Value& value, const HoldsFor& holds)
      : judgement_(judgement),
        value_(value),
        members_(value.if_object()),
        items_(value.if_array()),
        holds_(holds),
        parts_(members_ != nullptr ? members_->size()
               : items_ != nullptr ? items_->size()
                                   : 0) {}

  std::vector<bool> take() { return std::move(parts_); }

  // `node` holds. Schemas about one value are no circle, so this ends.
  void add(const Node& node, bool is_own) {
    if (!judgement_.step()) return;
    if (members_ != nullptr && node.object != nullptr) add_members(*node.object, is_own);
    if (items_ != nullptr && node.array != nullptr) add_items(*node.array, is_own);
    if (node.reference != nullptr) add(*node.reference, false);
    for (const Node* part : node.all_of) {
      if (std::ranges::find(node.of_other_drafts, part) == node.of_other_drafts.end())
        add(*part, false);
    }
    for (const auto* branches : {&node.any_of, &node.one_of}) {
      for (const Node* branch : *branches)
        add_if_it_holds(branch);
    }
    if (node.condition != nullptr) {
      const bool met = holds_(*node.condition, value_);
      if (met) add(*node.condition, false);
      const Node* chosen = met ? node.consequence : node.alternative;
      if (chosen != nullptr) add(*chosen, false);
    }
    if (members_ == nullptr || node.object == nullptr) return;
    for (const Dependency& one : node.object->dependencies) {
      if (one.keyword == "dependencies") continue;  // of drafts that have no unevaluated keyword
      if (one.schema != nullptr && find_member(*members_, one.name) != nullptr)
        add(*one.schema, false);
    }
  }

 private:
  void add_if_it_holds(const Node* branch) {
    if (holds_(*branch, value_)) add(*branch, false);
  }

  void add_members(const ObjectRules& rules, bool is_own) {
    const bool all = rules.additional != nullptr || (!is_own && rules.unevaluated != nullptr);
    for (size_t i = 0; i < parts_.size(); ++i) {
      judgement_.add_steps(1 + static_cast<int64_t>(rules.patterns.size()));
      if (all || rules.declares((*members_)[i].name)) parts_[i] = true;
    }
  }

  void add_items(const ArrayRules& rules, bool is_own) {
    const bool all = rules.rest != nullptr || (!is_own && rules.unevaluated != nullptr);
    for (size_t i = 0; i < parts_.size(); ++i) {
      judgement_.add_steps(1);
      if (all || (i < rules.prefix.size() && rules.prefix_evaluates)) parts_[i] = true;
      if (!parts_[i] && rules.contains != nullptr && rules.contains_evaluates &&
          holds_(*rules.contains, (*items_)[i])) {
        parts_[i] = true;
      }
    }
  }

  Judgement& judgement_;
  const Value& value_;
  const Members* members_;
  const Items* items_;
  const HoldsFor& holds_;
  std::vector<bool> parts_;
};

}  // namespace

std::vector<bool> evaluated_parts(Judgement& judgement, const Node& node, const Value& value,
                                  const HoldsFor& holds) {
  Evaluated evaluated(judgement, value, holds);
  evaluated.add(node, true);
  return evaluated.take();
}

}  // namespace windrow::schema
