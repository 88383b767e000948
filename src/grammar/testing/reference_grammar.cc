#include "grammar/testing/reference_grammar.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace windrow::grammar::testing {
namespace {

using Kind = ReferenceGrammar::Kind;
using Ends = uint64_t;  // bit i: it may end before byte i

Ends bit(size_t i) {
  return Ends{1} << i;
}

class Matching {
 public:
  Matching(const ReferenceGrammar& grammar, std::string_view text)
      : grammar_(grammar),
        text_(text),
        ends_(grammar.parts.size(), std::vector<Ends>(text.size() + 1)) {}

  bool run() {
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t part = 0; part < ends_.size(); ++part) {
        for (size_t from = 0; from <= text_.size(); ++from) {
          const Ends found = find(grammar_.parts[part], from);
          changed |= found != ends_[part][from];
          ends_[part][from] = found;
        }
      }
    }
    return (ends_[grammar_.root][0] & bit(text_.size())) != 0;
  }

 private:
  Ends word(std::string_view word, size_t from) const {
    return text_.substr(from).starts_with(word) ? bit(from + word.size()) : 0;
  }

  Ends behind(Ends places, size_t part) const {
    Ends ends = 0;
    for (size_t i = 0; i <= text_.size(); ++i) {
      if ((places & bit(i)) != 0) ends |= ends_[part][i];
    }
    return ends;
  }

  Ends find(const ReferenceGrammar::Part& part, size_t from) const {
    Ends ends = 0;
    switch (part.kind) {
      case Kind::kText:
        return word(part.text, from);
      case Kind::kWords:
        for (const std::string& each : part.words)
          ends |= word(each, from);
        return ends;
      case Kind::kLoop:
        for (size_t i = from;; ++i) {
          ends |= bit(i);
          if (i == text_.size() || part.text.find(text_[i]) == std::string::npos) return ends;
        }
      case Kind::kSequence:
        ends = bit(from);
        for (const size_t child : part.children)
          ends = behind(ends, child);
        return ends;
      case Kind::kChoice:
      case Kind::kRule:
        for (const size_t child : part.children)
          ends |= ends_[child][from];
        return ends;
      case Kind::kRepeat: {
        Ends places = bit(from);
        // More times than there are bytes add nothing: at most one round of them is empty.
        const uint32_t most = std::min(part.max.value_or(UINT32_MAX),
                                       part.min + static_cast<uint32_t>(text_.size()) + 1);
        for (uint32_t times = 0;; ++times) {
          if (times >= part.min) ends |= places;
          if (times == most) return ends;
          places = behind(places, part.children[0]);
        }
      }
    }
    return ends;
  }

  const ReferenceGrammar& grammar_;
  std::string_view text_;
  std::vector<std::vector<Ends>> ends_;  // [part][from]
};

}  // namespace

bool ReferenceGrammar::contains(std::string_view text) const {
  return Matching(*this, text).run();
}

std::shared_ptr<const ByteDfa> loop_dfa(std::string_view bytes) {
  auto dfa = std::make_shared<ByteDfa>();
  dfa->classes_count = 2;
  for (const char byte : bytes)
    dfa->class_of[static_cast<uint8_t>(byte)] = 1;
  dfa->next_of = {ByteDfa::kDead, 0};
  dfa->accepting = {true};
  return dfa;
}

Result<std::shared_ptr<const Grammar>> ReferenceGrammar::build() const {
  GrammarBuilder builder;
  std::vector<windrow::grammar::Part> made(parts.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].kind == Kind::kRule) made[i] = builder.rule(fmt::format("rule{}", i));
  }
  std::vector<bool> done(parts.size());
  // Children of a part that is no rule come before it, or are rules.
  for (size_t i = 0; i < parts.size(); ++i) {
    const Part& part = parts[i];
    std::vector<windrow::grammar::Part> children;
    for (const size_t child : part.children)
      children.push_back(made[child]);
    switch (part.kind) {
      case Kind::kText:
        made[i] = builder.text(part.text);
        break;
      case Kind::kWords: {
        const std::vector<std::string_view> words(part.words.begin(), part.words.end());
        made[i] = builder.lexeme(utf8_dfa(CharDfa::literals(words)));
        break;
      }
      case Kind::kLoop:
        made[i] = builder.lexeme(loop_dfa(part.text));
        break;
      case Kind::kSequence:
        made[i] = builder.sequence(children);
        break;
      case Kind::kChoice:
        made[i] = builder.choice(children);
        break;
      case Kind::kRepeat:
        made[i] = builder.repeat(children[0], part.min, part.max);
        break;
      case Kind::kRule:
        break;
    }
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].kind == Kind::kRule) builder.define(made[i], made[parts[i].children[0]]);
  }
  return builder.finish(made[root]);
}

std::string ReferenceGrammar::describe() const {
  static constexpr std::string_view kNames[] = {"text",   "words",  "loop", "sequence",
                                                "choice", "repeat", "rule"};
  std::string all;
  for (size_t i = 0; i < parts.size(); ++i) {
    const Part& part = parts[i];
    all += fmt::format("{}: {} \"{}\" [{}] of {}", i, kNames[static_cast<size_t>(part.kind)],
                       part.text, fmt::join(part.words, "|"), fmt::join(part.children, " "));
    if (part.kind == Kind::kRepeat)
      all += fmt::format(" {{{},{}}}", part.min, part.max ? fmt::to_string(*part.max) : "");
    all += '\n';
  }
  return all + fmt::format("root {}\n", root);
}

ReferenceGrammar random_grammar(Random& random) {
  ReferenceGrammar grammar;
  const auto word = [&] {
    std::string text;
    for (uint64_t left = random.below(3); left > 0; --left)
      text += random.chance(0.5) ? 'a' : 'b';
    return text;
  };
  const size_t rules = random.below(4);
  for (size_t i = 0; i < rules; ++i)
    grammar.parts.push_back({.kind = Kind::kRule});
  const size_t others = 3 + random.below(10);
  for (size_t i = 0; i < others; ++i) {
    ReferenceGrammar::Part part;
    part.kind = static_cast<Kind>(random.below(6));
    if (grammar.parts.empty() && part.kind > Kind::kLoop) part.kind = Kind::kText;
    const auto child = [&] { return random.below(grammar.parts.size()); };
    switch (part.kind) {
      case Kind::kText:
        part.text = word();
        break;
      case Kind::kWords:
        for (uint64_t left = 1 + random.below(3); left > 0; --left)
          part.words.push_back(word());
        break;
      case Kind::kLoop:
        part.text = random.chance(0.5) ? "a" : "ab";
        break;
      case Kind::kSequence:
        for (uint64_t left = random.below(4); left > 0; --left)
          part.children.push_back(child());
        break;
      case Kind::kChoice:
        for (uint64_t left = 1 + random.below(3); left > 0; --left)
          part.children.push_back(child());
        break;
      case Kind::kRepeat:
        part.children.push_back(child());
        part.min = static_cast<uint32_t>(random.below(3));
        if (random.chance(0.6)) part.max = part.min + static_cast<uint32_t>(random.below(3));
        break;
      case Kind::kRule:
        break;
    }
    grammar.parts.push_back(std::move(part));
  }
  for (size_t i = 0; i < rules; ++i)
    grammar.parts[i].children = {rules + random.below(others)};
  grammar.root = grammar.parts.size() - 1;
  return grammar;
}

}  // namespace windrow::grammar::testing
