#include "grammar/grammar.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "base/ensure.h"
#include "grammar/grammar_nodes.h"
#include "grammar/lexeme/byte_dfa.h"
#include "grammar/lexeme/distinct_texts.h"
#include "grammar/lexeme/regex.h"

namespace windrow::grammar {

struct GrammarBuilder::Parts {
  std::vector<BuilderPart> all;
  std::map<std::shared_ptr<const ByteDfa>, Part> distinct;  // each automaton is there once

  Part add(BuilderPart part) {
    all.push_back(std::move(part));
    return Part(static_cast<uint32_t>(all.size() - 1));
  }

  std::vector<uint32_t> numbers(const std::vector<Part>& parts) const {
    std::vector<uint32_t> numbers;
    numbers.reserve(parts.size());
    for (const Part part : parts) {
      ENSURE(part.value() < all.size(), "part {} of {}", part.value(), all.size());
      numbers.push_back(part.value());
    }
    return numbers;
  }
};

GrammarBuilder::GrammarBuilder() : parts_(std::make_unique<Parts>()) {}
GrammarBuilder::~GrammarBuilder() = default;

Part GrammarBuilder::nothing() {
  return text("");
}

Part GrammarBuilder::text(std::string_view bytes) {
  return parts_->add({.kind = BuilderPart::Kind::kText, .text = std::string(bytes)});
}

Part GrammarBuilder::lexeme(std::shared_ptr<const ByteDfa> dfa) {
  return parts_->add({.kind = BuilderPart::Kind::kLexeme, .dfa = std::move(dfa)});
}

Part GrammarBuilder::lexeme(std::shared_ptr<const CountedDfa> dfa) {
  std::shared_ptr<const ByteDfa> uncounted = dfa->dfa();
  return parts_->add(
      {.kind = BuilderPart::Kind::kLexeme, .dfa = std::move(uncounted), .counted = std::move(dfa)});
}

Part GrammarBuilder::distinct_lexeme(std::shared_ptr<const ByteDfa> dfa) {
  const auto [found, is_new] = parts_->distinct.try_emplace(dfa);
  if (!is_new) return found->second;
  ENSURE(dfa->accepting.empty() || !dfa->accepting[0], "the empty text is no distinct lexeme");
  found->second = parts_->add(
      {.kind = BuilderPart::Kind::kLexeme, .is_distinct = true, .dfa = with_first_state(dfa)});
  return found->second;
}

Part GrammarBuilder::container(Part body) {
  return parts_->add({.kind = BuilderPart::Kind::kContainer, .children = parts_->numbers({body})});
}

Part GrammarBuilder::sequence(std::vector<Part> parts) {
  return parts_->add({.kind = BuilderPart::Kind::kSequence, .children = parts_->numbers(parts)});
}

Part GrammarBuilder::choice(std::vector<Part> parts) {
  ENSURE(!parts.empty(), "a choice between nothing");
  return parts_->add({.kind = BuilderPart::Kind::kChoice, .children = parts_->numbers(parts)});
}

Part GrammarBuilder::repeat(Part body, uint32_t min, std::optional<uint32_t> max) {
  ENSURE(!max || min <= *max, "at least {} times, but at most {}", min, *max);
  return parts_->add({.kind = BuilderPart::Kind::kRepeat,
                      .children = parts_->numbers({body}),
                      .min = min,
                      .max = max.value_or(Grammar::kUnbounded)});
}

Part GrammarBuilder::members(Members members) {
  ENSURE(!members.count_max || members.count_min <= *members.count_max,
         "at least {} members, but at most {}", members.count_min, *members.count_max);
  ENSURE(!members.in_order || (members.count_min == 0 && !members.count_max),
         "members in an order are counted");
  auto of_part = std::make_shared<BuilderPart::Members>();
  std::vector<uint32_t> order(members.named.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, {},
                    [&](uint32_t i) -> const std::string& { return members.named[i].name; });
  of_part->has_other = members.other.has_value();
  of_part->other_max = members.other_max.value_or(Grammar::kUnbounded);
  of_part->has_separator = members.separator.has_value();
  std::vector<Part> children;
  if (members.other) children.push_back(*members.other);
  for (const uint32_t number : order) {
    NamedPart& member = members.named[number];
    ENSURE(!member.name.empty(), "a member without a name");
    ENSURE(of_part->names.empty() || of_part->names.back() != member.name,
           "two members have the name {}", member.name);
    of_part->names.push_back(std::move(member.name));
    of_part->required.push_back(member.required);
    if (members.in_order) of_part->ranks.push_back(number);
    if (member.required) ++of_part->required_count;
    children.push_back(member.value);
  }
  if (members.separator) children.push_back(*members.separator);
  return parts_->add({.kind = BuilderPart::Kind::kMembers,
                      .children = parts_->numbers(children),
                      .min = members.count_min,
                      .max = members.count_max.value_or(Grammar::kUnbounded),
                      .members = std::move(of_part)});
}

Part GrammarBuilder::rule(std::string name) {
  return parts_->add({.kind = BuilderPart::Kind::kRule, .text = std::move(name)});
}

void GrammarBuilder::define(Part rule, Part body) {
  const std::vector<uint32_t> numbers = parts_->numbers({rule, body});
  BuilderPart& part = parts_->all[numbers[0]];
  ENSURE(part.kind == BuilderPart::Kind::kRule, "a part that is no rule is defined");
  ENSURE(part.children.empty(), "the rule {} is defined twice", part.text);
  part.children.push_back(numbers[1]);
}

size_t GrammarBuilder::parts_count() const {
  return parts_->all.size();
}

Result<std::shared_ptr<const Grammar>> GrammarBuilder::finish(Part root,
                                                              const GrammarLimits& limits,
                                                              const GiveUp& give_up) {
  const uint32_t number = parts_->numbers({root})[0];
  parts_->distinct.clear();
  return finish_grammar(std::exchange(parts_->all, {}), number, limits, give_up);
}

Result<Part> choice_part(GrammarBuilder& builder, std::span<const std::string> texts,
                         const GrammarLimits& limits) {
  if (texts.empty())
    return Error{ErrorKind::kInvalid, "there are no choices; give at least one text"};
  size_t bytes = 0;
  for (const std::string& text : texts)
    bytes += text.size();
  if (bytes > limits.bytes_max || texts.size() > limits.parts_max) {
    return Error{
        ErrorKind::kInvalid,
        fmt::format("{} choices of {} bytes are too many; at most {} of {} MiB are allowed",
                    texts.size(), bytes, limits.parts_max, limits.bytes_max >> 20)};
  }
  std::vector<Part> parts;
  parts.reserve(texts.size());
  for (const std::string& text : texts)
    parts.push_back(builder.text(text));
  return builder.choice(std::move(parts));
}

Result<Part> regex_part(GrammarBuilder& builder, std::string_view pattern) {
  const Result<CharDfa> dfa = regex_dfa(pattern, RegexMeaning::kWhole);
  if (!dfa) return dfa.error();
  if (dfa->empty()) return Error{ErrorKind::kInvalid, "no text matches this regular expression"};
  return builder.lexeme(utf8_dfa(*dfa));
}

}  // namespace windrow::grammar
