#include "grammar/grammar_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <optional>
#include <tuple>
#include <utility>

#include "base/ensure.h"

namespace windrow::grammar {
namespace {

using PartKind = BuilderPart::Kind;
using NodeKind = Grammar::Node::Kind;

Error invalid(std::string message) {
  return {ErrorKind::kInvalid, std::move(message)};
}

class Finisher {
 public:
  Finisher(std::vector<BuilderPart> parts, uint32_t root, const GrammarLimits& limits,
           const GiveUp& give_up)
      : parts_(std::move(parts)), root_(root), limits_(limits), give_up_(give_up) {}

  Result<std::shared_ptr<const Grammar>> run() {
    if (parts_.size() > limits_.parts_max) {
      return invalid(fmt::format("the grammar has {} parts; at most {} are allowed", parts_.size(),
                                 limits_.parts_max));
    }
    if (auto undefined = undefined_rule()) {
      return invalid(
          fmt::format("the rule \"{}\" is used, but not defined", parts_[*undefined].text));
    }
    find_parents();
    find_productive();
    if (given_up_) return given_up();
    if (!productive_[root_]) return has_no_text();
    find_distinct();
    find_nullable();
    if (given_up_) return given_up();
    if (auto error = left_recursion()) return *std::move(error);
    return emit();
  }

 private:
  // Asked between steps; the results of those that end because of it are not used.
  bool is_given_up() const {
    if (++steps_ % kStepsBetweenQuestions == 0) given_up_ = given_up_ || !ask(give_up_);
    return given_up_;
  }
  static Error given_up() {
    return {ErrorKind::kUnavailable, "working out the grammar took too long"};
  }

  // --- facts about parts ---

  std::optional<uint32_t> undefined_rule() const {
    std::vector<bool> seen(parts_.size());
    std::vector<uint32_t> todo = {root_};
    seen[root_] = true;
    while (!todo.empty()) {
      const uint32_t part = todo.back();
      todo.pop_back();
      if (parts_[part].kind == PartKind::kRule && parts_[part].children.empty()) return part;
      for (const uint32_t child : parts_[part].children) {
        if (!seen[child]) todo.push_back(child);
        seen[child] = true;
      }
    }
    return std::nullopt;
  }

  void find_parents() {
    parents_from_.assign(parts_.size() + 1, 0);
    for (const BuilderPart& part : parts_) {
      for (const uint32_t child : part.children)
        ++parents_from_[child + 1];
    }
    for (size_t i = 1; i < parents_from_.size(); ++i)
      parents_from_[i] += parents_from_[i - 1];
    parents_.resize(parents_from_.back());
    std::vector<uint32_t> at(parents_from_.begin(), parents_from_.end() - 1);
    for (uint32_t part = 0; part < parts_.size(); ++part) {
      for (const uint32_t child : parts_[part].children)
        parents_[at[child]++] = part;
    }
  }

  // The parts of which `by_itself` says so, and those that follow from them: a sequence when it
  // follows for all of its children, members when `members_hold` says so, anything else when for
  // one child. Each part is looked at as often as it has children.
  template <class ByItself, class MembersHold>
  std::vector<bool> closure(const ByItself& by_itself, const MembersHold& members_hold) const {
    std::vector<bool> holds(parts_.size());
    std::vector<uint32_t> missing(parts_.size());
    std::vector<uint32_t> todo;
    for (uint32_t part = 0; part < parts_.size(); ++part) {
      missing[part] = parts_[part].kind == PartKind::kSequence
                          ? static_cast<uint32_t>(parts_[part].children.size())
                          : 1;
      if (missing[part] > 0 && !by_itself(parts_[part])) continue;
      holds[part] = true;
      todo.push_back(part);
    }
    while (!todo.empty() && !is_given_up()) {
      const uint32_t part = todo.back();
      todo.pop_back();
      for (uint32_t i = parents_from_[part]; i < parents_from_[part + 1]; ++i) {
        const uint32_t parent = parents_[i];
        if (holds[parent]) continue;
        if (parts_[parent].kind == PartKind::kMembers ? !members_hold(parent, holds)
                                                      : --missing[parent] > 0)
          continue;
        holds[parent] = true;
        todo.push_back(parent);
      }
    }
    return holds;
  }

