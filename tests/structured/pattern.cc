#include "structured/pattern.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "structured/words.h"

namespace windrow::structured {

struct Pattern::Node {
  enum class Kind : uint8_t { kText, kClass, kSequence, kEither, kRepeat };

  Kind kind = Kind::kText;
  std::string text;                     // kText: itself; kClass: as it is written
  std::vector<std::string> characters;  // kClass: some that are in it
  std::vector<std::shared_ptr<const Node>> parts;
  uint64_t min = 0;  // kRepeat
  uint64_t max = 0;
  std::string quantifier;
};

namespace {

using Node = Pattern::Node;
using NodePtr = std::shared_ptr<const Node>;

std::vector<std::string> letters(std::string_view from) {
  std::vector<std::string> all;
  for (const char letter : from)
    all.emplace_back(1, letter);
  return all;
}

struct CharacterClass {
  std::string_view written;
  std::vector<std::string> characters;
};

const std::vector<CharacterClass>& plain_classes() {
  static const std::vector<CharacterClass> classes{
      {"[a-z]", letters("abcdefghijklmnopqrstuvwxyz")},
      {"[A-Z]", letters("ABCDEFGHIJKLMNOPQRSTUVWXYZ")},
      {"[0-9]", letters("0123456789")},
      {"\\d", letters("0123456789")},
      {"[A-Za-z0-9]", letters("azAZ09mM5")},
      {"[a-z0-9]", letters("az09k4")},
      {"[A-Fa-f0-9]", letters("afAF09cD7")},
      {"\\w", letters("azAZ09_x")},
      {"[a-z_]", letters("abxyz_")},
      {"[A-Z0-9]", letters("AZQ059")},
  };
  return classes;
}

const std::vector<CharacterClass>& hard_classes() {
  static const std::vector<CharacterClass> classes{
      {".", {"a", "Z", "é", "漢", "🙂", "\"", "\\", "/", " "}},
      {"[^\"\\\\]", {"a", "'", "ß", "字", " "}},
      {"[^a-z]", {"A", "0", "é", "🚀", "-", "\""}},
      {"[À-ÿ]", {"À", "é", "ÿ", "ß"}},
      {"[\\u4e00-\\u9fff]", {"一", "漢", "字"}},
      {"[\\u{1F600}-\\u{1F64F}]", {"😀", "🙂", "🙏"}},
      {"[\\s]", {" ", "\t", "\n"}},
      {"\\S", {"x", "é", "\"", "🙂"}},
      {"[\\w.-]", {"a", "_", ".", "-", "9"}},
      {"[^\\d\\s]", {"x", "é", "\\"}},
      {"\\D", {"x", "é", "\""}},
  };
  return classes;
}

NodePtr text_node(std::string text) {
  return std::make_shared<Node>(Node{.kind = Node::Kind::kText, .text = std::move(text)});
}

NodePtr class_node(Random& random, bool hard) {
  const CharacterClass& one =
      pick(random, hard && random.chance(0.4) ? hard_classes() : plain_classes());
  return std::make_shared<Node>(Node{
      .kind = Node::Kind::kClass, .text = std::string(one.written), .characters = one.characters});
}

// One expression being made. Engines that go back and forth take powers of a text's length for
// repetitions without an end that stand side by side or within each other, so there are few.
struct Making {
  Random& random;
  bool hard = false;
  int endless = 2;  // repetitions without a maximum that are left
};

NodePtr repeat_node(Making& making, NodePtr body) {
  Random& random = making.random;
  Node node{.kind = Node::Kind::kRepeat, .parts = {std::move(body)}};
  if (node.parts[0]->kind != Node::Kind::kClass) {
    node.min = random.below(2);
    node.max = node.min + random.below(3);
    node.quantifier = fmt::format("{{{},{}}}", node.min, node.max);
    if (node.min == 0 && node.max == 1) node.quantifier = "?";
    return std::make_shared<Node>(std::move(node));
  }
  if (making.endless > 0 && random.chance(0.5)) {
    --making.endless;
    node.min = random.below(4);
    node.max = node.min + 8;
    node.quantifier = node.min == 0 ? "*" : node.min == 1 ? "+" : fmt::format("{{{},}}", node.min);
    return std::make_shared<Node>(std::move(node));
  }
  node.min = random.below(8);
  node.max = node.min + random.below(random.chance(0.3) ? 20 : 2);
  node.quantifier = node.min == node.max ? fmt::format("{{{}}}", node.min)
                                         : fmt::format("{{{},{}}}", node.min, node.max);
  return std::make_shared<Node>(std::move(node));
}

std::string literal(Random& random) {
  static constexpr auto kLiterals = std::to_array<std::string_view>(
      {"-", "_", ".", ":",  "/",    "ID", "SKU-", "v", "INV", "#", "+", "@", "%", "(",
       ")", "T", "Q", "DE", "ref:", "$",  "*",    "[", "]",   "{", "|", "^", "ä", "№"});
  return std::string(pick(random, std::span<const std::string_view>(kLiterals)));
}

NodePtr sequence(Making& making, int depth);

NodePtr piece(Making& making, int depth) {
  Random& random = making.random;
  const uint64_t draw = random.below(10);
  if (draw < 3) return text_node(literal(random));
  if (draw < 8 || depth <= 0) return repeat_node(making, class_node(random, making.hard));
  NodePtr body;
  if (draw == 8) {
    Node either{.kind = Node::Kind::kEither};
    for (uint64_t ways = random.below(4) + 2; ways > 0; --ways) {
      either.parts.push_back(random.chance(0.6) ? text_node(literal(random) + literal(random))
                                                : sequence(making, depth - 1));
    }
    body = std::make_shared<Node>(std::move(either));
  } else {
    body = sequence(making, depth - 1);
  }
  return making.hard || random.chance(0.3) ? repeat_node(making, std::move(body)) : body;
}

NodePtr sequence(Making& making, int depth) {
  Node node{.kind = Node::Kind::kSequence};
  for (uint64_t left = making.random.below(4) + 1; left > 0; --left)
    node.parts.push_back(piece(making, depth));
  return std::make_shared<Node>(std::move(node));
}

std::string escaped(const std::string& text) {
  std::string written;
  for (const char letter : text) {
    if (std::string_view("^$\\.*+?()[]{}|/").find(letter) != std::string_view::npos)
      written += '\\';
    written += letter;
  }
  return written;
}

std::string written(const Node& node) {
  std::string text;
  switch (node.kind) {
    case Node::Kind::kText:
      return escaped(node.text);
    case Node::Kind::kClass:
      return node.text;
    case Node::Kind::kSequence:
      for (const NodePtr& part : node.parts) {
        const bool group = part->kind == Node::Kind::kEither;
        text += group ? "(" + written(*part) + ")" : written(*part);
      }
      return text;
    case Node::Kind::kEither:
      for (const NodePtr& part : node.parts)
        text += (text.empty() ? "" : "|") + written(*part);
      return text;
    case Node::Kind::kRepeat: {
      const bool group = node.parts[0]->kind != Node::Kind::kClass;
      return (group ? "(?:" + written(*node.parts[0]) + ")" : written(*node.parts[0])) +
             node.quantifier;
    }
  }
  return text;
}

void sample_into(const Node& node, Random& random, std::string& text) {
  switch (node.kind) {
    case Node::Kind::kText:
      text += node.text;
      return;
    case Node::Kind::kClass:
      text += pick(random, node.characters);
      return;
    case Node::Kind::kSequence:
      for (const NodePtr& part : node.parts)
        sample_into(*part, random, text);
      return;
    case Node::Kind::kEither:
      sample_into(*pick(random, node.parts), random, text);
      return;
    case Node::Kind::kRepeat:
      for (uint64_t left = node.min + random.below(node.max - node.min + 1); left > 0; --left)
        sample_into(*node.parts[0], random, text);
      return;
  }
}

}  // namespace

Pattern Pattern::random(Random& random, bool hard) {
  Pattern pattern;
  pattern.loose_ = hard && random.chance(0.2);
  Making making{random, hard, pattern.loose_ ? 1 : 2};
  pattern.root_ = sequence(making, hard ? 2 : 1);
  pattern.regex_ = written(*pattern.root_);
  if (!pattern.loose_) pattern.regex_ = "^" + pattern.regex_ + "$";
  return pattern;
}

Pattern Pattern::names(Random& random, const std::string& prefix) {
  Node node{.kind = Node::Kind::kSequence};
  node.parts = {text_node(prefix)};
  static constexpr auto kClasses = std::to_array<size_t>({0, 2, 4, 5, 7});
  const CharacterClass& one = plain_classes()[pick(random, std::span<const size_t>(kClasses))];
  node.parts.push_back(std::make_shared<Node>(
      Node{.kind = Node::Kind::kRepeat,
           .parts = {std::make_shared<Node>(Node{.kind = Node::Kind::kClass,
                                                 .text = std::string(one.written),
                                                 .characters = one.characters})},
           .min = 1,
           .max = 8,
           .quantifier = "+"}));
  Pattern pattern;
  pattern.root_ = std::make_shared<Node>(std::move(node));
  pattern.regex_ = "^" + written(*pattern.root_) + "$";
  return pattern;
}

std::string Pattern::sample(Random& random) const {
  std::string text;
  if (loose_) text += prose(random, 2);
  sample_into(*root_, random, text);
  if (loose_) text += prose(random, 2);
  return text;
}

size_t characters_of(const std::string& utf8) {
  size_t count = 0;
  for (const char byte : utf8)
    count += (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U ? 1 : 0;
  return count;
}

}  // namespace windrow::structured
