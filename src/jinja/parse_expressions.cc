#include "jinja/parse_expressions.h"

#include <algorithm>
#include <array>
#include <utility>

#include "jinja/failure.h"
#include "jinja/tree_depth.h"

namespace windrow::jinja {
namespace {

std::string shown(const Token& token) {
  switch (token.type) {
    case Token::Type::kEnd:
      return "the end of the template";
    case Token::Type::kData:
      return "text";
    case Token::Type::kPrintBegin:
      return "'{{'";
    case Token::Type::kPrintEnd:
      return "'}}'";
    case Token::Type::kTagBegin:
      return "'{%'";
    case Token::Type::kTagEnd:
      return "'%}'";
    case Token::Type::kString:
      return "a string";
    default:
      return "'" + token.text + "'";
  }
}

}  // namespace

ExpressionParser::ExpressionParser(std::vector<Token> tokens)
    : tokens_(std::move(tokens)), stack_(Limits{}) {}

bool ExpressionParser::skip_operator(std::string_view op) {
  if (!current().is_operator(op)) return false;
  take();
  return true;
}

bool ExpressionParser::skip_name(std::string_view name) {
  if (!current().is_name(name)) return false;
  take();
  return true;
}

void ExpressionParser::unexpected(std::string_view expected) const {
  fail_at(current().offset, "unexpected {}, expected {}", shown(current()), expected);
}

void ExpressionParser::expect_operator(std::string_view op) {
  if (!skip_operator(op)) unexpected(fmt::format("'{}'", op));
}

void ExpressionParser::expect(Token::Type type, std::string_view what) {
  if (current().type != type) unexpected(what);
  take();
}

const Token& ExpressionParser::expect_name(std::string_view what) {
  if (current().type != Token::Type::kName) unexpected(what);
  return take();
}

TextPtr ExpressionParser::text_of(std::string_view bytes) const {
  return std::make_shared<const Text>(std::string(bytes), Origin::kTemplate);
}

bool ExpressionParser::tuple_ends(std::string_view end_name) const {
  const Token& token = current();
  return token.type == Token::Type::kPrintEnd || token.type == Token::Type::kTagEnd ||
         token.is_operator(")") || (!end_name.empty() && token.is_name(end_name));
}

void ExpressionParser::forgive_unknown_since(size_t count) {
  const auto from = unknown_.begin() + static_cast<std::ptrdiff_t>(count);
  unknown_.erase(
      std::remove_if(from, unknown_.end(), [](const Unknown& u) { return !u.is_certain; }),
      unknown_.end());
}

ExpressionPtr ExpressionParser::parse_expression(bool with_conditional) {
  check_stack();
  const size_t unknown_before = unknown_.size();
  ExpressionPtr node = parse_or();
  while (with_conditional && current().is_name("if")) {
    auto conditional = std::make_unique<Conditional>(take().offset);
    conditional->then = std::move(node);
    conditional->condition = parse_or();
    if (skip_name("else")) conditional->otherwise = parse_expression();
    set_depth(*conditional, conditional->then, conditional->condition, conditional->otherwise);
    forgive_unknown_since(unknown_before);
    node = std::move(conditional);
  }
  return node;
}

ExpressionPtr ExpressionParser::parse_tuple(bool with_conditional, bool in_brackets,
                                            std::string_view end_name) {
  const size_t offset = current().offset;
  Expressions items;
  bool is_tuple = false;
  for (;;) {
    if (!items.empty()) expect_operator(",");
    if (tuple_ends(end_name)) break;
    items.push_back(parse_expression(with_conditional));
    if (!current().is_operator(",")) break;
    is_tuple = true;
  }
  if (!is_tuple) {
    if (!items.empty()) return std::move(items.front());
    if (!in_brackets) unexpected("an expression");
  }
  auto tuple = std::make_unique<Items>(Expression::Kind::kTuple, offset);
  for (const auto& item : items)
    set_depth(*tuple, item);
  tuple->items = std::move(items);
  return tuple;
}

ExpressionPtr ExpressionParser::parse_or() {
  ExpressionPtr left = parse_and();
  while (current().is_name("or")) {
    const size_t offset = take().offset;
    auto node =
        std::make_unique<Binary>(Expression::Kind::kOr, offset, std::move(left), parse_and());
    set_depth(*node, node->left, node->right);
    left = std::move(node);
  }
  return left;
}

ExpressionPtr ExpressionParser::parse_and() {
  ExpressionPtr left = parse_not();
  while (current().is_name("and")) {
    const size_t offset = take().offset;
    auto node =
        std::make_unique<Binary>(Expression::Kind::kAnd, offset, std::move(left), parse_not());
    set_depth(*node, node->left, node->right);
    left = std::move(node);
  }
  return left;
}

ExpressionPtr ExpressionParser::parse_not() {
  if (!current().is_name("not")) return parse_compare();
  check_stack();
  const size_t offset = take().offset;
  auto node = std::make_unique<Unary>(Expression::Kind::kNot, offset, parse_not());
  set_depth(*node, node->operand);
  return node;
}

ExpressionPtr ExpressionParser::parse_compare() {
  static constexpr std::array<std::pair<std::string_view, Comparison>, 6> kComparisons = {{
      {"==", Comparison::kEqual},
      {"!=", Comparison::kNotEqual},
      {"<", Comparison::kLess},
      {"<=", Comparison::kLessEqual},
      {">", Comparison::kGreater},
      {">=", Comparison::kGreaterEqual},
  }};
  ExpressionPtr first = parse_sum();
  std::unique_ptr<Compare> compare;
  for (;;) {
    Comparison comparison = Comparison::kIn;
    const size_t offset = current().offset;
    const auto* op =
        std::find_if(kComparisons.begin(), kComparisons.end(),
                     [this](const auto& entry) { return current().is_operator(entry.first); });
    if (op != kComparisons.end()) {
      comparison = op->second;
      take();
    } else if (current().is_name("not") && look().is_name("in")) {
      comparison = Comparison::kNotIn;
      take();
      take();
    } else if (!skip_name("in")) {
      break;
    }
    if (!compare) {
      compare = std::make_unique<Compare>(offset);
      compare->first = std::move(first);
      set_depth(*compare, compare->first);
    }
    compare->rest.emplace_back(comparison, parse_sum());
    set_depth(*compare, compare->rest.back().second);
  }
  if (compare) return compare;
  return first;
}

ExpressionPtr ExpressionParser::parse_binary(ExpressionPtr left, Operator op, ExpressionPtr right,
                                             size_t offset) {
  auto node = std::make_unique<Binary>(Expression::Kind::kBinary, offset, std::move(left),
                                       std::move(right));
  node->op = op;
  set_depth(*node, node->left, node->right);
  return node;
}

ExpressionPtr ExpressionParser::parse_sum() {
  ExpressionPtr left = parse_concat();
  while (current().is_operator("+") || current().is_operator("-")) {
    const Token& token = take();
    const Operator op = token.text == "+" ? Operator::kAdd : Operator::kSubtract;
    ExpressionPtr right = parse_concat();
    left = parse_binary(std::move(left), op, std::move(right), token.offset);
  }
  return left;
}

ExpressionPtr ExpressionParser::parse_concat() {
  ExpressionPtr first = parse_product();
  if (!current().is_operator("~")) return first;
  auto concat = std::make_unique<Items>(Expression::Kind::kConcat, current().offset);
  set_depth(*concat, first);
  concat->items.push_back(std::move(first));
  while (skip_operator("~")) {
    concat->items.push_back(parse_product());
    set_depth(*concat, concat->items.back());
  }
  return concat;
}

ExpressionPtr ExpressionParser::parse_product() {
  static constexpr std::array<std::pair<std::string_view, Operator>, 4> kFactors = {{
      {"*", Operator::kMultiply},
      {"/", Operator::kDivide},
      {"//", Operator::kFloorDivide},
      {"%", Operator::kModulo},
  }};
  ExpressionPtr left = parse_power();
  for (;;) {
    const auto* op = std::find_if(kFactors.begin(), kFactors.end(), [this](const auto& entry) {
      return current().is_operator(entry.first);
    });
    if (op == kFactors.end()) return left;
    const size_t offset = take().offset;
    ExpressionPtr right = parse_power();
    left = parse_binary(std::move(left), op->second, std::move(right), offset);
  }
}

ExpressionPtr ExpressionParser::parse_power() {
  ExpressionPtr left = parse_unary();
  while (current().is_operator("**")) {
    const size_t offset = take().offset;
    ExpressionPtr right = parse_unary();
    left = parse_binary(std::move(left), Operator::kPower, std::move(right), offset);
  }
  return left;
}

ExpressionPtr ExpressionParser::parse_unary(bool with_filter) {
  check_stack();
  ExpressionPtr node;
  if (current().is_operator("-") || current().is_operator("+")) {
    const Token& sign = take();
    const auto kind = sign.text == "-" ? Expression::Kind::kNegate : Expression::Kind::kPositive;
    auto unary = std::make_unique<Unary>(kind, sign.offset, parse_unary(false));
    set_depth(*unary, unary->operand);
    node = std::move(unary);
  } else {
    node = parse_primary();
  }
  node = parse_postfix(std::move(node));
  return with_filter ? parse_filter_or_test(std::move(node)) : std::move(node);
}

}  // namespace windrow::jinja