  static bool may_be_none(const BuilderPart& part) {
    return part.min == 0 && (part.kind == PartKind::kRepeat || (part.kind == PartKind::kMembers &&
                                                                part.members->required_count == 0));
  }

  void find_productive() {
    MembersProgress progress(parts_.size());
    productive_ = closure(
        [](const BuilderPart& part) {
          return part.kind == PartKind::kText || may_be_none(part) ||
                 (part.kind == PartKind::kLexeme && !part.dfa->accepting.empty() &&
                  (part.counted == nullptr || !part.counted->empty()));
        },
        [&](uint32_t part, const std::vector<bool>& holds) {
          return members_have_text(parts_[part], holds, progress.held[part], progress.at[part]);
        });
  }

  // By part: how many of its children have a text, and before which one none is missing.
  struct MembersProgress {
    explicit MembersProgress(size_t parts_count) : held(parts_count), at(parts_count) {}

    std::vector<uint32_t> held;
    std::vector<uint32_t> at;
  };

  // Whether enough members have a text, once one more child has. The separator is needed in any
  // case.
  bool members_have_text(const BuilderPart& part, const std::vector<bool>& holds, uint32_t& held,
                         uint32_t& at) const {
    const BuilderPart::Members& members = *part.members;
    ++held;
    const uint32_t first = members.has_other ? 1 : 0;
    const auto is_needed = [&](uint32_t child) {
      return child >= first && (child - first >= members.required.size() ||  // the separator
                                members.required[child - first]);
    };
    while (at < part.children.size() && (!is_needed(at) || holds[part.children[at]]))
      ++at;
    if (at < part.children.size() || members.required_count > part.max) return false;
    const uint64_t needed = uint64_t{part.min} + (members.has_separator ? 1 : 0);
    if (!members.has_other || !holds[part.children[0]]) return held >= needed;
    return uint64_t{held} + members.other_max > needed;
  }

  // A part without a text is never nullable: nothing that it needs is.
  void find_nullable() {
    nullable_ = closure(
        [](const BuilderPart& part) {
          return (part.kind == PartKind::kText && part.text.empty()) || may_be_none(part) ||
                 (part.kind == PartKind::kLexeme && !part.dfa->accepting.empty() &&
                  (part.counted == nullptr ? part.dfa->accepting[0]
                                           : part.counted->accepts(CountedDfa::kFirst)));
        },
        [](uint32_t, const std::vector<bool>&) { return false; });
  }

  void find_distinct() {
    for (const uint32_t part : reachable())
      grammar_->has_distinct |= parts_[part].is_distinct;
  }

  Error has_no_text() const {
    std::vector<bool> seen(parts_.size());
    std::vector<uint32_t> todo = {root_};
    while (!todo.empty()) {
      const uint32_t part = todo.back();
      todo.pop_back();
      if (seen[part] || productive_[part]) continue;
      seen[part] = true;
      if (parts_[part].kind == PartKind::kRule) {
        return invalid(
            fmt::format("the rule \"{}\" has no text: it never ends, or asks for "
                        "something that cannot be",
                        parts_[part].text));
      }
      todo.insert(todo.end(), parts_[part].children.rbegin(), parts_[part].children.rend());
    }
    return invalid("no text at all is allowed here");
  }

  // The children with which a text of the part may begin.
  size_t first_children(const BuilderPart& part) const {
    if (part.kind == PartKind::kRepeat && part.max == 0) return 0;
    if (part.kind == PartKind::kMembers) return part.members->has_other ? 1 : 0;
    if (part.kind != PartKind::kSequence) return part.children.size();
    size_t count = 0;
    while (count < part.children.size()) {
      if (!nullable_[part.children[count++]]) break;
    }
    return count;
  }

