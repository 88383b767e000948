// Judgement: the state of judging one value: the work so far, and the violation found. And the
// rules about a value by itself, without its members or items. Used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "schema/program.h"
#include "schema/validator.h"

namespace windrow::schema {

// How much one value may cost, so that no schema and no answer can hold a thread: a node looked at
// is one step, and a pattern is as many units of work as its program's size times the text's.
struct EvaluationLimits {
  int64_t steps_max = 20'000'000;
  int64_t pattern_work_max = 1'000'000'000;
  int levels_max = 1500;  // recursion depth
};

// A position in the value: a chain on the stack.
struct Place {
  const Place* outer = nullptr;
  std::string_view name;  // the member, or else:
  size_t index = 0;       // the item
  bool is_item = false;
};

class Judgement {
 public:
  // `violation` gets what is wrong, and may be null: then only the verdict is wanted.
  Judgement(const EvaluationLimits& limits, Violation* violation)
      : limits_(limits), violation_(violation) {}

  // --- work. Once given_up() is not empty, verdicts cannot be relied on.

  // Counts a step. Returns false if there were too many.
  bool step() {
    return ++steps_ <= limits_.steps_max || give_up("takes too many steps to be judged");
  }
  // Counts steps; the next step() finds out whether there were too many.
  void add_steps(int64_t count) { steps_ += count; }
  int64_t steps() const { return steps_; }

  // Enters a level of recursion. Returns false, without entering it, if it is too deep.
  bool enter_level() {
    if (levels_ >= limits_.levels_max) return give_up("is nested too deep to be judged");
    ++levels_;
    return true;
  }
  void leave_level() { --levels_; }

  // Whether the pattern is found in `text`; false also if that takes too much work.
  bool found(const Pattern& pattern, std::string_view text);

  bool gave_up() const { return !given_up_.empty(); }
  std::string_view given_up() const { return given_up_; }  // the reason

  // --- what is wrong

  bool wants_words() const { return violation_ != nullptr; }

  // Reports that `keyword` of `node` does not hold. `words()` is called if the violation is wanted.
  // Always returns false.
  template <class Words>
  bool fail(const Node& node, std::string_view keyword, const Place* place, Words words) {
    if (wants_words() && !gave_up()) report(node, keyword, place, words());
    return false;
  }

  // Replaces where violations go, and returns where they went before.
  Violation* redirect(Violation* violation) { return std::exchange(violation_, violation); }

 private:
  bool give_up(std::string_view why) {
    if (!gave_up()) given_up_ = why;
    return false;
  }
  void report(const Node& node, std::string_view keyword, const Place* place,
              const std::string& words);

  const EvaluationLimits limits_;
  Violation* violation_;
  int64_t steps_ = 0;
  int64_t pattern_work_ = 0;
  int levels_ = 0;
  std::string_view given_up_;
};

// Whether the value fulfils the node's rules of this kind. `place` is for the message.
bool fits_type(Judgement& judgement, const Node& node, const Value& value, const Place* place);
bool fits_enum(Judgement& judgement, const Node& node, const Value& value, const Place* place);
// Only for nodes with such rules.
bool fits_number_rules(Judgement& judgement, const Node& node, const Decimal& number,
                       const Place* place);
bool fits_string_rules(Judgement& judgement, const Node& node, const std::string& text,
                       const Place* place);

// Judges one value by a program. Returns nothing if the value is valid. First it only decides; if
// the value is not valid, a second pass finds the words. Pure, any thread; recursive as deep as
// `limits` allow.
std::optional<Violation> evaluate(const Program& program, const Value& value,
                                  const EvaluationLimits& limits = {});

}  // namespace windrow::schema
