// StructuredTexts: the arrays and objects of a node as one regular set of texts, in which equal
// values have equal texts: members in the order of the schema, scalars in one spelling each. For
// items that must differ. Used by one thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "grammar/lexeme/range_nfa.h"
#include "grammar/schema/conjunctions.h"
#include "grammar/schema/json_parts.h"

namespace windrow::grammar {

class StructuredTexts {
 public:
  // The texts of the values of a shape that are scalars, or that an enum names.
  using Scalars = std::function<Result<CharDfa>(const Node& shape)>;

  // All outlive this.
  StructuredTexts(Conjunctions& conjunctions, const JsonParts& parts, Scalars scalars)
      : conjunctions_(conjunctions), parts_(parts), scalars_(std::move(scalars)) {}

  // All texts of a node that is possible, of items of the array at `pointer`. kInvalid, with the
  // pointer: objects that may have undeclared members, what counts, refers to itself or may be
  // anything, too many states.
  Result<CharDfa> texts(NodeId id, std::string_view pointer);

  // The names of the members of each object, as they come.
  const std::vector<std::vector<std::string>>& orders() const { return orders_; }

 private:
  using State = RangeNfa::State;

  Result<void> add(NodeId id, State from, State to);
  Result<void> add_shape(const Node& node, State from, State to);
  Result<void> add_object(const Node& node, State from, State to);
  Result<void> add_array(const Node& node, State from, State to);
  Result<State> add_item(const Terms& terms, bool is_first, State from);
  void add_texts(const CharDfa& texts, State from, State to);
  void add_text(std::string_view text, State from, State to);
  State after_text(std::string_view text, State from);

  Conjunctions& conjunctions_;
  const JsonParts& parts_;
  Scalars scalars_;
  RangeNfa nfa_;
  NodeId anything_;
  std::string holder_;               // the place of what holds the value that is added
  std::unordered_set<NodeId> open_;  // being added
  std::vector<std::vector<std::string>> orders_;
};

}  // namespace windrow::grammar