  // Depth first, by hand: grammars may be deep.
  std::optional<Error> left_recursion() const {
    enum class Mark : uint8_t { kNew, kOpen, kDone };
    struct Visit {
      uint32_t part;
      size_t next;
    };
    std::vector<Mark> marks(parts_.size(), Mark::kNew);
    for (const uint32_t start : reachable()) {
      if (marks[start] != Mark::kNew) continue;
      std::vector<Visit> path = {{start, 0}};
      marks[start] = Mark::kOpen;
      while (!path.empty()) {
        auto& [part, next] = path.back();
        if (next == first_children(parts_[part])) {
          marks[part] = Mark::kDone;
          path.pop_back();
          continue;
        }
        const uint32_t child = parts_[part].children[next++];
        if (!productive_[child] || marks[child] == Mark::kDone) continue;
        if (marks[child] == Mark::kNew) {
          marks[child] = Mark::kOpen;
          path.push_back({child, 0});
          continue;
        }
        std::vector<uint32_t> circle;
        for (size_t i = path.size(); i-- > 0 && path[i].part != child;)
          circle.push_back(path[i].part);
        circle.push_back(child);
        std::reverse(circle.begin(), circle.end());
        return recursion_error(circle);
      }
    }
    return std::nullopt;
  }

  Error recursion_error(const std::vector<uint32_t>& circle) const {
    std::vector<std::string> names;  // without a rule there is no circle
    for (const uint32_t part : circle) {
      if (parts_[part].kind == PartKind::kRule) names.push_back(parts_[part].text);
    }
    if (names.size() == 1) {
      return invalid(
          fmt::format("the rule \"{}\" begins with itself (left recursion); write it as "
                      "a repetition",
                      names[0]));
    }
    std::string way;
    for (size_t i = 1; i < std::min<size_t>(names.size(), 5); ++i)
      way += fmt::format("{}\"{}\"", i == 1 ? "" : ", ", names[i]);
    return invalid(
        fmt::format("the rule \"{}\" begins with itself (left recursion, by way of "
                    "{}{}); write it as a repetition",
                    names[0], way, names.size() > 5 ? ", ..." : ""));
  }

  // From the root, in the order of the text; without parts that have no text.
  std::vector<uint32_t> reachable() const {
    std::vector<bool> seen(parts_.size());
    std::vector<uint32_t> found;
    std::vector<uint32_t> todo = {root_};
    while (!todo.empty()) {
      const uint32_t part = todo.back();
      todo.pop_back();
      if (seen[part] || !productive_[part]) continue;
      seen[part] = true;
      found.push_back(part);
      todo.insert(todo.end(), parts_[part].children.rbegin(), parts_[part].children.rend());
    }
    return found;
  }

  // --- the grammar ---

  uint32_t resolved(uint32_t part) const {
    while (parts_[part].kind == PartKind::kRule ||
           (parts_[part].kind == PartKind::kContainer && !grammar_->has_distinct))
      part = parts_[part].children[0];
    return part;
  }

  Result<std::shared_ptr<const Grammar>> emit() {
    node_of_.assign(parts_.size(), kNone);
    node_for(resolved(root_));
    for (size_t i = 0; i < order_.size(); ++i) {  // order_ grows inside
      fill(static_cast<uint32_t>(i));
      if (too_large()) break;
      if (is_given_up()) return given_up();
    }
    add_names();
    if (too_large()) {
      return invalid(fmt::format("the grammar needs more than {} MiB; at most that is allowed",
                                 limits_.bytes_max >> 20));
    }
    grammar_->bytes = bytes();
    return std::shared_ptr<const Grammar>(std::move(grammar_));
  }

  size_t bytes() const {
    return sizeof(Grammar) + grammar_->nodes.capacity() * sizeof(Grammar::Node) +
           grammar_->children.capacity() * sizeof(uint32_t) + grammar_->texts.memory_bytes() +
           grammar_->names.capacity() * sizeof(TextTrie::Range) + members_bytes_ + automata_bytes_;
  }
  bool too_large() const { return bytes() > limits_.bytes_max; }

  // The part's node; its content follows in fill().
  uint32_t node_for(uint32_t part) {
    if (node_of_[part] == kNone) node_of_[part] = new_node(part);
    return node_of_[part];
  }

  uint32_t new_node(uint32_t part) {
    grammar_->nodes.push_back({.nullable = part != kNone && nullable_[part]});
    order_.push_back(part);
    return static_cast<uint32_t>(grammar_->nodes.size() - 1);
  }

