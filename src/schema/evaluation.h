// Judges one value by a program. One evaluation, one value, one thread.
#pragma once

#include <boost/container_hash/hash.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "schema/program.h"
#include "schema/validator.h"

namespace windrow::schema {

// How much one value may cost, so that no schema and no answer can hold a thread: a node looked at
// is one step, and a pattern is as many units of work as its program's size times the text's.
struct EvaluationLimits {
  int64_t steps_max = 20'000'000;
  int64_t pattern_work_max = 1'000'000'000;
  int levels_max = 1500;  // of recursion
};

// Nothing where the value is valid. First it only decides; the words are looked for in a second
// pass, when there is something to say.
std::optional<Violation> evaluate(const Program& program, const Value& value,
                                  const EvaluationLimits& limits = {});

class Evaluation {
 public:
  // Both outlive it. Without `violation` it only decides.
  Evaluation(const Program& program, const EvaluationLimits& limits, Violation* violation);

  bool valid(const Value& value);

  // Why what `valid` said is not to be relied on; empty: it is.
  std::string_view given_up() const { return given_up_; }

 private:
  // Where in the value this is: a chain on the stack.
  struct Place {
    const Place* outer = nullptr;
    std::string_view name;  // of the member
    size_t index = 0;       // of the item
    bool is_item = false;
  };

  // Whose names count for the object at hand, when absent additionalProperties close it: the node
  // where judging it began, or a branch of a choice with all that is around it.
  struct Scope {
    const Scope* outer = nullptr;
    const Node* head = nullptr;
    const void* choice = nullptr;  // of which `head` is a branch; null: of none
  };

  struct Where {
    const Place* place = nullptr;
    const Scope* scope = nullptr;  // null: judging this value begins
    bool closed = false;           // whether absent additionalProperties close an object
  };

  bool judge(const Node& node, const Value& value, const Where& where);
  bool judge_new(const Node& node, const Value& value, const Where& where);
  bool judge_all(const Node& node, const Value& value, const Where& where);
  bool judge_type(const Node& node, const Value& value, const Where& where);
  bool judge_choice_of_values(const Node& node, const Value& value, const Where& where);
  bool judge_number(const Node& node, const Decimal& number, const Where& where);
  bool judge_string(const Node& node, const std::string& text, const Where& where);
  bool judge_array(const Node& node, const Items& items, const Where& where);
  bool judge_items(const Node& node, const Items& items, const Where& where);
  bool judge_contains(const Node& node, const Items& items, const Where& where);
  bool judge_object(const Node& node, const Members& members, const Where& where);
  bool judge_member(const Node& node, const Member& member, const Where& where);
  bool judge_dependencies(const Node& node, const Value& value, const Members& members,
                          const Where& where);
  bool judge_branches(const Node& node, const Value& value, const Where& where);
  bool judge_any(const Node& node, const Value& value, const Where& where);
  bool judge_one(const Node& node, const Value& value, const Where& where);
  bool judge_branch(const Node& branch, const void* choice, const Value& value, const Where& where);
  bool judge_closing(const Scope& scope, const Members& members, const Where& where);
  static const Node* closed_by(const Scope& scope);
  bool named(const Scope& scope, std::string_view name);

  // Without words, whatever this evaluation is for.
  bool holds(const std::function<bool()>& judged);
  bool holds_open(const Node& node, const Value& value, const Where& where);

  bool found(const Pattern& pattern, std::string_view text);
  bool give_up(std::string_view why);

  // Says what is wrong, where words are wanted. Always false.
  template <class Words>
  bool fail(const Node& node, std::string_view keyword, const Where& where, Words words);
  void say(const Node& node, std::string_view keyword, const Where& where,
           const std::string& words);
  std::string nearest(const std::vector<const Node*>& branches, const void* choice,
                      const Value& value, const Where& where);

  struct Key {
    const Node* node = nullptr;
    const Value* value = nullptr;
    const Node* head = nullptr;
    bool closed = false;

    friend bool operator==(const Key&, const Key&) = default;
    friend size_t hash_value(const Key& key) {
      size_t seed = key.closed ? 1 : 0;
      boost::hash_combine(seed, key.node);
      boost::hash_combine(seed, key.value);
      boost::hash_combine(seed, key.head);
      return seed;
    }
  };

  const Program& program_;
  const EvaluationLimits limits_;
  Violation* violation_;
  boost::unordered_flat_map<Key, bool> known_;
  int64_t steps_ = 0;
  int64_t pattern_work_ = 0;
  int levels_ = 0;
  int hints_ = 0;  // how deep in looking for the nearest branch
  std::string_view given_up_;
};

template <class Words>
bool Evaluation::fail(const Node& node, std::string_view keyword, const Where& where, Words words) {
  if (violation_ != nullptr && given_up_.empty()) say(node, keyword, where, words());
  return false;
}

}  // namespace windrow::schema
