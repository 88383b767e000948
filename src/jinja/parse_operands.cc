// The part of the parser of expressions below its operators: values, what follows them, filters and
// tests.
#include <utility>

#include "jinja/failure.h"
#include "jinja/filters.h"
#include "jinja/parse_expressions.h"
#include "jinja/tests.h"
#include "jinja/tree_depth.h"

namespace windrow::jinja {
namespace {

constexpr size_t kNamedMax = 1000;

}  // namespace

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
    } else if (current().type == Token::Type::kName && look().is_operator("=")) {
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
