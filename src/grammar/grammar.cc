#include "grammar/grammar.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/ensure.h"
#include "grammar/grammar_nodes.h"

namespace windrow::grammar {

struct GrammarBuilder::Parts {
  std::vector<BuilderPart> all;

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
                                                              const GrammarLimits& limits) {
  const uint32_t number = parts_->numbers({root})[0];
  return finish_grammar(std::exchange(parts_->all, {}), number, limits);
}

}  // namespace windrow::grammar
