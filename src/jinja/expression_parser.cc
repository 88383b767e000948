#include "jinja/parser.h"

#include <algorithm>
#include <array>
#include <utility>

#include "jinja/builtins.h"
#include "jinja/failure.h"

namespace windrow::jinja {
namespace {

constexpr size_t kNamedMax = 1000;

// A chain of operators makes a tree as deep as the chain is long.
constexpr int kTreeDepthMax = 300;

// Sets the depth of a node with these children, which may be null. Throws Failure if it is too
// deep, because functions that walk the tree recurse as often.
template <class... Children>
void set_depth(Expression& node, const Children&... children) {
  int deepest = 0;
  const auto look_at = [&](const ExpressionPtr& child) {
    if (child) deepest = std::max(deepest, child->depth);
  };
  (look_at(children), ...);
  node.depth = std::max(node.depth, deepest + 1);
  if (node.depth > kTreeDepthMax) fail_at(node.offset, "this expression is nested too deep");
}

void set_depth(Expression& node, const CallArguments& arguments) {
  for (const auto& argument : arguments.positional)
    set_depth(node, argument);
  for (const auto& argument : arguments.named)
    set_depth(node, argument.second);
  set_depth(node, arguments.list, arguments.dict);
}

}  // namespace

ExpressionParser::ExpressionParser(std::vector<Token> tokens)
    : TokenCursor(std::move(tokens)), stack_(Limits{}) {}

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
    } else if (current().is_name("not") && look_ahead().is_name("in")) {
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

// --- operands: values, subscripts, calls, filters and tests -------------------------------------

ExpressionPtr ExpressionParser::parse_primary() {
  const Token& token = current();
  switch (token.type) {
    case Token::Type::kName: {
      take();
      const std::string& name = token.text;
      if (name == "true" || name == "True" || name == "false" || name == "False") {
        const bool flag = name == "true" || name == "True";
        return std::make_unique<Constant>(token.offset, Value(flag));
      }
      if (name == "none" || name == "None") {
        return std::make_unique<Constant>(token.offset, Value(None{}));
      }
      const NameId id = names_.id_of(name);
      uses_.loop |= id == Names::kLoop;
      uses_.caller |= id == Names::kCaller;
      uses_.varargs |= id == Names::kVarargs;
      uses_.kwargs |= id == Names::kKwargs;
      return std::make_unique<Name>(token.offset, id, names_.all()[id]);
    }
    case Token::Type::kString:
      return parse_string();
    case Token::Type::kInteger:
      return parse_integer_token();
    case Token::Type::kFloat: {
      take();
      const auto number = parse_float(token.text);
      if (!number) fail_at(token.offset, "'{}' is no number", token.text);
      return std::make_unique<Constant>(token.offset, Value(*number));
    }
    default:
      break;
  }
  if (skip_operator("(")) {
    ExpressionPtr node = parse_tuple(true, true);
    expect_operator(")");
    return node;
  }
  if (token.is_operator("[")) return parse_list();
  if (token.is_operator("{")) return parse_dict();
  unexpected("an expression");
}

ExpressionPtr ExpressionParser::parse_string() {
  const size_t offset = current().offset;
  std::string text;
  while (current().type == Token::Type::kString)
    text += take().text;
  return std::make_unique<Constant>(offset, Value(text_of(text)));
}

ExpressionPtr ExpressionParser::parse_integer_token() {
  const Token& token = take();
  try {
    const auto integer = parse_integer(token.text, 0);
    if (integer) return std::make_unique<Constant>(token.offset, Value(*integer));
  } catch (Failure& failure) {
    failure.offset = token.offset;
    throw;
  }
  fail_at(token.offset, "'{}' is no integer", token.text);
}

ExpressionPtr ExpressionParser::parse_list() {
  auto list = std::make_unique<Items>(Expression::Kind::kList, take().offset);
  while (!current().is_operator("]")) {
    if (!list->items.empty()) expect_operator(",");
    if (current().is_operator("]")) break;
    list->items.push_back(parse_expression());
    set_depth(*list, list->items.back());
  }
  take();
  return list;
}

ExpressionPtr ExpressionParser::parse_dict() {
  auto dict = std::make_unique<DictItems>(take().offset);
  while (!current().is_operator("}")) {
    if (!dict->items.empty()) expect_operator(",");
    if (current().is_operator("}")) break;
    ExpressionPtr key = parse_expression();
    expect_operator(":");
    ExpressionPtr value = parse_expression();
    set_depth(*dict, key, value);
    dict->items.emplace_back(std::move(key), std::move(value));
  }
  take();
  return dict;
}

ExpressionPtr ExpressionParser::parse_postfix(ExpressionPtr node) {
  for (;;) {
    if (current().is_operator(".") || current().is_operator("[")) {
      node = parse_subscript(std::move(node));
    } else if (current().is_operator("(")) {
      node = parse_call(std::move(node));
    } else {
      return node;
    }
  }
}

ExpressionPtr ExpressionParser::parse_subscript(ExpressionPtr node) {
  const Token& open = take();
  if (open.text == ".") {
    if (current().type == Token::Type::kName) {
      auto attribute = std::make_unique<Attribute>(open.offset);
      attribute->name = text_of(take().text);
      attribute->object = std::move(node);
      set_depth(*attribute, attribute->object);
      return attribute;
    }
    if (current().type != Token::Type::kInteger) unexpected("a name or a number after '.'");
    auto item = std::make_unique<Item>(open.offset);
    item->object = std::move(node);
    item->index = parse_integer_token();
    set_depth(*item, item->object);
    return item;
  }
  auto item = std::make_unique<Item>(open.offset);
  item->object = std::move(node);
  Expressions indices;
  while (!current().is_operator("]")) {
    if (!indices.empty()) expect_operator(",");
    indices.push_back(parse_subscribed());
  }
  take();
  if (indices.size() == 1) {
    item->index = std::move(indices.front());
  } else {
    auto tuple = std::make_unique<Items>(Expression::Kind::kTuple, open.offset);
    for (const auto& index : indices)
      set_depth(*tuple, index);
    tuple->items = std::move(indices);
    item->index = std::move(tuple);
  }
  set_depth(*item, item->object, item->index);
  return item;
}

ExpressionPtr ExpressionParser::parse_subscribed() {
  const size_t offset = current().offset;
  ExpressionPtr start;
  if (!current().is_operator(":")) {
    start = parse_expression();
    if (!current().is_operator(":")) return start;
  }
  auto slice = std::make_unique<Slice>(offset);
  slice->start = std::move(start);
  take();
  const auto at_end = [this] { return current().is_operator("]") || current().is_operator(","); };
  if (!current().is_operator(":") && !at_end()) slice->stop = parse_expression();
  if (skip_operator(":") && !at_end()) slice->step = parse_expression();
  set_depth(*slice, slice->start, slice->stop, slice->step);
  return slice;
}

CallArguments ExpressionParser::parse_arguments() {
  const size_t offset = current().offset;
  expect_operator("(");
  CallArguments arguments;
  bool first = true;
  const auto ensure = [offset](bool in_order) {
    if (!in_order) fail_at(offset, "the arguments of this call are in no valid order");
  };
  while (!current().is_operator(")")) {
    if (!first) {
      expect_operator(",");
      if (current().is_operator(")")) break;
    }
    first = false;
    if (skip_operator("*")) {
      ensure(!arguments.list && !arguments.dict);
      arguments.list = parse_expression();
    } else if (skip_operator("**")) {
      ensure(!arguments.dict);
      arguments.dict = parse_expression();
    } else if (current().type == Token::Type::kName && look_ahead().is_operator("=")) {
      ensure(!arguments.dict);
      const Token& name = take();
      take();
      if (arguments.named.size() >= kNamedMax) fail_at(name.offset, "too many named arguments");
      for (const auto& given : arguments.named) {
        if (given.first->bytes() == name.text) {
          fail_at(name.offset, "the argument '{}' is given twice", name.text);
        }
      }
      arguments.named.emplace_back(text_of(name.text), parse_expression());
    } else {
      ensure(!arguments.list && !arguments.dict && arguments.named.empty());
      arguments.positional.push_back(parse_expression());
    }
  }
  take();
  return arguments;
}

ExpressionPtr ExpressionParser::parse_call(ExpressionPtr callee) {
  auto call = std::make_unique<Call>(current().offset);
  call->callee = std::move(callee);
  call->arguments = parse_arguments();
  set_depth(*call, call->callee);
  set_depth(*call, call->arguments);
  return call;
}

std::string ExpressionParser::parse_dotted_name() {
  std::string name = expect_name("a name").text;
  while (skip_operator("."))
    name += "." + expect_name("a name").text;
  return name;
}

ExpressionPtr ExpressionParser::parse_filters(ExpressionPtr input, bool inline_start) {
  while (inline_start || current().is_operator("|")) {
    if (!inline_start) take();
    inline_start = false;
    auto filter = std::make_unique<Filter>(current().offset);
    filter->name = parse_dotted_name();
    filter->function = find_filter(filter->name);
    if (filter->function == nullptr) {
      unknown_.push_back(
          {filter->offset, fmt::format("there is no filter '{}'", filter->name), false});
    }
    if (current().is_operator("(")) filter->arguments = parse_arguments();
    filter->input = std::move(input);
    set_depth(*filter, filter->input);
    set_depth(*filter, filter->arguments);
    input = std::move(filter);
  }
  return input;
}

ExpressionPtr ExpressionParser::parse_filter_or_test(ExpressionPtr node) {
  for (;;) {
    if (current().is_operator("|")) {
      node = parse_filters(std::move(node), false);
    } else if (current().is_name("is")) {
      node = parse_test(std::move(node));
    } else if (current().is_operator("(")) {
      node = parse_call(std::move(node));
    } else {
      return node;
    }
  }
}

ExpressionPtr ExpressionParser::parse_test(ExpressionPtr subject) {
  auto test = std::make_unique<Test>(take().offset);
  const bool negated = skip_name("not");
  const size_t offset = current().offset;
  test->name = parse_dotted_name();
  test->function = find_test(test->name);
  if (test->function == nullptr) {
    unknown_.push_back({offset, fmt::format("there is no test '{}'", test->name), false});
  }
  const Token& next = current();
  const bool is_value = next.type == Token::Type::kName || next.type == Token::Type::kString ||
                        next.type == Token::Type::kInteger || next.type == Token::Type::kFloat ||
                        next.is_operator("[") || next.is_operator("{");
  if (next.is_operator("(")) {
    test->arguments = parse_arguments();
  } else if (is_value && !next.is_name("else") && !next.is_name("or") && !next.is_name("and")) {
    if (next.is_name("is")) fail_at(next.offset, "tests cannot be chained with 'is'");
    test->arguments.positional.push_back(parse_postfix(parse_primary()));
  }
  test->subject = std::move(subject);
  set_depth(*test, test->subject);
  set_depth(*test, test->arguments);
  if (!negated) return test;
  const size_t at = test->offset;
  auto node = std::make_unique<Unary>(Expression::Kind::kNot, at, std::move(test));
  set_depth(*node, node->operand);
  return node;
}

}  // namespace windrow::jinja