  // Texts that have no part of their own.
  uint32_t texts_node(std::vector<std::string> texts) {
    const uint32_t node = new_node(kNone);
    Grammar::Node& made = grammar_->nodes[node];
    made.kind = NodeKind::kTexts;
    made.nullable = std::find(texts.begin(), texts.end(), "") != texts.end();
    made.first = grammar_->texts.add(std::move(texts));
    return node;
  }

  void fill(uint32_t node) {
    if (order_[node] == kNone) return;
    const BuilderPart& part = parts_[order_[node]];
    switch (part.kind) {
      case PartKind::kText:
        if (part.text.empty()) return;  // a sequence of none
        grammar_->nodes[node].kind = NodeKind::kTexts;
        grammar_->nodes[node].first = grammar_->texts.add({part.text});
        return;
      case PartKind::kLexeme:
        grammar_->nodes[node].kind = NodeKind::kLexeme;
        grammar_->nodes[node].first = automaton(part);
        return;
      case PartKind::kSequence:
        return set_children(node, NodeKind::kSequence, sequence_children(part));
      case PartKind::kChoice:
        return set_children(node, NodeKind::kChoice, choice_children(part));
      case PartKind::kRepeat:
        if (!productive_[part.children[0]] || part.max == 0) return;
        set_children(node, NodeKind::kRepeat, {node_for(resolved(part.children[0]))});
        grammar_->nodes[node].min = nullable_[part.children[0]] ? 0 : part.min;
        grammar_->nodes[node].max = part.max;
        return;
      case PartKind::kMembers:
        return fill_members(node, part);
      case PartKind::kContainer:
        return set_children(node, NodeKind::kContainer, {node_for(resolved(part.children[0]))});
      case PartKind::kRule:
        return;  // resolved before
    }
  }

  void set_children(uint32_t node, NodeKind kind, const std::vector<uint32_t>& children) {
    Grammar::Node& made = grammar_->nodes[node];
    made.kind = kind;
    made.first = static_cast<uint32_t>(grammar_->children.size());
    made.count = static_cast<uint32_t>(children.size());
    grammar_->children.insert(grammar_->children.end(), children.begin(), children.end());
  }

  // Without members that have no value; none of them is required.
  void fill_members(uint32_t node, const BuilderPart& part) {
    const BuilderPart::Members& given = *part.members;
    Grammar::Members made;
    std::vector<std::string> names;
    std::vector<uint32_t> children;
    size_t at = 0;
    if (given.has_other) {
      const uint32_t other = part.children[at++];
      ENSURE(!nullable_[other], "members may be empty");
      made.has_other = productive_[other] && given.other_max > 0;
      made.other_max = given.other_max;
      if (made.has_other) children.push_back(node_for(resolved(other)));
    }
    for (size_t i = 0; i < given.names.size(); ++i) {
      const uint32_t value = part.children[at++];
      if (!productive_[value]) continue;
      if (names.size() % 32 == 0) made.required.push_back(0);
      if (given.required[i]) made.required.back() |= 1U << (names.size() % 32);
      if (!given.ranks.empty()) {
        made.in_order.push_back(static_cast<uint32_t>(names.size()));
        made.ranks.push_back(given.ranks[i]);
      }
      names.push_back(given.names[i]);
      children.push_back(node_for(resolved(value)));
    }
    // Members that are left get their places without gaps.
    std::ranges::sort(made.in_order, {}, [&](uint32_t member) { return made.ranks[member]; });
    for (uint32_t rank = 0; rank < made.in_order.size(); ++rank)
      made.ranks[made.in_order[rank]] = rank;
    made.count = static_cast<uint32_t>(names.size());
    made.required_count = given.required_count;
    made.has_separator = given.has_separator;
    if (given.has_separator) {
      const uint32_t separator = part.children[at++];
      ENSURE(productive_[separator] && !nullable_[separator], "a separator without a text");
      children.push_back(node_for(resolved(separator)));
    }
    set_children(node, NodeKind::kMembers, children);
    Grammar::Node& filled = grammar_->nodes[node];
    filled.min = part.min;
    filled.max = part.max;
    filled.members = static_cast<uint32_t>(grammar_->members.size());
    members_bytes_ +=
        sizeof(made) + (made.required.size() + 2 * made.in_order.size()) * sizeof(uint32_t);
    grammar_->members.push_back(std::move(made));
    names_of_members_.push_back(std::move(names));
  }

  // Behind all other texts, so that a node of the tree tells whether it is within a name.
  void add_names() {
    grammar_->names_from = grammar_->texts.nodes_count();
    for (size_t i = 0; i < names_of_members_.size() && !too_large(); ++i) {
      if (names_of_members_[i].empty()) continue;
      grammar_->members[i].names =
          grammar_->texts.add(std::move(names_of_members_[i]), &grammar_->names);
    }
  }

  // Texts beside each other become one.
  std::vector<uint32_t> sequence_children(const BuilderPart& part) {
    std::vector<uint32_t> children;
    std::string text;
    const auto end_text = [&] {
      if (!text.empty()) children.push_back(texts_node({std::exchange(text, {})}));
    };
    for (size_t i = 0; i < part.children.size(); ++i) {
      const uint32_t child = resolved(part.children[i]);
      if (parts_[child].kind == PartKind::kText) {
        text += parts_[child].text;
      } else {
        end_text();
        children.push_back(node_for(child));
      }
    }
    end_text();
    return children;
  }

  // Texts become one tree, so that of a thousand words only one is looked at.
  std::vector<uint32_t> choice_children(const BuilderPart& part) {
    std::vector<uint32_t> children;
    std::vector<std::string> texts;
    for (const uint32_t unresolved : part.children) {
      if (!productive_[unresolved]) continue;
      const uint32_t child = resolved(unresolved);
      if (parts_[child].kind == PartKind::kText) {
        texts.push_back(parts_[child].text);
      } else {
        children.push_back(node_for(child));
      }
    }
    if (!texts.empty()) children.push_back(texts_node(std::move(texts)));
    return children;
  }

  uint32_t automaton(const BuilderPart& part) {
    const std::shared_ptr<const ByteDfa>& dfa = part.dfa;
    const auto [found, added] =
        automaton_of_.try_emplace(std::tuple(dfa.get(), part.counted.get(), part.is_distinct),
                                  static_cast<uint32_t>(grammar_->automata.size()));
    if (!added) return found->second;
    // Several counts may share one automaton.
    if (charged_.insert(dfa.get()).second) {
      automata_bytes_ += sizeof(ByteDfa) + dfa->next_of.size() * sizeof(ByteDfa::State) +
                         dfa->accepting.size() / 8;
    }
    if (part.counted != nullptr) automata_bytes_ += part.counted->memory_bytes();
    grammar_->automata.push_back(dfa);
    grammar_->counted.push_back(part.counted);
    grammar_->is_distinct.push_back(part.is_distinct);
    return found->second;
  }

  static constexpr uint32_t kNone = UINT32_MAX;

  std::vector<BuilderPart> parts_;
  static constexpr size_t kStepsBetweenQuestions = 1 << 12;

  uint32_t root_;
  GrammarLimits limits_;
  const GiveUp& give_up_;
  mutable size_t steps_ = 0;
  mutable bool given_up_ = false;

  std::vector<uint32_t> parents_;
  std::vector<uint32_t> parents_from_;
  std::vector<bool> productive_;
  std::vector<bool> nullable_;

  std::shared_ptr<Grammar> grammar_ = std::make_shared<Grammar>();
  std::vector<uint32_t> node_of_;  // by part
  std::vector<uint32_t> order_;    // the part of a node
  boost::unordered_flat_map<std::tuple<const ByteDfa*, const CountedDfa*, bool>, uint32_t>
      automaton_of_;
  boost::unordered_flat_set<const ByteDfa*> charged_;
  size_t automata_bytes_ = 0;
  std::vector<std::vector<std::string>> names_of_members_;  // as Grammar::members
  size_t members_bytes_ = 0;
};

}  // namespace

Result<std::shared_ptr<const Grammar>> finish_grammar(std::vector<BuilderPart> parts, uint32_t root,
                                                      const GrammarLimits& limits,
                                                      const GiveUp& give_up) {
  return Finisher(std::move(parts), root, limits, give_up).run();
}

}  // namespace windrow::grammar
